package sqldb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/sqldb"
)

// asUser is the connection string of another user.
func asUser(dsn, user string) string { return strings.Replace(dsn, "root@", user+"@", 1) }

func mysqlSession(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	names := []string{"tx_read_only", "time_zone", "max_statement_time", "lock_wait_timeout", "innodb_lock_wait_timeout", "sql_mode", "character_set_results", "wait_timeout"}
	mytest.Exec(t, dsn, "CREATE VIEW t AS SELECT 'acme' AS tenant, 1 AS id, group_concat(variable_value ORDER BY field(lower(variable_name), '"+
		strings.Join(names, "', '")+"') SEPARATOR ' ') AS v FROM information_schema.SESSION_VARIABLES WHERE variable_name IN ('"+strings.Join(names, "', '")+"')",
		"CREATE TABLE written (n int)", "CREATE FUNCTION leave_trace() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO written VALUES (1); RETURN 1; END",
		"CREATE VIEW w AS SELECT 'acme' AS tenant, leave_trace() AS id, '' AS v")
	src := open(t, dsn)
	rows, err := read(src, valueQuery(row.String))
	if diff := cmp.Diff([][]string{{"ON +00:00 60.000000 2 2 ANSI_QUOTES,NO_BACKSLASH_ESCAPES utf8mb4 900", "1"}}, rows); diff != "" || err != nil {
		t.Errorf("the session is %v (-want +got):\n%s", err, diff)
	}
	q := valueQuery(row.String)
	q.Table = "w"
	// The server hides such a view from a session that can't write.
	if _, err := read(src, q); job.KindOf(err) != job.Permanent {
		t.Errorf("a view that writes is read as %v, want a permanent refusal", err)
	}
	if got := mytest.Query(t, dsn, "SELECT count(*) FROM written"); got[0] != "0" {
		t.Errorf("the source has written %s rows", got[0])
	}
}

// says reports whether an error says all of the words.
func says(err error, words ...string) bool {
	return !slices.ContainsFunc(words, func(text string) bool { return !strings.Contains(fmt.Sprint(err), text) })
}

// slowView takes half a minute for its one row.
const slowView = "CREATE VIEW slow AS SELECT 'acme' AS tenant, 1 AS id, concat('', sleep(30)) AS v"

func mysqlCancel(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mysqlOne(t, dsn, "text", "'x'")
	mytest.Exec(t, dsn, slowView)
	src := open(t, dsn)
	slow := valueQuery(row.String)
	slow.Table = "slow"
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	var b row.Batch
	err := src.Read(ctx, slow, row.Range{}, nil, source.Limit{Rows: 10, Bytes: 1000}, &b)
	if job.KindOf(err) != job.Cancelled {
		t.Errorf("a cancelled read says %v, want cancelled", err)
	}
	running := "SELECT count(*) FROM information_schema.PROCESSLIST WHERE info LIKE 'SELECT t.%\"slow\"%'"
	for range 100 {
		// The server takes a moment to end what it was told to kill.
		if mytest.Query(t, dsn, running)[0] == "0" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := mytest.Query(t, dsn, running); got[0] != "0" {
		t.Errorf("after a cancel the server still runs %s such statements, want none", got[0])
	}
	if rows, err := read(src, valueQuery(row.String)); err != nil || len(rows) != 1 {
		t.Errorf("the read after a cancelled one gives %q and %v, want one row over a new connection", rows, err)
	}
}

func mysqlDisturbances(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mysqlOne(t, dsn, "text", "'x'")
	src := open(t, dsn)
	q := valueQuery(row.String)
	if err := src.Check(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mytest.Exec(t, dsn, "LOCK TABLE t WRITE", "DO sleep(4)")
	}()
	for range 200 {
		if mytest.Query(t, dsn, "SELECT count(*) FROM information_schema.PROCESSLIST WHERE info = 'DO sleep(4)'")[0] == "1" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := read(src, q); job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_timeout" {
		t.Errorf("a locked table is read as %v, want a transient source_timeout", err)
	}
	<-done

	own := valueQuery(row.String)
	mytest.Exec(t, dsn, "CREATE VIEW own AS SELECT 'acme' AS tenant, 1 AS id, concat('', connection_id()) AS v")
	own.Table = "own"
	rows, err := read(src, own)
	if err != nil {
		t.Fatal(err)
	}
	mytest.Exec(t, dsn, "KILL "+rows[0][0])
	if _, err := read(src, q); job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_unavailable" {
		t.Errorf("an ended session is read as %v, want a transient source_unavailable", err)
	}
	if rows, err := read(src, q); err != nil || len(rows) != 1 {
		t.Errorf("the next read gives %q and %v, want one row over a new connection", rows, err)
	}
	if rows, err = read(src, own); err != nil {
		t.Fatal(err)
	}
	mytest.Exec(t, dsn, "KILL QUERY "+rows[0][0])
	if rows, err := read(src, q); err != nil || len(rows) != 1 {
		t.Errorf("a kill of no statement is followed by %q and %v, want one row", rows, err)
	}
}

