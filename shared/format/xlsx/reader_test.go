package xlsx_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestTheReaderTakesNoOtherWorkbook(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	b := numbered(20)
	shards := []shardOf{
		write(t, config, part.Options{First: true, Shard: 1}, b, 0, 10),
		write(t, config, part.Options{Shard: 2}, b, 10, 20),
	}
	file := join(t, config, shards...)
	other := func(change func(*xlsx.Config)) xlsx.Config {
		changed := configOf(row.Int64, row.String)
		change(&changed)
		return changed
	}
	cases := []struct {
		name   string
		config xlsx.Config
		file   []byte
		want   string
	}{
		{"another name", other(func(c *xlsx.Config) { c.Columns[1].Name = "total" }), file, "the header isn't that of the columns"},
		{"another width", other(func(c *xlsx.Config) { c.Widths = []float64{99} }), file, "the header isn't that of the columns"},
		{"another kind", other(func(c *xlsx.Config) { c.Columns[0].Kind = row.Date }), file, "what comes before the worksheets"},
		{"text where numbers are asked for", other(func(c *xlsx.Config) { c.AsText = []bool{true} }), file, "isn't what was written"},
		{"nothing", config, nil, "ends too early"},
		{"three letters", config, []byte("abc"), "xlsx: the file is not a workbook"},
		{"a text file", config, []byte("id,total\r\n1,2\r\n"), "xlsx: the file is not a workbook"},
		{"a cut beginning", config, file[:3], "xlsx: the file ends too early"},
		{"another archive", config, append([]byte("PK\x03\x04"), make([]byte, 100)...), "xlsx: what comes before the worksheets isn't that of the columns; the file belongs to another export or was changed: it isn't what was written"},
		{"a shard twice", config, bytes.Join([][]byte{shards[0].data, shards[1].data, shards[1].data}, nil), "worksheet 1 of shard 2 follows worksheet 1 of shard 2"},
		{"shards in another order", config, bytes.Join([][]byte{shards[0].data, shards[1].data, shards[0].data[len(shards[0].data)-300:]}, nil), "what comes after"},
		{"no suffix", config, bytes.Join([][]byte{shards[0].data, shards[1].data}, nil), "ends too early"},
		{"a shard is missing", config, append(bytes.Clone(shards[0].data), file[len(shards[0].data)+len(shards[1].data):]...), "what comes after the worksheets"},
		{"two files", config, append(bytes.Clone(file), file...), "bytes follow the end"},
	}
	for _, c := range cases {
		if _, _, err := scan(c.config, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one that says %q", c.name, err, c.want)
		}
	}
}

// repacked is the file with a change in the text of its worksheet, as a person with a ZIP program would make it.
func repacked(t *testing.T, file []byte, old, replacement string) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, entry := range archive.File {
		text := strings.Replace(entryText(t, file, entry.Name), old, replacement, 1)
		method := zip.Store
		if strings.HasPrefix(entry.Name, "xl/worksheets/") {
			method = zip.Deflate
		}
		into, err := w.CreateHeader(&zip.FileHeader{Name: entry.Name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(into, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTheReaderRefusesRowsThatTheWriterWouldNotWrite(t *testing.T) {
	t.Parallel()
	// The writer's own container around a worksheet that isn't its own: the text is replaced before it is packed.
	config := configOf(row.Int64, row.String, row.Date)
	good := whole(t, config, batchOf([]string{"7", "=a&b", "2026-03-29"}))
	if rows, _, err := scan(config, good); err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	if _, _, err := scan(config, repacked(t, good, "nothing", "")); err == nil {
		t.Error("a workbook that another program packed passes")
	}
	for _, c := range [][2]string{
		{`<v>7</v>`, `<v>07</v>`}, {`<v>7</v>`, `<f>7</f>`}, {`<v>7</v>`, `<v>7 </v>`}, {` s="3" `, ` `}, {`=a&amp;b`, `=a&#38;b`},
		{`=a&amp;b`, `=a&b`}, {`<v>46110</v>`, `<v>46110.0</v>`}, {`<v>46110</v>`, `<v>60</v>`}, {`s="35"`, `s="36"`}, {`<row r="2">`, `<row r="3">`},
		{`<c r="A2"`, `<c`}, {`</row></sheetData>`, `<c/></row></sheetData>`}, {`</row></sheetData>`, `</row> </sheetData>`},
		{`</worksheet>`, `</worksheet> `},
	} {
		if err := xlsx.ScanSheet(config, sheetText(t, good, c[0], c[1])); err == nil {
			t.Errorf("%s in place of %s passes", c[1], c[0])
		}
	}
	if err := xlsx.ScanSheet(config, sheetText(t, good, "", "")); err != nil {
		t.Errorf("what was written fails: %v", err)
	}
}

func sheetText(t *testing.T, file []byte, old, replacement string) string {
	t.Helper()
	text := entryText(t, file, "xl/worksheets/sheet1001.xml")
	changed := strings.Replace(text, old, replacement, 1)
	if !strings.Contains(text, old) {
		t.Fatalf("the worksheet has no %s", old)
	}
	return changed
}

func TestTheReaderNeedsNoMoreMemoryThanARow(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64)
	endless := "<row r=\"2\">" + strings.Repeat("<c/>", limits.RowReadBytesMax/4+100)
	if err := xlsx.ScanSheet(config, string(xlsx.SheetStart(config))+endless); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("a row without an end gives %v", err)
	}
}
