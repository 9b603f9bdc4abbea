package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Fault is one thing that is wrong with a definition: where (a JSON pointer), what, and what is allowed.
type Fault struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`

	// meant is the pointer of the field that an unknown one was probably meant for, and whose absence is no other fault.
	meant string
}

// at reports whether the fault says all about the pointer: it is there, around it, or where what is there was meant to be.
func (f Fault) at(pointer string) bool {
	return within(pointer, f.Pointer) || f.meant != "" && within(pointer, f.meant)
}

func within(pointer, around string) bool {
	return pointer == around || strings.HasPrefix(pointer, around+"/")
}

// Faults are all that is wrong with a definition, in the order of its fields.
type Faults []Fault

// Error lists every fault on a line of its own.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Pointer + ": " + fault.Detail
	}
	return strings.Join(lines, "\n")
}

// Decode reads a definition from JSON, refuses unknown fields, fills in defaults and validates it. A faulty definition
// gives a *job.Error of kind Invalid whose cause is Faults: those of its shape first, then those of its values, except
// what a fault of shape has left without a value.
func Decode(text []byte) (Definition, error) {
	d, shape, err := read(text)
	if err != nil {
		return Definition{}, err
	}
	d.fillIn()
	faults := shape
	for _, fault := range d.validate() {
		if !shape.cover(fault.Pointer) {
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return Definition{}, invalid(faults)
	}
	return d, nil
}

// read reads a definition and lists what is wrong with its shape. What Encode has written, as the ledger keeps it, needs no
// second look: a text that is the canonical one of what was read has no unknown field, none twice and none of another
// type.
func read(text []byte) (d Definition, shape Faults, err error) {
	if json.Unmarshal(text, &d) == nil && d.Encode() == string(text) {
		return d, nil, nil
	}
	d = Definition{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	s := &shaper{decoder: decoder}
	tree := s.value("", reflect.TypeFor[Definition]())
	if s.err == nil {
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return Definition{}, nil, invalid(Faults{{Detail: "there is more text after the definition"}})
		}
		var shaped []byte
		if shaped, s.err = json.Marshal(tree); s.err == nil {
			s.err = json.Unmarshal(shaped, &d)
		}
	}
	if s.err != nil {
		return Definition{}, nil, invalid(append(s.faults, Fault{Detail: describe(s.err)}))
	}
	return d, s.faults, nil
}

func invalid(faults Faults) error {
	return &job.Error{Kind: job.Invalid, Code: "definition_invalid", Field: faults[0].Pointer,
		Detail: "the definition has faults", Err: faults}
}

func describe(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the definition ends in the middle of its JSON; send the whole object"
	}
	return "the definition is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

// cover reports whether a fault is at the pointer or around it.
func (f Faults) cover(pointer string) bool {
	return slices.ContainsFunc(f, func(fault Fault) bool { return fault.at(pointer) })
}

func (d *Definition) fillIn() {
	if d.Schema == 0 {
		d.Schema = 1
	}
	if d.Lane == "" {
		d.Lane = job.Bulk
	}
	if d.InvalidUTF8 == "" {
		d.InvalidUTF8 = "fail"
	}
	if len(d.Compressions) == 0 {
		d.Compressions = []string{"gzip", "none", "zstd"}
	}
	if len(d.Formats) == 0 {
		d.Formats = []string{"csv", "jsonl"}
	}
	d.LongText.quiet()
	d.Unencodable.quiet()
	defaultInt(&d.Limits.SpanDaysMax, 366)
	defaultInt(&d.Limits.RetentionDays, 7)
	defaultInt(&d.Limits.LinkSecondsMax, 300)
	defaultInt(&d.Limits.ActiveJobsMax, 10)
	defaultInt(&d.Limits.DownloadsMax, 100)
	defaultInt(&d.Limits.ShardRows, limits.ShardRows)
}

func defaultInt[N int | int64](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

// checker gathers faults.
type checker struct{ faults Faults }

func (c *checker) must(ok bool, pointer, format string, args ...any) {
	if ok {
		return
	}
	detail := fmt.Sprintf(format, args...)
	if rest, empty := strings.CutPrefix(detail, `is ""`); empty {
		detail = "is missing" + rest
	}
	c.faults = append(c.faults, Fault{Pointer: pointer, Detail: detail})
}

func (d Definition) validate() Faults {
	c := &checker{}
	c.must(d.Schema == 1, "/schema", "is %d; this release reads 1", d.Schema)
	c.must(ValidName(d.Name), "/name", "is %q; "+NameHelp, d.Name)
	c.must(d.Lane == job.Bulk || d.Lane == job.Realtime, "/lane", "is %q; allowed are %q and %q", d.Lane, job.Bulk, job.Realtime)
	c.must(d.InvalidUTF8 == "fail" || d.InvalidUTF8 == "replace", "/invalid_utf8", "is %q; allowed are fail and replace", d.InvalidUTF8)
	c.must(d.Consistency.Kind == "cutoff", "/consistency/kind", "is %q; a table can give cutoff", d.Consistency.Kind)
	c.must(d.Consistency.Promise != "", "/consistency/promise", "is missing; say what later updates and deletes do to the file")
	d.validateFormats(c)
	d.validateSource(c)
	d.validateColumns(c)
	d.validateUnits(c)
	d.validateLimits(c)
	return c.faults
}

func (d Definition) validateColumns(c *checker) {
	c.must(len(d.Columns) > 0, "/columns", "is empty; list what may be exported")
	c.must(len(d.Columns) <= limits.ColumnsMax, "/columns", "has %d columns; at most %d", len(d.Columns), limits.ColumnsMax)
	seen := map[string]bool{}
	for i, column := range d.Columns {
		where := at("/columns", i)
		c.must(column.Name != "", where+"/name", "is missing")
		c.must(column.Name == "" || !seen[column.Name], where+"/name", "is %q, as another column's", column.Name)
		seen[column.Name] = true
		c.must(column.Kind.Valid(), where+"/kind", "is %q; allowed are %s", column.Kind, listed(row.Kinds()))
		if column.Scale != nil {
			c.must(column.Kind == row.Decimal && *column.Scale >= 0, where+"/scale", "is %d; only decimal columns have a scale, from 0 up", *column.Scale)
		}
		column.validateLook(c, where)
		for k, op := range column.Ops {
			c.must(!slices.Contains(row.Ops(), op) || slices.Contains(opsOf(column.Kind), op), at(where+"/filter", k), "is %q; a column of kind %s allows %s", op, column.Kind, listed(opsOf(column.Kind)))
			c.must(slices.Contains(row.Ops(), op), at(where+"/filter", k), "is %q; allowed are %s", op, listed(row.Ops()))
		}
		for k, key := range d.Source.Key {
			c.must(!strings.EqualFold(key.Name, column.SourceName()) || (column.Mask == nil && len(column.Roles) == 0), at("/source/key", k)+"/name",
				"is %q, whose values column %s masks or restricts; receipts and messages show keys, so a key must be open to everybody who may ask", key.Name, column.Name)
		}
		if column.Mask == nil {
			continue
		}
		switch column.Mask.Kind {
		case MaskNull:
		case MaskRedact, MaskLast4:
			c.must(column.Kind == row.String, where+"/mask/kind", "is %q, which is for string columns; use null", column.Mask.Kind)
		default:
			c.must(false, where+"/mask/kind", "is %q; allowed are null, redact and last4", column.Mask.Kind)
		}
	}
}

func (d Definition) validateLimits(c *checker) {
	bounds := []struct {
		name       string
		value      int64
		least, top int64
	}{
		{"span_days_max", int64(d.Limits.SpanDaysMax), 1, 36_600},
		{"rows_max", d.Limits.RowsMax, 0, 1 << 50},
		{"active_jobs_max", d.Limits.ActiveJobsMax, 1, 10_000},
		{"downloads_max", d.Limits.DownloadsMax, 1, 1_000_000},
		{"retention_days", int64(d.Limits.RetentionDays), 1, 3650},
		{"shard_rows", d.Limits.ShardRows, 1_000, 100_000_000},
		{"link_seconds_max", int64(d.Limits.LinkSecondsMax), 30, 3600},
	}
	c.must(d.Consistency.SettleSeconds >= 0 && d.Consistency.SettleSeconds <= settleSecondsMax, "/consistency/settle_seconds",
		"is %d; allowed are 0 to %d", d.Consistency.SettleSeconds, settleSecondsMax)
	for _, bound := range bounds {
		c.must(bound.value >= bound.least && bound.value <= bound.top, "/limits/"+bound.name,
			"is %d; allowed are %d to %d", bound.value, bound.least, bound.top)
	}
}

// settleSecondsMax is a day.
const settleSecondsMax = 86_400

// listed joins words with commas.
func listed[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

func at(pointer string, index int) string { return fmt.Sprintf("%s/%d", pointer, index) }
