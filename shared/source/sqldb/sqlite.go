package sqldb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// sqliteSource reads one SQLite file.
type sqliteSource struct {
	conn *sqliteConn
	// site is the file as messages name it.
	site sqliteSite
	// file is the number of the file that conn has open, whatever is at its path by now.
	file string
	// shape names the table, tenant and key that forms belong to.
	shape string
	forms []keyForm
	// numbered says that the key's last column is the row's own number.
	numbered bool
	view     bool
	// rowid is the name under which rows have a number, "" where they have none.
	rowid string
	zone  *zone
	named string
	// values and scratch are reused from row to row.
	values  []sqliteValue
	scratch []byte
}

func openSQLite(ctx context.Context, connection, rest string) (source.Source, error) {
	path := rest
	if after, hasAuthority := strings.CutPrefix(rest, "//"); hasAuthority {
		if !strings.HasPrefix(after, "/") {
			return nil, badDSN("names a host, which a SQLite file has not")
		}
		path = after
	}
	if path == "" || path == ":memory:" || strings.ContainsAny(path, "?\x00") {
		return nil, badDSN("names no file, or carries parameters, which this source takes none of")
	}
	site := sqliteSite{connection: connection, path: path}
	if whole, err := filepath.Abs(path); err == nil {
		site.path = whole
	}
	if ctx.Err() != nil {
		return nil, site.errorf(job.Cancelled, codeCancelled, "wasn't opened because the context ended")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, site.missing(err)
	}
	if info.IsDir() {
		return nil, site.errorf(job.Permanent, codeDenied, "is a folder; check the path in the connection's secret, which has to end with the file's name")
	}
	conn, err := openSQLiteFile(ctx, path)
	if err != nil {
		return nil, site.failure(ctx, ctx, &row.Query{}, err)
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(info, now) {
		conn.close()
		return nil, site.errorf(job.Transient, codeUnavailable, "was replaced while it was opened; try again")
	}
	return &sqliteSource{conn: conn, site: site, file: fileNumber(info)}, nil
}

// Close closes the file.
func (s *sqliteSource) Close() error {
	s.conn.close()
	return nil
}

// Read implements source.Source.
func (s *sqliteSource) Read(ctx context.Context, q row.Query, r row.Range, after row.Key, limit source.Limit, b *row.Batch) error {
	if err := checkRead(&q, r, after, limit); err != nil {
		return err
	}
	b.Reset(len(q.Columns) + len(q.Key))
	err := s.within(ctx, &q, func(ctx context.Context) error {
		if err := s.prepareQuery(ctx, &q); err != nil {
			return err
		}
		list, index := fields(&q)
		reader := newSQLiteReader(s, &q, index, limit, b)
		if err := s.rows(ctx, &q, s.withNumber(list), false, limit.Rows+1, readScope(&q, r, after), reader.row); err != nil {
			return err
		}
		return reader.sequence.inside(b, r, after)
	})
	if err != nil {
		b.Reset(len(q.Columns) + len(q.Key))
	}
	return err
}

// within runs one bounded piece of work and turns what it returns into the package's errors.
func (s *sqliteSource) within(ctx context.Context, q *row.Query, work func(ctx context.Context) error) error {
	if s.conn.tls == nil {
		return closed(s.site.connection)
	}
	bounded, cancel := context.WithTimeout(ctx, StatementTime)
	defer cancel()
	defer s.conn.interruptWhenDone(bounded)()
	if err := work(bounded); err != nil {
		return s.site.failure(ctx, bounded, q, err)
	}
	return nil
}

// prepareQuery loads the zone and learns the form of the key columns from the tenant's first row. The last row has to be
// in it too: a form that has changed since the plan, for all rows, some or the latest, gives the same rows or an error.
func (s *sqliteSource) prepareQuery(ctx context.Context, q *row.Query) error {
	if s.zone == nil || s.named != q.Zone {
		z, err := newZone(q.Zone)
		if err != nil {
			return err
		}
		s.zone, s.named = z, q.Zone
	}
	parts := []string{q.Table, q.TenantColumn.Source, q.Tenant}
	for _, column := range q.Key {
		parts = append(parts, column.Source, string(column.Kind), string(column.Unit))
	}
	shape := strings.Join(parts, "\x00")
	if s.shape == shape {
		return nil
	}
	table, err := s.describe(ctx, q)
	if err != nil {
		return err
	}
	s.view, s.rowid = table.view, table.number
	s.numbered = len(q.Key) > 1 && strings.EqualFold(q.Key[len(q.Key)-1].Source, table.rowid)
	s.shape, s.forms = shape, make([]keyForm, len(q.Key))
	key, err := s.keyAt(ctx, q, scope{}, false)
	if err == nil && key != nil {
		_, err = s.keyAt(ctx, q, scope{}, true)
	}
	if err != nil || key == nil {
		s.shape = ""
	}
	return err
}

// rows calls each for the rows of the scope in key order until it returns false or an error, at most limit times for
// each piece of the scope.
func (s *sqliteSource) rows(ctx context.Context, q *row.Query, fields string, descending bool, limit int, whole scope,
	each func(st *sqliteStmt) (bool, error),
) error {
	pieces := s.pieces(q, whole)
	if descending {
		slices.Reverse(pieces)
	}
	more := true
	for i := 0; i < len(pieces) && more; i++ {
		st, err := selectKeyset(s, q, fields, descending, limit, pieces[i])
		if err != nil {
			return err
		}
		err = s.conn.rows(ctx, st, func(st *sqliteStmt) (bool, error) {
			var err error
			more, err = each(st)
			return more, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keyAt returns the first or last key of the scope, nil when it is empty.
func (s *sqliteSource) keyAt(ctx context.Context, q *row.Query, sc scope, last bool) (key row.Key, err error) {
	err = s.rows(ctx, q, s.withNumber(keyFields(q)), last, 1, sc, func(row *sqliteStmt) (bool, error) {
		key, err = s.readKey(q, row)
		return false, err
	})
	return key, err
}

// readKey reads a key from the first fields of a row.
func (s *sqliteSource) readKey(q *row.Query, st *sqliteStmt) (row.Key, error) {
	key := make(row.Key, 0, len(q.Key))
	for i, column := range q.Key {
		text, wrong := s.forms[i].appendKey(s.scratch[:0], st.value(i), column, utcZone())
		if wrong != faultNone {
			place := rowPlace{rowid: s.rowNumber(st, len(q.Key))}
			for k := range q.Key {
				stored := unread
				if k != i {
					stored = string(st.value(k).asText())
				}
				place.key = append(place.key, stored)
			}
			return nil, s.keyFault(q, i, st.value(i), place, wrong)
		}
		s.scratch = text
		key = append(key, string(text))
	}
	return key, nil
}

// withNumber adds the row's number to a select list, for errors to name the row by.
func (s *sqliteSource) withNumber(fields string) string {
	if s.rowid == "" {
		return fields
	}
	return fields + ", t." + s.rowid
}

// rowNumber reads what withNumber added behind the first count fields.
func (s *sqliteSource) rowNumber(st *sqliteStmt, count int) string {
	if s.rowid == "" {
		return ""
	}
	return string(st.value(count).asText())
}

// keyFault refuses what key column i holds.
func (s *sqliteSource) keyFault(q *row.Query, i int, v sqliteValue, place rowPlace, wrong fault) error {
	mixed := wrong == faultForm || wrong == faultOffset && s.forms[i].known
	if !mixed {
		return invalidValue(q.Key[i], place.String(), wrong)
	}
	have, _ := formOf(v, q.Key[i])
	return formMixed(q, q.Key[i], place.String(), have, s.forms[i])
}
