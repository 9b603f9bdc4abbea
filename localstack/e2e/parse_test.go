package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// parse reads a whole file without Sealift's own code: the records in their order, nil for NULL.
func parse(t *testing.T, file []byte, format, compression string) [][]*string {
	t.Helper()
	text := unpack(t, file, compression)
	if format == "jsonl" {
		return parseJSON(t, text)
	}
	records, err := parseCSV(text)
	ok(t, err)
	if len(records) == 0 {
		t.Fatal("the file has no header")
	}
	for i, name := range columns() {
		if *records[0][i] != name {
			t.Fatalf("column %d of the header is %q, want %q", i, *records[0][i], name)
		}
	}
	return records[1:]
}

func unpack(t *testing.T, file []byte, compression string) []byte {
	t.Helper()
	switch compression {
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(file))
		ok(t, err)
		text, err := io.ReadAll(reader)
		ok(t, err)
		return text
	case "zstd":
		reader, err := zstd.NewReader(nil)
		ok(t, err)
		defer reader.Close()
		text, err := reader.DecodeAll(file, nil)
		ok(t, err)
		return text
	}
	return file
}

// parseCSV reads RFC 4180 and tells an unquoted empty field, which is NULL, from a quoted one.
func parseCSV(text []byte) ([][]*string, error) {
	var records [][]*string
	var record []*string
	for at := 0; at < len(text); {
		var value strings.Builder
		quoted := text[at] == '"'
		if quoted {
			at++
			for {
				end := bytes.IndexByte(text[at:], '"')
				if end < 0 {
					return nil, errors.New("a quote is never closed")
				}
				value.Write(text[at : at+end])
				at += end + 1
				if at == len(text) || text[at] != '"' {
					break
				}
				value.WriteByte('"')
				at++
			}
		} else {
			end := bytes.IndexAny(text[at:], ",\r\n")
			if end < 0 {
				end = len(text) - at
			}
			value.Write(text[at : at+end])
			at += end
		}
		var field *string
		if quoted || value.Len() > 0 {
			plain := value.String()
			field = &plain
		}
		record = append(record, field)
		switch rest := text[at:]; {
		case len(rest) == 0 || rest[0] == '\n' || bytes.HasPrefix(rest, []byte("\r\n")):
			at += min(len(rest), 1)
			if len(rest) > 0 && rest[0] == '\r' {
				at++
			}
			records, record = append(records, record), nil
		case rest[0] == ',':
			at++
			if at == len(text) || text[at] == '\n' || text[at] == '\r' {
				record = append(record, nil)
				at += bytes.IndexByte(append(text[at:len(text):len(text)], '\n'), '\n') + 1
				records, record = append(records, record), nil
			}
		default:
			return nil, fmt.Errorf("record %d: %q stands after a field", len(records)+1, rest[0])
		}
	}
	return records, nil
}

func parseJSON(t *testing.T, text []byte) [][]*string {
	t.Helper()
	var records [][]*string
	for line := range bytes.Lines(text) {
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		ok(t, decoder.Decode(&object))
		record := make([]*string, 0, len(object))
		for _, name := range columns() {
			value, there := object[name]
			if !there {
				t.Fatalf("line %d has no %q", len(records)+1, name)
			}
			if value == nil {
				record = append(record, nil)
				continue
			}
			shown := fmt.Sprint(value)
			record = append(record, &shown)
		}
		if len(object) != len(columns()) {
			t.Fatalf("line %d has %d keys", len(records)+1, len(object))
		}
		records = append(records, record)
	}
	return records
}

// equal fails the test at the first record that differs; values are compared by what they mean.
func equal(t *testing.T, got, want [][]*string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("record %d has %d values, want %d", i+1, len(got[i]), len(want[i]))
		}
		for c, name := range columns() {
			g, w := meaning(t, name, got[i][c]), meaning(t, name, want[i][c])
			if g != w {
				t.Fatalf("record %d, column %s: %s, want %s", i+1, name, g, w)
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
}

func meaning(t *testing.T, column string, value *string) string {
	t.Helper()
	if value == nil {
		return "NULL"
	}
	switch kinds()[column] {
	case "timestamp":
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999-07"} {
			if at, err := time.Parse(layout, *value); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		t.Fatalf("column %s: %q is no time", column, *value)
	case "bool":
		on, err := strconv.ParseBool(*value)
		ok(t, err)
		return strconv.FormatBool(on)
	case "float64":
		number, err := strconv.ParseFloat(*value, 64)
		ok(t, err)
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	return strconv.Quote(*value)
}
