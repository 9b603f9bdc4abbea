package policy_test

import (
	"strings"
	"testing"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/policy"
	"sealift/shared/row"
)

func TestOnlyTheApplicantOrATenantReaderOfTheSameTenantSeesAJob(t *testing.T) {
	t.Parallel()
	j := job.Job{Tenant: "acme", Applicant: "alice"}
	cases := []struct {
		name string
		who  policy.Principal
		want bool
	}{
		{"the applicant", policy.Principal{Tenant: "acme", Subject: "alice"}, true},
		{"a colleague", policy.Principal{Tenant: "acme", Subject: "bob"}, false},
		{"a colleague with the tenant role", policy.Principal{Tenant: "acme", Subject: "bob", Roles: []string{policy.RoleTenantReader}}, true},
		{"a namesake at another tenant", policy.Principal{Tenant: "globex", Subject: "alice"}, false},
		{"another tenant's reader", policy.Principal{Tenant: "globex", Subject: "eve", Roles: []string{policy.RoleTenantReader}}, false},
		{"an operator of another tenant", policy.Principal{Tenant: "ops", Subject: "op", Roles: []string{policy.RoleOperator}}, false},
		{"nobody", policy.Principal{}, false},
	}
	for _, c := range cases {
		if got := policy.MaySee(c.who, j); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	if policy.MaySee(policy.Principal{}, job.Job{}) {
		t.Error("a principal without tenant sees a job without tenant")
	}
}

func TestAFileIsRefusedWhenItHoldsMoreThanItsReceiverMaySeeNow(t *testing.T) {
	t.Parallel()
	d := definition.Definition{Columns: []definition.Column{
		{Name: "id"},
		{Name: "cost", Roles: []string{"finance"}},
		{Name: "email", Mask: &definition.Mask{Kind: definition.MaskRedact, Unless: []string{"pii"}}},
	}}
	cases := []struct {
		name  string
		roles []string
		masks map[string]definition.MaskKind
		want  bool
	}{
		{"open columns", nil, map[string]definition.MaskKind{"id": ""}, true},
		{"a role that is still held", []string{"finance"}, map[string]definition.MaskKind{"cost": ""}, true},
		{"a role that was lost", nil, map[string]definition.MaskKind{"cost": ""}, false},
		{"a masked value without the role", nil, map[string]definition.MaskKind{"email": definition.MaskRedact}, true},
		{"a clear value with the role", []string{"pii"}, map[string]definition.MaskKind{"email": ""}, true},
		{"a clear value without the role", nil, map[string]definition.MaskKind{"email": ""}, false},
		{"another mask than today's", nil, map[string]definition.MaskKind{"email": definition.MaskLast4}, false},
		{"a column that is gone", nil, map[string]definition.MaskKind{"dropped": ""}, false},
	}
	for _, c := range cases {
		if got := policy.MayReceive(policy.Principal{Tenant: "acme", Subject: "a", Roles: c.roles}, d, c.masks); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestAViewNamesTheColumnOfTheSpanToThoseWhoSeeIt(t *testing.T) {
	t.Parallel()
	column := func(name, source string, roles ...string) definition.Column {
		return definition.Column{Name: name, Source: source, Kind: row.Timestamp, Roles: roles}
	}
	cases := []struct {
		name    string
		columns []definition.Column
		roles   []string
		want    string
	}{
		{"under its own name", []definition.Column{column("shipped_at", ""), column("placed_at", "")}, nil, "placed_at"},
		{"under another name", []definition.Column{column("shipped_at", ""), column("ordered", "placed_at")}, nil, "ordered"},
		{"another column under its name", []definition.Column{column("placed_at", "shipped_at")}, nil, ""},
		{"no output", []definition.Column{column("shipped_at", "")}, nil, ""},
		{"for a role that is held", []definition.Column{column("placed_at", "", "finance")}, []string{"finance"}, "placed_at"},
		{"for a role that isn't held", []definition.Column{column("placed_at", "", "finance")}, nil, ""},
		{"twice, once for a role that isn't held", []definition.Column{column("exact", "placed_at", "finance"), column("placed", "placed_at")}, nil, "placed"},
	}
	for _, c := range cases {
		d := definition.Definition{Source: definition.Source{TimeColumn: definition.SourceColumn{Name: "placed_at", Kind: row.Timestamp}}, Columns: c.columns}
		view := policy.ViewOf(policy.Principal{Tenant: "acme", Subject: "a", Roles: c.roles}, d)
		if view.TimeColumn != c.want || strings.Contains(view.Encode(), `"time_column"`) != (c.want != "") {
			t.Errorf("%s: %q in %s, want %q", c.name, view.TimeColumn, view.Encode(), c.want)
		}
	}
}

func TestAMaskWithoutExceptionsMasksForEverybody(t *testing.T) {
	t.Parallel()
	c := definition.Column{Name: "email", Mask: &definition.Mask{Kind: definition.MaskNull}}
	if got := policy.MaskFor(policy.Principal{Roles: []string{"pii", policy.RoleOperator}}, c); got != definition.MaskNull {
		t.Errorf("mask is %q, want null", got)
	}
}
