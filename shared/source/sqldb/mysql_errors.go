package sqldb

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// codeCharset is the code of text that can't be compared because of its character set.
const codeCharset = "source_charset"

const (
	faultLetter   fault = "holds a letter of its character set that the server can't turn into UTF-8, and ? would be another value; correct the row, or export the column from a view that says what it means, as CONVERT(column USING utf8mb4) for a ? or CAST(column AS BINARY) for its bytes"
	faultZeroDate fault = "is a zero date (0000-00-00, or month or day 00), which is no day of the calendar, and NULL would be another value; correct the row, or export the column from a view that says what it means, as CASE WHEN month(column) = 0 OR day(column) = 0 THEN NULL ELSE column END or as text"
	faultUnsigned fault = "is an unsigned number beyond 9223372036854775807, which int64 can't carry; declare the column decimal, which keeps every digit"
)

func isRestLong(err error) bool { return errors.Is(err, errRestLong) }

// unopened is the error of a connection that didn't come to be.
func (s *mysqlSource) unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.site.stopped()
	}
	if errors.Is(err, errNoTLS) {
		return s.site.tlsMissing(s.config.secure)
	}
	if refused := s.site.certificateRefused(s.config.secure, err); refused != nil {
		return refused
	}
	var said *mysql.MyError
	if errors.As(err, &said) {
		return s.site.refusedByMySQL(said.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return s.site.silent()
	}
	return s.site.unopened(err)
}

// refusedByMySQL is what a server means that answers a new connection with an error.
func (s site) refusedByMySQL(number uint16) error {
	coded := " (error " + strconv.Itoa(int(number)) + ")"
	switch {
	case slices.Contains(connectionsRefused(), number):
		return s.refused(coded)
	case slices.Contains(connectionsFull(), number):
		return s.crowded("connection", coded)
	case number == 1227 || number == 1290: // privilege, an option of the server
		return s.errorf(job.Permanent, codeDenied, "doesn't let the source's user set up its session%s; it has to be allowed to set variables of its "+
			"session", coded)
	case number == requireSecureTransport:
		return s.tlsNeeded()
	}
	return s.busy(coded)
}

// requireSecureTransport is the number of MySQL's refusal of a connection without TLS.
const requireSecureTransport = 3159

// connectionsRefused are the numbers of what is wrong with user, database, host, plugin and password.
func connectionsRefused() []uint16 {
	return []uint16{1044, 1045, 1046, 1049, 1130, 1251, 1396, 1698, 1820, 1862, 2059, 4151}
}

// connectionsFull are the numbers of too little memory and too many connections and threads.
func connectionsFull() []uint16 { return []uint16{1037, 1038, 1040, 1041, 1203, 1226, 1135} }

// failure turns an error of the library or the server into the package's. Messages of the server are repeated only where they
// name objects; others quote values.
func (s *mysqlSource) failure(ctx context.Context, q *row.Query, err error) error {
	var known *job.Error
	if errors.As(err, &known) || isRestLong(err) {
		return err
	}
	if ctx.Err() != nil {
		return cancelled("table " + q.Table)
	}
	var said *mysql.MyError
	if errors.As(err, &said) {
		return s.site.mysqlRefusal(q, said)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut(q)
	}
	var long rowTooLong
	if errors.As(err, &long) {
		return rowTooLarge("a row of table "+q.Table, long.bytes, limits.RowBytesMax)
	}
	return s.site.ended(q, err)
}

