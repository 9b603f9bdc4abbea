package sqldb

import (
	"slices"
	"strings"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// fields is the select list, and for every value of a batch row the field it comes from. A FLOAT, or a
// DOUBLE of declared digits, is asked for as the DOUBLE of the same value, because the server writes it rounded. Behind them
// is the loss field, if any.
func (s *mysqlSource) fields(q *row.Query) (list string, index []int) {
	list, index = fields(q)
	for _, column := range q.Columns {
		if s.table.typeOf(column).rounded() {
			name := quoteColumn(column)
			list = strings.Replace(", "+list+", ", ", "+name+", ", ", ("+name+" + 0e0), ", 1)
			list = list[2 : len(list)-2]
		}
	}
	if loss := s.table.lossField(q.Columns); loss != "" {
		list += ", " + loss
	}
	return list, index
}

// mysqlReader fills one batch from one statement.
type mysqlReader struct {
	source *mysqlSource
	query  *row.Query
	// index maps every value of a batch row to the field it comes from, types to its column's type.
	index []int
	types []mysqlType
	// loss is the loss field, -1 when there is none.
	loss int
	// growth is how much larger a row's canonical text can be than what the server sends.
	growth int
	limit  source.Limit
	batch  *row.Batch
	utc    *zone
	// values are those of the current row.
	values [][]byte
	// full says that the batch takes no more rows.
	full bool
	// from is where the range begins, after the key behind which it is read.
	from, after row.Key
	sequence    sequence
}

func newMySQLReader(s *mysqlSource, q *row.Query, index []int, limit source.Limit, b *row.Batch) *mysqlReader {
	r := &mysqlReader{source: s, query: q, index: index, limit: limit, batch: b, utc: utcZone(), loss: -1, growth: growth(q), sequence: s.sequence(q)}
	for i := range index {
		t := s.table.typeOf(r.column(i))
		r.types = append(r.types, t)
		if t.class == classBit {
			r.growth += t.bits
		}
	}
	if s.table.lossField(q.Columns) != "" {
		r.loss = slices.Max(index) + 1
	}
	return r
}

// column is the column behind value i of a batch row.
func (r *mysqlReader) column(i int) row.Column {
	if i < len(r.query.Columns) {
		return r.query.Columns[i]
	}
	return r.query.Key[i-len(r.query.Columns)]
}

// describe refuses a result whose types have changed since the catalogue was read.
func (r *mysqlReader) describe(fields []mysqlField) error {
	for i, field := range r.index {
		want := r.types[i].class
		if want == classFloat {
			want = classDouble
		}
		if column := r.column(i); fields[field].class() != want {
			return mistyped(r.query, misfit{column, "other than " + r.types[i].declared + " since it was checked", mysqlTypesGiving(column.Kind)})
		}
	}
	return nil
}

// row takes one row. The row behind a full batch is only looked at: with the same key as its predecessor it would be
// lost behind the cursor.
func (r *mysqlReader) row(values [][]byte) (more bool, err error) {
	size := r.growth
	for _, field := range r.index {
		size += len(values[field])
	}
	r.values = values
	rows := r.batch.Rows()
	if rows == r.limit.Rows || rows > 0 && r.batch.Bytes()+size > r.limit.Bytes {
		r.full = true
		return false, r.lookAhead(rows - 1)
	}
	if size > limits.RowBytesMax {
		return false, rowTooLarge(r.place(), size, limits.RowBytesMax)
	}
	if err := r.refuseLoss(); err != nil {
		return false, err
	}
	for i, column := range r.query.Columns {
		if err := r.append(i, column, r.source.zone, false); err != nil {
			return false, err
		}
	}
	for k, column := range r.query.Key {
		if err := r.append(len(r.query.Columns)+k, column, r.utc, true); err != nil {
			return false, err
		}
	}
	return true, r.sequence.next(r.batch, rows)
}

func (r *mysqlReader) append(i int, column row.Column, z *zone, key bool) error {
	value := r.values[r.index[i]]
	wrong := faultNone
	switch {
	case value == nil && key:
		wrong = faultNull
	case key && r.types[i].longKey(value):
		wrong = faultLongKey
	case value == nil:
		r.batch.AppendNull()
	default:
		r.batch.AppendFunc(func(dst []byte) []byte {
			dst, wrong = appendMySQL(dst, value, column.Kind, r.types[i], z)
			return dst
		})
	}
	if wrong != faultNone {
		return invalidValue(column, r.place(), wrong)
	}
	return nil
}

// lookAhead refuses the current row when it has the key of row last, or belongs before it.
func (r *mysqlReader) lookAhead(last int) error {
	for k, column := range r.query.Key {
		at := len(r.query.Columns) + k
		value := r.values[r.index[at]]
		if value == nil {
			return invalidValue(column, r.place(), faultNull)
		}
		text, wrong := appendMySQL(r.source.scratch[:0], value, column.Kind, r.types[at], r.utc)
		if wrong != faultNone {
			return invalidValue(column, r.place(), wrong)
		}
		r.source.scratch = text
		if same, err := r.sequence.ahead(r.batch, last, k, text, r.place); !same {
			return err
		}
	}
	return keyNotUnique(r.query, r.batch.Key(last, len(r.query.Key)))
}

// next names the row behind the last that was taken.
func (r *mysqlReader) next() string {
	before := r.after
	if rows := r.batch.Rows(); rows > 0 {
		before = r.batch.Key(rows-1, len(r.query.Key))
	}
	return placeBehind(r.query, before, r.from)
}

// place names the current row by its key.
func (r *mysqlReader) place() string {
	values := make([][]byte, len(r.query.Key))
	for k := range values {
		values[k] = r.values[r.index[len(r.query.Columns)+k]]
	}
	return r.source.place(r.query, values)
}
