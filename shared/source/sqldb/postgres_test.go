package sqldb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
	"sealift/shared/source/sourcetest"
	"sealift/shared/source/sqldb"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	// Made once: two sessions that make one at the same time get into each other's way.
	pgtest.Exec(t, server.DSN(), "CREATE EXTENSION citext SCHEMA public", "CREATE EXTENSION postgres_fdw SCHEMA public")
	t.Run("passes the suite", func(t *testing.T) {
		t.Parallel()
		sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
			dsn := server.Schema(t)
			return postgresSpelling(dsn).fixture(dsn)
		})
	})
	for name, run := range map[string]func(t *testing.T, server *pgtest.Server){
		"types become kinds or are refused":            typesBecomeKinds,
		"values that no file can carry are refused":    outOfRange,
		"the table is checked":                         checksTable,
		"the tenant is compared bytewise in any type":  tenantTypes,
		"a tenant is compared by a server elsewhere":   foreignTenants,
		"keys that are times are doubled or infinite":  timeKeys,
		"keys of other types and collations tile":      keyTypes,
		"the session can't write and says who it is":   session,
		"a lock, a cancel and a lost connection":       disturbances,
		"a connection rests and is woken":              postgresRests,
		"missing rights are denied":                    denied,
		"a table is planned without its statistics":    hiddenStatistics,
		"rights that are needed are named":             namedRights,
		"a policy that hides rows":                     rowSecurity,
		"a full server is overload":                    overload,
		"what takes a name is another thing":           identities,
		"views are read and their faults are named":    views,
		"a time has no unit":                           units,
		"a tenant that began late is planned evenly":   lateTenant,
		"rows that grow after a small chunk end early": growingRows,
		"a table that has shrunk is counted":           shrunken,
		"a lost column has no identity":                lostColumn,
		"a database without encoding hands bytes on":   unencoded,
		"another encoding than UTF8 has its letters":   otherLetters,
		"no text holds NUL":                            withoutNUL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, server)
		})
	}
}

func session(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE SEQUENCE written", `CREATE VIEW t AS SELECT 'acme'::text AS tenant, 1::bigint AS id,
		current_setting('application_name') || ' ' || current_setting('statement_timeout') || ' ' || current_setting('lock_timeout') || ' ' ||
		current_setting('transaction_read_only') || ' ' || current_setting('TimeZone') || ' ' || current_setting('max_parallel_workers_per_gather') || ' ' ||
		current_setting('tcp_keepalives_idle') || ' ' || current_setting('tcp_keepalives_interval') || ' ' || current_setting('tcp_keepalives_count') || ' ' ||
		(SELECT count(*) FROM pg_stat_activity WHERE pid = pg_backend_pid()) AS v`,
		"CREATE VIEW w AS SELECT 'acme'::text AS tenant, nextval('written') AS id, ''::text AS v")
	src := open(t, dsn+"&statement_timeout=0&default_transaction_read_only=off&options=-c%20statement_timeout%3D0")
	rows, err := read(src, valueQuery(row.String))
	if diff := cmp.Diff([][]string{{"sealift 1min 2s on UTC 0 30 10 3 1", "1"}}, rows); diff != "" || err != nil {
		t.Errorf("the session is %v (-want +got):\n%s", err, diff)
	}
	q := valueQuery(row.String)
	q.Table = "w"
	if _, err := read(src, q); job.CodeOf(err) != "source_denied" {
		t.Errorf("a view that writes is read as %v, want source_denied", err)
	}
}

func disturbances(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	oneValue(t, dsn, "'x'::text")
	pgtest.Exec(t, dsn, "CREATE VIEW slow AS SELECT 'acme'::text AS tenant, 1::bigint AS id, pg_sleep(30)::text AS v")
	src := open(t, dsn)
	q := valueQuery(row.String)

	locked := make(chan struct{})
	go func() {
		defer close(locked)
		pgtest.Exec(t, dsn, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT")
	}()
	time.Sleep(300 * time.Millisecond)
	if _, err := read(src, q); job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_timeout" {
		t.Errorf("a locked table is read as %v, want a transient source_timeout", err)
	}
	<-locked

	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	slow := q
	slow.Table = "slow"
	var b row.Batch
	start := time.Now()
	err := src.Read(ctx, slow, row.Range{}, nil, source.Limit{Rows: 10, Bytes: 1000}, &b)
	if job.KindOf(err) != job.Cancelled || time.Since(start) > 5*time.Second {
		t.Errorf("a cancelled read says %v after %s, want cancelled at once", err, time.Since(start))
	}
	probe := valueQuery(row.Int64)
	probe.Table = "busy"
	pgtest.Exec(t, dsn, `CREATE VIEW busy AS SELECT 'acme'::text AS tenant, 1::bigint AS id,
		(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sealift' AND state = 'active' AND query LIKE '%"slow"%' AND pid <> pg_backend_pid()) AS v`)
	if rows, err := read(src, probe); err != nil || rows[0][0] != "0" {
		t.Errorf("after a cancel the server still runs %q (%v), want nothing", rows, err)
	}

	pgtest.Exec(t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sealift' AND query LIKE '%busy%'")
	if _, err := read(src, q); job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_unavailable" {
		t.Errorf("an ended session is read as %v, want a transient source_unavailable", err)
	}
	if rows, err := read(src, q); err != nil || len(rows) != 1 {
		t.Errorf("the next read gives %q and %v, want one row over a new connection", rows, err)
	}
}

func denied(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	oneValue(t, dsn, "'x'::text")
	pgtest.Exec(t, dsn, "CREATE ROLE stranger LOGIN", "CREATE ROLE half LOGIN", "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO half', current_schema); END $$",
		"GRANT SELECT (tenant, id) ON t TO half")
	for _, user := range []string{"stranger", "half"} {
		src := open(t, strings.Replace(dsn, "postgres@", user+"@", 1))
		err := src.Check(context.Background(), valueQuery(row.String))
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" && job.CodeOf(err) != "source_schema_changed" {
			t.Errorf("%s is told %v, want a permanent refusal", user, err)
		}
		_ = src.Close()
	}
	if _, err := sqldb.Open(context.Background(), strings.Replace(dsn, "postgres@", "nobody:secret@", 1)); job.CodeOf(err) != "source_denied" {
		t.Errorf("an unknown user is told %v, want source_denied", err)
	}
}

