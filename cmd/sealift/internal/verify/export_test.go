package verify_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the writing side of the orders

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/signature"
	"sealift/shared/sim"
	"sealift/shared/snapshot"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

const ordersDefinition = `{"name": "orders", "formats": ["csv", "jsonl", "xlsx", "parquet"], "compressions": ["gzip", "none", "zstd", "snappy"],
  "source": {"connection": "shop", "table": "orders", "tenant_column": {"name": "tenant_id", "kind": "string"},
    "time_column": {"name": "placed_at", "kind": "timestamp"}, "key": [{"name": "placed_at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}]},
  "consistency": {"kind": "cutoff", "promise": "as read"}, "unencodable": "replace", "invalid_utf8": "replace", "long_text": "truncate", "limits": {"shard_rows": 1000, "rows_max": 5000},
  "columns": [{"name": "id", "kind": "int64"}, {"name": "placed_at", "kind": "timestamp"}, {"name": "amount", "kind": "decimal"},
    {"name": "phone", "kind": "string", "mask": {"kind": "last4"}}, {"name": "note", "kind": "string"},
    {"name": "extra", "kind": "json"}]}`

// ordersCount makes three shards.
const ordersCount = 2100

// exported is what an export has left on a receiver's disk: its files, with the manifest where there is one, and its receipt.
type exported struct {
	folder  string
	receipt []byte
	// keys are those that the receipt is held to; nil holds it to none.
	keys signature.Set
	// way is how the files are verified.
	way string
}

// table is the source: values with everything that the receipt counts.
type table string

// Open opens the one source there is.
func (t table) Open(ctx context.Context, _ string) (source.Source, error) {
	return sqldb.Open(ctx, "sqlite://"+string(t))
}

