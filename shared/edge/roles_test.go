package edge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRolesAreTakenOnlyFromListsOfPlainNames(t *testing.T) {
	t.Parallel()
	cases := []struct {
		claim string
		want  []string
	}{
		{"", []string{}},
		{"[]", []string{}},
		{"[pii finance]", []string{"pii", "finance"}},
		{"pii finance", []string{"pii", "finance"}},
		{"pii,finance", []string{"pii", "finance"}},
		{"[a,sealift:operator]", []string{"a,sealift:operator"}},
		{`[a"sealift:operator]`, nil},
		{`{"a":"sealift:operator"}`, nil},
		{`["sealift:operator"]`, nil},
		{`a\sealift:operator`, nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, roles(c.claim)); diff != "" {
			t.Errorf("claim %s: %s", c.claim, diff)
		}
	}
}
