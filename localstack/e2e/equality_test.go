package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func proveEquality(t *testing.T, s *shared) {
	ana := s.user(t, tenant, "ana")
	want := recordsOf(s.list, tenant)
	for _, source := range []string{"lite", "pg", "maria"} {
		for _, format := range []string{"csv", "jsonl"} {
			for _, compression := range []string{"none", "gzip", "zstd"} {
				t.Run(source+" "+format+" "+compression, func(t *testing.T) {
					t.Parallel()
					asked := whole(source, format, compression)
					if format == "jsonl" {
						asked = asked.with("zone", "Asia/Shanghai")
					}
					id := ana.create(t, asked, "equality "+t.Name())
					done := ana.completed(t, id)
					if done.Shards < 2 || int(done.File.Rows) != len(want) {
						t.Errorf("%d shards and %d rows, want several and %d", done.Shards, done.File.Rows, len(want))
					}
					equal(t, parse(t, ana.download(t, id), format, compression), want)
				})
			}
		}
	}
}

func proveCopy(t *testing.T, s *shared) {
	ana := s.user(t, tenant, "ana")
	file := filepath.Join(t.TempDir(), "orders.csv")
	ana.sealift(t, "export", "create", "--definition", "pg", "--purpose", "copy", "--from", from, "--to", to, "--as-of", asOf,
		"--format", "csv", "--compression", "none", "--download", file)
	exported, err := os.ReadFile(file)
	ok(t, err)
	query := "SELECT " + strings.Join(columns(), ", ") + " FROM orders WHERE tenant_id = '" + tenant + "' ORDER BY placed_at, id"
	// libpq knows no search_path in an address.
	address, path, _ := strings.Cut(s.pg, "&search_path=")
	copied := exec.CommandContext(t.Context(), "psql", address, "--no-psqlrc", "--quiet", "-c", `\copy (`+query+`) TO STDOUT WITH (FORMAT csv, HEADER)`)
	copied.Env = append(os.Environ(), "PGTZ=UTC", "PGCLIENTENCODING=UTF8", "PGOPTIONS=-c search_path="+path)
	var complaint strings.Builder
	copied.Stderr = &complaint
	text, err := copied.Output()
	if err != nil {
		t.Fatalf("psql, which comes with the server that make setup installs: %v\n%s", err, complaint.String())
	}
	equal(t, parse(t, exported, "csv", "none"), parse(t, text, "csv", "none"))
}

// proveFormats exports what no text parser reads: the command line's verification reads every value of it again and
// compares what it finds with the receipt. One worksheet is the same bytes from both servers; SQLite gives times with the
// digits that were stored.
func proveFormats(t *testing.T, s *shared) {
	ana := s.user(t, tenant, "ana")
	for format, compression := range map[string]string{"xlsx": "none", "parquet": "zstd"} {
		files := map[string][]byte{}
		for _, source := range []string{"lite", "pg", "maria"} {
			id := ana.create(t, whole(source, format, compression), "format "+format+source)
			file := filepath.Join(t.TempDir(), source+"."+format)
			ana.completed(t, id)
			ana.sealift(t, "export", "download", id, "--output", file)
			ana.sealift(t, "export", "verify", file, "--job", id)
			var err error
			files[source], err = os.ReadFile(file)
			ok(t, err)
		}
		if format == "xlsx" && !bytes.Equal(files["pg"], files["maria"]) {
			t.Errorf("the workbook from MariaDB has %d bytes, and others than PostgreSQL's, which has %d", len(files["maria"]), len(files["pg"]))
		}
	}
}
