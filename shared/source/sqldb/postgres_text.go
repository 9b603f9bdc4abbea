package sqldb

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// The dialect of PostgreSQL.

func (s *postgresSource) marker(n int) string { return "$" + strconv.Itoa(n) }

// tenant compares as the column's type does, which an index serves. For text that is stored here under a deterministic
// collation that is bytewise. Anything else is compared once more, as text bytewise, because a type reads other spellings
// as the tenant too: 07 and +7 as the number 7, upper case as the uuid, trailing blanks as char(n), and a collation, here
// or on the server behind a foreign table, may be blind to case. The planner can't estimate the second comparison and
// takes an equality of expressions for one row in 200, which may make it leave the key's index; what is hardly ever NULL
// it takes for nearly all rows.
func (s *postgresSource) tenant(b *builder) (string, error) {
	if !s.textual(b.query.Tenant) {
		return "FALSE", nil
	}
	column := quoteColumn(b.query.TenantColumn)
	equal := column + " = " + b.bind(arg{text: b.query.Tenant})
	if s.table != nil && s.table.exact(b.query.TenantColumn) {
		return equal, nil
	}
	return equal + " AND CASE WHEN " + column + "::text COLLATE \"C\" = " +
		b.bind(arg{text: b.query.Tenant}) + "::text THEN 1 END IS NOT NULL", nil
}

func (s *postgresSource) keyArg(q *row.Query, i int, canonical string) (arg, error) {
	if strings.ContainsRune(canonical, 0) {
		return arg{}, queryInvalid("a bound on key column %s holds a NUL character, which PostgreSQL can't", q.Key[i].Source)
	}
	return arg{text: canonical}, nil
}

func (s *postgresSource) time(b *builder, op, canonical string) (string, error) {
	column := b.query.TimeColumn
	if column.Kind == row.Timestamp || column.Kind == row.DateTime {
		exact, ok := microseconds(canonical)
		if !ok {
			return "", queryInvalid("the bound on time column %s isn't canonical text of kind %s", column.Source, column.Kind)
		}
		canonical = exact
	}
	return quoteColumn(column) + " " + op + " " + b.bind(arg{text: canonical}), nil
}

// filter compares what the file shows: text with the blanks and the mask that the server writes, a real as the number that
// its few digits are. Text is equal where its bytes are, as the tenant's is; its order is that of the column's collation.
func (s *postgresSource) filter(b *builder, f row.Filter) (string, error) {
	t := s.typeOf(f.Column)
	f, some := possible(f, func(value string) bool { return f.Column.Kind != row.String || s.textual(value) })
	if some && t.oid == oidFloat4 {
		f, some = asReal(f)
	}
	if !some {
		return "FALSE", nil
	}
	left, cast := quoteColumn(f.Column), ""
	switch f.Column.Kind {
	case row.String:
		left, cast = t.shown(left), "::text"
		if f.Op == row.Equal || f.Op == row.NotEqual || f.Op == row.In {
			left += ` COLLATE "C"`
		}
	case row.Int64:
		cast = "::bigint"
	case row.Decimal:
		cast = "::numeric"
	case row.Float64:
		cast = "::float8"
		if t.oid == oidFloat4 {
			cast = "::float4"
		}
	case row.Bool:
		cast = "::boolean"
	case row.Date:
		cast = "::date"
	case row.Timestamp:
		cast = "::timestamptz"
	case row.DateTime:
		cast = "::timestamp"
	case row.Bytes:
		cast = "::bytea"
	case row.JSON:
	}
	return compare(f, left, func(value string) (string, error) {
		if err := checkValue(f, value); err != nil {
			return "", err
		}
		switch f.Column.Kind {
		case row.Timestamp, row.DateTime:
			if at, _ := parseInstant(value); len(strings.TrimRight(string(at.fraction), "0")) > 6 {
				return "", filterInvalid(f, "has a value finer than the microseconds that PostgreSQL keeps")
			}
		case row.Bytes:
			value = hexText(value)
		case row.Float64:
			if t.oid == oidFloat4 {
				near, _ := nearestReal(value)
				value = strconv.FormatFloat(near, 'g', -1, 32)
			}
		case row.String:
			if !s.textual(value) {
				return "", filterInvalid(f, "has a value with a letter that the encoding of the database hasn't, so that it has no place in its order; "+
					"use eq, ne or in")
			}
			if t.small() {
				value = strings.ToLower(value)
			}
		case row.Int64, row.Decimal, row.Bool, row.Date, row.JSON:
		}
		return b.bind(arg{text: value}) + cast, nil
	})
}

// typeOf is the type of a column.
func (s *postgresSource) typeOf(column row.Column) postgresType {
	if s.table == nil {
		return postgresType{}
	}
	return s.table.columns[column.Source].postgresType
}

func (s *postgresSource) hint() string { return "" }

func (s *postgresSource) aside(condition string) string { return checked(condition) }

func (s *postgresSource) rowValues(left, right []string, op string) string {
	return sqlRowValues(left, right, op)
}

