package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/job"
	"sealift/shared/row"
)

// sqliteSite is a SQLite file as messages name it: by its connection and its whole path.
type sqliteSite struct{ connection, path string }

func (s sqliteSite) file() string { return "the SQLite file " + s.path }

// errorf is an error whose message begins with the connection and the file.
func (s sqliteSite) errorf(kind job.Kind, code, format string, args ...any) error {
	return job.Errorf(kind, code, "%s%s %s", prefix(s.connection), s.file(), fmt.Sprintf(format, args...))
}

// missing refuses a file of which the system says nothing.
func (s sqliteSite) missing(err error) error {
	why := ""
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.errorf(job.Permanent, codeDenied, "isn't there; check the path in the connection's secret")
	case errors.As(err, &number):
		why = " (" + number.Error() + ")"
	}
	return s.errorf(job.Permanent, codeDenied, "can't be read%s; check the path in the connection's secret and the permissions of its folders", why)
}

// failure turns an error of SQLite into the package's: outer is the caller's context, bounded the statement's. A query without
// a table stands for the opening of the file.
func (s sqliteSite) failure(outer, bounded context.Context, q *row.Query, err error) error {
	var failure *sqliteError
	if !errors.As(err, &failure) {
		return err
	}
	what := "table " + q.Table
	if q.Table == "" {
		what = s.file()
	}
	code := failure.code & 0xff
	if code == sqlite3.SQLITE_ERROR && failure.message == "interrupted" {
		// The catalogue's functions run statements of their own and pass on nothing but their message.
		code = sqlite3.SQLITE_INTERRUPT
	}
	switch code {
	case sqlite3.SQLITE_INTERRUPT:
		if outer.Err() != nil {
			return cancelled(what)
		}
		if bounded.Err() != nil {
			return timedOut(q)
		}
		return job.Errorf(job.Transient, codeUnavailable, "reading %s was interrupted; try again", what)
	case sqlite3.SQLITE_MISMATCH:
		return job.Errorf(job.Permanent, codeValueInvalid, "%s", failure.message)
	case sqlite3.SQLITE_CONSTRAINT:
		// A reader violates no constraint: this code carries the missing unit out of orderValue.
		return job.Errorf(job.Permanent, codeUnitMissing, "%s", failure.message)
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_RANGE:
		return job.Errorf(job.Permanent, codeSchemaChanged, "%s no longer has what the definition names (%s); restore it "+
			"or apply a new version of the definition", what, failure.message)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return job.Errorf(job.Transient, codeTimeout, "%s was locked by a writer for longer than %s; try again, or set the "+
			"file to journal mode WAL", what, LockTime)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY:
		return s.errorf(job.Permanent, codeDenied, "can't be opened (%s); check its permissions and those of its folder", failure.message)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT:
		return s.errorf(job.Permanent, codeDenied, "is damaged or no database (%s); run PRAGMA integrity_check on it and restore a backup", failure.message)
	case sqlite3.SQLITE_NOMEM:
		return job.Errorf(job.Resource, codeOverloaded, "reading %s ran out of memory; lower the batch bounds or raise the "+
			"memory limit", what)
	case sqlite3.SQLITE_TOOBIG:
		return job.Errorf(job.Permanent, codeRowTooLarge, "a row of %s is larger than a row may be; leave its large column "+
			"out of the definition or shorten it", what)
	}
	return job.Errorf(job.Transient, codeUnavailable, "%s can't be read at the moment (%s); try again", what, failure.message)
}
