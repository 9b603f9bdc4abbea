// Package definition owns the named, versioned, immutable contract of what may be exported: from where, by which key,
// who may see which column, and within which limits. Definitions are files in git that one command validates and
// applies; a job is pinned to the version it was created with. Start reading at Definition. It imports job, limits and
// row.
package definition

import (
	"encoding/json"
	"time"

	"sealift/shared/job"
	"sealift/shared/row"
)

// Definition is one contract.
type Definition struct {
	// Schema is the version of this structure, 1.
	Schema int    `json:"schema"`
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"`
	// Lane decides which queue and concurrency the jobs use.
	Lane        job.Lane    `json:"lane"`
	Source      Source      `json:"source"`
	Consistency Consistency `json:"consistency"`
	Columns     []Column    `json:"columns"`
	Formats     []string    `json:"formats"`
	// Compressions that a request may choose, as far as its format can have them; the first of those is the default.
	Compressions []string `json:"compressions"`
	// Purposes, when given, are the only ones a request may state.
	Purposes []string `json:"purposes,omitempty"`
	// RequestRoles, when given, are roles of which the applicant must hold one.
	RequestRoles []string `json:"request_roles,omitempty"`
	// RequireKey refuses requests over HTTP without an Idempotency-Key instead of deriving one.
	RequireKey bool `json:"require_idempotency_key,omitempty"`
	// KeepFormulas switches the neutralising of spreadsheet formulas off.
	KeepFormulas bool `json:"keep_formulas,omitempty"`
	// InvalidUTF8 is fail (default) or replace.
	InvalidUTF8 string `json:"invalid_utf8,omitempty"`
	// LongText is fail (default, empty) or truncate: text that no cell of a workbook holds.
	LongText Rule `json:"long_text,omitempty"`
	// Unencodable is fail (default, empty) or replace: characters that GB 18030 has no sure code for.
	Unencodable Rule   `json:"unencodable,omitempty"`
	Limits      Limits `json:"limits"`
}

// Source says where the rows are.
type Source struct {
	// Connection names a secret that holds the address and credentials; they are never part of a definition.
	Connection string `json:"connection"`
	Table      string `json:"table"`
	// TenantColumn and TimeColumn are source columns, which need not be exported.
	TenantColumn SourceColumn `json:"tenant_column"`
	TimeColumn   SourceColumn `json:"time_column"`
	// Key is the total order: unique within a tenant, none of its columns nullable.
	Key []SourceColumn `json:"key"`
}

// SourceColumn is a column of the source with its kind.
type SourceColumn struct {
	Name string   `json:"name"`
	Kind row.Kind `json:"kind"`
	// Unit is what a time that is stored as a whole number counts; see Column.
	Unit row.Unit `json:"unit,omitempty"`
}

// Consistency is what a job's file promises about the source's later changes.
type Consistency struct {
	// Kind is cutoff: business time frozen at creation, highest key frozen by the plan.
	Kind string `json:"kind"`
	// Promise says in words what later updates and deletes do to the file.
	Promise string `json:"promise"`
	// SettleSeconds moves the default cutoff back from the moment of creation, for tables whose rows arrive late.
	SettleSeconds int `json:"settle_seconds,omitempty"`
}

// Column is one exportable column.
type Column struct {
	Name   string   `json:"name"`
	Source string   `json:"source,omitempty"`
	Kind   row.Kind `json:"kind"`
	// Scale is the number of decimals of a decimal column; absent leaves it to the source.
	Scale *int `json:"scale,omitempty"`
	// Unit is what a timestamp or datetime that is stored as a whole number counts since 1970: s, ms or us.
	Unit  row.Unit `json:"unit,omitempty"`
	Title string   `json:"title,omitempty"`
	Ops   []row.Op `json:"filter,omitempty"`
	// Roles, when given, are the roles that may see the column; to everybody else it does not exist.
	Roles []string `json:"roles,omitempty"`
	Mask  *Mask    `json:"mask,omitempty"`
	// Width is the column's in a workbook, in characters; 0 leaves it to the kind.
	Width int `json:"width,omitempty"`
	// AsText writes a column of numbers as text in a workbook, whatever their size.
	AsText bool `json:"as_text,omitempty"`
}

// Mask replaces a column's values for those without one of the roles.
type Mask struct {
	Kind   MaskKind `json:"kind"`
	Unless []string `json:"unless,omitempty"`
}

// MaskKind is how a value is masked.
type MaskKind string

// The masks.
const (
	// MaskNull writes NULL whatever the kind of the column.
	MaskNull MaskKind = "null"
	// MaskRedact writes *** for every value that isn't NULL; for string columns.
	MaskRedact MaskKind = "redact"
	// MaskLast4 keeps the last four characters of longer values and writes * for the others; for string columns.
	MaskLast4 MaskKind = "last4"
)

// Limits bound what one request and one tenant may ask for. Zero means the default that Normalise fills in.
type Limits struct {
	SpanDaysMax   int   `json:"span_days_max"`
	RowsMax       int64 `json:"rows_max"`
	ActiveJobsMax int64 `json:"active_jobs_max"`
	DownloadsMax  int64 `json:"downloads_max"`
	RetentionDays int   `json:"retention_days"`
	ShardRows     int64 `json:"shard_rows"`
	// LinkSecondsMax bounds the life of one download link.
	LinkSecondsMax int `json:"link_seconds_max"`
}

// Column finds a column by its exported name.
func (d Definition) Column(name string) (Column, bool) {
	for _, column := range d.Columns {
		if column.Name == name {
			return column, true
		}
	}
	return Column{}, false
}

// SourceName is the source column that c is read from.
func (c Column) SourceName() string {
	if c.Source != "" {
		return c.Source
	}
	return c.Name
}

// Row is the column as sources and formats know it.
func (c Column) Row() row.Column {
	scale := -1
	if c.Scale != nil {
		scale = *c.Scale
	}
	return row.Column{Name: c.Name, Source: c.SourceName(), Kind: c.Kind, Scale: scale, Unit: c.Unit}
}

// Row is the source column as sources know it.
func (c SourceColumn) Row() row.Column {
	return row.Column{Name: c.Name, Source: c.Name, Kind: c.Kind, Scale: -1, Unit: c.Unit}
}

// Retention is how long a finished file is kept.
func (d Definition) Retention() time.Duration {
	return time.Duration(d.Limits.RetentionDays) * 24 * time.Hour
}

// Encode renders the definition as canonical JSON: fixed field order, no white space. The same contract gives the same
// bytes however its file is written.
func (d Definition) Encode() string {
	// Definition holds text, numbers and lists only and always marshals.
	text, _ := json.Marshal(d)
	return string(text)
}