// hexText is bytea's text form.
func hexText(value string) string {
	const hexDigits = "0123456789abcdef"
	text := make([]byte, 0, 2+2*len(value))
	text = append(text, `\x`...)
	for i := range len(value) {
		text = append(text, hexDigits[value[i]>>4], hexDigits[value[i]&15])
	}
	return string(text)
}

// unopened is the error of a connection that didn't come to be.
func (s *postgresSource) unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.site.stopped()
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return s.site.refusedByPostgres(said.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return s.site.silent()
	}
	if refused := s.site.postgresTLS(ctx, err); refused != nil {
		return refused
	}
	return s.site.unopened(err)
}

// refusedByPostgres is what a server means that answers a new connection with an error.
func (s site) refusedByPostgres(code string) error {
	coded := " (SQLSTATE " + code + ")"
	switch {
	case code == "42501":
		return s.errorf(job.Permanent, codeDenied, "doesn't let the source's user connect%s%s; grant it CONNECT on the database", s.to(), coded)
	case len(code) != 5:
		return s.busy(coded)
	}
	switch code[:2] {
	case "53":
		return s.crowded("connection", coded)
	case "28", "3D":
		return s.refused(coded)
	case "22", "42":
		return s.errorf(job.Permanent, codeDenied, "refused the connection%s%s, because of its parameters; correct what follows the ? in the connection's "+
			"secret", s.to(), coded)
	}
	return s.busy(coded)
}

// failure turns an error of the driver or the server into the package's. Messages of the server are repeated only in the
// classes whose messages name objects; those of the data classes quote values.
func (s *postgresSource) failure(ctx context.Context, q *row.Query, err error) error {
	var known *job.Error
	if errors.As(err, &known) {
		return err
	}
	if ctx.Err() != nil {
		return cancelled("table " + q.Table)
	}
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return s.serverFailure(q, failure)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut(q)
	}
	var long rowTooLong
	if errors.As(err, &long) {
		return rowTooLarge(longPlace(q, long.values), long.bytes, limits.RowBytesMax)
	}
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &tooLong) {
		return rowTooLarge("a row of table "+q.Table, tooLong.ActualBodyLen, limits.RowBytesMax)
	}
	return s.site.ended(q, err)
}

// longPlace names a row by those of its fields that could be had.
func longPlace(q *row.Query, values [][]byte) string {
	_, index := fields(q)
	if len(values) <= slices.Max(index) {
		return "a row of table " + q.Table
	}
	key := row.Key{}
	for k, column := range q.Key {
		value, text, c := values[index[len(q.Columns)+k]], unread, newClock(column.Kind, utcZone())
		switch {
		case value == nil:
		case c == nil:
			text = string(value)
		default:
			text = c.name(value)
			if at, ok := c.append(nil, value); ok {
				text = string(at)
			}
		}
		key = append(key, text)
	}
	return placeAt(key)
}

func (s *postgresSource) serverFailure(q *row.Query, failure *pgconn.PgError) error {
	said := " (SQLSTATE " + failure.Code + ": " + failure.Message + ")"
	coded := " (SQLSTATE " + failure.Code + ")"
	switch failure.Code {
	case "57014":
		return timedOut(q)
	case "55P03":
		return job.Errorf(job.Transient, codeTimeout, "table %s was locked for longer than %s; try again when the migration or "+
			"maintenance that locks it is over%s", q.Table, LockTime, coded)
	case "22021", "22P05":
		return untranslatable(q, said)
	case "25006":
		return job.Errorf(job.Permanent, codeDenied, "%s can't be read by a session that may not write%s; export a view that only reads", q.Table, said)
	case "42501":
		if failure.Routine == "check_enable_rls" {
			return job.Errorf(job.Permanent, codeDenied, "row-level security would hide rows of table %s from the source's user, or from the "+
				"owner of a view%s; let that user see them all (ALTER ROLE … BYPASSRLS), or export a view whose owner does", q.Table, said)
		}
		return job.Errorf(job.Permanent, codeDenied, "the source's user may not read %s%s; grant it SELECT on the table, or what else the server names: "+
			"USAGE on a schema, EXECUTE on a function, or to the owner of the view SELECT on what is below it", q.Table, said)
	}
	if len(failure.Code) != 5 {
		return s.site.failed(q, coded)
	}
	switch failure.Code[:2] {
	case "53":
		return s.site.crowded("read of table "+q.Table, said)
	case "28", "3D":
		return s.site.refused(coded)
	case "3F", "42":
		return job.Errorf(job.Permanent, codeSchemaChanged, "table %s no longer has what the definition names%s; restore it or "+
			"apply a new version of the definition", q.Table, said)
	case "22":
		return job.Errorf(job.Permanent, codeQueryInvalid, "a tenant, bound or filter doesn't fit the type of its column in %s, or a "+
			"view's expression fails on a row%s; compare the kinds in the definition with the column types", q.Table, coded)
	case "54":
		return job.Errorf(job.Permanent, codeRowTooLarge, "the statement or a row of %s exceeds a limit of the server%s; leave "+
			"large columns out of the definition", q.Table, coded)
	}
	return s.site.failed(q, coded)
}
