// Package source owns what a source of rows must be able to do: check that it still has the columns a definition
// promises, propose fixed key ranges, and read one range in bounded batches. A new source is one package below this
// one that implements Source and passes sourcetest, and is opened in the main.go of plan-shards and process-shard; another
// SQL database is a dialect in package sqldb, whose Open picks one by the scheme of the address. It imports row and job; start reading at Source.
package source

import (
	"context"

	"sealift/shared/job"
	"sealift/shared/row"
)

// Source is one open connection to a place rows come from. It never writes, holds at most the connections it was
// opened with, bounds every statement in time, and serves one goroutine at a time.
//
// Errors are *job.Error: Permanent when the table, a column or a permission is missing or a column's type can't give
// its kind (code source_schema_changed, source_denied), Transient for a lost connection, a restart, a statement
// time-out or a lock (source_unavailable, source_timeout), Overload when the server has no room (source_overloaded),
// Cancelled when ctx ended. No error carries row data or a connection string.
type Source interface {
	// Check verifies that the relation and every column of q exist with types that give the kinds. It is cheap.
	Check(ctx context.Context, q row.Query) error
	// Identity is short opaque text for the things that q reads: texts of which Same holds say that the relation and every
	// column of q are the very ones of the earlier call, not others that took their names, whatever happened to their rows
	// one by one, as far as the user's rights show it. It is cheap, always asks the database, and fails as Check does. Where
	// the database lets them, later Reads of the same table fail with Replaced when they have read anything else.
	Identity(ctx context.Context, q row.Query) (string, error)
	// Plan proposes shards and the ceiling of the frozen set. It reads statistics and index pages only, but counts the rows
	// of a view of which the server tells this user no estimates.
	Plan(ctx context.Context, q row.Query, opt PlanOptions) (Plan, error)
	// Read fills b with the next rows of r after the cursor (exclusive; nil at the start) in key order, at most
	// limit.Rows rows and, but for a single larger row, about limit.Bytes bytes. Zero rows and no error mean that
	// the range holds nothing after the cursor; a short batch means nothing of the kind.
	Read(ctx context.Context, q row.Query, r row.Range, after row.Key, limit Limit, b *row.Batch) error
	// Close releases the connection; it may be called twice.
	Close() error
}

// Lasting is a Source whose connection can wait for its next work instead of being closed and opened again, which costs a
// server much more than a small read: a process, its caches and the check of a password.
type Lasting interface {
	Source
	// Rest prepares the connection for a time without work, in which its holder may be frozen or vanish: the server must end
	// it by itself before long. Wake makes it ready for other work: it forgets what was learned of tables, and asks the
	// server, which it gives two seconds, whether the connection still stands. After false all that is left is Close.
	Rest(ctx context.Context) bool
	Wake(ctx context.Context) bool
}

// Replaced is the error of a source that isn't the very thing any more that a job was planned for: Permanent, because a job
// never mixes two sources.
func Replaced(table string) *job.Error {
	return &job.Error{Kind: job.Permanent, Code: "source_replaced", Detail: "table " + table + ", or a column of it, was replaced, emptied, " +
		"written anew or changed its type while the export was running; ask for the export again when the change is done"}
}

// Limit bounds one read.
type Limit struct {
	Rows  int
	Bytes int
}

// PlanOptions bound a plan.
type PlanOptions struct {
	// ShardRows is how many rows a shard should have.
	ShardRows int64
	// ShardsMax is the most shards allowed, KeyBytes how much the keys between them may take together, each counted once as
	// job.KeyBytes does; the planner makes shards larger to stay inside both, and holds no more than a few times KeyBytes of keys.
	ShardsMax int
	KeyBytes  int
}

// Plan is what a planner proposes: the highest key of the set at this moment (nil when it is empty) and ranges that
// tile the whole key space in order: the first From and the last To are nil, each To is the next From. There is always
// at least one shard.
type Plan struct {
	Ceiling row.Key
	Shards  []Shard
	// RowsEstimated is the expected number of rows; -1 when the source can't tell.
	RowsEstimated int64
}

// Shard is one proposed range and the rows expected in it, -1 when unknown.
type Shard struct {
	Range         row.Range
	RowsEstimated int64
}
