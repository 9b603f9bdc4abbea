// Package limits owns every bound of the system in one place, with its unit in its name. Relations between bounds are
// asserted at compile time. It imports nothing but time; start reading at the constants.
package limits

import "time"

// Bytes and parts.
const (
	MiB = 1 << 20
	GiB = 1 << 30

	// BlockBytes is how much encoded text a worker gathers (at a row boundary) before it compresses it.
	BlockBytes = 1 * MiB
	// PartBytes is the size at which a part of a shard is cut, at a block boundary.
	PartBytes = 8 * MiB
	// PartGrowthParts is after how many parts of one shard the part size doubles, so that a shard larger than
	// planned stays inside PartsPerShardMax.
	PartGrowthParts = 1000
	// PartsPerShardMax bounds the part list that a unit carries in its ledger row.
	PartsPerShardMax = 2000
	// PartsInFlight is how many uploads of one shard may be unconfirmed; a takeover skips as many part numbers.
	PartsInFlight = 2
	// StorePartBytesMin is the object store's minimum for every part but the last.
	StorePartBytesMin = 5 * MiB
	// StorePartsMax is the object store's maximum number of parts of one object.
	StorePartsMax = 10_000
	// StoreCopyBytesMax is the most that one part copy may cover.
	StoreCopyBytesMax = 1 * GiB
	// RowBytesMax is the largest row that a worker accepts, both as its source sends it and as its format writes it.
	RowBytesMax = 32 * MiB
	// RowReadBytesMax is the largest row that a reader of files accepts: a file may be older than RowBytesMax.
	RowReadBytesMax = 64 * MiB
	// WorkerBytes is the memory that template.yaml gives to process-shard. WorkerBytesOther is what it takes beside large rows;
	// RowHolds is how often it may hold a row of the largest size at once, what the collector hasn't taken yet included: in two
	// batches that have grown, the source's answer, the block or page, its packed form and the parts. No export of such rows from
	// any source in any format had more than 449 MiB in all, which is less than 13 times.
	WorkerBytes      = 512 * MiB
	WorkerBytesOther = 64 * MiB
	RowHolds         = 13

	// KeyBytesMax bounds one row's key as it is stored, escapes included. A unit's row holds four of them beside its parts.
	KeyBytesMax = 32 << 10
	// LedgerRowBytesMax is what one row of the ledger holds at most, LedgerWriteBytesMax all the rows of one write together.
	LedgerRowBytesMax   = 400 << 10
	LedgerWriteBytesMax = 4 * MiB
	// PartRowBytes is what a part of the list takes in its unit's row at most, RowBytesOther all that a row has beside its
	// parts and keys, or its snapshot and ceiling.
	PartRowBytes  = 80
	RowBytesOther = 64 << 10
	// FragmentBytesMax bounds what a unit's row carries of a format's own beside its parts.
	FragmentBytesMax = 4 << 10
	// FooterBytesMax bounds what a joiner writes behind the last piece of a file, and so what finalize holds in memory.
	FooterBytesMax = 24 * MiB
	// SheetRowsMax is how many rows without the header a worksheet takes: a spreadsheet has 2^20 rows.
	SheetRowsMax = 1<<20 - 1
	// SheetShardRows is the planner's aim for one shard of a workbook: below SheetRowsMax by what estimates are off, so
	// that a shard is one worksheet.
	SheetShardRows = 1_000_000
	// GroupRows is how many rows make a row group of a columnar file.
	GroupRows = 100_000
	// GroupBytes is how much its values may take before it ends with fewer rows.
	GroupBytes = 32 * MiB
	// PageBytes is how much of one column makes a page.
	PageBytes = 256 << 10
	// DictionaryBytes bounds the distinct values that one column's dictionary holds, DictionariesBytes those of all.
	DictionaryBytes   = 64 << 10
	DictionariesBytes = 2 * MiB

	// WorkerGCPercent is by how much a worker's heap may grow over what is in use before garbage is collected.
	WorkerGCPercent = 25

	// BatchRows, BatchBytes and BatchValues bound one read of a source: whichever is reached first.
	BatchRows  = 20_000
	BatchBytes = 4 * MiB
	// BatchValues bounds it too: each value takes a word of memory, also a NULL, which takes no byte.
	BatchValues = 1 << 20
	// BatchesAhead is how many batches a worker holds: one being encoded, the others being read or waiting.
	BatchesAhead = 2
)

