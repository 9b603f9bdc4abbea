package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sealift/shared/audit"
	"sealift/shared/row"
)

// reader decodes one row and remembers the first field that is not what it must be.
type reader struct {
	row  Fields
	what string
	err  error
}

// The codes of rows that can't be decoded. A row of another release is no fault of its job: one that can read it may take
// the work over, so its kind is Transient.
const (
	codeSchema    = "ledger_row_schema"
	codeMalformed = "ledger_row_malformed"
)

// Unreadable reports whether err is of a row that is there and can't be decoded by this release.
func Unreadable(err error) bool {
	code := CodeOf(err)
	return code == codeSchema || code == codeMalformed
}

func (r *reader) fail(field string) {
	if r.err == nil {
		r.err = Errorf(Permanent, codeMalformed, "%s: field %s is not of its type", r.what, field)
	}
}

func (r *reader) text(field string) string {
	value, present := r.row[field]
	if !present {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		r.fail(field)
	}
	return text
}

func (r *reader) number(field string) int64 {
	value, present := r.row[field]
	if !present {
		return 0
	}
	number, ok := value.(int64)
	if !ok {
		r.fail(field)
	}
	return number
}

func (r *reader) flag(field string) bool {
	value, present := r.row[field]
	if !present {
		return false
	}
	flag, ok := value.(bool)
	if !ok {
		r.fail(field)
	}
	return flag
}

func (r *reader) list(field string) []string {
	value, present := r.row[field]
	if !present {
		return nil
	}
	list, ok := value.([]string)
	if !ok {
		r.fail(field)
	}
	return list
}

func (r *reader) time(field string) time.Time {
	if millis := r.number(field); millis != 0 {
		return time.UnixMilli(millis).UTC()
	}
	return time.Time{}
}

func (r *reader) hex(field string, bits int) uint64 {
	text := r.text(field)
	if text == "" {
		return 0
	}
	number, err := strconv.ParseUint(text, 16, bits)
	if err != nil {
		r.fail(field)
	}
	return number
}

func (r *reader) json(field string, into any) {
	text := r.text(field)
	if text == "" || text == "null" {
		return // as null would leave it
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.fail(field)
	}
}

// key reads a key. The common one, a single plain text, needs no decoder.
func (r *reader) key(field string) row.Key {
	if text, plain := plainKey(r.text(field)); plain {
		return row.Key{text}
	}
	var key row.Key
	r.json(field, &key)
	return key
}

// plainKey is the text of a key of one column that is written without an escape.
func plainKey(encoded string) (text string, plain bool) {
	text, begins := strings.CutPrefix(encoded, `["`)
	text, ends := strings.CutSuffix(text, `"]`)
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return text, begins && ends
}

// noCounters is how counters are written that are all zero.
const noCounters = `{"nulls":0,"neutralised":0,"invalid_utf8":0,"masked":0}`

// counters reads counters, most of which are zero.
func (r *reader) counters(field string) Counters {
	var counters Counters
	if r.text(field) != noCounters {
		r.json(field, &counters)
	}
	return counters
}

func (r *reader) schema() {
	if schema := r.number(fieldSchema); schema != Schema && r.err == nil {
		r.err = Errorf(Transient, codeSchema, "%s: the row has schema %d, this release reads %d: "+
			"finish the deployment of the release that wrote it, or let its jobs end before going back", r.what, schema, Schema)
	}
}

// DecodeJob reads a job's row.
func DecodeJob(fields Fields) (Job, error) {
	r := &reader{row: fields, what: "job row"}
	r.schema()
	j := Job{
		ID:                r.text("job"),
		Tenant:            r.text("tenant"),
		Applicant:         r.text("applicant"),
		Definition:        r.text("definition"),
		DefinitionVersion: r.number("definition_version"),
		Lane:              Lane(r.text("lane")),
		State:             State(r.text(fieldState)),
		Version:           r.number("version"),
		Snapshot:          r.text("snapshot"),
		SnapshotDigest:    r.text("snapshot_digest"),
		RequestDigest:     r.text("request_digest"),
		CreatedAt:         r.time("created_at_ms"),
		UpdatedAt:         r.time("updated_at_ms"),
		StartedAt:         r.time("started_at_ms"),
		FinishedAt:        r.time("finished_at_ms"),
		Shards:            r.number("shards"),
		PlanGeneration:    r.number("plan_generation"),
		SourceIdentity:    r.text("source_identity"),
		RowsEstimated:     r.number("rows_estimated"),
		ShardsDone:        r.number("shards_done"),
		Rows:              r.number("rows"),
		Bytes:             r.number("bytes"),
		Publish: Publication{
			ArtifactKey: r.text("publish_key"),
			ReceiptKey:  r.text("publish_receipt_key"),
			Generation:  r.number("publish_generation"),
			At:          r.time("publish_at_ms"),
		},
		Artifact: Artifact{
			Key:              r.text("artifact_key"),
			ReceiptKey:       r.text("artifact_receipt_key"),
			ReceiptSHA256:    r.text("artifact_receipt_sha256"),
			ReceiptSignature: r.text("artifact_receipt_signature"),
			ETag:             r.text("artifact_etag"),
			Bytes:            r.number("artifact_bytes"),
			Rows:             r.number("artifact_rows"),
			CRC64:            r.hex("artifact_crc64", 64),
			Files:            r.number("artifact_files"),
			FilesBytes:       r.number("artifact_files_bytes"),
		},
		ExpiresAt:    r.time("expires_at_ms"),
		Retention:    time.Duration(r.number("retention_s")) * time.Second,
		DownloadsMax: r.number("downloads_max"),
		Downloads:    r.number("downloads"),
		RowsMax:      r.number("rows_max"),
		DueAt:        r.time(FieldDueAt),
		Nudges:       r.number("nudges"),
	}
	j.Ceiling = r.key("ceiling")
	j.Artifact.Counters = r.counters("artifact_counters")
	r.json("failure", &j.Failure)
	if r.err != nil {
		return Job{}, r.err
	}
	return j, nil
}

