package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"sealift/shared/artifact"
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
	if published > 1 || completed > published {
		l.breaks("publishing happens once at most: %d decisions, %d completions", published, completed)
	}
	if made, most := l.world.Store.Made("artifacts/"), published*l.shape.objects(); made > most {
		l.breaks("%d objects were ever made under the artifacts, want %d at most", made, most)
	}
}

// conserveFiles is the account of a job that delivers.
func (l *life) conserveFiles(ref reference) {
	j, receipt := l.job(), l.receipt()
	files, shards := l.files(receipt), l.shards(j)
	if !slices.EqualFunc(files, ref.files, bytes.Equal) {
		l.breaks("the %d files are not those of an undisturbed life, byte for byte", len(files))
		return
	}
	var segments []pipeline.ReceiptSegment
	for _, file := range receipt.Files {
		segments = append(segments, file.Segments...)
	}
	if len(segments) != len(shards) || int64(len(shards)) != j.Shards {
		l.breaks("the job has %d shards, %d are done, and the receipt has %d", j.Shards, len(shards), len(segments))
		return
	}
	sum, size := l.addUp(shards, segments), int64(0)
	for i, file := range receipt.Files {
		l.conserveFile(file, files[i])
		size += file.Bytes
	}

	l.equal("rows",
		side{"the snapshot's set", int64(l.shape.rows())},
		side{"the job", j.Rows},
		side{"its shards", sum.rows},
		side{"the receipt's segments", sum.segmentRows},
		side{"the receipt", receipt.Rows},
		side{"the artifact's record", j.Artifact.Rows},
		side{"the files, read again", ref.totals.Rows})
	l.equal("bytes of the shards", side{"the job", j.Bytes}, side{"its shards", sum.bytes})
	l.equal("bytes of the files",
		side{"the receipt's files", size},
		side{"the receipt", receipt.Bytes},
		side{"the artifact's record", j.Artifact.FilesBytes},
		side{"the files, read again", ref.totals.Bytes})
	l.equal("hashes of the rows as written, in any order",
		side{"the shards", int64(sum.rowsHash)},
		side{"the receipt's segments", int64(sum.segmentHash)},
		side{"the receipt", hexadecimal(receipt.RowsHash)},
		side{"the files, read again", int64(ref.totals.RowsHash)})
	l.equal("hashes of the values, in any order",
		side{"the source", int64(l.shape.hash())},
		side{"the files, read again", int64(ref.values)})
	l.tile(segments)
	l.conserveBound(j, receipt)
}

// conserveFile is the account of one file: its segments and what ends it.
func (l *life) conserveFile(file pipeline.ReceiptFile, data []byte) {
	var rows, size int64
	var crc64 checksum.CRC64
	for _, s := range file.Segments {
		l.equal("offsets of "+s.Unit, side{"the shards before it", size}, side{"its segment", s.Offset})
		rows, size = rows+s.Rows, size+s.Bytes
		if s.Bytes > 0 {
			crc64 = crc64.Combine(checksum.CRC64(parsed(s.CRC64)), s.Bytes)
		}
	}
	if int64(len(data)) < size {
		l.breaks("a file has %d bytes, its segments have %d", len(data), size)
		return
	}
	tail := data[size:]
	object, _, err := l.world.Store.Stat(context.Background(), l.fileKey(file))
	if err != nil {
		l.breaks("look at a file: %v", err)
	}
	l.equal("rows of a file", side{"its segments", rows}, side{"the receipt", file.Rows})
	l.equal("bytes of a file",
		side{"its segments and ending", size + int64(len(tail))},
		side{"the receipt", file.Bytes},
		side{"the store", object.Bytes})
	l.equal("checksums of a file",
		side{"combined of its segments and ending", int64(crc64.Combine(checksum.Sum64(tail), int64(len(tail))))},
		side{"the receipt", parsed(file.CRC64)},
		side{"the store", int64(object.CRC64)},
		side{"its bytes", int64(checksum.Sum64(data))})
}

// conserveBound holds that what is bound is the one file, or the manifest of exactly the receipt's files.
func (l *life) conserveBound(j job.Job, receipt pipeline.Receipt) {
	ctx := context.Background()
	object, _, err := l.world.Store.Stat(ctx, j.Artifact.Key)
	if err != nil {
		l.breaks("look at the artifact: %v", err)
	}
	l.equal("bytes of the artifact", side{"its record", j.Artifact.Bytes}, side{"the store", object.Bytes})
	l.equal("checksum of the artifact", side{"its record", int64(j.Artifact.CRC64)}, side{"the store", int64(object.CRC64)})
	if !l.shape.many() {
		l.equal("files", side{"the receipt", int64(len(receipt.Files))}, side{"one", 1})
		l.equal("bytes of the one file", side{"the artifact's record", j.Artifact.Bytes}, side{"the receipt", receipt.Bytes})
		return
	}
	text, err := l.world.Store.Read(ctx, pipeline.Slice{Key: j.Artifact.Key, ETag: j.Artifact.ETag, To: j.Artifact.Bytes})
	var manifest pipeline.Manifest
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		l.breaks("read the manifest: %v", err)
	}
	l.equal("files", side{"the artifact's record", j.Artifact.Files}, side{"the manifest", int64(len(manifest.Files))}, side{"the receipt", int64(len(receipt.Files))})
	l.equal("rows of the manifest", side{"the manifest", manifest.Rows}, side{"the receipt", receipt.Rows})
	for i, listed := range manifest.Files {
		if i >= len(receipt.Files) {
			return
		}
		file := receipt.Files[i]
		want := pipeline.ManifestFile{Number: file.Number, Name: file.Name, Rows: file.Rows, Bytes: file.Bytes, CRC64: file.CRC64}
		if listed != want {
			l.breaks("the manifest lists %+v and the receipt %+v", listed, want)
		}
	}
}