// Shards.
const (
	ShardsPerJobMax = 10_000
	// ShardRows is the planner's aim for one shard when the definition names none.
	ShardRows = 250_000
	// PlanKeyBytes is how much the keys between a job's shards may take together, each counted once as it is stored: ten thousand
	// of a hundred bytes. Where keys are longer, shards are larger and fewer. A unit's row holds two of these keys, the planner's
	// memory a few times all of them, and the receipt all four times, with the first and the last key of each shard; with a file
	// for each six times.
	PlanKeyBytes = 1 * MiB
	// ReceiptKeyBytesMax is how much the keys in a receipt may take in all, as it writes them: what a plan leads to and at least as
	// much again, because no plan knows the first and the last key of a shard.
	ReceiptKeyBytesMax = 12 * MiB
)

// Leases, messages and retries.
const (
	// Lease is how long a claim lasts unless it is renewed.
	Lease = 60 * time.Second
	// LeaseMargin is how long before the lease's end its holder stops producing effects: more than the round
	// trip of a call plus the one-second grain of the ledger's clock.
	LeaseMargin = 5 * time.Second
	// ClockGrain is by how much one reader's idea of the ledger's time may be behind another's: responses tell it in
	// whole seconds, rounded down.
	ClockGrain = time.Second
	// RenewEvery is how much of a lease may pass before its holder renews it.
	RenewEvery = 20 * time.Second
	// HandOver is how long before the end of its time a function stops reading and hands its unit over.
	HandOver = 20 * time.Second
	// DueBuckets is over how many partitions the due index spreads.
	DueBuckets = 8
	// DuePage is how many due rows of one bucket a sweep takes at a time.
	DuePage = 100
	// WakeGrace is how long a message may take before the sweeper sends it again; it doubles with every repeat
	// up to WakeGraceMax.
	WakeGrace    = 60 * time.Second
	WakeGraceMax = 15 * time.Minute
	// CrashesMax and FaultsMax are separate budgets of one unit: dead leases, and failures that were reported.
	CrashesMax = 5
	FaultsMax  = 8
	// JobAgeMax is how old an unfinished job may become before it fails.
	JobAgeMax = 48 * time.Hour
	// ConflictTries is how often a move of a contended job is tried again from a fresh read.
	ConflictTries = 8
	// LinkTries is the same for a link. Every link moves its job, so links that are asked for at once compete with each
	// other too: of 30 at a time, with a tenth of a second between read and write, each comes through within 14 tries.
	LinkTries = 2 * ConflictTries
	// LinkTimeMin is how long a link must last to be given at all: longer than it takes to count it.
	LinkTimeMin = 15 * time.Second
	// AgainTime bounds the one call that makes a message visible again.
	AgainTime = 5 * time.Second
	// SettleTime bounds what an attempt that has ended may still spend on saying so.
	SettleTime = 10 * time.Second
	// StagePerWrite is how many units one write of a plan stages, StageParallel how many such writes are under way.
	StagePerWrite = 100
	StageParallel = 4
	// StageRowBytes is what a staged unit takes at most beside its keys.
	StageRowBytes = 4 << 10
	// CopyParallel is how many part copies of one assembly are under way.
	CopyParallel = 4
	// SecretLifetime is how long a function uses a connection string before it reads it again.
	SecretLifetime = 30 * time.Second
	// SourceRest is how long a worker keeps a connection to a database for its next shard.
	SourceRest = 5 * time.Second
	// UnitPage is how many units are read at a time.
	UnitPage = 100
	// BackoffBase and BackoffMax bound the retry delay: full jitter over BackoffBase doubled at each fault.
	BackoffBase = 2 * time.Second
	BackoffMax  = 10 * time.Minute
	// HistoryMax is how many past attempts a unit's row keeps.
	HistoryMax = 20
	// OrphanPage is how many stored objects or uploads of one root a sweep looks at.
	OrphanPage = 200
	// CleanPage is how many objects or uploads of one job a clean-up lists at a time.
	CleanPage = 500
	// OrphanAge is how old a stored object or upload must be before a sweep may call it an orphan.
	OrphanAge = 24 * time.Hour
	// MessageDelayMax is the longest delay a queue offers; longer ones are schedules.
	MessageDelayMax = 15 * time.Minute
)

