package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"
)

// TestLongKeysFitThePlannersMemory plans a table of which nearly every place to cut is at a key of 30 KiB with the memory that
// the template gives to plan-shards. All of these keys would be 90 MiB, and a planner holds a key more than once.
func TestLongKeysFitThePlannersMemory(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.connect(t, "keys", longKeys(t))
	d := definition("keys", "keys", map[string]any{"shard_rows": 1_000})
	d["columns"] = []map[string]any{{"name": "id", "kind": "int64"}}
	source, _ := d["source"].(map[string]any)
	source["key"] = []map[string]any{{"name": "grp", "kind": "int64"}, {"name": "code", "kind": "string"}}
	w.define(t, d)
	ana := w.user(t, tenant, "ana")
	id := ana.create(t, whole("keys", "csv", "none"), "keys")
	await(t, patience, "the export is not planned", func() (string, bool) {
		e := ana.show(t, id)
		return w.story(t, id), e.Shards > 0 || e.over()
	})
	// 1 MiB of keys are allowed, and a shard's first key is a little more than 30 KiB.
	if e := ana.show(t, id); e.Shards < 20 || e.Shards > 35 {
		t.Errorf("the export is %s with %d shards: %+v; want as many as 1 MiB of keys allows, about 30", e.State, e.Shards, e.Failure)
	}
	if f := w.figures(t)["plan-shards"]; f.Errors > 0 {
		t.Errorf("the planner has failed %d times", f.Errors)
	}
	ana.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusOK)
	w.settle(t, []string{id})
}

// longKeys is the address of a table of three million rows in groups of a thousand, in each of which the first key is long. Its
// index has the groups only, so that a plan cuts at groups and their first keys.
func longKeys(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)&_pragma=journal_mode(off)")
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, text := range []string{
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, placed_at TEXT NOT NULL, grp INTEGER NOT NULL, code TEXT NOT NULL) STRICT`,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 2999999)
			INSERT INTO orders SELECT i+1, 'acme', '2026-01-02T00:00:00.000000Z', i/1000, iif(i%1000=0, printf('%09d', i)||printf('%.*c', 30720, 'k'), 'z'||(i%1000)) FROM n`,
		`CREATE INDEX orders_by_key ON orders (tenant_id, grp)`,
		`ANALYZE`,
	} {
		_, err := db.ExecContext(t.Context(), text)
		ok(t, err)
	}
	return "sqlite://" + path
}
