package parquet_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/format/field"
	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/row"
)

// null stands for NULL in rows of text.
const null = "\x00NULL"

func codecs() map[string]parquet.Codec {
	return map[string]parquet.Codec{"none": parquet.Uncompressed, "snappy": parquet.Snappy, "zstd": parquet.Zstd}
}

// orders has a column of every kind and a key of time and id.
func orders(codec parquet.Codec) parquet.Config {
	return parquet.Config{
		Codec: codec, Keys: 2, InvalidUTF8: field.Replace, Zone: "Asia/Shanghai",
		Columns: []row.Column{
			{Name: "id", Kind: row.Int64}, {Name: "sku", Kind: row.String}, {Name: "备注", Kind: row.String},
			{Name: "amount", Kind: row.Decimal, Scale: 2}, {Name: "exact", Kind: row.Decimal, Scale: -1},
			{Name: "weight", Kind: row.Float64}, {Name: "paid", Kind: row.Bool}, {Name: "day", Kind: row.Date},
			{Name: "at", Kind: row.Timestamp}, {Name: "local", Kind: row.DateTime}, {Name: "extra", Kind: row.JSON},
			{Name: "blob", Kind: row.Bytes}, {Name: "never", Kind: row.String}, {Name: "late", Kind: row.Int64},
		},
	}
}

// table is n rows for orders as texts, without the key; the same seed gives the same rows. The canonical text of every
// value is the one that a reader gives back.
func table(seed uint64, n int) [][]string {
	random := rand.New(rand.NewPCG(seed, 7))
	notes := []string{
		"", "plain", "00123", "1E5", "TRUE", "=1+2", "a,b", `say "hi"`, "two\r\nlines", "a\rb", " lead", "trail ", "名字 𠮷", "\x01\x0b\x1f",
		"👩‍👩‍👧", "e\u0301", "null", "\\N", "\uffff", null,
	}
	rows := make([][]string, n)
	for i := range rows {
		fraction := strings.TrimRight(fmt.Sprintf(".%06d", random.IntN(1e6)), "0")
		if fraction == "." {
			fraction = ""
		}
		at := fmt.Sprintf("2026-03-%02dT%02d:%02d:%02d%s", 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(60), fraction)
		note := notes[random.IntN(len(notes))]
		if random.IntN(20) == 0 {
			text := make([]byte, random.IntN(4000))
			for j := range text {
				text[j] = "ab\",\n\\=-"[random.IntN(8)]
			}
			note = string(text)
		}
		blob := make([]byte, random.IntN(20))
		for j := range blob {
			blob[j] = byte(random.Uint32())
		}
		late := null
		if i >= 10 {
			late = strconv.Itoa(i)
		}
		rows[i] = []string{
			strconv.FormatInt(int64(random.Uint64()), 10), fmt.Sprintf("%05d", random.IntN(1e5)), note,
			fmt.Sprintf("%d.%02d", random.IntN(2e6)-1e6, random.IntN(100)), fmt.Sprintf("%d.%09d", random.Uint64(), random.IntN(1e9)),
			strconv.FormatFloat(random.NormFloat64()*1e9, 'g', -1, 64), strconv.FormatBool(random.IntN(2) == 0), at[:10],
			at + "+08:00", at, fmt.Sprintf(`{ "n": %d, "s": "a \"b\"\n" }`, random.IntN(1000)), string(blob), null, late,
		}
		if strings.HasPrefix(rows[i][3], "0.") {
			rows[i][3] = "0.50"
		}
	}
	return rows
}

// batch holds rows with keys that are the rows' numbers.
func batch(rows [][]string, keys int) *row.Batch {
	b := &row.Batch{}
	width := keys
	if len(rows) > 0 {
		width += len(rows[0])
	}
	b.Reset(width)
	for i, values := range rows {
		for _, value := range values {
			if value == null {
				b.AppendNull()
			} else {
				b.AppendString(value)
			}
		}
		for range keys {
			b.AppendString(strconv.Itoa(i))
		}
	}
	return b
}

// small are cuts that make many pages, row groups and parts of few rows.
func small() part.Cut {
	return part.Cut{BlockBytes: 500, PartBytes: 6000, PartGrowthParts: 3, PartsMax: 1000, GroupRows: 40}
}