// sums are those over the shards and over the receipt's segments.
type sums struct {
	rows, bytes, segmentRows int64
	rowsHash, segmentHash    uint64
}

// addUp adds shards and segments up, and holds for each that its parts are its object and its segment. A shard without
// rows has no bytes in any of many files.
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
		l.equal("bytes of "+u.ID, side{"its parts", parts}, side{"its progress", u.Progress.Bytes}, side{"its object", u.Object.Bytes})
		l.equal("checksums of "+u.ID, side{"combined of its parts", int64(crc)}, side{"its progress", int64(u.Progress.CRC64)})
		if !l.shape.many() || segments[i].Bytes > 0 || u.Progress.Rows > 0 {
			l.equal("bytes of the segment of "+u.ID, side{"the shard", u.Object.Bytes}, side{"the receipt", segments[i].Bytes})
			l.equal("checksum of the segment of "+u.ID, side{"the shard", int64(u.Progress.CRC64)}, side{"the receipt", parsed(segments[i].CRC64)})
		}
		sum.rows, sum.segmentRows = sum.rows+u.Progress.Rows, sum.segmentRows+segments[i].Rows
		sum.bytes += u.Object.Bytes
		sum.rowsHash, sum.segmentHash = sum.rowsHash+u.Progress.RowsHash, sum.segmentHash+uint64(hexadecimal(segments[i].RowsHash))
	}
	return sum
}

// tile holds that the key ranges are disjoint and cover everything, and that the keys that were found lie in them, in order.
func (l *life) tile(segments []pipeline.ReceiptSegment) {
	last := -1
	for i, s := range segments {
		if (i == 0) != (s.Range.From == nil) || (i == len(segments)-1) != (s.Range.To == nil) ||
			i > 0 && !slices.Equal(segments[i-1].Range.To, s.Range.From) {
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

// receipt is that of a job that delivers.
func (l *life) receipt() pipeline.Receipt {
	ctx, key := context.Background(), l.job().Artifact.ReceiptKey
	object, _, err := l.world.Store.Stat(ctx, key)
	if err != nil {
		l.breaks("look at the receipt: %v", err)
	}
	text, err := l.world.Store.Read(ctx, pipeline.Slice{Key: key, To: object.Bytes})
	var receipt pipeline.Receipt
	if err == nil {
		err = json.Unmarshal(text, &receipt)
	}
	if err != nil {
		l.breaks("read the receipt: %v", err)
	}
	return receipt
}

// files are the delivered files, without a manifest.
func (l *life) files(receipt pipeline.Receipt) [][]byte {
	var files [][]byte
	for _, file := range receipt.Files {
		if file.Bytes == 0 {
			files = append(files, nil)
			continue
		}
		data, err := l.world.Store.Read(context.Background(), pipeline.Slice{Key: l.fileKey(file), To: file.Bytes})
		if err != nil {
			l.breaks("read a file: %v", err)
		}
		files = append(files, data)
	}
	return files
}

func (l *life) fileKey(file pipeline.ReceiptFile) string {
	j := l.job()
	if file.Number == 0 {
		return j.Artifact.Key
	}
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		l.breaks("read the snapshot: %v", err)
	}
	return artifact.Keys{}.File(j.Artifact.Key, file.Number, format.Extension(pipeline.FileSpec(snap, 0)))
}

// readAgain reads the delivered files as their receiver would, and hashes their values.
func (l *life) readAgain(files [][]byte) (totals format.Totals, values uint64) {
	snap, err := snapshot.Parse(l.job().Snapshot)
	if err != nil {
		l.breaks("read the snapshot: %v", err)
	}
	for _, file := range files {
		one, err := format.Scan(pipeline.FileSpec(snap, 0), bytes.NewReader(file), func(row [][]byte, _ []bool) error {
			values += hashRow(row...)
			return nil
		})
		if err != nil {
			l.breaks("read a file again: %v", err)
		}
		totals.Bytes, totals.Rows, totals.RowsHash = totals.Bytes+one.Bytes, totals.Rows+one.Rows, totals.RowsHash+one.RowsHash
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
