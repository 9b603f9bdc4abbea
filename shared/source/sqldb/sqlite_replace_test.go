package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"sealift/shared/row"
	"sealift/shared/source"
)

// A file that is restored into another keeps its inode and may have the same pages and schema.
func TestARestoredSQLiteFileIsAnotherThing(t *testing.T) {
	t.Parallel()
	ctx, folder := context.Background(), t.TempDir()
	made := func(name string) (path string, db *sql.DB) {
		path = filepath.Join(folder, name)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		for _, text := range []string{"CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES ('acme', 1, '" + name + "')"} {
			if _, err := db.ExecContext(ctx, text); err != nil {
				t.Fatal(err)
			}
		}
		return path, db
	}
	path, db := made("old.db")
	other, _ := made("new.db")
	src, q := open(t, "sqlite://"+path), valueQuery(row.String)
	before := identity(t, src, q)
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Raw(func(raw any) error {
		restore, err := raw.(interface {
			NewRestore(from string) (*sqlite.Backup, error)
		}).NewRestore(other)
		if err != nil {
			return err
		}
		if _, err := restore.Step(-1); err != nil {
			return err
		}
		return restore.Finish()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]string{"same": identity(t, src, q), "new": identity(t, open(t, "sqlite://"+path), q)} {
		if source.Same(before, after) {
			t.Errorf("over the %s connection a restored file has the identity of the one before", name)
		}
	}
	if rows, err := read(src, q); err != nil || len(rows) != 1 || rows[0][0] != "new.db" {
		t.Errorf("the rows are %q (%v), want the restored one", rows, err)
	}
}
