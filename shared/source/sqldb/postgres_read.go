package sqldb

import (
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// errRestTooLong ends a read whose batch is complete together with the connection.
var errRestTooLong = errors.New("the rest of the chunk is too long to be read")

// postgresReader fills one batch from one portal.
type postgresReader struct {
	source *postgresSource
	query  *row.Query
	// index maps every value of a batch row to the field it comes from.
	index []int
	// growth is how much larger a row's canonical text can be than what the server sends.
	growth int
	limit  source.Limit
	batch  *row.Batch
	utc    *zone
	// values are those of the current row.
	values  [][]byte
	scratch []byte
}

func newPostgresReader(s *postgresSource, q *row.Query, index []int, limit source.Limit, b *row.Batch) *postgresReader {
	return &postgresReader{source: s, query: q, index: index, limit: limit, batch: b, utc: utcZone(), growth: growth(q)}
}

// column is the column behind value i of a batch row.
func (r *postgresReader) column(i int) row.Column {
	if i < len(r.query.Columns) {
		return r.query.Columns[i]
	}
	return r.query.Key[i-len(r.query.Columns)]
}

// formats asks for text, and for binary where text would double the size.
func (r *postgresReader) formats() []int16 {
	var formats []int16
	for i, field := range r.index {
		for len(formats) <= field {
			formats = append(formats, pgproto3.TextFormat)
		}
		if r.column(i).Kind == row.Bytes {
			formats[field] = pgproto3.BinaryFormat
		}
	}
	return formats
}

// describe refuses a result whose types have changed since the catalogue was read.
func (r *postgresReader) describe(fields []pgproto3.FieldDescription) error {
	for i, field := range r.index {
		column := r.column(i)
		if t := r.source.table.typeOf(fields[field].DataTypeOID); !t.gives(column.Kind) {
			return mistyped(r.query, column, t.String(), typesGiving(column.Kind))
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
func (r *postgresReader) row(values [][]byte) (more bool, err error) {
	size := r.growth
	for _, field := range r.index {
		size += len(values[field])
	}
	r.values = values
	rows := r.batch.Rows()
	if rows == r.limit.Rows || rows > 0 && r.batch.Bytes()+size > r.limit.Bytes {
		return false, r.lookAhead(rows - 1)
	}
	if size > limits.RowBytesMax {
		return false, rowTooLarge(r.place(), size, limits.RowBytesMax)
	}
	for i, column := range r.query.Columns {
		if err := r.append(values[r.index[i]], column, r.source.zone, false); err != nil {
			return false, err
		}
	}
	for k, column := range r.query.Key {
		if err := r.append(r.keyValue(k), column, r.utc, true); err != nil {
			return false, err
		}
	}
	return true, refuseTwin(r.query, r.batch, rows)
}

func (r *postgresReader) append(value []byte, column row.Column, z *zone, key bool) error {
	wrong := faultNone
	switch {
	case value == nil && key:
		wrong = faultNull
	case value == nil:
		r.batch.AppendNull()
	default:
		r.batch.AppendFunc(func(dst []byte) []byte {
			dst, wrong = appendPostgres(dst, value, column.Kind, z)
			return dst
		})
	}
	if wrong != faultNone {
		return invalidValue(column, r.place(), wrong)
	}
	return nil
}

// lookAhead refuses the current row when it has the key of row last.
func (r *postgresReader) lookAhead(last int) error {
	for k, column := range r.query.Key {
		text, wrong := appendPostgres(r.scratch[:0], r.keyValue(k), column.Kind, r.utc)
		if wrong != faultNone {
			return invalidValue(column, r.place(), wrong)
		}
		r.scratch = text
		before, _ := r.batch.Value(last, len(r.query.Columns)+k)
		if string(before) != string(text) {
			return nil
		}
	}
	return keyNotUnique(r.query, r.batch.Key(last, len(r.query.Key)))
}

func (r *postgresReader) keyValue(k int) []byte { return r.values[r.index[len(r.query.Columns)+k]] }

// place names the current row by its key as the server writes it.
func (r *postgresReader) place() string {
	key := row.Key{}
	for k := range r.query.Key {
		key = append(key, string(r.keyValue(k)))
	}
	return placeAt(key)
}
