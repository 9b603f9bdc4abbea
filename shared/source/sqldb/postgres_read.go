package sqldb

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// errRowUnreadable ends a read together with the connection, which has lost its order.
var errRowUnreadable = errors.New("the server sent a row of another shape than the one that it described")

// errOutOfOrder ends it where a message comes that isn't due.
var errOutOfOrder = errors.New("the server sent a message that isn't due")

// errRestTooLong ends a read whose batch is complete together with the connection.
var errRestTooLong = errors.New("the rest of the chunk is too long to be read")

// postgresReader fills one batch from one portal.
type postgresReader struct {
	source *postgresSource
	query  *row.Query
	// index maps every value of a batch row to the field it comes from.
	index []int
	// steps are what becomes of each field, one for every value of a batch row.
	steps []postgresStep
	// growth is how much larger a row's canonical text can be than what the server sends.
	growth int
	limit  source.Limit
	batch  *row.Batch
	utc    *zone
	// body is the current row as the server sent it, and fields where its values stand in it.
	body    []byte
	fields  []row.Span
	scratch []byte

	sequence sequence
}

// postgresStep makes one value of a batch row.
type postgresStep struct {
	how   postgresHow
	key   bool
	field int
	// earlier is the value of the row that a repeated one is equal to.
	earlier int
	kind    row.Kind
	zone    *zone
	// clock makes the text of a time.
	clock *clock
}

// postgresHow is the shortest way to a value's canonical text.
type postgresHow uint8

const (
	// converted is what appendPostgres does.
	converted postgresHow = iota
	// verbatim is the server's text, which is canonical and stays where it is.
	verbatim
	// repeated is what an earlier value of the row has become.
	repeated
	// timed is a time, which the server sends as a number: to write it as text costs it more than anything else in a row.
	timed
)

func newPostgresReader(s *postgresSource, q *row.Query, index []int, limit source.Limit, b *row.Batch) *postgresReader {
	r := &postgresReader{source: s, query: q, index: index, limit: limit, batch: b, utc: utcZone(), growth: growth(q), sequence: newSequence(q)}
	r.steps = make([]postgresStep, len(index))
	fields := 0
	for i, field := range index {
		r.steps[i] = r.step(i)
		fields = max(fields, field+1)
	}
	r.fields = make([]row.Span, fields)
	return r
}

// step decides how value i of a batch row is made.
func (r *postgresReader) step(i int) postgresStep {
	s := postgresStep{field: r.index[i], kind: r.column(i).Kind, zone: r.source.zone}
	if s.key = i >= len(r.query.Columns); s.key {
		s.zone = r.utc
	}
	switch s.kind {
	case row.String, row.JSON, row.Bytes, row.Int64, row.Float64:
		s.how = verbatim
	case row.Timestamp, row.DateTime, row.Date:
		s.how, s.clock = timed, newClock(s.kind, s.zone)
	case row.Decimal, row.Bool:
	}
	if s.how == verbatim {
		return s
	}
	for k, earlier := range r.steps[:i] {
		if earlier.field == s.field && earlier.kind == s.kind && earlier.zone.location == s.zone.location {
			s.how, s.earlier = repeated, k
			break
		}
	}
	return s
}

// column is the column behind value i of a batch row.
func (r *postgresReader) column(i int) row.Column {
	if i < len(r.query.Columns) {
		return r.query.Columns[i]
	}
	return r.query.Key[i-len(r.query.Columns)]
}

// formats asks for text, and for binary where text would double the size or cost the server much.
func (r *postgresReader) formats() []int16 {
	var formats []int16
	for i, field := range r.index {
		for len(formats) <= field {
			formats = append(formats, pgproto3.TextFormat)
		}
		if kind := r.column(i).Kind; kind == row.Bytes || timely(kind) {
			formats[field] = pgproto3.BinaryFormat
		}
	}
	return formats
}

// describe refuses a result whose types have changed since the catalogue was read.
func (r *postgresReader) describe(fields []pgproto3.FieldDescription) error {
	if len(fields) != len(r.fields) {
		return errRowUnreadable
	}
	for i, field := range r.index {
		column := r.column(i)
		if t := r.source.table.typeOf(fields[field].DataTypeOID); !t.gives(column.Kind) {
			return mistyped(r.query, misfit{column, t.String(), typesGiving(column.Kind)})
		}
	}
	return nil
}

// roomRows is how many more rows to ask for: those that should fill the batch and one to look at. A size of 0 means
// the mean so far.
func (r *postgresReader) roomRows(size int) int {
	rows := r.batch.Rows()
	if size == 0 {
		size = max(1, r.batch.Bytes()/max(1, rows))
	}
	return max(1, min(r.limit.Rows-rows, (r.limit.Bytes-r.batch.Bytes())/size)+1)
}

