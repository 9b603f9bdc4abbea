package job

import (
	"fmt"
	"time"
)

// DefinitionRecord is one applied version of a definition as the ledger holds it.
type DefinitionRecord struct {
	Name    string
	Version int64
	Digest  string
	Body    string
	Applied time.Time
	Actor   string
}

// DefinitionsPK is the partition that holds the newest version of every definition, one row each, by name.
const DefinitionsPK = "DEFINITIONS"

// DefinitionHeadKey is the row of a definition's newest version.
func DefinitionHeadKey(name string) RowKey { return RowKey{PK: DefinitionsPK, SK: name} }

// DefinitionKey is the row of one version of a definition.
func DefinitionKey(name string, version int64) RowKey {
	return RowKey{PK: "DEF#" + name, SK: fmt.Sprintf("V#%010d", version)}
}

// ApplyDefinition writes the next version of a definition and moves the head to it. previous is the head as read, zero
// when there is none; the change is refused if the head has moved since. Versions are never rewritten.
func ApplyDefinition(previous, next DefinitionRecord) Change {
	set := []Field{
		{fieldSchema, int64(Schema)},
		{"name", next.Name},
		{"version", next.Version},
		{"digest", next.Digest},
		{"body", next.Body},
		{"applied_at_ms", next.Applied.UnixMilli()},
		{"actor", next.Actor},
	}
	applied := []Guard{equal("version", next.Version), equal("digest", next.Digest)}
	head := []Guard{absent()}
	if previous.Version > 0 {
		head = []Guard{equal("version", previous.Version)}
	}
	return Change{name: "apply_definition", writes: []Write{
		{Key: DefinitionHeadKey(next.Name), Insert: true, Guards: head, Set: set, Applied: applied},
		{Key: DefinitionKey(next.Name, next.Version), Insert: true, Guards: []Guard{absent()}, Set: set, Applied: applied},
	}}
}

// DecodeDefinitionRecord reads a definition's row.
func DecodeDefinitionRecord(fields Fields) (DefinitionRecord, error) {
	r := &reader{row: fields, what: "definition row"}
	r.schema()
	record := DefinitionRecord{
		Name:    r.text("name"),
		Version: r.number("version"),
		Digest:  r.text("digest"),
		Body:    r.text("body"),
		Applied: r.time("applied_at_ms"),
		Actor:   r.text("actor"),
	}
	return record, r.err
}

// SweepKey is the row that remembers how far a scan of the store has come.
func SweepKey(scan string) RowKey { return RowKey{PK: "SWEEP", SK: scan} }

// SaveSweep moves a scan's position, unless another sweeper has moved it since it was read.
func SaveSweep(scan, was, now string) Change {
	guard := Guard{Field: "position", Test: IsAbsentOrIs, Values: []Value{was}}
	return Change{name: "save_sweep", writes: []Write{{
		Key: SweepKey(scan), Guards: []Guard{guard},
		Set:     []Field{{fieldSchema, int64(Schema)}, {"position", now}},
		Applied: []Guard{equal("position", now)},
	}}}
}

// SweepPosition reads the row of SaveSweep; empty is the beginning.
func SweepPosition(fields Fields) string {
	position, _ := fields["position"].(string)
	return position
}
