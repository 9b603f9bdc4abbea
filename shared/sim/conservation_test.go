package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"sealift/shared/audit"
	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

// This file is the account of a life that is over: what went in equals what came out, whoever counts it. Every equation
// names its sides, so that a broken one says who counts differently.

// side is one who counts.
type side struct {
	who   string
	count int64
}

// equal holds that all sides of an equation count the same.
func (l *life) equal(what string, sides ...side) {
	for _, s := range sides[1:] {
		if s.count != sides[0].count {
			l.breaks("%s do not add up: %+v", what, sides)
			return
		}
	}
}

// conserve is the account of every end.
func (l *life) conserve() {
	created := l.world.Store.Counts()
	l.equal("uploads",
		side{"created", int64(created.Created)},
		side{"completed or aborted", int64(created.Completed + created.Aborted)})

	n, left := l.tally, l.world.Queue.Len()
	l.equal("messages",
		side{"sent, copied or returned", int64(l.world.Queue.Sent())},
		side{"acknowledged, lost, dead letters or come again", int64(n.acked + n.lost + n.buried + n.again)})
	l.equal("messages under way at the end", side{"under way", int64(left)}, side{"none", 0})

	taken, returned := l.world.Ledger.Quota()
	quota := l.world.Ledger.Peek(job.QuotaKey(l.who.Tenant))
	active, _ := quota["active_jobs"].(int64)
	l.equal("quota", side{"taken", taken}, side{"returned or in use", returned + active})
	l.equal("jobs in use at the end", side{"the quota's row", active}, side{"none", 0})

	published, completed := 0, 0
	for _, event := range l.events() {
		if event.To == string(job.StatePublishing) {
			published++
		}
		if event.Action == audit.Completed {
			completed++
		}
	}
	if files := l.world.Store.Made("artifacts/"); published > 1 || completed > published || files > 1 || files > published {
		l.breaks("publishing happens once at most: %d decisions, %d completions, %d files", published, completed, files)
	}
}

// conserveFile is the account of a job that delivers.
func (l *life) conserveFile(ref reference) {
	j, file := l.job(), l.file()
	if !bytes.Equal(file, ref.file) {
		l.breaks("the file has %d bytes that are not the %d of an undisturbed life", len(file), len(ref.file))
		return
	}
	shards, receipt := l.shards(j), l.receipt(j)
	if len(receipt.Files) != 1 || len(receipt.Files[0].Segments) != len(shards) || int64(len(shards)) != j.Shards {
		l.breaks("the job has %d shards, %d are done, and the receipt has %+v", j.Shards, len(shards), receipt.Files)
		return
	}
	written := receipt.Files[0]
	object, _, err := l.world.Store.Stat(context.Background(), j.Artifact.Key)
	if err != nil {
		l.breaks("look at the artifact: %v", err)
	}
	sum := l.addUp(shards, written.Segments)
	tail := file[sum.bytes:]

	l.equal("rows",
		side{"the snapshot's set", int64(l.shape.rows())},
		side{"the job", j.Rows},
		side{"its shards", sum.rows},
		side{"the receipt's segments", sum.segmentRows},
		side{"the receipt's file", written.Rows},
		side{"the receipt", receipt.Rows},
		side{"the artifact's record", j.Artifact.Rows},
		side{"the file, read again", ref.totals.Rows})
	l.equal("bytes of the shards",
		side{"the job", j.Bytes},
		side{"its shards", sum.bytes},
		side{"the receipt's segments", sum.segmentBytes})
	l.equal("bytes of the file",
		side{"shards and ending", sum.bytes + int64(len(tail))},
		side{"the receipt's file", written.Bytes},
		side{"the receipt", receipt.Bytes},
		side{"the artifact's record", j.Artifact.Bytes},
		side{"the store", object.Bytes},
		side{"the file, read again", ref.totals.Bytes})
	l.equal("checksums of the file",
		side{"combined of shards and ending", int64(sum.crc64.Combine(checksum.Sum64(tail), int64(len(tail))))},
		side{"the receipt's file", parsed(written.CRC64)},
		side{"the artifact's record", int64(j.Artifact.CRC64)},
		side{"the store", int64(object.CRC64)},
		side{"the file, read again", int64(ref.totals.CRC64)})
	l.equal("hashes of the rows as written, in any order",
		side{"the shards", int64(sum.rowsHash)},
		side{"the receipt's segments", int64(sum.segmentHash)},
		side{"the receipt", hexadecimal(receipt.RowsHash)},
		side{"the file, read again", int64(ref.totals.RowsHash)})
	l.equal("hashes of the values, in any order",
		side{"the source", int64(l.shape.hash())},
		side{"the file, read again", int64(ref.values)})
	l.tile(written)
}

// sums are those over the shards and over the receipt's segments.
type sums struct {
	rows, bytes, segmentRows, segmentBytes int64
	crc64                                  checksum.CRC64
	rowsHash, segmentHash                  uint64
}

