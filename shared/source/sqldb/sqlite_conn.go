package sqldb

import (
	"context"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/limits"
)

// sqliteConn is one read-only SQLite handle. It uses the engine's own calls because a row must cost no allocation,
// which database/sql can't promise.
type sqliteConn struct {
	tls *libc.TLS
	// mu guards db between interrupt and close.
	mu sync.Mutex
	db uintptr
}

// sqliteError is a result code of SQLite with its extended code and message.
type sqliteError struct {
	code    int32
	message string
}

func (e *sqliteError) Error() string { return e.message }

// openSQLiteFile opens path for reading only. The path is never read as a URI.
func openSQLiteFile(ctx context.Context, path string) (*sqliteConn, error) {
	c := &sqliteConn{tls: libc.NewTLS()}
	name, err := libc.CString(path)
	if err != nil {
		c.tls.Close()
		return nil, &sqliteError{code: sqlite3.SQLITE_NOMEM, message: "out of memory"}
	}
	defer libc.Xfree(c.tls, name)
	handle, freeHandle := c.cell()
	defer freeHandle()
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, handle,
		sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_NOMUTEX|sqlite3.SQLITE_OPEN_EXRESCODE, 0)
	c.db = cellValue(handle)
	if rc != sqlite3.SQLITE_OK {
		failure := c.failure(rc)
		c.close()
		return nil, failure
	}
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, int32(LockTime.Milliseconds()))
	// A longer value could not be exported anyway; the limit keeps it out of memory.
	sqlite3.Xsqlite3_limit(c.tls, c.db, sqlite3.SQLITE_LIMIT_LENGTH, limits.RowBytesMax+limits.MiB)
	for _, pragma := range []string{"PRAGMA query_only=ON", "PRAGMA trusted_schema=OFF"} {
		if _, err := c.row(ctx, statement{text: pragma}); err != nil {
			c.close()
			return nil, err
		}
	}
	if err := c.registerOrder(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *sqliteConn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tls == nil {
		return
	}
	if c.db != 0 {
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
		c.db = 0
	}
	c.tls.Close()
	c.tls = nil
}

// interruptWhenDone makes the running statement fail soon after ctx ends; stop returns when no interrupt can come any
// more.
func (c *sqliteConn) interruptWhenDone(ctx context.Context) (stop func()) {
	finished := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(finished)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.db == 0 {
			return
		}
		tls := libc.NewTLS()
		defer tls.Close()
		sqlite3.Xsqlite3_interrupt(tls, c.db)
	})
	return func() {
		if !unregister() {
			<-finished
		}
	}
}

// prepare compiles st and binds its parameters. The caller closes what it returns.
func (c *sqliteConn) prepare(st statement) (*sqliteStmt, error) {
	text, err := libc.CString(st.text)
	if err != nil {
		return nil, &sqliteError{code: sqlite3.SQLITE_NOMEM, message: "out of memory"}
	}
	defer libc.Xfree(c.tls, text)
	handle, freeHandle := c.cell()
	defer freeHandle()
	if rc := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, handle, 0); rc != sqlite3.SQLITE_OK {
		return nil, c.failure(rc)
	}
	s := &sqliteStmt{conn: c, handle: cellValue(handle)}
	for i, a := range st.args {
		if rc := s.bind(int32(i+1), a); rc != sqlite3.SQLITE_OK {
			failure := c.failure(rc)
			s.close()
			return nil, failure
		}
	}
	return s, nil
}

// rows runs st and calls each for every row until it returns false or an error.
func (c *sqliteConn) rows(ctx context.Context, st statement, each func(s *sqliteStmt) (bool, error)) error {
	s, err := c.prepare(st)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		// An interrupt that arrives before the first step is lost; this check isn't.
		if ctx.Err() != nil {
			return &sqliteError{code: sqlite3.SQLITE_INTERRUPT, message: "interrupted"}
		}
		more, err := s.step()
		if err != nil || !more {
			return err
		}
		if more, err = each(s); err != nil || !more {
			return err
		}
	}
}

// row runs st and returns the text of its first row's first column, "" when there is none.
func (c *sqliteConn) row(ctx context.Context, st statement) (text string, err error) {
	err = c.rows(ctx, st, func(s *sqliteStmt) (bool, error) {
		text = string(s.value(0).asText())
		return false, nil
	})
	return text, err
}

