package parquet_test

import (
	"fmt"
	"testing"

	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/row"
)

func TestAReaderNoticesEveryCutAndEveryChangedBit(t *testing.T) {
	t.Parallel()
	config := parquet.Config{
		Codec: parquet.Snappy, Keys: 1, InvalidUTF8: "fail",
		Columns: []row.Column{{Name: "a", Kind: row.String}, {Name: "b", Kind: row.Int64}, {Name: "c", Kind: row.Bool}},
	}
	rows := [][]string{{"x", "1", "true"}, {"x", null, "false"}, {null, "3", "true"}, {"y", "4", null}, {"a longer text", "5", "true"}}
	for name, codec := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config.Codec = codec
			file, _ := export(t, config, part.Cut{GroupRows: 2}, rows[:3], rows[3:])
			for at := range file {
				if _, _, err := read(file[:at], config); err == nil {
					t.Fatalf("%d of %d bytes pass", at, len(file))
				}
				for bit := range 8 {
					file[at] ^= 1 << bit
					if _, _, err := read(file, config); err == nil {
						t.Fatalf("a change of bit %d of byte %d of %d passes", bit, at, len(file))
					}
					file[at] ^= 1 << bit
				}
			}
			if _, _, err := read(append(file, "PAR1"...), config); err == nil {
				t.Error("bytes behind the end pass")
			}
		})
	}
}

func TestAReaderRefusesFilesOfOthers(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.Int64})
	first := write(t, config, part.Options{First: true}, lines("1", "2"))
	second := write(t, config, part.Options{}, lines("3"))
	whole, _ := join(t, config, first, second)
	cases := map[string][]byte{
		"parts in another order":  append(append(append([]byte{}, second[0].Data...), first[0].Data...), whole[len(first[0].Data)+len(second[0].Data):]...),
		"a part without its join": append(append([]byte{}, first[0].Data...), second[0].Data...),
		"nothing":                 nil,
		"magic alone":             []byte("PAR1PAR1PAR1"),
	}
	for name, file := range cases {
		if _, _, err := read(file, config); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for name, change := range map[string]func(c *parquet.Config){
		"another kind":  func(c *parquet.Config) { c.Columns[0].Kind = row.Timestamp },
		"another name":  func(c *parquet.Config) { c.Columns[0].Name = "other" },
		"another zone":  func(c *parquet.Config) { c.Zone = "UTC" },
		"another codec": func(c *parquet.Config) { c.Codec = parquet.Snappy },
		"no such zone":  func(c *parquet.Config) { c.Zone = "Asia/Nowhere" },
	} {
		other := one(row.Column{Kind: row.Int64})
		change(&other)
		if _, _, err := read(whole, other); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestThePageAndTheDictionaryOfEveryWidthReadBack(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.String})
	for _, distinct := range []int{1, 2, 3, 5, 200, 257, 3000, 9000, 20_000} {
		rows := make([][]string, 0, 30_000)
		for i := range 30_000 {
			value := fmt.Sprint(i * 7 % distinct)
			if i%97 == 0 {
				value = null
			}
			rows = append(rows, []string{value})
		}
		file, hash := export(t, config, part.Cut{}, rows)
		got, gotHash, err := read(file, config)
		if err != nil || hash != gotHash || len(got) != len(rows) {
			t.Fatalf("%d distinct texts: %d rows with hash %x, want %x, %v", distinct, len(got), gotHash, hash, err)
		}
		for i := range rows {
			if got[i][0] != rows[i][0] {
				t.Fatalf("%d distinct texts: row %d is %q, want %q", distinct, i, got[i][0], rows[i][0])
			}
		}
	}
}