// Life is what a worker must know of its job between two batches.
type Life struct {
	State State
	// Rows are those of the shards that are done, RowsMax the most that the file may have, 0 for any number.
	Rows, RowsMax int64
}

// LifeFields are the fields of a job's row that DecodeLife reads: a few bytes, where the row has the snapshot too.
func LifeFields() []string { return []string{fieldSchema, fieldState, "rows", "rows_max"} }

// DecodeLife reads a job's row of which no more than LifeFields need be there.
func DecodeLife(fields Fields) (Life, error) {
	j, err := DecodeJob(fields)
	return Life{State: j.State, Rows: j.Rows, RowsMax: j.RowsMax}, err
}

// DecodeUnit reads a unit's row.
func DecodeUnit(fields Fields) (Unit, error) {
	r := &reader{row: fields, what: "unit row"}
	r.schema()
	u := Unit{
		Job:            r.text("job"),
		ID:             r.text("unit"),
		Tenant:         r.text("tenant"),
		Lane:           Lane(r.text("lane")),
		State:          UnitState(r.text(fieldState)),
		Generation:     r.number("generation"),
		Owner:          r.text("owner"),
		LeaseUntil:     r.time("lease_until_ms"),
		DueAt:          r.time(FieldDueAt),
		Nudges:         r.number("nudges"),
		Crashes:        r.number("crashes"),
		Faults:         r.number("faults"),
		PlanGeneration: r.number("plan_generation"),
		RowsEstimated:  r.number("rows_estimated"),
		Progress: Progress{
			Rows:      r.number("rows"),
			Bytes:     r.number("bytes"),
			RawBytes:  r.number("raw_bytes"),
			RawCRC32:  uint32(r.hex("raw_crc32", 32)),
			CRC64:     r.hex("crc64", 64),
			RowsHash:  r.hex("rows_hash", 64),
			PartCount: r.number("part_count"),
			Fragment:  r.text("fragment"),
			Exhausted: r.flag("exhausted"),
		},
		Upload: Upload{
			Key:        r.text("upload_key"),
			ID:         r.text("upload_id"),
			PartNumber: r.number("part_number"),
		},
		Object: StagedObject{
			Key:   r.text("object_key"),
			ETag:  r.text("object_etag"),
			Bytes: r.number("object_bytes"),
		},
		Scope: CleanScope(r.text("scope")),
	}
	r.json("range", &u.Range)
	u.Progress.Cursor = r.key("cursor")
	u.Progress.First = r.key("first")
	u.Progress.Counters = r.counters("counters")
	r.json("history", &u.History)
	r.json("failure", &u.Failure)
	for _, text := range r.list("parts") {
		part, err := decodePart(text)
		if err != nil {
			r.fail("parts")
			break
		}
		u.Progress.Parts = append(u.Progress.Parts, part)
	}
	if r.err != nil {
		return Unit{}, r.err
	}
	return u, nil
}

// DecodeEvent reads an audit row.
func DecodeEvent(fields Fields) (audit.Event, error) {
	r := &reader{row: fields, what: "audit row"}
	event := audit.Event{
		Job:     r.text("job"),
		Tenant:  r.text("tenant"),
		Action:  audit.Action(r.text("action")),
		Actor:   r.text("actor"),
		AtMilli: r.number("at_ms"),
		Version: r.number("version"),
		From:    r.text("from"),
		To:      r.text("to"),
		Reason:  r.text("reason"),
	}
	r.json("detail", &event.Detail)
	if r.err != nil {
		return audit.Event{}, r.err
	}
	return event, nil
}

// encodePart packs a part as number:bytes:crc64:etag, about 60 bytes, so that a long list fits its row.
func encodePart(p Part) string {
	return fmt.Sprintf("%d:%d:%016x:%s", p.Number, p.Bytes, p.CRC64, p.ETag)
}

func decodePart(text string) (Part, error) {
	pieces := strings.SplitN(text, ":", 4)
	if len(pieces) != 4 {
		return Part{}, Errorf(Permanent, codeMalformed, "a part has %d fields, not 4", len(pieces))
	}
	number, errNumber := strconv.ParseInt(pieces[0], 10, 64)
	size, errSize := strconv.ParseInt(pieces[1], 10, 64)
	crc, errCRC := strconv.ParseUint(pieces[2], 16, 64)
	if errNumber != nil || errSize != nil || errCRC != nil {
		return Part{}, Errorf(Permanent, codeMalformed, "a part's numbers are not numbers")
	}
	return Part{Number: number, Bytes: size, CRC64: crc, ETag: pieces[3]}, nil
}

// KeyBytes is how many bytes a key takes in a row. What JSON escapes takes more than it has: a quote, a backslash or a line
// break two bytes, another control character, U+2028 and U+2029 six.
func KeyBytes(key row.Key) int { return len(encodeJSON(key)) }

// encodeJSON leaves < > and & as they are, which no browser reads here: escaped, each would take six bytes of its row.
func encodeJSON(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Keys, ranges, counters, attempts and failures hold text and whole numbers only and always marshal.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}

func hex64(n uint64) string { return strconv.FormatUint(n, 16) }