// collation names how a column of a table compares text.
func (c *sqliteConn) collation(schema, table, column string) (string, error) {
	var names [3]uintptr
	for i, name := range []string{schema, table, column} {
		at, err := libc.CString(name)
		if err != nil {
			return "", &sqliteError{code: sqlite3.SQLITE_NOMEM, message: "out of memory"}
		}
		defer libc.Xfree(c.tls, at)
		names[i] = at
	}
	out, free := c.cell()
	defer free()
	rc := sqlite3.Xsqlite3_table_column_metadata(c.tls, c.db, names[0], names[1], names[2], 0, out, 0, 0, 0)
	if rc != sqlite3.SQLITE_OK {
		return "", c.failure(rc)
	}
	return libc.GoString(cellValue(out)), nil
}

func (c *sqliteConn) failure(rc int32) error {
	if c.db == 0 {
		return &sqliteError{code: rc, message: libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))}
	}
	return &sqliteError{code: rc, message: libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))}
}

// cell is room outside the Go heap for one pointer that SQLite returns.
func (c *sqliteConn) cell() (at uintptr, free func()) {
	at = libc.Xcalloc(c.tls, 1, 8)
	return at, func() { libc.Xfree(c.tls, at) }
}

func cellValue(at uintptr) uintptr {
	view := libc.GoBytes(at, int(unsafe.Sizeof(at)))
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(view)))
}

// sqliteStmt is one compiled statement in use.
type sqliteStmt struct {
	conn   *sqliteConn
	handle uintptr
}

func (s *sqliteStmt) bind(n int32, a arg) int32 {
	tls := s.conn.tls
	switch a.kind {
	case argInteger:
		return sqlite3.Xsqlite3_bind_int64(tls, s.handle, n, a.integer)
	case argReal:
		return sqlite3.Xsqlite3_bind_double(tls, s.handle, n, a.real)
	case argText, argBytes:
	}
	text, err := libc.CString(a.text)
	if err != nil {
		return sqlite3.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, text)
	if a.kind == argBytes {
		return sqlite3.Xsqlite3_bind_blob(tls, s.handle, n, text, int32(len(a.text)), sqlite3.SQLITE_TRANSIENT)
	}
	return sqlite3.Xsqlite3_bind_text(tls, s.handle, n, text, int32(len(a.text)), sqlite3.SQLITE_TRANSIENT)
}

// step moves to the next row; more is false after the last.
func (s *sqliteStmt) step() (more bool, err error) {
	switch rc := sqlite3.Xsqlite3_step(s.conn.tls, s.handle); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.conn.failure(rc)
	}
}

// value returns field i of the current row, valid until the next step.
func (s *sqliteStmt) value(i int) sqliteValue {
	return readValue(s.conn.tls, sqlite3.Xsqlite3_column_value(s.conn.tls, s.handle, int32(i)))
}

func (s *sqliteStmt) close() {
	if s.handle != 0 {
		sqlite3.Xsqlite3_finalize(s.conn.tls, s.handle)
		s.handle = 0
	}
}

// sqliteValue is a value as SQLite stores it: bytes is a view of TEXT and BLOB.
type sqliteValue struct {
	class   int32
	integer int64
	real    float64
	bytes   []byte
}

func readValue(tls *libc.TLS, handle uintptr) sqliteValue {
	v := sqliteValue{class: sqlite3.Xsqlite3_value_type(tls, handle)}
	switch v.class {
	case sqlite3.SQLITE_INTEGER:
		v.integer = sqlite3.Xsqlite3_value_int64(tls, handle)
	case sqlite3.SQLITE_FLOAT:
		v.real = sqlite3.Xsqlite3_value_double(tls, handle)
	case sqlite3.SQLITE_TEXT:
		// The text call converts a UTF-16 database's text and comes before the length.
		v.bytes = viewOf(sqlite3.Xsqlite3_value_text(tls, handle), sqlite3.Xsqlite3_value_bytes(tls, handle))
	case sqlite3.SQLITE_BLOB:
		v.bytes = viewOf(sqlite3.Xsqlite3_value_blob(tls, handle), sqlite3.Xsqlite3_value_bytes(tls, handle))
	}
	return v
}

func viewOf(at uintptr, length int32) []byte {
	if at == 0 || length == 0 {
		return []byte{}
	}
	return libc.GoBytes(at, int(length))
}
