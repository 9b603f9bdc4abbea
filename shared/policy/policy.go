// Package policy owns who may do what: pure decisions over a principal, a definition and a job. It is the one place
// that a policy engine would replace. What a principal may not see is answered as if it did not exist. Start reading at
// Principal. It imports definition and job.
package policy

import (
	"slices"

	"sealift/shared/definition"
	"sealift/shared/job"
)

// Version names the rules below; a snapshot records it.
const Version = "roles/1"

// The roles that rules here name; definitions may name others.
const (
	// RoleOperator applies definitions and sees every version of them.
	RoleOperator = "sealift:operator"
	// RoleTenantReader sees, cancels and downloads every job of its own tenant.
	RoleTenantReader = "sealift:tenant-exports"
)

// Principal is who asks, from a verified token or an authenticated upstream, never from the request itself.
type Principal struct {
	Tenant  string
	Subject string
	Roles   []string
}

// Holds reports whether the principal has one of the roles; no roles asked for is always true.
func (p Principal) Holds(anyOf []string) bool {
	if len(anyOf) == 0 {
		return true
	}
	return slices.ContainsFunc(anyOf, func(role string) bool { return slices.Contains(p.Roles, role) })
}

// MayRequest reports whether the principal may ask for exports of the definition at all. When not, the definition does
// not exist for it.
func MayRequest(p Principal, d definition.Definition) bool {
	return p.Tenant != "" && p.Holds(d.RequestRoles)
}

// Visible reports whether a column exists for the principal.
func Visible(p Principal, c definition.Column) bool { return p.Holds(c.Roles) }

// MaskFor is the mask that the principal's files carry in the column; empty is none.
func MaskFor(p Principal, c definition.Column) definition.MaskKind {
	if c.Mask == nil || (len(c.Mask.Unless) > 0 && p.Holds(c.Mask.Unless)) {
		return ""
	}
	return c.Mask.Kind
}

// ViewOf is the definition as the principal sees it. A masked column can't be filtered, so it shows no comparisons. The
// column that a span bounds is named as the file has it, by the first of the columns that exist for the principal.
func ViewOf(p Principal, d definition.Definition) definition.View {
	view := definition.View{
		Name: d.Name, Title: d.Title, Columns: []definition.ViewColumn{}, Formats: d.Formats, Compressions: d.Compressions,
		Purposes: d.Purposes, Promise: d.Consistency.Promise, Limits: d.Limits, RequireKey: d.RequireKey,
	}
	for _, column := range d.Columns {
		if !Visible(p, column) {
			continue
		}
		shown := definition.ViewColumn{
			Name: column.Name, Title: column.Title, Kind: column.Kind, Scale: column.Scale, Ops: column.Ops, Mask: MaskFor(p, column),
		}
		if shown.Mask != "" {
			shown.Ops = nil
		}
		if view.TimeColumn == "" && column.SourceName() == d.Source.TimeColumn.Name {
			view.TimeColumn = column.Name
		}
		view.Columns = append(view.Columns, shown)
	}
	return view
}

// MayReceive reports whether the principal may have a file whose columns carry these masks, by column name: every column
// exists for the principal now, and none needs a mask that the file lacks.
func MayReceive(p Principal, d definition.Definition, masks map[string]definition.MaskKind) bool {
	for name, mask := range masks {
		column, ok := d.Column(name)
		if !ok || !Visible(p, column) {
			return false
		}
		if needed := MaskFor(p, column); needed != "" && needed != mask {
			return false
		}
	}
	return true
}

// MaySee reports whether the principal may know that the job exists: the same tenant, and its own or by role.
func MaySee(p Principal, j job.Job) bool {
	if p.Tenant == "" || p.Tenant != j.Tenant {
		return false
	}
	return p.Subject == j.Applicant || slices.Contains(p.Roles, RoleTenantReader)
}

// SeesTenant reports whether a listing shows the whole tenant's jobs or only the principal's own.
func SeesTenant(p Principal) bool { return slices.Contains(p.Roles, RoleTenantReader) }

// MayOperate reports whether the principal may apply and read definitions.
func MayOperate(p Principal) bool { return slices.Contains(p.Roles, RoleOperator) }