// addUp adds shards and segments up, and holds for each that its parts are its object and its segment.
func (l *life) addUp(shards []job.Unit, segments []pipeline.ReceiptSegment) sums {
	var sum sums
	for i, u := range shards {
		parts, crc := int64(0), checksum.CRC64(0)
		for _, part := range u.Progress.Parts {
			parts, crc = parts+part.Bytes, crc.Combine(checksum.CRC64(part.CRC64), part.Bytes)
		}
		if len(u.Progress.Parts) == 0 { // stored in one call
			parts, crc = u.Progress.Bytes, checksum.CRC64(u.Progress.CRC64)
		}
		l.equal("bytes of "+u.ID,
			side{"its parts", parts}, side{"its progress", u.Progress.Bytes}, side{"its object", u.Object.Bytes},
			side{"its segment", segments[i].Bytes})
		l.equal("checksums of "+u.ID,
			side{"combined of its parts", int64(crc)}, side{"its progress", int64(u.Progress.CRC64)}, side{"its segment", parsed(segments[i].CRC64)})
		l.equal("offsets of "+u.ID, side{"the shards before it", sum.bytes}, side{"its segment", segments[i].Offset})
		sum.rows, sum.segmentRows = sum.rows+u.Progress.Rows, sum.segmentRows+segments[i].Rows
		sum.bytes, sum.segmentBytes = sum.bytes+u.Object.Bytes, sum.segmentBytes+segments[i].Bytes
		sum.crc64 = sum.crc64.Combine(checksum.CRC64(u.Progress.CRC64), u.Object.Bytes)
		sum.rowsHash, sum.segmentHash = sum.rowsHash+u.Progress.RowsHash, sum.segmentHash+uint64(hexadecimal(segments[i].RowsHash))
	}
	return sum
}

// tile holds that the key ranges are disjoint and cover everything, and that the keys that were found lie in them, in order.
func (l *life) tile(file pipeline.ReceiptFile) {
	last := -1
	for i, s := range file.Segments {
		if (i == 0) != (s.Range.From == nil) || (i == len(file.Segments)-1) != (s.Range.To == nil) ||
			i > 0 && !slices.Equal(file.Segments[i-1].Range.To, s.Range.From) {
			l.breaks("the key ranges are no partition at segment %d: %+v", i, s.Range)
		}
		if s.Rows == 0 {
			continue
		}
		first, end := number(s.Keys.First), number(s.Keys.Last)
		if first <= last || end < first || s.Range.From != nil && first <= number(s.Range.From)-1 || s.Range.To != nil && end > number(s.Range.To) {
			l.breaks("segment %d has the keys %d to %d after %d, outside its range %+v", i, first, end, last, s.Range)
		}
		last = end
	}
}

func number(key []string) int {
	n, _ := strconv.Atoi(key[0])
	return n
}

// shards are the job's shards, in order.
func (l *life) shards(j job.Job) []job.Unit {
	var all []job.Unit
	for n := 1; ; n++ {
		row := l.world.Ledger.Peek(job.UnitKey(j.ID, job.ShardID(n)))
		if row == nil {
			return all
		}
		unit, err := job.DecodeUnit(row)
		if err != nil {
			l.breaks("decode a shard: %v", err)
		}
		if unit.PlanGeneration == j.PlanGeneration && unit.State == job.UnitDone {
			all = append(all, unit)
		}
	}
}

func (l *life) receipt(j job.Job) pipeline.Receipt {
	ctx := context.Background()
	object, _, err := l.world.Store.Stat(ctx, j.Artifact.ReceiptKey)
	if err != nil {
		l.breaks("look at the receipt: %v", err)
	}
	text, err := l.world.Store.Read(ctx, pipeline.Slice{Key: j.Artifact.ReceiptKey, To: object.Bytes})
	var receipt pipeline.Receipt
	if err == nil {
		err = json.Unmarshal(text, &receipt)
	}
	if err != nil {
		l.breaks("read the receipt: %v", err)
	}
	return receipt
}

// readAgain reads the delivered file as its receiver would, and hashes its values.
func (l *life) readAgain(j job.Job, file []byte) (totals format.Totals, values uint64) {
	snap, err := snapshot.Parse(j.Snapshot)
	if err == nil {
		totals, err = format.Scan(pipeline.FileSpec(snap, 0), bytes.NewReader(file), func(row [][]byte, _ []bool) error {
			values += hashRow(row...)
			return nil
		})
	}
	if err != nil {
		l.breaks("read the file again: %v", err)
	}
	return totals, values
}

// hash is that of the source's values, in any order.
func (s shape) hash() uint64 {
	var sum uint64
	for _, values := range s.values() {
		sum += hashRow([]byte(values[0]), []byte(values[1]))
	}
	return sum
}

func hashRow(values ...[]byte) uint64 {
	h := fnv.New64a()
	for _, value := range values {
		_, _ = fmt.Fprintf(h, "%d:%s", len(value), value)
	}
	return h.Sum64()
}

func parsed(base64 string) int64 {
	sum, _ := checksum.ParseCRC64(base64)
	return int64(sum)
}

func hexadecimal(text string) int64 {
	sum, _ := strconv.ParseUint(text, 16, 64)
	return int64(sum)
}
