package xlsx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/row"
)

// null stands for NULL in rows of texts.
const null = "\x00NULL"

// batchOf is rows of texts, each followed by one key value.
func batchOf(rows ...[]string) *row.Batch {
	b := &row.Batch{}
	b.Reset(len(rows[0]) + 1)
	for _, texts := range rows {
		for _, text := range texts {
			if text == null {
				b.AppendNull()
			} else {
				b.AppendString(text)
			}
		}
		b.AppendString("k1")
	}
	return b
}

// configOf has a column of each kind, named after it.
func configOf(kinds ...row.Kind) xlsx.Config {
	config := xlsx.Config{Keys: 1, InvalidUTF8: "replace", Guard: true, Zone: "Asia/Shanghai"}
	for i, kind := range kinds {
		config.Columns = append(config.Columns, row.Column{Name: string(kind) + " " + string(rune('a'+i)), Kind: kind, Scale: -1})
	}
	return config
}

// shardOf is one shard as it was written.
type shardOf struct {
	data     []byte
	rows     int64
	hash     uint64
	fragment string
	counters job.Counters
}

// write writes the rows [from, to) of b as a shard.
func write(t testing.TB, config xlsx.Config, opt part.Options, b *row.Batch, from, to int) shardOf {
	t.Helper()
	w, err := xlsx.NewWriter(config, opt)
	if err != nil {
		t.Fatal(err)
	}
	var s shardOf
	take := func(p part.Part, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.data, s.rows, s.hash = append(s.data, p.Data...), s.rows+p.Rows, s.hash+p.RowsHash
		s.fragment = p.Fragment
		s.counters.Add(p.Counters)
	}
	for r := from; r < to; r++ {
		full, err := w.Append(b, r)
		if err != nil {
			t.Fatalf("append row %d: %v", r, err)
		}
		if full {
			take(w.Take(nil))
		}
	}
	take(w.End())
	return s
}

// join is the file of these shards.
func join(t testing.TB, config xlsx.Config, shards ...shardOf) []byte {
	t.Helper()
	var file []byte
	joiner := xlsx.NewJoiner(config)
	for i, s := range shards {
		if err := joiner.Add(context.Background(), part.Piece{
			Number: i + 1, Offset: int64(len(file)), Bytes: int64(len(s.data)), Rows: s.rows, Fragment: s.fragment,
		}); err != nil {
			t.Fatal(err)
		}
		file = append(file, s.data...)
	}
	suffix, err := joiner.Suffix()
	if err != nil {
		t.Fatal(err)
	}
	return append(file, suffix...)
}

// whole is a file of one shard with all rows of b.
func whole(t testing.TB, config xlsx.Config, b *row.Batch) []byte {
	t.Helper()
	return join(t, config, write(t, config, part.Options{First: true, Shard: 1}, b, 0, b.Rows()))
}

// scan reads a file with the strict reader: its rows as batchOf takes them, and the sum of their hashes.
func scan(config xlsx.Config, file []byte) (rows [][]string, hash uint64, err error) {
	reader := xlsx.NewReader(config, bytes.NewReader(file))
	for {
		values, isNull, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, hash, nil
		}
		if err != nil {
			return nil, 0, err
		}
		texts := make([]string, len(values))
		for i, value := range values {
			if texts[i] = string(value); isNull[i] {
				texts[i] = null
			}
		}
		rows, hash = append(rows, texts), hash+reader.Hash()
	}
}
