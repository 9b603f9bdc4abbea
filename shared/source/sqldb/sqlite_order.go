package sqldb

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// orderFunction is the name of the SQL function that this package gives its own connections:
//
//	sealift_order(kind, unit, value, column, rowid, key…)
//
// It turns a decimal, a date or a time, however it is written, into text that sorts bytewise as the values do and is
// equal for equal values. NULL stays NULL. A value that isn't of the kind fails the statement with the row's number and
// key, so that a filter never drops a row that it could not judge.
const orderFunction = "sealift_order"

func (c *sqliteConn) registerOrder() error {
	name, err := libc.CString(orderFunction)
	if err != nil {
		return &sqliteError{code: sqlite3.SQLITE_NOMEM, message: "out of memory"}
	}
	defer libc.Xfree(c.tls, name)
	// A function value of a declared function is a pointer to its code pointer, which is what the engine calls.
	call := *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr, int32, uintptr)
	}{orderValue}))
	if rc := sqlite3.Xsqlite3_create_function_v2(c.tls, c.db, name, -1,
		sqlite3.SQLITE_UTF8|sqlite3.SQLITE_DETERMINISTIC, 0, call, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.failure(rc)
	}
	return nil
}

// orderExpression is the SQL of one column in its sorting form.
func (s *sqliteSource) orderExpression(q *row.Query, column row.Column) string {
	rowid := "NULL"
	if s.rowid != "" {
		rowid = "t." + s.rowid
	}
	var key strings.Builder
	for _, k := range q.Key {
		if k.Source == column.Source {
			// An error names the row and never the value.
			key.WriteString(", '" + unread + "'")
		} else {
			key.WriteString(", " + quoteColumn(k))
		}
	}
	return fmt.Sprintf("%s('%s', '%s', %s, '%s', %s%s)", orderFunction, column.Kind, column.Unit, quoteColumn(column),
		strings.ReplaceAll(column.Source, "'", "''"), rowid, key.String())
}

// orderValue is the function's body. It keeps no state and reads only its arguments.
func orderValue(tls *libc.TLS, call uintptr, count int32, handles uintptr) {
	table := unsafe.Slice((*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(handles, int(count)*8)))), count)
	value := readValue(tls, table[2])
	if value.class == sqlite3.SQLITE_NULL {
		sqlite3.Xsqlite3_result_null(tls, call)
		return
	}
	column := row.Column{Kind: row.Kind(readValue(tls, table[0]).bytes), Unit: row.Unit(readValue(tls, table[1]).bytes)}
	sorted, wrong := sortingForm(value, column)
	if wrong == faultNone {
		resultText(tls, call, sorted)
		return
	}
	column.Source = string(readValue(tls, table[3]).bytes)
	place := rowPlace{}
	if number := readValue(tls, table[4]); number.class != sqlite3.SQLITE_NULL {
		place.rowid = string(number.asText())
	}
	for _, handle := range table[5:] {
		place.key = append(place.key, string(readValue(tls, handle).asText()))
	}
	code := int32(sqlite3.SQLITE_MISMATCH)
	if wrong == faultUnit {
		code = sqlite3.SQLITE_CONSTRAINT_DATATYPE
	}
	message, err := libc.CString(faultMessage(column, place.String(), wrong))
	if err != nil {
		sqlite3.Xsqlite3_result_error_nomem(tls, call)
		return
	}
	sqlite3.Xsqlite3_result_error(tls, call, message, -1)
	sqlite3.Xsqlite3_result_error_code(tls, call, code)
	libc.Xfree(tls, message)
}

func resultText(tls *libc.TLS, call uintptr, text []byte) {
	copied, err := libc.CString(string(text))
	if err != nil {
		sqlite3.Xsqlite3_result_error_nomem(tls, call)
		return
	}
	sqlite3.Xsqlite3_result_text(tls, call, copied, int32(len(text)), sqlite3.SQLITE_TRANSIENT)
	libc.Xfree(tls, copied)
}

// sortingForm writes v so that bytewise order is the order of the values.
func sortingForm(v sqliteValue, column row.Column) ([]byte, fault) {
	if column.Kind == row.String && (v.class == sqlite3.SQLITE_INTEGER || v.class == sqlite3.SQLITE_FLOAT) {
		return nil, faultNumber
	}
	canonical, wrong := appendSQLite(nil, v, column, utcZone())
	if wrong != faultNone || !column.Kind.Timed() && column.Kind != row.Decimal {
		return canonical, wrong
	}
	return sortingText(string(canonical), column.Kind), faultNone
}

// sortingText does the same for canonical text. A decimal becomes its sign, the count of whole digits, the digits and
// a terminator; a negative one has every byte but the sign complemented.
func sortingText(canonical string, kind row.Kind) []byte {
	if kind != row.Decimal {
		at, _ := parseInstant(canonical)
		c := civilOf(at.unix)
		c.fraction = bytes.TrimRight(at.fraction, "0")
		return c.append(nil, 'T')
	}
	negative, whole, fraction, _ := canonicalDecimal(canonical)
	text := fmt.Appendf(nil, "p%09d%s.%s ", len(whole), whole, fraction)
	if negative {
		text[0] = 'n'
		for i := 1; i < len(text); i++ {
			text[i] = '~' - text[i] + ' '
		}
	}
	return text
}