// row takes one row. The row behind a full batch is only looked at: with the same key as its predecessor it would be
// lost behind the cursor.
func (r *postgresReader) row(body []byte) (more bool, err error) {
	if !r.parse(body) {
		return false, errRowUnreadable
	}
	size := r.growth
	for _, field := range r.index {
		size += r.fields[field].Len()
	}
	rows := r.batch.Rows()
	if rows == r.limit.Rows || rows > 0 && r.batch.Bytes()+size > r.limit.Bytes {
		return false, r.lookAhead(rows - 1)
	}
	if size > limits.RowBytesMax {
		return false, rowTooLarge(r.place(), size, limits.RowBytesMax)
	}
	if at, wrong := r.fill(); wrong != faultNone {
		return false, invalidValue(r.column(at), r.place(), wrong)
	}
	return true, r.sequence.next(r.batch, rows)
}

// parse finds the values in the body of a DataRow message: how many there are in two bytes, then each behind its length
// in four, which is -1 for NULL (PostgreSQL documentation, "Message Formats").
func (r *postgresReader) parse(body []byte) bool {
	const count, length = 2, 4
	if len(body) < count || int(binary.BigEndian.Uint16(body)) != len(r.fields) {
		return false
	}
	r.body = body
	at := count
	for i := range r.fields {
		if len(body)-at < length {
			return false
		}
		size := int(int32(binary.BigEndian.Uint32(body[at:])))
		at += length
		if size == -1 {
			r.fields[i] = 0
			continue
		}
		if size < 0 || len(body)-at < size {
			return false
		}
		r.fields[i] = row.At(at, at+size)
		at += size
	}
	return at == len(body)
}

// value is that of a field of the current row; nil is NULL.
func (r *postgresReader) value(field int) []byte {
	if span := r.fields[field]; !span.Null() {
		return span.Of(r.body)
	}
	return nil
}

// fill appends the current row to the batch, whole or not at all; at is the value that can't be. The row goes into the
// arena as it came, and most values stay where they stand in it.
func (r *postgresReader) fill() (at int, wrong fault) {
	arena, all := r.batch.Lend()
	start, first, size := len(arena), len(all), 0
	arena = append(arena, r.body...)
	all = slices.Grow(all, len(r.steps))[:first+len(r.steps)]
	spans := all[first:]
	for i := range r.steps {
		step := &r.steps[i]
		span := r.fields[step.field]
		if span.Null() {
			if step.key {
				return i, faultNull
			}
			spans[i] = span
			continue
		}
		switch step.how {
		case verbatim:
			span = span.Shift(start)
		case repeated:
			span = spans[step.earlier]
		case timed:
			from := len(arena)
			var ok bool
			if arena, ok = step.clock.append(arena, span.Of(r.body)); !ok {
				return i, faultYear
			}
			span = row.At(from, len(arena))
		case converted:
			from := len(arena)
			if arena, wrong = appendPostgres(arena, span.Of(r.body), step.kind, step.zone); wrong != faultNone {
				return i, wrong
			}
			span = row.At(from, len(arena))
		}
		spans[i] = span
		size += span.Len()
	}
	r.batch.Return(arena, all, size)
	return 0, faultNone
}

// lookAhead refuses the current row when it has the key of row last, or belongs before it.
func (r *postgresReader) lookAhead(last int) error {
	for k, column := range r.query.Key {
		text, wrong := r.appendKey(r.scratch[:0], k)
		if wrong != faultNone {
			return invalidValue(column, r.place(), wrong)
		}
		r.scratch = text
		if same, err := r.sequence.ahead(r.batch, last, k, text, r.place); !same {
			return err
		}
	}
	return keyNotUnique(r.query, r.batch.Key(last, len(r.query.Key)))
}

// appendKey writes value k of the current row's key.
func (r *postgresReader) appendKey(dst []byte, k int) ([]byte, fault) {
	at := len(r.query.Columns) + k
	value, c := r.value(r.index[at]), newClock(r.query.Key[k].Kind, r.utc)
	switch {
	case value == nil:
		return dst, faultNull
	case c == nil:
		return appendPostgres(dst, value, r.query.Key[k].Kind, r.utc)
	}
	text, ok := c.append(dst, value)
	if !ok {
		return dst, faultYear
	}
	return text, faultNone
}

// place names the current row by its key, also by times that can't be read.
func (r *postgresReader) place() string {
	key := row.Key{}
	for k, column := range r.query.Key {
		text, wrong := r.appendKey(nil, k)
		c := newClock(column.Kind, r.utc)
		switch {
		case wrong == faultNone:
			key = append(key, string(text))
		case wrong == faultYear && c != nil:
			key = append(key, c.name(r.value(r.index[len(r.query.Columns)+k])))
		default:
			key = append(key, unread)
		}
	}
	return placeAt(key)
}
