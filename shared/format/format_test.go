package format_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/row"
)

// compressions lists all of them.
func compressions() []format.Compression {
	return []format.Compression{format.None, format.Gzip, format.Zstd}
}

// orders is a spec with a column of every kind and a key of time and id.
func orders(name format.Name, compression format.Compression) format.Spec {
	spec := format.Spec{
		Format: name, Compression: compression, Keys: 2, InvalidUTF8: format.Replace,
		Columns: []row.Column{
			{Name: "id", Kind: row.Int64}, {Name: "sku", Kind: row.String}, {Name: "note", Kind: row.String},
			{Name: "amount", Kind: row.Decimal, Scale: 2}, {Name: "weight", Kind: row.Float64},
			{Name: "paid", Kind: row.Bool}, {Name: "day", Kind: row.Date}, {Name: "at", Kind: row.Timestamp},
			{Name: "local", Kind: row.DateTime}, {Name: "extra", Kind: row.JSON}, {Name: "blob", Kind: row.Bytes},
			{Name: "never", Kind: row.String},
		},
	}
	if name == format.XLSX {
		spec.Guard = true
	}
	if name == format.Parquet {
		spec.Zone = "Asia/Shanghai"
	}
	if name == format.CSV {
		spec.CSV = format.CSVOptions{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Header: true, BOM: true}
		spec.Guard = true
	}
	return spec
}

// table is n rows for orders, as batches would hold them in one piece; the same seed gives the same rows.
func table(seed uint64, n int) *row.Batch {
	random := rand.New(rand.NewPCG(seed, 7))
	b := &row.Batch{}
	b.Reset(14)
	for i := range n {
		key := strconv.Itoa(i + 1)
		at := fmt.Sprintf("2026-03-%02dT%02d:%02d:%02d.%06d", 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(60), random.IntN(1e6))
		b.AppendString(strconv.FormatUint(random.Uint64()>>1, 10))
		b.AppendString(fmt.Sprintf("%05d", random.IntN(1e5)))
		appendNote(b, random)
		b.AppendString(fmt.Sprintf("%d.%02d", random.IntN(2e6)-1e6, random.IntN(100)))
		b.AppendString(strconv.FormatFloat(random.NormFloat64()*1e9, 'g', -1, 64))
		b.AppendString(strconv.FormatBool(random.IntN(2) == 0))
		b.AppendString(at[:10])
		b.AppendString(at + "+08:00")
		b.AppendString(at)
		b.AppendString(fmt.Sprintf(`{ "n": %d, "s": "a \"b\"\n" }`, random.IntN(1000)))
		blob := make([]byte, random.IntN(20))
		for j := range blob {
			blob[j] = byte(random.Uint32())
		}
		b.Append(blob)
		b.AppendNull()
		b.AppendString(at + "Z")
		b.AppendString(key)
	}
	return b
}

func appendNote(b *row.Batch, random *rand.Rand) {
	notes := []string{
		"", "plain", "=1+2", "a,b", `say "hi"`, "two\r\nlines", " lead", "trail ", "名字 𠮷", "\xff\xfe", "\x01\x0b\x1f",
		"👩‍👩‍👧", "e\u0301", "null", "\\N", "-2+3",
	}
	switch n := random.IntN(len(notes) + 2); {
	case n == len(notes):
		b.AppendNull()
	case n == len(notes)+1:
		text := make([]byte, random.IntN(4000))
		for i := range text {
			text[i] = "ab\",\n\\=é"[random.IntN(9)]
		}
		b.Append(text)
	default:
		b.AppendString(notes[n])
	}
}

// small are cuts that make many parts of few rows.
func small() format.Cut {
	return format.Cut{BlockBytes: 2000, PartBytes: 6000, PartGrowthParts: 3, PartsMax: 1000, SheetRows: 150, GroupRows: 25}
}

// write appends the rows [from, to) of b and returns the parts, taking one when it is full and one at the end.
func write(t testing.TB, w format.PartWriter, b *row.Batch, from, to int) []format.Part {
	t.Helper()
	var parts []format.Part
	for r := from; r < to; r++ {
		full, err := w.Append(b, r)
		if err != nil {
			t.Fatalf("append row %d: %v", r, err)
		}
		if full {
			parts = append(parts, take(t, w))
		}
	}
	if part := end(t, w); len(part.Data) > 0 {
		parts = append(parts, part)
	}
	return parts
}

func end(t testing.TB, w format.PartWriter) format.Part {
	t.Helper()
	part, err := w.End()
	if err != nil {
		t.Fatalf("end: %v", err)
	}
	return part
}

func take(t testing.TB, w format.PartWriter) format.Part {
	t.Helper()
	part, err := w.Take(nil)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return part
}

func newWriter(t testing.TB, spec format.Spec, opt format.PartOptions) format.PartWriter {
	t.Helper()
	w, err := format.NewPartWriter(spec, opt)
	if err != nil {
		t.Fatalf("new part writer: %v", err)
	}
	return w
}

// join is the file of these shards in order, and its totals as they follow from their parts alone.
func join(spec format.Spec, shards ...[]format.Part) ([]byte, format.Totals) {
	var file []byte
	var totals format.Totals
	var crc32 checksum.CRC32
	var crc64 checksum.CRC64
	var pieces []format.Piece
	for i, parts := range shards {
		piece := format.Piece{Number: i + 1, Offset: int64(len(file))}
		var raw checksum.CRC32
		for _, part := range parts {
			file = append(file, part.Data...)
			raw = raw.Combine(checksum.CRC32(part.RawCRC32), part.RawBytes)
			crc64 = crc64.Combine(checksum.CRC64(part.CRC64), int64(len(part.Data)))
			piece.Bytes += int64(len(part.Data))
			piece.Rows += part.Rows
			piece.RawBytes += part.RawBytes
			piece.Fragment = part.Fragment
			piece.Parts = append(piece.Parts, int64(len(part.Data)))
			totals.RowsHash += part.RowsHash
		}
		piece.RawCRC32 = uint32(raw)
		from := file[piece.Offset:]
		piece.Read = func(_ context.Context, first, last int64) ([]byte, error) { return from[first:last], nil }
		crc32 = crc32.Combine(raw, piece.RawBytes)
		totals.RawBytes += piece.RawBytes
		totals.Rows += piece.Rows
		pieces = append(pieces, piece)
	}
	suffix := suffixOf(spec, pieces...)
	file = append(file, suffix...)
	totals.Bytes = int64(len(file))
	totals.CRC64 = uint64(crc64.Combine(checksum.Sum64(suffix), int64(len(suffix))))
	totals.RawCRC32 = uint32(crc32)
	return file, totals
}

// suffixOf is what follows these pieces. What is wrong with them stands in place of the suffix, for whoever reads it.
func suffixOf(spec format.Spec, pieces ...format.Piece) []byte {
	joiner := format.NewJoiner(spec)
	for _, piece := range pieces {
		if err := joiner.Add(context.Background(), piece); err != nil {
			return []byte(err.Error())
		}
	}
	suffix, err := joiner.Suffix()
	if err != nil {
		return []byte(err.Error())
	}
	return suffix
}

// pipe runs the command that people use with the file as its input and returns what it writes.
func pipe(t *testing.T, file []byte, name string, args ...string) []byte {
	t.Helper()
	var stderr strings.Builder
	command := exec.Command(name, args...)
	command.Stdin, command.Stderr = bytes.NewReader(file), &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, stderr.String())
	}
	return out
}

func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		t.Fatalf("%s: %d bytes, want %d; they differ from byte %d: %.60q, want %.60q", what, len(got), len(want), at,
			got[at:], want[at:])
	}
}