// hidden explains what the catalogue doesn't show: it keeps quiet about tables and columns that the user has no right to,
// so the server is asked for them outright. It refuses such a user in the same words whether they exist or not.
func (s *mysqlSource) hidden(ctx context.Context, q *row.Query, missing error) error {
	if job.CodeOf(missing) != codeSchemaChanged || s.conn == nil {
		return missing
	}
	var columns []string
	for _, column := range sources(q) {
		columns = append(columns, quoteColumn(column))
	}
	var refused *job.Error
	probe := statement{text: "SELECT " + strings.Join(columns, ", ") + " FROM " + quoteTable(q.Table) + " AS t LIMIT 0"}
	err := s.query(ctx, q, probe, func([][]byte) error { return nil })
	if !errors.As(err, &refused) || refused.Code != codeDenied {
		return missing
	}
	return job.Errorf(job.Permanent, codeDenied, "%s. Without that right the server doesn't tell whether it is there at all, so compare the "+
		"names in the definition with the table too", refused.Detail)
}

// brokenView refuses a view that the server can't follow; it doesn't tell what is gone from what isn't granted.
func brokenView(q *row.Query, said string) error {
	return job.Errorf(job.Permanent, codeSchemaChanged, "view %s names a table, a column or a function that isn't there, or one that its definer (with "+
		"SQL SECURITY INVOKER the source's user) has no right to%s; restore it, or grant that user SELECT on the view's tables and EXECUTE on its "+
		"functions", q.Table, said)
}

// The server's errors by number, from MySQL's and MariaDB's error references.
func (s site) mysqlRefusal(q *row.Query, said *mysql.MyError) error {
	coded := " (error " + strconv.Itoa(int(said.Code)) + ")"
	full := " (error " + strconv.Itoa(int(said.Code)) + ": " + said.Message + ")"
	switch {
	case slices.Contains(connectionsRefused(), said.Code):
		return s.refused(coded)
	case slices.Contains(connectionsFull(), said.Code):
		return s.crowded("read of table "+q.Table, coded)
	}
	switch said.Code {
	case 1969, 3024: // max_statement_time of MariaDB, max_execution_time of MySQL
		return timedOut(q)
	case 1205: // a row's or a table's lock
		return job.Errorf(job.Transient, codeTimeout, "table %s was locked for longer than %s; try again when the migration or "+
			"maintenance that locks it is over%s", q.Table, LockTime, coded)
	case 1142, 1143: // command, column
		return job.Errorf(job.Permanent, codeDenied, "the source's user may not read %s%s; grant it SELECT on the table", q.Table, full)
	case 1290, 1792: // an option of the server, read-only
		return job.Errorf(job.Permanent, codeDenied, "%s can't be read by a session that may not write%s; export a view that only reads", q.Table, full)
	case 1227, 1370: // privilege, routine
		return job.Errorf(job.Permanent, codeDenied, "the source's user, or the definer of a view, lacks a right for %s%s; grant what the server "+
			"names, as EXECUTE on a function that a view calls", q.Table, full)
	case 1345: // the view's text, or what is below it
		return job.Errorf(job.Permanent, codeDenied, "the source's user may not see how %s is read%s; grant it SHOW VIEW on the view, and SELECT and "+
			"SHOW VIEW on what is below it", q.Table, coded)
	case 1356: // a view's table, column, function or right
		return brokenView(q, full)
	case 1054, 1146, 1176, 1449, 1051, 1109: // column, table, index, definer
		return job.Errorf(job.Permanent, codeSchemaChanged, "table %s no longer has what the definition names or the key's index%s; restore "+
			"it or apply a new version of the definition", q.Table, full)
	case 1064, 1264, 1300, 1265, 1267, 1292, 1365, 1366, 1367, 1411, 1525, 1690, 4078: // values, types, expressions
		return job.Errorf(job.Permanent, codeQueryInvalid, "a tenant, bound or filter doesn't fit the type of its column in %s, or a "+
			"view's expression fails on a row%s; compare the kinds in the definition with the column types", q.Table, coded)
	case 1153, 1162, 1301, 1436: // max_allowed_packet, result string, stack
		return job.Errorf(job.Permanent, codeRowTooLarge, "the statement or a row of %s exceeds a limit of the server%s; raise its "+
			"max_allowed_packet or leave large columns out of the definition", q.Table, coded)
	}
	return s.failed(q, coded)
}
