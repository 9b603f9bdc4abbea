package command_test

import (
	"os"
	"strings"
	"testing"
)

func TestARequestIsToldEverythingThatIsWrongInTheFlagsWords(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	got := ana.run("export", "create", "--definition", "orders", "--purpose", "audit", "--from", "2026-01-02", "--to", "2026-01-01",
		"--column", "order_id", "--column", "colour", "--filter", "status>x", "--zone", "UTC", "--format", "pdf", "--file-name", "a/b")
	lines := strings.Split(got.stderr, "\n")
	begins := []string{
		`sealift: --column "colour": definition orders has no such column; allowed are `,
		`  --filter 'status>x': the comparison is ">"; column status can`,
		"  --from (2026-01-02T00:00:00Z) is not before --to (2026-01-01T00:00:00Z)",
		`  --format is "pdf"; definition orders allows `,
		`  --file-name is "a/b"; it can't hold slashes`,
		"  (400 column-unknown, POST /v1/exports)",
	}
	if got.code != 1 || len(lines) != len(begins)+1 {
		t.Fatalf("code %d, %d lines:\n%s", got.code, len(lines)-1, got.stderr)
	}
	for i, begin := range begins {
		if !strings.HasPrefix(lines[i], begin) {
			t.Errorf("line %d is %s\nand not %s…", i+1, lines[i], begin)
		}
	}
	if err := os.WriteFile(s.path("request.json"), []byte(`{"definition": "odrers", "layout": "many", "colour": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ana.checkRefusal(t, []string{"export", "create", "--request", s.path("request.json")}, 1, []string{
		`/definition is "odrers"; there is none`, "/purpose is missing", "/span/from is missing", `/layout is "many"`, "/colour does not exist",
	})
}