// write appends rows and returns the parts.
func write(t testing.TB, config parquet.Config, opt part.Options, rows [][]string) []part.Part {
	t.Helper()
	w, b := parquet.NewWriter(config, opt), batch(rows, config.Keys)
	var parts []part.Part
	for r := range b.Rows() {
		full, err := w.Append(b, r)
		if err != nil {
			t.Fatalf("append row %d: %v", r, err)
		}
		if !full {
			continue
		}
		p, err := w.Take(nil)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		parts = append(parts, p)
	}
	last, err := w.End()
	if err != nil {
		t.Fatalf("end: %v", err)
	}
	if len(last.Data) > 0 {
		parts = append(parts, last)
	}
	return parts
}

// pieceOf is a shard of these parts.
func pieceOf(number int, offset int64, parts []part.Part) part.Piece {
	p := part.Piece{Number: number, Offset: offset}
	var data []byte
	for _, each := range parts {
		p.Rows += each.Rows
		p.Parts = append(p.Parts, int64(len(each.Data)))
		data = append(data, each.Data...)
	}
	p.Bytes = int64(len(data))
	p.Read = func(_ context.Context, from, to int64) ([]byte, error) { return bytes.Clone(data[from:to]), nil }
	return p
}

// join is the file of shards, and its rows' hash.
func join(t testing.TB, config parquet.Config, shards ...[]part.Part) (file []byte, hash uint64) {
	t.Helper()
	j := parquet.NewJoiner(config)
	var pieces []part.Piece
	for i, parts := range shards {
		pieces = append(pieces, pieceOf(i+1, int64(len(file)), parts))
		for _, each := range parts {
			file = append(file, each.Data...)
			hash += each.RowsHash
		}
	}
	for i := range pieces {
		if err := j.Add(t.Context(), pieces[len(pieces)-1-i]); err != nil {
			t.Fatalf("add piece: %v", err)
		}
	}
	suffix, err := j.Suffix()
	if err != nil {
		t.Fatalf("suffix: %v", err)
	}
	return append(file, suffix...), hash
}

// export is the file of these shards' rows.
func export(t testing.TB, config parquet.Config, cut part.Cut, shards ...[][]string) (file []byte, hash uint64) {
	t.Helper()
	var parts [][]part.Part
	for i, rows := range shards {
		parts = append(parts, write(t, config, part.Options{First: i == 0, Shard: i + 1, Cut: cut}, rows))
	}
	return join(t, config, parts...)
}

// read is what a Reader finds in a file.
func read(file []byte, config parquet.Config) (rows [][]string, hash uint64, err error) {
	r, err := parquet.NewReader(bytes.NewReader(file), int64(len(file)), config)
	if err != nil {
		return nil, 0, err
	}
	for {
		values, nulls, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, hash, nil
		}
		if err != nil {
			return nil, 0, err
		}
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = string(value)
			if nulls[i] {
				texts[i] = null
			}
		}
		rows = append(rows, texts)
		hash += r.Hash()
	}
}

// wantError fails the test unless err is a *job.Error of that code whose text holds all of texts.
func wantError(t *testing.T, err error, code string, texts ...string) {
	t.Helper()
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Kind != job.Permanent || fault.Code != code {
		t.Fatalf("error is %v, want permanent %s", err, code)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q doesn't say %q", err, text)
		}
	}
}

// spelled is a canonical text as the programs of the tools' test print its value.
func spelled(kind row.Kind, text string) string {
	switch kind {
	case row.Float64:
		if text == "NaN" {
			return text
		}
		f, _ := strconv.ParseFloat(text, 64)
		return strconv.FormatUint(math.Float64bits(f), 10)
	case row.Bytes:
		return hex.EncodeToString([]byte(text))
	case row.Timestamp, row.DateTime:
		const seconds = len("2006-01-02T15:04:05")
		if rest := text[seconds:]; strings.HasPrefix(rest, ".") {
			digits := strings.TrimRight(strings.SplitN(rest[1:], "+", 2)[0], "+")
			return text[:seconds] + "." + digits + strings.Repeat("0", 6-len(digits)) + rest[1+len(digits):]
		}
	case row.String, row.Int64, row.Decimal, row.Bool, row.Date, row.JSON:
	}
	return text
}
