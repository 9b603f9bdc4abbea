package sqldb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

// valueQuery reads column v of table t, whose key is id.
func valueQuery(kind row.Kind) row.Query {
	column := func(name string, kind row.Kind) row.Column {
		return row.Column{Name: name, Source: name, Kind: kind, Scale: -1}
	}
	return row.Query{
		Table: "t", Columns: []row.Column{column("v", kind)}, Key: []row.Column{column("id", row.Int64)},
		TenantColumn: column("tenant", row.String), Tenant: "acme", Zone: "UTC",
	}
}

// read reads everything as text, NULL as "NULL".
func read(src source.Source, q row.Query) ([][]string, error) {
	var b row.Batch
	var rows [][]string
	var after row.Key
	for {
		if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 100, Bytes: 1 << 20}, &b); err != nil {
			return rows, err
		}
		if b.Rows() == 0 {
			return rows, nil
		}
		for i := range b.Rows() {
			var values []string
			for c := range b.Width() {
				value, ok := b.Value(i, c)
				if !ok {
					value = []byte("NULL")
				}
				values = append(values, string(value))
			}
			rows = append(rows, values)
		}
		after = b.Key(b.Rows()-1, len(q.Key))
	}
}

func TestSQLiteClassesBecomeKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    row.Kind
		literal string
		want    string // "" for a refusal
	}{
		{row.String, "x'ff00'", "\xff\x00"}, {row.String, "CAST(x'ff' AS TEXT)", "\xff"}, {row.String, "12", "12"}, {row.String, "1.5", ""},
		{row.Int64, "12", "12"}, {row.Int64, "'12'", ""}, {row.Int64, "1.0", ""},
		{row.Decimal, "12", "12"}, {row.Decimal, "'12.50'", "12.50"}, {row.Decimal, "12.5", ""}, {row.Decimal, "'1e5'", ""},
		{row.Decimal, "'+1'", ""}, {row.Decimal, "'NaN'", ""}, {row.Decimal, "'1.'", ""}, {row.Decimal, "x'31'", ""},
		{row.Float64, "1.5", "1.5"}, {row.Float64, "9007199254740992", "9007199254740992"}, {row.Float64, "9007199254740993", ""},
		{row.Float64, "'1.5'", ""}, {row.Float64, "1e999", "Infinity"}, {row.Float64, "-1e999", "-Infinity"},
		{row.Bool, "1", "true"}, {row.Bool, "0", "false"}, {row.Bool, "'true'", "true"}, {row.Bool, "2", ""}, {row.Bool, "'yes'", ""},
		{row.Date, "'2026-02-28'", "2026-02-28"}, {row.Date, "'2026-02-29'", ""}, {row.Date, "'2026-02-28 00:00:00'", ""}, {row.Date, "20260228", ""},
		{row.Timestamp, "'2026-01-01 08:00:00+08:00'", "2026-01-01T00:00:00Z"}, {row.Timestamp, "'2026-01-01T00:00:00.5-0530'", "2026-01-01T05:30:00.5Z"},
		{row.Timestamp, "'2026-01-01'", ""}, {row.Timestamp, "'2026-01-01 24:00:00'", ""}, {row.Timestamp, "CAST('2026-01-01 00:00:00' AS BLOB)", ""},
		{row.Timestamp, "'0001-01-01 00:00:00+01:00'", ""}, {row.Timestamp, "'2026-01-01 00:00:00 +0000 UTC'", ""}, {row.Timestamp, "1.5", ""},
		{row.DateTime, "'2026-01-01 10:00:00.25'", "2026-01-01T10:00:00.25"}, {row.DateTime, "'2026-01-01T10:00:00'", "2026-01-01T10:00:00"},
		{row.DateTime, "'2026-01-01T10:00:00Z'", ""}, {row.DateTime, "1767225600.5", ""},
		{row.JSON, `'{"a":1}'`, `{"a":1}`}, {row.JSON, "x'7b7d'", ""}, {row.JSON, "1", ""},
		{row.Bytes, "x'00ff'", "\x00\xff"}, {row.Bytes, "'text'", "text"}, {row.Bytes, "1", ""},
	} {
		t.Run(string(c.kind)+" "+c.literal, func(t *testing.T) {
			t.Parallel()
			dsn, exec := sqliteFile(t)
			exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES ('acme', 41, "+c.literal+")")
			src := open(t, dsn)
			rows, err := read(src, valueQuery(c.kind))
			if c.want != "" {
				if diff := cmp.Diff([][]string{{c.want, "41"}}, rows); diff != "" || err != nil {
					t.Fatalf("read %v (-want +got):\n%s", err, diff)
				}
				return
			}
			if job.CodeOf(err) != "source_value_invalid" || job.KindOf(err) != job.Permanent {
				t.Fatalf("error is %v, want a permanent source_value_invalid", err)
			}
			if text := err.Error(); !strings.Contains(text, "column v") || !strings.Contains(text, "rowid 41 and key 41") {
				t.Errorf("the error names not column, row number and key: %s", text)
			}
		})
	}
}

