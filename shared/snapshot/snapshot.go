// Package snapshot owns the frozen intent of a job: what was asked for, normalised so that spelling does not matter,
// with everything the server chose, in one canonical form with one digest. Start reading at Freeze. It imports job,
// definition, policy, limits, row, and of the formats csv, whose options are a request's to choose.
package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/row"
)

// Snapshot is the frozen intent. Its canonical form is its JSON: fixed field order, lists sorted where order has no
// meaning, values in canonical text.
type Snapshot struct {
	Schema            int      `json:"schema"`
	Tenant            string   `json:"tenant"`
	Applicant         string   `json:"applicant"`
	Purpose           string   `json:"purpose"`
	Definition        string   `json:"definition"`
	DefinitionVersion int64    `json:"definition_version"`
	Columns           []Column `json:"columns"`
	Filters           []Wanted `json:"filters"`
	// Since and Until are the half-open business time: canonical text of the time column's kind. Until is the earlier
	// of what was asked for and the cutoff.
	Since string `json:"since"`
	Until string `json:"until"`
	// AsOf is the cutoff in business time, UTC.
	AsOf     string   `json:"as_of"`
	Order    []string `json:"order"`
	Zone     string   `json:"zone"`
	Format   Format   `json:"format"`
	Layout   Layout   `json:"layout"`
	FileName string   `json:"file_name"`
	Policy   string   `json:"policy"`
}

// Layout is how the rows are spread over files.
type Layout string

// The layouts.
const (
	// LayoutFile is one file; the default.
	LayoutFile Layout = "file"
	// LayoutFiles is one file for each shard that has rows, and a manifest that lists them.
	LayoutFiles Layout = "files"
)

// Column is one column of the file with the mask it carries.
type Column struct {
	Name string              `json:"name"`
	Kind row.Kind            `json:"kind"`
	Mask definition.MaskKind `json:"mask,omitempty"`
	// Scale is the definition's, for formats with typed decimals; nil leaves it to the source.
	Scale *int `json:"scale,omitempty"`
	// Width and AsText are for workbooks.
	Width  int  `json:"width,omitempty"`
	AsText bool `json:"as_text,omitempty"`
}

// Wanted is a filter in canonical text.
type Wanted struct {
	Column string   `json:"column"`
	Op     row.Op   `json:"op"`
	Values []string `json:"values,omitempty"`
}

// sorted has each value once, in order; no op tells another order from it.
func (w Wanted) sorted() Wanted {
	slices.Sort(w.Values)
	w.Values = slices.Compact(w.Values)
	return w
}

// sorted has each filter once, in order.
func sorted(filters []Wanted) []Wanted {
	slices.SortFunc(filters, func(a, b Wanted) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Op, b.Op), slices.Compare(a.Values, b.Values))
	})
	return slices.CompactFunc(filters, func(a, b Wanted) bool {
		return a.Column == b.Column && a.Op == b.Op && slices.Equal(a.Values, b.Values)
	})
}

// Format is how the file is written, with every default filled in.
type Format struct {
	Type        string `json:"type"`
	Compression string `json:"compression"`
	Delimiter   string `json:"delimiter,omitempty"`
	Quote       string `json:"quote,omitempty"`
	LineEnd     string `json:"line_end,omitempty"`
	Header      bool   `json:"header,omitempty"`
	BOM         bool   `json:"bom,omitempty"`
	Null        string `json:"null,omitempty"`
	Guard       bool   `json:"guard,omitempty"`
	InvalidUTF8 string `json:"invalid_utf8"`
	// Encoding is empty for UTF-8, which all formats but CSV always are; Unencodable is for the others.
	Encoding    string `json:"encoding,omitempty"`
	Unencodable string `json:"unencodable,omitempty"`
	// LongText is for workbooks.
	LongText string `json:"long_text,omitempty"`
}

// Encode renders the canonical form.
func (s Snapshot) Encode() string {
	// Snapshot holds text, numbers and lists only and always marshals.
	text, _ := json.Marshal(s)
	return string(text)
}

// Digest is the SHA-256 of the canonical form, in hex.
func (s Snapshot) Digest() string { return digest(s.Encode()) }

// RequestDigest is the digest of what the applicant decided: the snapshot without what the server chose for it (the
// cutoff, when none was asked for, and the versions of definition and policy). An Idempotency-Key is bound to it
// beside the request's AskedDigest: it knows that a default spelled out is the same request, for as long as the definition
// and the applicant's rights stay as they are.
func (s Snapshot) RequestDigest(request Request) string {
	s.DefinitionVersion, s.Policy = 0, ""
	if request.AsOf == "" {
		s.AsOf, s.Until = "", request.Span.To
		if instant, err := parseInstant(request.Span.To); err == nil {
			s.Until = instant
		}
	}
	if request.FileName == "" {
		s.FileName = ""
	}
	return digest(s.Encode())
}

// Masks lists the mask that each column of the file carries, by name.
func (s Snapshot) Masks() map[string]definition.MaskKind {
	masks := make(map[string]definition.MaskKind, len(s.Columns))
	for _, column := range s.Columns {
		masks[column.Name] = column.Mask
	}
	return masks
}

// Parse reads the canonical form back.
func Parse(text string) (Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Snapshot{}, &job.Error{Kind: job.Permanent, Code: "snapshot_malformed", Detail: "the export's snapshot can't be read", Err: err}
	}
	if s.Schema != 1 {
		return Snapshot{}, job.Errorf(job.Permanent, "snapshot_schema", "the export's snapshot has schema %d; this release reads 1", s.Schema)
	}
	return s, nil
}

// Query is what the source is asked, built from the snapshot and the definition version it is pinned to.
func (s Snapshot) Query(d definition.Definition, ceiling row.Key) (row.Query, error) {
	q := row.Query{
		Table:        d.Source.Table,
		TenantColumn: d.Source.TenantColumn.Row(),
		Tenant:       s.Tenant,
		TimeColumn:   d.Source.TimeColumn.Row(),
		Since:        s.Since,
		Until:        s.Until,
		Ceiling:      ceiling,
		Zone:         s.Zone,
	}
	for _, key := range d.Source.Key {
		q.Key = append(q.Key, key.Row())
	}
	for _, column := range s.Columns {
		defined, ok := d.Column(column.Name)
		if !ok {
			return row.Query{}, job.Errorf(job.Permanent, "definition_mismatch",
				"definition %s version %d has no column %q that the snapshot names", d.Name, s.DefinitionVersion, column.Name)
		}
		q.Columns = append(q.Columns, defined.Row())
	}
	for _, filter := range s.Filters {
		defined, ok := d.Column(filter.Column)
		if !ok {
			return row.Query{}, job.Errorf(job.Permanent, "definition_mismatch",
				"definition %s version %d has no column %q that a filter names", d.Name, s.DefinitionVersion, filter.Column)
		}
		q.Filters = append(q.Filters, row.Filter{Column: defined.Row(), Op: filter.Op, Values: filter.Values})
	}
	return q, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func formatTime(kind row.Kind, at time.Time, zone *time.Location) string {
	switch kind {
	case row.Date:
		return at.In(zone).Format(time.DateOnly)
	case row.DateTime:
		local := at.In(zone)
		if startsDay(local) {
			// A column without zone may hold a midnight that the zone's clocks left out, and it is of the day too.
			return local.Format(time.DateOnly) + "T00:00:00"
		}
		return local.Format("2006-01-02T15:04:05.999999999")
	case row.Timestamp, row.String, row.Int64, row.Decimal, row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return at.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
}
