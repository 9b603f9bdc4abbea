package download

import (
	"strings"
	"testing"
)

func TestANameThatContradictsTheFileIsWarnedOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ chosen, given, want string }{
		"the same":                  {"/x/a.csv.gz", "orders.csv.gz", ""},
		"none":                      {"out", "orders.csv.gz", ""},
		"a version":                 {"out.v2", "orders.csv.gz", ""},
		"compression alone":         {"out.gz", "orders.csv.gz", ""},
		"another word for the same": {"out.ndjson", "orders.jsonl", ""},
		"in capitals":               {"OUT.CSV", "orders.csv", ""},
		"compressed, says plain":    {"odd.csv", "orders.csv.gz", ".csv.gz"},
		"plain, says compressed":    {"odd.csv.gz", "orders.csv", ".csv"},
		"another compression":       {"odd.gz", "orders.jsonl.zst", ".jsonl.zst"},
		"another format":            {"odd.jsonl.gz", "orders.csv.gz", ".csv.gz"},
		"a workbook":                {"odd.xlsx", "orders.csv", ".csv"},
	}
	for name, c := range cases {
		got := misnamed(c.chosen, c.given)
		if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want the ending %q", name, got, c.want)
		}
	}
}
