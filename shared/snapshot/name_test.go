package snapshot_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sealift/shared/job"
)

func TestAFileNameThatAComputerCanNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	const signs = `it can't hold slashes, any of < > : | ? *, control characters or ones that turn the direction of writing`
	cases := map[string][]string{
		signs: {
			"../orders", `a\b`, "a<b", "a>b", "C:orders", "orders.csv:stream", "a|b", "orders?", "*.csv", "a\r\nb", "a\x00b", "a\x7fb", "a\u0085b",
			"orders\u202evsc.exe", "\u202aa", "a\u202b", "a\u202c", "a\u202d", "a\u2066b", "a\u2067b", "a\u2068b", "a\u2069b",
		},
		"Windows keeps what is before its first dot for a device, so give another name, as in \"orders-": {
			"CON", "con", "Con.csv", "PRN.csv.gz", "aux.tar", "NUL", "nul .csv", "nul.", "COM1", "com9.jsonl", "LPT1", "lpt9.v1.csv", "COM¹", "lpt³.csv", "CONIN$", "conout$.csv",
		},
		"only dots and spaces": {".", "..", " . "},
		"only an ending":       {".csv", ".csv.gz"},
		"has 201 bytes":        {strings.Repeat("a", 201)},
	}
	for want, names := range cases {
		for _, name := range names {
			text, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, layout := range []string{"file", "files"} {
				s, _, err := freeze(t, with(`, "layout": "`+layout+`", "file_name": `+string(text)), alice())
				var refused *job.Error
				if !errors.As(err, &refused) || refused.Code != "file_name" || refused.Field != "/file_name" || !strings.Contains(refused.Detail, want) {
					t.Errorf("%q gives %q, %v; want %q", name, s.FileName, err, want)
				}
			}
		}
	}
}

func TestTheEndingOfAFileNameBecomesThatOfTheFormat(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"report": "report", "report.csv": "report", "report.csv.gz": "report", "report.txt": "report", "Report.TXT": "Report", "report.tsv.zip": "report",
		"report.json": "report", "report.ndjson.zst": "report", "report.xls": "report", "report.xlsx": "report", "report.parquet": "report",
		"report.v2": "report.v2", "2026.01": "2026.01", "a.txt.csv": "a.txt",
	}
	for name, stem := range cases {
		s, _, err := freeze(t, with(`, "file_name": "`+name+`"`), alice())
		if err != nil || s.FileName != stem+".csv.gz" {
			t.Errorf("%q is %q, %v; want %q", name, s.FileName, err, stem+".csv.gz")
		}
	}
}

func TestAFileNameThatOnlyLooksSpecialIsTaken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"console", "con-2026", "my con", "COM0", "com10", "lpt", "null", "aux_1.v2", "订单 (Q3)", "תקציב", "Ümläut's & co, 50% [a]{b}=+#;~$", "-x", " a"} {
		s, _, err := freeze(t, with(`, "file_name": "`+name+`"`), alice())
		if err != nil || s.FileName != name+".csv.gz" {
			t.Errorf("%q is %q, %v", name, s.FileName, err)
		}
	}
}
