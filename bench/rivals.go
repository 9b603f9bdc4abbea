package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// line is one way to export the table. A line that is missing says why; the others can be measured again and again.
type line struct {
	Name string `json:"name"`
	// Group is what the picture puts together.
	Group   string `json:"group"`
	Missing string `json:"missing,omitempty"`
	Note    string `json:"note,omitempty"`

	measure func(context.Context) (sample, error)
}

// The groups of lines.
const (
	groupLoop  = "by hand"
	groupRival = "others"
	groupOurs  = "Sealift"
	groupExcel = "Excel"
)

// Names that ratios refer to.
const (
	nameLoop1    = "loop, 1 worker"
	nameLoop2    = "loop, 2 workers"
	nameGzip6    = `psql \copy | gzip -6`
	nameGzip1    = `psql \copy | gzip -1`
	nameExcelize = "excelize StreamWriter"
	nameDuckDB   = "DuckDB COPY to csv.gz"
)

// table is the orders and where they can be read.
type table struct {
	rows int64
	dsn  string
	// server is the process id of PostgreSQL.
	server int
	// rawBytes is the size of the table as plain CSV.
	rawBytes int64
	// dir is for what lines write; each removes its own.
	dir string
	// tools is the checkout's folder of installed programs.
	tools string
}

func (t *table) loops() []line {
	work := func(kind string, workers int) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			s, y, err := again(ctx, t.server, kind, strconv.Itoa(workers), t.dsn)
			if err == nil && kind == "loop" {
				t.rawBytes = y.RawBytes
			}
			return s, errors.Join(err, t.whole(s))
		}
	}
	return []line{
		{Name: nameLoop1, Group: groupLoop, Note: "gzip level 1", measure: work("loop", 1)},
		{Name: nameLoop2, Group: groupLoop, Note: "gzip level 1", measure: work("loop", 2)},
		{Name: "Sealift's engine, 2 workers", Group: groupLoop, Note: "process-shard's code without the cloud", measure: work("engine", 2)},
	}
}

// whole refuses a measurement of other rows than the table's.
func (t *table) whole(s sample) error {
	if s.Rows != t.rows {
		return fmt.Errorf("it exported %d rows, want %d", s.Rows, t.rows)
	}
	return nil
}

func (t *table) excelize() line {
	return line{Name: nameExcelize, Group: groupExcel, Note: "one process, several sheets", measure: func(ctx context.Context) (sample, error) {
		s, _, err := again(ctx, t.server, "excel", "1", t.dsn)
		return s, errors.Join(err, t.whole(s))
	}}
}

func (t *table) psql() []line {
	statement := "select " + columns + " from orders where tenant_id = '" + tenant + "' order by placed_at, id"
	copied := `psql -X -q "` + t.dsn + `" -c "\copy (` + statement + `) to stdout (format csv)"`
	return []line{
		t.shell(nameGzip6, []string{"psql", "gzip"}, "", copied+" | gzip -6 | wc -c"),
		t.shell(nameGzip1, []string{"psql", "gzip"}, "", copied+" | gzip -1 | wc -c"),
		t.shell(`psql \copy | pigz`, []string{"psql", "pigz"}, "both cores, level 6", copied+" | pigz | wc -c"),
		t.dump(),
	}
}

// shell is a line that a pipeline measures.
func (t *table) shell(name string, programs []string, note, text string) line {
	return line{Name: name, Group: groupRival, Note: note, Missing: lacks(programs...), measure: func(ctx context.Context) (sample, error) {
		return pipeline(ctx, t.server, t.rows, text)
	}}
}

// lacks names the programs that this machine doesn't have.
func lacks(programs ...string) string {
	missing := ""
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing += program + " is not installed; "
		}
	}
	if missing == "" {
		return ""
	}
	return missing + "infra/setup.sh bench installs it where it can"
}

// dump is pg_dump's parallel format. One table is one job to it, so that its second worker idles.
func (t *table) dump() line {
	return line{Name: "pg_dump -Fd -j2 -Z1", Group: groupRival, Note: "its own text format; one table is one job", Missing: lacks("pg_dump"),
		measure: func(ctx context.Context) (sample, error) {
			out := filepath.Join(t.dir, "dump")
			defer func() { _ = os.RemoveAll(out) }()
			return t.folder(ctx, t.server, out, "pg_dump", "-Fd", "-j2", "-Z1", "-t", "orders", "-f", out, t.dsn)
		}}
}

// folder measures a program that writes into a folder.
func (t *table) folder(ctx context.Context, server int, out, name string, args ...string) (sample, error) {
	s, _, err := command(ctx, server, name, args...)
	if err != nil {
		return s, err
	}
	s.Rows = t.rows
	entries, err := os.ReadDir(out)
	if err != nil {
		return s, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return s, err
		}
		s.OutBytes += info.Size()
	}
	if s.OutBytes < t.rows {
		return s, fmt.Errorf("%s wrote %d bytes for %d rows", name, s.OutBytes, t.rows)
	}
	return s, nil
}

// plain writes the table as CSV to a file, from which other databases are filled, and returns its path.
func (t *table) plain(ctx context.Context) (string, error) {
	path := filepath.Join(t.dir, "orders.csv")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, _, err := command(ctx, t.server, "psql", "-X", "-q", t.dsn, "-c", `\copy (select `+columns+` from orders order by placed_at, id) to '`+path+`' (format csv)`)
	return path, err
}

// duckdb fills a table of DuckDB's own and copies it to a gzipped CSV file. Its reader of PostgreSQL is an extension that is downloaded from its makers
// at run time and is left out; from its own table it is spared the database.
func (t *table) duckdb(ctx context.Context) line {
	l := line{Name: nameDuckDB, Group: groupRival, Note: "from its own table, 2 threads"}
	python := filepath.Join(t.tools, "duckdb", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		l.Missing = "the Python package duckdb is not installed; infra/setup.sh bench installs it"
		return l
	}
	db, out := filepath.Join(t.dir, "orders.duckdb"), filepath.Join(t.dir, "duckdb.csv.gz")
	run := func(ctx context.Context, statement string) (sample, error) {
		s, _, err := command(ctx, t.server, python, "-c", "import sys, duckdb; c = duckdb.connect(sys.argv[1], config={'threads': 2}); c.execute(sys.argv[2])", db, statement)
		return s, err
	}
	csv, err := t.plain(ctx)
	if err == nil {
		_, err = run(ctx, `CREATE TABLE orders AS SELECT * FROM read_csv('`+csv+`', header = false, names = ['id', 'tenant_id', 'order_no', 'placed_at',
			'status', 'customer', 'email', 'country', 'amount', 'items', 'shipped_at', 'note'], types = {'id': 'BIGINT', 'placed_at': 'TIMESTAMPTZ',
			'amount': 'DECIMAL(12,2)', 'items': 'INTEGER', 'shipped_at': 'TIMESTAMPTZ', 'note': 'VARCHAR'})`)
	}
	if err != nil {
		l.Missing = "its table can't be made: " + err.Error()
		return l
	}
	l.measure = func(ctx context.Context) (sample, error) {
		defer func() { _ = os.Remove(out) }()
		s, err := run(ctx, `COPY orders TO '`+out+`' (FORMAT csv, HEADER, COMPRESSION gzip)`)
		if err != nil {
			return s, err
		}
		s.Rows = t.rows
		info, err := os.Stat(out)
		if err != nil {
			return s, err
		}
		s.OutBytes = info.Size()
		return s, nil
	}
	return l
}