// rowSecurity shows that rows which a policy hides are never left out without a word: of one's own table, and of the one
// below a view, which goes by the rights of the view's owner.
func rowSecurity(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	oneValue(t, dsn, "'x'::text")
	pgtest.Exec(t, dsn, "CREATE ROLE filtered LOGIN", "CREATE ROLE exempt LOGIN BYPASSRLS", "CREATE TABLE b (LIKE t INCLUDING ALL)", "INSERT INTO b SELECT * FROM t",
		"ALTER TABLE b ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON b USING (tenant = current_setting('app.tenant', true))", "GRANT SELECT ON b TO filtered, exempt",
		"CREATE VIEW inviting AS SELECT * FROM b", "ALTER VIEW inviting OWNER TO filtered",
		"DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO filtered, exempt', current_schema); END $$", "GRANT SELECT ON inviting TO exempt")
	for _, c := range []struct{ user, table, want string }{
		{"filtered", "b", "row-level security would hide rows of table b from the source's user"},
		{"exempt", "inviting", "row-level security would hide rows of table inviting from the source's user"},
		{"exempt", "b", ""},
	} {
		src, q := open(t, strings.Replace(dsn, "postgres@", c.user+"@", 1)), valueQuery(row.String)
		q.Table = c.table
		_, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 10, ShardsMax: 10})
		rows, readErr := read(src, q)
		if c.want == "" {
			if err != nil || readErr != nil || len(rows) != 1 {
				t.Errorf("%s reads %q of %s (%v, %v), want its one row", c.user, rows, c.table, err, readErr)
			}
			continue
		}
		for _, err := range []error{err, readErr} {
			if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "BYPASSRLS") {
				t.Errorf("%s is told of %s: %v; want a permanent refusal that says %q", c.user, c.table, err, c.want)
			}
		}
		_ = src.Close()
	}
}

func overload(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE ROLE single LOGIN CONNECTION LIMIT 1")
	dsn = strings.Replace(dsn, "postgres@", "single@", 1)
	open(t, dsn)
	if _, err := sqldb.Open(context.Background(), dsn); job.KindOf(err) != job.Overload || job.CodeOf(err) != "source_overloaded" {
		t.Errorf("a connection too many is told %v, want overload", err)
	}
}

func views(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE b (tenant text NOT NULL, id bigint NOT NULL, n int)", "INSERT INTO b SELECT 'acme', i, i FROM generate_series(1, 9) AS g(i)",
		"CREATE VIEW t AS SELECT tenant, id, (100 / (n - 10))::bigint AS v FROM b")
	src := open(t, dsn)
	if rows, err := read(src, valueQuery(row.Int64)); err != nil || len(rows) != 9 {
		t.Errorf("the view reads as %q (%v), want 9 rows", rows, err)
	}
	pgtest.Exec(t, dsn, "INSERT INTO b VALUES ('acme', 10, 10)")
	if _, err := read(src, valueQuery(row.Int64)); job.KindOf(err) != job.Permanent {
		t.Errorf("a view that divides by zero says %v, want a permanent error", err)
	}
}

// units are for numbers, which no PostgreSQL type of time is.
func units(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v timestamptz, n bigint)")
	src := open(t, dsn)
	for _, name := range []string{"v", "n"} {
		q := valueQuery(row.Timestamp)
		q.Columns[0].Source, q.Columns[0].Unit = name, row.Milliseconds
		err := src.Check(context.Background(), q)
		if job.CodeOf(err) != "source_query_invalid" || !strings.Contains(err.Error(), "column "+name) || !strings.Contains(err.Error(), "unit ms") {
			t.Errorf("a unit of column %s is told %v, want source_query_invalid that names both", name, err)
		}
	}
}

// growingRows makes a reader that has learnt that rows are small meet large ones.
func growingRows(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint NOT NULL, v text)", "CREATE INDEX ON t (tenant, id)",
		"INSERT INTO t SELECT 'acme', i, 'small' FROM generate_series(1, 3000) AS g(i)",
		"INSERT INTO t SELECT 'acme', i, repeat('x', 1000000) FROM generate_series(3001, 3100) AS g(i)")
	src := open(t, dsn)
	q := valueQuery(row.String)
	var b row.Batch
	var after row.Key
	total := 0
	for {
		if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 1500, Bytes: 4 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == 0 {
			break
		}
		if b.Bytes() > 4<<20 {
			t.Fatalf("a batch has %d bytes", b.Bytes())
		}
		total += b.Rows()
		after = b.Key(b.Rows()-1, 1)
	}
	if total != 3100 {
		t.Errorf("read %d rows, want 3100", total)
	}
}