func newTable(t *testing.T) table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE orders (tenant_id TEXT NOT NULL, placed_at TEXT NOT NULL, id INTEGER NOT NULL, amount TEXT, phone TEXT, note TEXT, extra TEXT,
		PRIMARY KEY (tenant_id, placed_at, id)) WITHOUT ROWID`)
	must(t, err)
	var rows []string
	for i := range ordersCount {
		amount, note, extra := fmt.Sprintf("'%d.50'", i), fmt.Sprintf("'line \"%d\", 名字'", i), "'-1'"
		switch {
		case i%100 == 5:
			note = "'=1+2'"
		case i%70 == 3:
			note = "NULL"
		case i%500 == 7:
			note, amount = "'tab\x01 <&>'", "'12345678901234567890.5'"
		case i == 11:
			note = "'?' || char(57344)"
		case i == 12:
			note = "CAST(x'61ff62' AS TEXT)"
		case i == 13:
			extra = `'{"half": "\ud800"}'`
		case i == 14:
			note = "printf('%.33000c', 'x')"
		}
		at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC).Format(time.RFC3339)
		rows = append(rows, fmt.Sprintf("('acme', '%s', %d, %s, '0049123%d', %s, %s)", at, i+1, amount, i, note, extra))
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO orders VALUES "+strings.Join(rows, ","))
	must(t, err)
	must(t, db.Close())
	return table(path)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exportOf plays a whole export, from the request to the files that its receiver has.
func exportOf(t *testing.T, asked snapshot.FormatRequest, way string) exported {
	t.Helper()
	layout := snapshot.LayoutFiles
	if way == one {
		layout = snapshot.LayoutFile
	}
	world, from, keys := sim.New(sim.Options{}), newTable(t), artifact.Keys{}
	_, err := pipeline.Operator{Ledger: world.Ledger}.Apply(t.Context(), policy.Principal{Tenant: "ops", Roles: []string{policy.RoleOperator}}, "orders", []byte(ordersDefinition))
	must(t, err)
	answer, err := pipeline.Creator{Ledger: world.Ledger, Queue: world.Queue, NewID: func() string { return job.NewID([16]byte{1, 2, 3, 4, 5, 6, 7, 8}) }}.Create(t.Context(), pipeline.Ask{
		Who: policy.Principal{Tenant: "acme", Subject: "ana"},
		Request: snapshot.Request{
			Definition: "orders", Purpose: "audit", Span: snapshot.Span{From: "2026-01-01T00:00:00Z"}, Zone: "Asia/Shanghai", Format: asked, Layout: string(layout),
		},
	})
	must(t, err)
	worker := edge.Worker(world.Ledger, world.Queue, slog.New(slog.DiscardHandler))
	for ready := world.Queue.Ready(); len(ready) > 0; ready = world.Queue.Ready() {
		message, _ := world.Queue.Take(ready[0].Number)
		switch message.Pointer.Unit {
		case job.PlanID:
			err = pipeline.Planner{Worker: worker, Sources: from}.Plan(t.Context(), message.Pointer)
		case job.FinalizeID:
			err = pipeline.Finalizer{Worker: worker, Store: world.Store, Keys: keys, Seal: world.Seal, NewRandom: edge.NewOwner}.Finalize(t.Context(), message.Pointer)
		default:
			err = pipeline.Processor{Worker: worker, Sources: from, Store: world.Store, Keys: keys}.Process(t.Context(), message.Pointer)
		}
		must(t, err)
	}
	j, err := job.DecodeJob(world.Ledger.Peek(job.JobKey(answer.Job.ID)))
	must(t, err)
	snap, err := snapshot.Parse(j.Snapshot)
	must(t, err)
	receipt, err := pipeline.Querier{Ledger: world.Ledger, Store: world.Store}.Receipt(t.Context(), policy.Principal{Tenant: "acme", Subject: "ana"}, j.ID)
	must(t, err)
	got := exported{folder: t.TempDir(), receipt: receipt, way: way}
	put(t, filepath.Join(got.folder, pipeline.ArtifactName(snap)), fetch(t, world, j.Artifact.Key))
	for number := 1; number <= int(j.Artifact.Files); number++ {
		key := keys.File(j.Artifact.Key, number, format.Extension(pipeline.FileSpec(snap, 0)))
		put(t, filepath.Join(got.folder, pipeline.ReceiptName(snap, number)), fetch(t, world, key))
	}
	return got
}

// seal is the set of the one key that signs in every world.
func seal(t *testing.T) signature.Set {
	t.Helper()
	key, err := sim.New(sim.Options{}).Seal.Key(t.Context())
	must(t, err)
	return signature.Set{key}
}

func fetch(t *testing.T, world *sim.World, key string) []byte {
	t.Helper()
	object, ok, err := world.Store.Stat(t.Context(), key)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", key, ok, err)
	}
	data, err := world.Store.Read(t.Context(), pipeline.Slice{Key: key, ETag: object.ETag, To: object.Bytes})
	must(t, err)
	return data
}

// differences are what verification finds wrong with what the receiver has, by a receipt that may have been changed;
// nothing when it finds nothing.
func (e exported) differences(t *testing.T, receipt []byte) []string {
	t.Helper()
	r, err := verify.Read(receipt)
	if err != nil {
		return []string{err.Error()}
	}
	if e.keys != nil {
		if r, err = r.Prove(e.keys); err != nil {
			return []string{err.Error()}
		}
	}
	quiet := func(int64, int64) {}
	if e.way == folder {
		report, err := r.Folder(t.Context(), e.folder, quiet)
		must(t, err)
		return differing(report)
	}
	entries, err := os.ReadDir(e.folder)
	must(t, err)
	// Of many files it is the first one; the manifest comes after them.
	report, err := r.FileAt(t.Context(), filepath.Join(e.folder, entries[0].Name()), 0, quiet)
	must(t, err)
	var wrong []string
	for _, c := range report.Checks {
		if !c.OK {
			wrong = append(wrong, c.Name+": "+c.Detail)
		}
	}
	return wrong
}