func mysqlDenied(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mysqlOne(t, dsn, "text", "'x'")
	database := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	mytest.Exec(t, dsn, "CREATE USER outsider IDENTIFIED BY 'p@ss:w/rd', stranger IDENTIFIED BY 'p@ss:w/rd', half IDENTIFIED BY 'p@ss:w/rd', reader IDENTIFIED BY 'p@ss:w/rd'", "GRANT USAGE ON *.* TO stranger", "GRANT SELECT (tenant, id) ON t TO half",
		"GRANT SELECT ON t TO reader")
	const password = ":p%40ss%3Aw%2Frd"
	if rows, err := read(open(t, asUser(dsn, "reader"+password)), valueQuery(row.String)); err != nil || len(rows) != 1 {
		t.Errorf("a reader reads %q (%v), want one row", rows, err)
	}
	mytest.Exec(t, dsn, "CREATE TABLE other (n int)", "GRANT SELECT ON other TO stranger")
	for user, words := range map[string][]string{
		"half":     {"may not read t (error 1143", "column 'v'", "grant it SELECT on the table", "whether it is there at all"},
		"stranger": {"may not read t (error 1142", "grant it SELECT on the table", "whether it is there at all"},
	} {
		src := open(t, asUser(dsn, user+password))
		_, identified := src.Identity(context.Background(), valueQuery(row.String))
		_, read := read(src, valueQuery(row.String))
		for _, err := range []error{src.Check(context.Background(), valueQuery(row.String)), identified, read} {
			if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" || !says(err, words...) {
				t.Errorf("%s is told %v, want source_denied that says %q", user, err, words)
			}
		}
	}
	gone := valueQuery(row.String)
	gone.Table = "gone"
	if err := open(t, dsn).Check(context.Background(), gone); job.CodeOf(err) != "source_schema_changed" || !says(err, "table gone isn't there") {
		t.Errorf("one who may read everything is told %v of a table that isn't there, want source_schema_changed", err)
	}
	missing := gone
	gone.Table, gone.Columns = "t", []row.Column{{Name: "gone", Source: "gone", Kind: row.String, Scale: -1}}
	for _, q := range []row.Query{gone, missing} {
		if err := open(t, asUser(dsn, "half"+password)).Check(context.Background(), q); job.CodeOf(err) != "source_denied" || !says(err, "whether it is there at all") {
			t.Errorf("a user of two columns is told %v of what isn't there, want source_denied that leaves it open", err)
		}
	}
	if err := open(t, asUser(dsn, "reader"+password)).Check(context.Background(), gone); job.CodeOf(err) != "source_schema_changed" || !says(err, "table t has no column gone") {
		t.Errorf("a reader is told %v of a column that isn't there, want source_schema_changed", err)
	}
	for _, other := range []string{asUser(dsn, "nobody:hushed"), asUser(dsn, "reader:hushed"), asUser(dsn, "outsider"+password), strings.Replace(dsn, "/"+database, "/none", 1)} {
		_, err := sqldb.Open(context.Background(), other)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" {
			t.Errorf("%s is told %v, want source_denied", other, err)
		}
		if strings.Contains(fmt.Sprint(err), "hushed") {
			t.Errorf("an error repeats the password: %v", err)
		}
	}
	unnamed := open(t, server.DSN())
	if _, err := read(unnamed, valueQuery(row.String)); job.KindOf(err) != job.Permanent {
		t.Errorf("a table without a database is read as %v, want a permanent error", err)
	}
	q := valueQuery(row.String)
	q.Table = database + ".t"
	if rows, err := read(unnamed, q); err != nil || len(rows) != 1 {
		t.Errorf("a table with its database reads %q (%v), want one row", rows, err)
	}
}

