package sqldb

import (
	"bytes"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// orderFunction is the name of the SQL function that this package gives its own connections:
//
//	sealift_order(kind, value, column, key…)
//
// It turns a decimal or a time, however it is written, into text that sorts bytewise as the values do and is equal for
// equal values. NULL stays NULL. A value that isn't of the kind fails the statement with the row's key, so that a
// filter never drops a row that it could not judge.
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
func orderExpression(q *row.Query, column row.Column) string {
	return fmt.Sprintf("%s('%s', %s, %s, %s)", orderFunction, column.Kind, quoteColumn(column),
		"'"+string(bytes.ReplaceAll([]byte(column.Source), []byte("'"), []byte("''")))+"'", keyFields(q))
}

// orderValue is the function's body. It keeps no state and reads only its arguments.
func orderValue(tls *libc.TLS, call uintptr, count int32, handles uintptr) {
	table := unsafe.Slice((*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(handles, int(count)*8)))), count)
	value := readValue(tls, table[1])
	if value.class == sqlite3.SQLITE_NULL {
		sqlite3.Xsqlite3_result_null(tls, call)
		return
	}
	kind := row.Kind(readValue(tls, table[0]).bytes)
	if sorted, wrong := sortingForm(value, kind); wrong == faultNone {
		resultText(tls, call, sorted)
	} else {
		column := row.Column{Source: string(readValue(tls, table[2]).bytes), Kind: kind}
		key := row.Key{}
		for _, handle := range table[3:] {
			key = append(key, string(readValue(tls, handle).asText()))
		}
		message, err := libc.CString(orderFault(column, key, wrong))
		if err != nil {
			sqlite3.Xsqlite3_result_error_nomem(tls, call)
			return
		}
		sqlite3.Xsqlite3_result_error(tls, call, message, -1)
		sqlite3.Xsqlite3_result_error_code(tls, call, sqlite3.SQLITE_MISMATCH)
		libc.Xfree(tls, message)
	}
}

func orderFault(column row.Column, key row.Key, wrong fault) string {
	return fmt.Sprintf("column %s (%s) of the row with key %s %s", column.Source, column.Kind, key, wrong)
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

// sortingForm writes v of kind so that bytewise order is the order of the values.
func sortingForm(v sqliteValue, kind row.Kind) ([]byte, fault) {
	canonical, wrong := appendSQLite(nil, v, kind, utcZone())
	if wrong != faultNone {
		return nil, wrong
	}
	return sortingText(string(canonical), kind), faultNone
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
