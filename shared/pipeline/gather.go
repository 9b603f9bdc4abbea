package pipeline

import (
	"context"
	"encoding/json"
	"slices"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// whole is what the shards add up to.
type whole struct {
	pieces   []piece
	rows     int64
	bytes    int64
	rowsHash uint64
	counters job.Counters
	// keyBytes is how much the keys take in the receipt.
	keyBytes int
}

// piece is what one shard has written.
type piece struct {
	number   int
	unit     string
	keys     row.Range
	first    row.Key
	last     row.Key
	object   job.StagedObject
	rows     int64
	crc64    checksum.CRC64
	rowsHash uint64
	rawBytes int64
	rawCRC32 uint32
	fragment string
	// parts are the sizes of its parts; none for a piece that was stored in one call.
	parts []int64
}

// gather reads every shard in order and checks that together they are the job: all there and done by this plan, key
// ranges that tile the space, no key on both sides of a border, counts equal to what the job has counted, and keys that a
// receipt of the layout may list.
func (f Finalizer) gather(ctx context.Context, j job.Job, layout snapshot.Layout) (whole, error) {
	w := whole{}
	var lastKey row.Key
	from, to := job.ShardSpan()
	err := eachUnit(ctx, f.Ledger, j.ID, from, to, func(u job.Unit) error {
		if u.PlanGeneration != j.PlanGeneration || int64(len(w.pieces)) >= j.Shards {
			return nil // left by a plan that was not committed
		}
		p := piece{
			number: len(w.pieces) + 1, unit: u.ID, keys: u.Range, first: u.Progress.First, last: u.Progress.Cursor, object: u.Object, rows: u.Progress.Rows,
			crc64: checksum.CRC64(u.Progress.CRC64), rowsHash: u.Progress.RowsHash,
			rawBytes: u.Progress.RawBytes, rawCRC32: u.Progress.RawCRC32, fragment: u.Progress.Fragment,
		}
		for _, part := range u.Progress.Parts {
			p.parts = append(p.parts, part.Bytes)
		}
		if err := checkPiece(w, p, u, lastKey); err != nil {
			return err
		}
		w.keyBytes += p.receiptKeyBytes(layout)
		if w.keyBytes > limits.ReceiptKeyBytesMax {
			return job.Errorf(job.Permanent, "keys_too_large", "the keys at which the export's %d shards begin and end take more than the %d MiB that a receipt may "+
				"list (%d bytes up to shard %d): choose shorter key columns or a larger shard_rows, or ask for a shorter span", j.Shards, limits.ReceiptKeyBytesMax/limits.MiB, w.keyBytes, p.number)
		}
		if p.rows > 0 {
			lastKey = p.last
		}
		w.pieces = append(w.pieces, p)
		w.rows += p.rows
		w.bytes += p.object.Bytes
		w.rowsHash += p.rowsHash
		w.counters.Add(u.Progress.Counters)
		return nil
	})
	if err != nil {
		return whole{}, err
	}
	if len(w.pieces) == 0 || int64(len(w.pieces)) != j.Shards || w.pieces[len(w.pieces)-1].keys.To != nil {
		return whole{}, job.Errorf(job.Permanent, "shards_incomplete", "%d shards of %d were found, or the last one is not the end of the key space; %s", len(w.pieces), j.Shards, serviceFault)
	}
	if w.rows != j.Rows || w.bytes != j.Bytes {
		return whole{}, job.Errorf(job.Permanent, "counts_differ", "the shards have %d rows and %d bytes, the export counted %d and %d; %s", w.rows, w.bytes, j.Rows, j.Bytes, serviceFault)
	}
	if j.RowsMax > 0 && w.rows > j.RowsMax {
		return whole{}, rowsMaxExceeded("", w.rows, j.RowsMax)
	}
	return w, nil
}

// serviceFault ends the detail of what only a fault of the service, or somebody's hand in the ledger, can lead to.
const serviceFault = "nothing was published: ask for the export again, and report it with the export's id, as infra/runbooks/failed-job.md says"

func checkPiece(w whole, p piece, u job.Unit, lastKey row.Key) error {
	number := p.number
	var end row.Key
	if number > 1 {
		end = w.pieces[number-2].keys.To
	}
	switch {
	case u.ID != job.ShardID(number) || u.State != job.UnitDone:
		return job.Errorf(job.Permanent, "shards_incomplete", "shard %d is missing or not done (found %s, %s); %s", number, u.ID, u.State, serviceFault)
	case (number == 1) != (p.keys.From == nil) || !slices.Equal(end, p.keys.From):
		return job.Errorf(job.Permanent, "shards_not_tiling", "shard %d does not begin where the one before it ends; %s", number, serviceFault)
	case p.rows > 0 && lastKey != nil && slices.Equal(lastKey, p.first):
		return job.Errorf(job.Permanent, "key_twice", "the last key before shard %d is its first key too; %s", number, serviceFault)
	case len(p.parts) > 0 && sum(p.parts) != p.object.Bytes:
		return job.Errorf(job.Permanent, "counts_differ", "shard %d stored %d bytes and its parts have %d; %s", number, p.object.Bytes, sum(p.parts), serviceFault)
	case p.object.Bytes != u.Progress.Bytes:
		return job.Errorf(job.Permanent, "counts_differ", "shard %d stored %d bytes and committed %d; %s", number, p.object.Bytes, u.Progress.Bytes, serviceFault)
	}
	return nil
}

// receiptKeyBytes is how much the piece's keys take in a receipt. Each of many files lists its first and its last key once more.
func (p piece) receiptKeyBytes(layout snapshot.Layout) int {
	found := receiptBytes(p.first) + receiptBytes(p.last)
	if layout == snapshot.LayoutFiles {
		found *= 2
	}
	return receiptBytes(p.keys.From) + receiptBytes(p.keys.To) + found
}

// receiptBytes is how much a key takes in a receipt, which escapes what HTML has a use for too.
func receiptBytes(key row.Key) int {
	// A key holds text only and always marshals.
	text, _ := json.Marshal(key)
	return len(text)
}

func sum(numbers []int64) int64 {
	total := int64(0)
	for _, n := range numbers {
		total += n
	}
	return total
}