// RequestBytesWhole is up to which size a request to the cloud is held whole, so that head and body are sent together.
const RequestBytesWhole = 64 << 10

// Calls of the ledger.
const (
	// LedgerTries is how often one call is made before its failure is reported; LedgerTryTime bounds each.
	LedgerTries   = 4
	LedgerTryTime = 2 * time.Second
	// LedgerBackoffBase and LedgerBackoffMax bound the pause before a repetition: full jitter over the base doubled
	// each time.
	LedgerBackoffBase = 50 * time.Millisecond
	LedgerBackoffMax  = time.Second
)

// Requests.
const (
	// KeyMemory is how long an Idempotency-Key is remembered: longer than any queue's retention and replay window.
	KeyMemory = 30 * 24 * time.Hour
	// DerivedKeyWindow is within what time the same request without a key is the same job.
	DerivedKeyWindow = 5 * time.Minute
	// JobsPage and EventsPage bound one page of a listing; JobsPageDefault is the size when none is asked for.
	JobsPageDefault = 20
	JobsPage        = 100
	EventsPage      = 100
	// ListReads is how many reads one page of a listing may take.
	ListReads = 20
	// LiveShardsMax is up to how many shards a status adds up what unfinished ones have written.
	LiveShardsMax   = 200
	RequestBytesMax = 256 << 10
	// EchoBytesMax is how much of a caller's own text a message repeats: more than the longest name has.
	EchoBytesMax = 100
	// PlainAnswerBytesMax is above what an answer is packed for those who take gzip; AnswerBytesMax is what an answer may
	// have at most, with the room that its JSON around it takes: a function's answer is bounded to 6 MiB.
	PlainAnswerBytesMax = 64 << 10
	AnswerBytesMax      = 5 << 20
	// SnapshotBytesMax bounds the canonical form that a job's row carries, well below what one row of the ledger holds.
	SnapshotBytesMax       = 200 << 10
	IdempotencyKeyBytesMax = 255
	ColumnsMax             = 1024
	FiltersMax             = 50
	FilterValuesMax        = 500
	FilterValueBytesMax    = 1024
)

// The relations that must hold between the bounds.
const (
	_ = uint(RenewEvery*2 - Lease/2)             // a renewal that fails once can be tried again
	_ = uint(Lease - RenewEvery - 2*LeaseMargin) // a renewal is due well before the margin
	_ = uint(PartBytes - StorePartBytesMin)      // every cut part may stand before another
	_ = uint(StorePartsMax - 2*PartsPerShardMax) // takeovers may skip numbers
	_ = uint(StorePartsMax - ShardsPerJobMax)    // one copy a shard fits
	_ = uint(RowBytesMax - BatchBytes)           // a batch may always hold one row

	_ = uint(WorkerBytes - WorkerBytesOther - RowHolds*RowBytesMax) // the largest rows fit a worker's memory

	_ = uint(SheetRowsMax - SheetShardRows) // a shard as planned fits a worksheet

	_ = uint(LedgerRowBytesMax - 4*KeyBytesMax - PartsPerShardMax*PartRowBytes - FragmentBytesMax - RowBytesOther) // a unit's row fits
	_ = uint(LedgerRowBytesMax - SnapshotBytesMax - KeyBytesMax - RowBytesOther)                                   // a job's row fits
	_ = uint(LedgerWriteBytesMax - 2*PlanKeyBytes - StagePerWrite*StageRowBytes)                                   // a stage fits a write
	_ = uint(PlanKeyBytes - KeyBytesMax)                                                                           // any key may stand between two shards
	_ = uint(ReceiptKeyBytesMax - 6*PlanKeyBytes)                                                                  // what was planned fits a receipt

	_ = uint(RenewEvery - LedgerTries*(LedgerTryTime+LedgerBackoffMax))  // a renewal ends before the next is due
	_ = uint(LinkTimeMin - LedgerTries*(LedgerTryTime+LedgerBackoffMax)) // a link is not over when it is given
)
