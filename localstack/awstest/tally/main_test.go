package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesAreCountedByService(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in, want string
		ok             bool
	}{
		{"cases count, their test does not", `{"Action":"pass","Package":"x/sqs","Test":"A/one"}
{"Action":"pass","Package":"x/sqs","Test":"A/two"}
{"Action":"pass","Package":"x/sqs","Test":"A"}
{"Action":"pass","Package":"x/sqs"}
`, "sqs           2 rules,    2 hold,   0 do not\n", true},
		{"a failed case is shown with its output", `{"Action":"output","Package":"x/sqs","Test":"A/one","Output":"got 1\n"}
{"Action":"fail","Package":"x/sqs","Test":"A/one"}
{"Action":"fail","Package":"x/sqs","Test":"A"}
{"Action":"fail","Package":"x/sqs"}
`, "sqs: A/one\ngot 1\nsqs           1 rules,    0 hold,   1 do not\n", false},
		{"a package that fails without a test shows why", `{"Action":"output","Package":"x/sqs","Output":"panic\n"}
{"Action":"fail","Package":"x/sqs"}
`, "panic\nsqs           0 rules,    0 hold,   0 do not\n", false},
		{"figures are repeated", `{"Action":"output","Package":"x/db","Test":"A","Output":"    a_test.go:1: 9 operations by 2 clients\n"}
{"Action":"pass","Package":"x/db","Test":"A"}
{"Action":"pass","Package":"x/db"}
`, "db            1 rules,    1 hold,   0 do not; 9 operations by 2 clients\n", true},
		{"nothing tested is no success", "", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			ok, err := tally(strings.NewReader(c.in), &out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" || ok != c.ok {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}
