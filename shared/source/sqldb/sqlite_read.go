package sqldb

import (
	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// sqliteReader fills one batch from one statement.
type sqliteReader struct {
	source *sqliteSource
	query  *row.Query
	// index maps every value of a batch row to the field it comes from; width is the number of fields.
	index []int
	width int
	// growth is how much larger a row's canonical text can be than what is stored.
	growth int
	limit  source.Limit
	batch  *row.Batch
	utc    *zone
	// statement stands on the current row.
	statement *sqliteStmt
	sequence  sequence
}

func newSQLiteReader(s *sqliteSource, q *row.Query, index []int, limit source.Limit, b *row.Batch) *sqliteReader {
	r := &sqliteReader{source: s, query: q, index: index, limit: limit, batch: b, utc: utcZone(), growth: growth(q), sequence: newSequence(q)}
	for _, field := range index {
		r.width = max(r.width, field+1)
	}
	return r
}

// row takes the statement's current row. The row behind a full batch is only looked at: with the same key as its
// predecessor it would be lost behind the cursor.
func (r *sqliteReader) row(st *sqliteStmt) (more bool, err error) {
	r.statement = st
	values := r.source.values[:0]
	for field := range r.width {
		values = append(values, st.value(field))
	}
	r.source.values = values
	size := r.growth
	for _, field := range r.index {
		size += values[field].size()
	}
	rows := r.batch.Rows()
	if rows == r.limit.Rows || rows > 0 && r.batch.Bytes()+size > r.limit.Bytes {
		return false, r.lookAhead(rows - 1)
	}
	if size > limits.RowBytesMax {
		return false, rowTooLarge(r.place("").String(), size, limits.RowBytesMax)
	}
	for i, column := range r.query.Columns {
		if err := r.append(values[r.index[i]], column); err != nil {
			return false, err
		}
	}
	if err := r.appendKey(); err != nil {
		return false, err
	}
	return true, r.sequence.next(r.batch, rows)
}

func (r *sqliteReader) append(v sqliteValue, column row.Column) error {
	if v.class == sqlite3.SQLITE_NULL {
		r.batch.AppendNull()
		return nil
	}
	wrong := faultNone
	r.batch.AppendFunc(func(dst []byte) []byte {
		dst, wrong = appendSQLite(dst, v, column, r.source.zone)
		return dst
	})
	if wrong != faultNone {
		return invalidValue(column, r.place(column.Source).String(), wrong)
	}
	return nil
}

func (r *sqliteReader) appendKey() error {
	for k, column := range r.query.Key {
		v := r.keyValue(k)
		wrong := faultNone
		r.batch.AppendFunc(func(dst []byte) []byte {
			dst, wrong = r.source.forms[k].appendKey(dst, v, column, r.utc)
			return dst
		})
		if wrong != faultNone {
			return r.source.keyFault(r.query, k, v, r.place(column.Source), wrong)
		}
	}
	return nil
}

// lookAhead refuses the current row when it has the key of row last, or belongs before it.
func (r *sqliteReader) lookAhead(last int) error {
	for k, column := range r.query.Key {
		text, wrong := r.source.forms[k].appendKey(r.source.scratch[:0], r.keyValue(k), column, r.utc)
		if wrong != faultNone {
			return r.source.keyFault(r.query, k, r.keyValue(k), r.place(column.Source), wrong)
		}
		r.source.scratch = text
		if same, err := r.sequence.ahead(r.batch, last, k, text, func() string { return r.place("").String() }); !same {
			return err
		}
	}
	return keyNotUnique(r.query, r.batch.Key(last, len(r.query.Key)))
}

func (r *sqliteReader) keyValue(k int) sqliteValue {
	return r.source.values[r.index[len(r.query.Columns)+k]]
}

// place names the current row; the column hidden is the one that can't be read.
func (r *sqliteReader) place(hidden string) rowPlace {
	p := rowPlace{rowid: r.source.rowNumber(r.statement, r.width)}
	for k, column := range r.query.Key {
		text := unread
		if column.Source != hidden {
			text = string(r.keyValue(k).asText())
		}
		p.key = append(p.key, text)
	}
	return p
}
