package pipeline

import (
	"encoding/json"
	"fmt"

	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// Receipt is what a receiver verifies a file against.
type Receipt struct {
	Schema            int              `json:"schema"`
	Job               string           `json:"job"`
	Tenant            string           `json:"tenant"`
	Definition        string           `json:"definition"`
	DefinitionVersion int64            `json:"definition_version"`
	SnapshotDigest    string           `json:"snapshot_sha256"`
	Snapshot          json.RawMessage  `json:"snapshot"`
	Watermark         Watermark        `json:"watermark"`
	Columns           []ReceiptColumn  `json:"columns"`
	Rows              int64            `json:"rows"`
	Bytes             int64            `json:"bytes"`
	RowsHash          string           `json:"rows_xxh64_sum"`
	Fidelity          map[string]int64 `json:"fidelity"`
	Nulls             string           `json:"null_rendering"`
	Files             []ReceiptFile    `json:"files"`
	// Signature is a JWS with detached payload, which is the receipt without this field; see package signature.
	Signature string `json:"signature,omitempty"`
}

// Watermark is the cutoff of the frozen set.
type Watermark struct {
	AsOf    string  `json:"as_of"`
	Ceiling row.Key `json:"ceiling"`
}

// ReceiptColumn is a column with its type and mask.
type ReceiptColumn struct {
	Name string   `json:"name"`
	Kind row.Kind `json:"kind"`
	Mask string   `json:"mask,omitempty"`
}

// ReceiptFile is one file and the segments it consists of; the key ranges of all files' segments tile the key space in
// order. A segment without rows may have no bytes in a file and still stand for its range.
type ReceiptFile struct {
	// Number is the file's when there are many, from 1.
	Number   int              `json:"number,omitempty"`
	Name     string           `json:"name"`
	Rows     int64            `json:"rows"`
	Bytes    int64            `json:"bytes"`
	CRC64    string           `json:"crc64nvme"`
	Keys     KeyRange         `json:"keys"`
	Segments []ReceiptSegment `json:"segments"`
}

// KeyRange is the first and last key found.
type KeyRange struct {
	First row.Key `json:"first"`
	Last  row.Key `json:"last"`
}

// ReceiptSegment is one shard's share of a file.
type ReceiptSegment struct {
	Unit     string    `json:"unit"`
	Range    row.Range `json:"range"`
	Keys     KeyRange  `json:"keys"`
	Rows     int64     `json:"rows"`
	Offset   int64     `json:"offset"`
	Bytes    int64     `json:"bytes"`
	CRC64    string    `json:"crc64nvme"`
	RowsHash string    `json:"rows_xxh64_sum"`
}

func newReceipt(j job.Job, snap snapshot.Snapshot, w whole, files []filed) Receipt {
	r := Receipt{
		Schema: 1, Job: j.ID, Tenant: j.Tenant, Definition: j.Definition, DefinitionVersion: j.DefinitionVersion,
		SnapshotDigest: j.SnapshotDigest, Snapshot: json.RawMessage(j.Snapshot),
		Watermark: Watermark{AsOf: snap.AsOf, Ceiling: j.Ceiling},
		Rows:      w.rows, RowsHash: hash(w.rowsHash),
		Fidelity: Fidelity(w.counters),
		Nulls:    NullRendering(snap),
	}
	for _, column := range snap.Columns {
		r.Columns = append(r.Columns, ReceiptColumn{Name: column.Name, Kind: column.Kind, Mask: string(column.Mask)})
	}
	for _, f := range files {
		r.Bytes += f.bytes
		r.Files = append(r.Files, receiptFile(f))
	}
	return r
}

func receiptFile(f filed) ReceiptFile {
	file := ReceiptFile{Number: f.number, Name: f.name, Rows: f.rows, Bytes: f.bytes, CRC64: f.crc64.Base64()}
	for _, p := range f.pieces {
		if p.rows > 0 {
			if file.Keys.First == nil {
				file.Keys.First = p.first
			}
			file.Keys.Last = p.last
		}
		file.Segments = append(file.Segments, ReceiptSegment{
			Unit: p.unit, Range: p.keys, Keys: KeyRange{First: p.first, Last: p.last}, Rows: p.rows,
			Offset: p.offset, Bytes: p.object.Bytes, CRC64: p.crc64.Base64(), RowsHash: hash(p.rowsHash),
		})
	}
	return file
}

// Fidelity names what was done to values, for receipts and people: how many values each. What only some formats can do
// is named when it was done.
func Fidelity(c job.Counters) map[string]int64 {
	counts := map[string]int64{
		"nulls": c.Nulls, "neutralised": c.Neutralised, "invalid_utf8_replaced": c.InvalidUTF8, "masked": c.Masked,
	}
	for name, count := range map[string]int64{
		"numbers_as_text": c.NumbersAsText, "times_as_text": c.TimesAsText, "escaped": c.Escaped,
		"characters_replaced": c.Replaced, "truncated": c.Truncated,
	} {
		if count > 0 {
			counts[name] = count
		}
	}
	return counts
}

// Encode renders the receipt; the same receipt always gives the same bytes.
func (r Receipt) Encode() []byte {
	// A receipt holds text, numbers and lists only, and a snapshot that was read as JSON; it always marshals.
	text, _ := json.MarshalIndent(r, "", "  ")
	return append(text, '\n')
}

func hash(sum uint64) string { return fmt.Sprintf("%016x", sum) }

// ReceiptName is the name of an export's file by its number, which is 0 for the one file of an export that has only one.
func ReceiptName(snap snapshot.Snapshot, number int) string {
	if number == 0 {
		return snap.FileName
	}
	return numberedName(snap.FileName, format.Extension(FileSpec(snap, 0)), number)
}

// NullRendering says how NULL is told from a value.
func NullRendering(snap snapshot.Snapshot) string {
	switch snap.Format.Type {
	case "jsonl":
		return "null"
	case "xlsx":
		return "empty cell; empty text is a cell with text of no characters"
	case "parquet":
		return "null"
	}
	return fmt.Sprintf("unquoted %q; text equal to it is quoted", snap.Format.Null)
}
