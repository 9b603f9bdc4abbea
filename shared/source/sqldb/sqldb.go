// Package sqldb owns reading rows from SQL databases: SQLite files, PostgreSQL, MySQL and MariaDB servers. Every statement it sends is
// a bounded, read-only keyset query that carries the tenant, the business time, the range, the cursor and the total
// order; there is no OFFSET and no full count, but in the plan of a MySQL view of which the server tells no estimates. It
// never writes and holds one connection per Open; that of a server can be used again for other work (source.Lasting).
//
// The order of the key is the database's own order of the key columns; keys are compared in the database only, so any
// deterministic order is good as long as all comparisons of one query set run there. Equal neighbours in that order
// are refused (code source_key_not_unique), because a cursor can't step between them.
//
// What a set frozen by Until and Ceiling promises: a row whose key is above the ceiling, or whose business time is at
// or after Until, is never in the file. A row that is inserted after planning with an older key and time is in the
// file if its shard has not been read past it, a row deleted meanwhile is missing, and an updated row appears as it
// was when its batch was read; a definition that can't live with that must freeze its business time further back.
//
// SQLite lets every row hold any type, so its rules are told by what is stored and nothing is guessed:
//
//	stored in a time column   INTEGER                          TEXT
//	timestamp, datetime       in the column's unit, s, ms, us;  YYYY-MM-DD, a space or T, hh:mm:ss, any fraction; for a
//	                          source_unit_missing without one   timestamp then Z, an offset, or nothing, which is UTC
//	the same in the key       numbers in every row              one layout in every row: the same separator, digits of
//	                                                            fraction and suffix, Z or none; no offset
//	date                      refused                           YYYY-MM-DD
//	decimal in the key        numbers in every row              one count of digits before and behind the dot, no minus
//
// Plan proves the layout of the key with one pass over the tenant's index entries and refuses a second one with
// source_form_mixed; otherwise rows would sort to the wrong side of a span's bounds and be missing from the file. REAL
// gives a float64 and nothing else. What isn't of a column's kind ends the export with the row's number and key, also
// where a filter would have to judge it; the kinds are listed at appendSQLite.
//
// Start reading at Open, then query.go (the text of every statement) and plan.go; sqlite*.go, postgres*.go and
// mysql*.go are the dialects. It imports row, job, limits, source and the drivers.
package sqldb

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/source"
)

const (
	// StatementTime bounds every statement, on the server where the server can do it.
	StatementTime = 60 * time.Second
	// LockTime bounds the wait for a lock that somebody else holds.
	LockTime = 2 * time.Second
	// ConnectTime bounds the opening of a connection.
	ConnectTime = 10 * time.Second
)

// Open connects to the database that dsn names: "sqlite:///absolute/path.db", "sqlite:relative.db" or
// "postgres://user:password@host:port/database?sslmode=verify-full", and the same with mysql or mariadb as its scheme. No
// error repeats dsn; those of reaching the database name its host, port and database, or the whole path of its file.
func Open(ctx context.Context, dsn string) (source.Source, error) { return OpenNamed(ctx, "", dsn) }

// OpenNamed is Open for a source that has a name, its connection's, which messages of reaching it begin with.
func OpenNamed(ctx context.Context, connection, dsn string) (source.Source, error) {
	opened, err := openAny(ctx, connection, dsn)
	var wrong *job.Error
	if errors.As(err, &wrong) && wrong.Code == codeDSNInvalid {
		return nil, job.Errorf(wrong.Kind, wrong.Code, "%s%s", prefix(connection), wrong.Detail)
	}
	return opened, err
}

func openAny(ctx context.Context, connection, dsn string) (source.Source, error) {
	scheme, rest, found := strings.Cut(dsn, ":")
	if !found {
		return nil, badDSN("has no scheme")
	}
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, connection, rest)
	case "postgres", "postgresql":
		return openPostgres(ctx, connection, dsn)
	case "mysql", "mariadb":
		return openMySQL(ctx, connection, dsn)
	}
	return nil, badDSN("has a scheme other than sqlite, postgres, mysql and mariadb")
}

// misread reports whether a connection string's parts are not what was meant, because of a character in the password that
// isn't percent-encoded: what follows it would be taken for the host or the database, which messages name.
func misread(dsn string) bool {
	_, rest, _ := strings.Cut(dsn, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	path, query, _ := strings.Cut(rest[len(authority):], "?")
	if strings.ContainsAny(path, "@#") || strings.Contains(query, "#") {
		return true
	}
	for pair := range strings.SplitSeq(query, "&") {
		// Some servers' users have names with an @.
		if name, value, _ := strings.Cut(pair, "="); strings.Contains(name, "@") || strings.Contains(value, "@") && name != "user" && name != "password" {
			return true
		}
	}
	return false
}

// answersInTime reports whether a server has answered what ask asks of it within LockTime. If not the connection is ended,
// and ask with it: a server that is silent would not hear that a statement is cancelled either.
func answersInTime(conn io.Closer, ask func() error) bool {
	giveUp := time.AfterFunc(LockTime, func() { _ = conn.Close() })
	err := ask()
	return giveUp.Stop() && err == nil
}

func badDSN(fault string) error {
	return job.Errorf(job.Permanent, codeDSNInvalid, "the connection string of the source %s; write "+
		"sqlite:///absolute/path.db, or postgres://user:password@host:port/database?sslmode=verify-full, the same with mysql:// "+
		"or mariadb://, special characters percent-encoded", fault)
}