func TestSQLiteChecksTheTable(t *testing.T) {
	t.Parallel()
	const columns = "(tenant TEXT NOT NULL, created_at TEXT NOT NULL, id INTEGER NOT NULL, sku TEXT NOT NULL COLLATE NOCASE, note TEXT)"
	key := func(names ...string) func(q *row.Query) {
		kinds := map[string]row.Kind{"created_at": row.Timestamp, "id": row.Int64, "sku": row.String, "note": row.String}
		return func(q *row.Query) {
			q.Key = nil
			for _, name := range names {
				q.Key = append(q.Key, row.Column{Source: name, Kind: kinds[name]})
			}
		}
	}
	for _, c := range []struct {
		name   string
		tables []string
		alter  func(q *row.Query)
		want   string
	}{
		{"index on tenant and key", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (tenant, created_at, id)"}, key("created_at", "id"), ""},
		{"index on the key alone", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (created_at, id)"}, key("created_at", "id"), ""},
		{"no index", []string{"CREATE TABLE t " + columns}, key("created_at", "id"), "source_key_not_indexed"},
		{"partial index", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (tenant, created_at) WHERE id > 3"}, key("created_at", "id"), "source_key_not_indexed"},
		{"nullable key", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (tenant, note)"}, key("note"), "source_key_nullable"},
		{"case-blind key", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (tenant, sku)"}, key("sku"), "source_key_collation"},
		{"row number as key", []string{"CREATE TABLE t (tenant TEXT, id INTEGER PRIMARY KEY, note TEXT)"}, key("id"), ""},
		{"nullable primary key", []string{"CREATE TABLE t (tenant TEXT, id INT PRIMARY KEY, note TEXT)"}, key("id"), "source_key_nullable"},
		{"primary key without row ids", []string{"CREATE TABLE t (tenant TEXT, id INT, note TEXT, PRIMARY KEY (tenant, id)) WITHOUT ROWID"}, key("id"), ""},
		{"view", []string{"CREATE TABLE b " + columns, "CREATE VIEW t AS SELECT * FROM b"}, key("created_at", "id"), ""},
		{"view with NULL keys", []string{"CREATE TABLE b " + columns, "INSERT INTO b VALUES ('acme', 'x', 1, 's', NULL)", "CREATE VIEW t AS SELECT * FROM b"}, key("note"), "source_key_nullable"},
		{"schema-qualified", []string{"CREATE TABLE t " + columns, "CREATE INDEX i ON t (tenant, id)"}, func(q *row.Query) { q.Table = "main.t" }, ""},
		{"too many dots", []string{"CREATE TABLE t " + columns}, func(q *row.Query) { q.Table = "a.b.c" }, "source_query_invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dsn, exec := sqliteFile(t)
			exec(t, c.tables...)
			src := open(t, dsn)
			q := valueQuery(row.String)
			q.Columns[0].Source = "note"
			c.alter(&q)
			err := src.Check(context.Background(), q)
			if err == nil && strings.HasPrefix(c.name, "view") {
				_, err = src.Plan(context.Background(), q, source.PlanOptions{})
			}
			if c.want == "" && err != nil || c.want != "" && job.CodeOf(err) != c.want {
				t.Fatalf("check says %v, want %q", err, c.want)
			}
		})
	}
}

func TestSQLiteTimeBoundsOutsideTheKeyAreExact(t *testing.T) {
	t.Parallel()
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, at, id INTEGER PRIMARY KEY, v TEXT)",
		"INSERT INTO t VALUES ('acme', '2026-01-01 08:00:00+08:00', 1, 'a'), ('acme', '2026-01-01T00:00:00.5Z', 2, 'b'),"+
			"('acme', '2025-12-31 23:59:59.999', 3, 'c'), ('acme', NULL, 4, 'd'), ('acme', 1767225600250, 5, 'e')")
	src := open(t, dsn)
	q := valueQuery(row.String)
	q.TimeColumn = row.Column{Source: "at", Kind: row.Timestamp, Unit: row.Milliseconds}
	q.Since, q.Until = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"
	rows, err := read(src, q)
	if diff := cmp.Diff([][]string{{"a", "1"}, {"e", "5"}}, rows); diff != "" || err != nil {
		t.Fatalf("read %v (-want +got):\n%s", err, diff)
	}
	exec(t, "INSERT INTO t VALUES ('acme', 'soon', 6, 'f')")
	_, err = read(src, q)
	if job.CodeOf(err) != "source_value_invalid" || !strings.Contains(err.Error(), "column at (timestamp) of the row with rowid 6 and key 6") {
		t.Fatalf("a time that is none is read as %v, want source_value_invalid with column and key", err)
	}
}

func TestSQLiteNeverBlocksAWriterAndSurvivesOne(t *testing.T) {
	t.Parallel()
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES ('acme', 1, 'a')")
	src := open(t, dsn)
	for i := range 20 {
		if _, err := read(src, valueQuery(row.String)); err != nil {
			t.Fatal(err)
		}
		exec(t, fmt.Sprintf("INSERT INTO t VALUES ('acme', %d, 'b')", i+2))
	}
	locked, exec := sqliteFile(t)
	exec(t, "PRAGMA journal_mode=DELETE", "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)",
		"INSERT INTO t VALUES ('acme', 1, 'a')", "BEGIN EXCLUSIVE")
	src = open(t, locked)
	start := time.Now()
	_, err := read(src, valueQuery(row.String))
	if job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_timeout" || time.Since(start) > 2*sqldb.LockTime {
		t.Fatalf("a locked file is read as %v after %s, want a transient source_timeout", err, time.Since(start))
	}
	exec(t, "COMMIT")
	if rows, err := read(src, valueQuery(row.String)); err != nil || len(rows) != 1 {
		t.Fatalf("after the lock %d rows and %v, want 1", len(rows), err)
	}
}

func TestSQLiteStopsInTheMiddleOfAStatement(t *testing.T) {
	t.Parallel()
	dsn, exec := sqliteFile(t)
	exec(t, `CREATE VIEW t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
		SELECT 'acme' AS tenant, i AS id, 'x' AS v FROM n WHERE i > 999999990`)
	src := open(t, dsn)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	var b row.Batch
	start := time.Now()
	err := src.Read(ctx, valueQuery(row.String), row.Range{}, nil, source.Limit{Rows: 10, Bytes: 1000}, &b)
	if job.KindOf(err) != job.Cancelled || time.Since(start) > 5*time.Second {
		t.Fatalf("a cancelled read says %v after %s, want cancelled at once", err, time.Since(start))
	}
	exec(t, "DROP VIEW t", "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES ('acme', 1, 'a')")
	if rows, err := read(src, valueQuery(row.String)); err != nil || len(rows) != 1 {
		t.Fatalf("the next read gives %q and %v, want one row", rows, err)
	}
}

func TestOpenRefusesWithoutRepeatingTheString(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for dsn, want := range map[string]string{
		"":                                     "source_dsn_invalid",
		"sqlite:":                              "source_dsn_invalid",
		"sqlite://host/secret.db":              "source_dsn_invalid",
		"sqlite:///secret.db?mode=rw":          "source_dsn_invalid",
		"sqlite::memory:":                      "source_dsn_invalid",
		"oracle://u:secret@h/d":                "source_dsn_invalid",
		"postgres://u:secret@h:port/d":         "source_dsn_invalid",
		"postgres://u:secret@h/%zz":            "source_dsn_invalid",
		"postgres://u:secret@127.0.0.1:1/d":    "source_unavailable",
		"sqlite://" + dir + "/secret/none.db":  "source_denied",
		"sqlite://" + dir:                      "source_denied",
		"postgres://u:secret@nowhere.invalid/": "source_unavailable",
	} {
		_, err := sqldb.Open(context.Background(), dsn)
		if job.CodeOf(err) != want || strings.Contains(fmt.Sprint(err), "secret@") || strings.Contains(fmt.Sprint(err), ":secret") {
			t.Errorf("open %q says %v, want %s and no secret", dsn, err, want)
		}
	}
	src, err := sqldb.Open(context.Background(), "sqlite://"+text)
	if err == nil {
		_, err = read(src, valueQuery(row.String))
	}
	if job.CodeOf(err) != "source_denied" {
		t.Errorf("a text file is read as %v, want source_denied", err)
	}
}