func mysqlOverload(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE USER single WITH MAX_USER_CONNECTIONS 1", "GRANT SELECT ON *.* TO single")
	open(t, asUser(dsn, "single"))
	if _, err := sqldb.Open(context.Background(), asUser(dsn, "single")); job.KindOf(err) != job.Overload || job.CodeOf(err) != "source_overloaded" {
		t.Errorf("a connection too many is told %v, want overload", err)
	}
}

func mysqlViews(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE b (tenant varchar(20) NOT NULL, id bigint NOT NULL, n bigint unsigned, note varchar(9), UNIQUE KEY (tenant, id))",
		"INSERT INTO b SELECT 'acme', seq, seq, 'x' FROM seq_1_to_9", "CREATE VIEW t AS SELECT tenant, id, n - 1 AS v, note FROM b")
	src := open(t, dsn)
	q := valueQuery(row.Int64)
	if err := src.Check(context.Background(), q); err != nil {
		t.Errorf("the view is checked as %v", err)
	}
	if rows, err := read(src, q); err != nil || len(rows) != 9 {
		t.Errorf("the view reads as %q (%v), want 9 rows", rows, err)
	}
	mytest.Exec(t, dsn, "INSERT INTO b VALUES ('acme', 10, 0, NULL)")
	if _, err := read(src, q); job.KindOf(err) != job.Permanent {
		t.Errorf("a view whose expression fails says %v, want a permanent error", err)
	}
	q.Columns[0] = q.Key[0]
	q.Key[0] = row.Column{Source: "note", Kind: row.String}
	if err := src.Check(context.Background(), q); job.CodeOf(err) != "source_key_collation" {
		t.Errorf("a case-blind key of a view is checked as %v, want source_key_collation", err)
	}
	mytest.Exec(t, dsn, "CREATE VIEW w AS SELECT tenant, id, CAST(note AS CHAR(9)) COLLATE utf8mb4_nopad_bin AS note FROM b")
	q.Table = "w"
	if _, err := src.Plan(context.Background(), q, source.PlanOptions{}); job.CodeOf(err) != "source_key_nullable" {
		t.Errorf("NULL keys of a view are planned as %v, want source_key_nullable", err)
	}
	mytest.Exec(t, dsn, "DROP TABLE b")
	q = valueQuery(row.Int64)
	if err := src.Check(context.Background(), q); job.CodeOf(err) != "source_schema_changed" {
		t.Errorf("a view without its table is checked as %v, want source_schema_changed", err)
	}
}

// mysqlGrowing makes a reader that has learnt that rows are small meet large ones.
func mysqlGrowing(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v longtext, UNIQUE KEY (tenant, id))",
		"INSERT INTO t SELECT 'acme', seq, 'small' FROM seq_1_to_3000", "INSERT INTO t SELECT 'acme', seq, repeat('x', 1000000) FROM seq_3001_to_3060")
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
	if total != 3060 {
		t.Errorf("read %d rows, want 3060", total)
	}
}

func mysqlUnits(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v timestamp, n bigint)")
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
