package csv_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/row"
)

// chinese is config in GB 18030.
func chinese(kinds ...row.Kind) csv.Config {
	c := config(kinds...)
	c.Encoding, c.Unencodable = csv.GB18030, field.Fail
	return c
}

func TestTextIsWrittenInGB18030(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, value, want string
		kind              row.Kind
	}{
		{"ASCII is as it was", "plain", "plain", row.String},
		{"a character of GB 2312 has two bytes", "名字", "\xc3\xfb\xd7\xd6", row.String},
		{"one beyond the basic plane has four", "𠮷", "\x95\x34\xb2\x35", row.String},
		{"emoji with a joiner", "👩\u200d👧", "\x94\x39\xd3\x39\x81\x36\xa4\x39\x94\x39\xd3\x37", row.String},
		{"a combining accent", "e\u0301", "e\x81\x30\xbc\x37", row.String},
		{"the euro sign", "€", "\xa2\xe3", row.String},
		{"a character with a bar in it", "亅x", "\x81\x7cx", row.String},
		{"quotes between characters", `名"字`, "\"\xc3\xfb\"\"\xd7\xd6\"", row.String},
		{"a delimiter and a line end", "名,\n字", "\"\xc3\xfb,\n\xd7\xd6\"", row.String},
		{"a full-width formula", "＝1", "\"'\xa3\xbd1\"", row.String},
		{"ideographic space in front of a formula", "\u3000=1", "\"'\xa1\xa1=1\"", row.String},
		{"a document", `{"名": 1}`, "\"{\"\"\xc3\xfb\"\": 1}\"", row.JSON},
		{"a noncharacter", "\uffff", "\x84\x31\xa4\x39", row.String},
	}
	for _, c := range cases {
		got, counters := encode(t, chinese(c.kind, row.Int64), c.value, "-5")
		if want := c.want + ",-5\r\n"; got != want || counters.Replaced != 0 {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		values, nulls, err := csv.NewReader(strings.NewReader(got), chinese().Options, 2).Read()
		if err != nil || strings.TrimPrefix(texts(values, nulls)[0], "'") != c.value {
			t.Errorf("%s: %q comes back as %q, %v", c.name, c.value, values, err)
		}
	}
}

func TestWhatGB18030DoesNotHaveIsRefusedOrReplacedAndCounted(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"a\ue000", "\ue864", "\u1e3f", "\u9fb4 x", "\ufe10\ufe19"} {
		var counters field.Counters
		_, err := csv.New(chinese(row.String, row.String)).AppendRow(nil, nil, batch("ok", value), 0, &counters)
		wantError(t, err, "value_unencodable", `column "b"`, `key k-7`, "encoding utf-8", "unencodable: replace")
		if strings.Contains(err.Error(), value) {
			t.Errorf("the error shows the value: %v", err)
		}
	}
	replacing := chinese(row.String, row.String, row.JSON)
	replacing.Unencodable = field.Replace
	got, counters := encode(t, replacing, "名\ue000\"\u1e3f字", "\ue000=1", `"\ue000 `+"\ufe10"+`"`)
	if want := "\"\xc3\xfb?\"\"?\xd7\xd6\",\"?=1\",\"\"\"\\ue000 ?\"\"\"\r\n"; got != want || counters.Replaced != 3 {
		t.Errorf("row is %q with %d counted, want %q with 3", got, counters.Replaced, want)
	}
}

func TestInvalidUTF8IsReplacedInGB18030Too(t *testing.T) {
	t.Parallel()
	var counters field.Counters
	_, err := csv.New(chinese(row.String)).AppendRow(nil, nil, batch("caf\xe9"), 0, &counters)
	wantError(t, err, "value_invalid_utf8")
	replacing := chinese(row.String, row.String)
	replacing.InvalidUTF8, replacing.Unencodable = field.Replace, field.Replace
	got, counters := encode(t, replacing, "名\xe5\x90", "\xff\ue000")
	want := "\"\xc3\xfb\x84\x31\xa4\x37\",\"\x84\x31\xa4\x37?\"\r\n"
	if got != want || counters.InvalidUTF8 != 2 || counters.Replaced != 1 {
		t.Errorf("row is %q with %+v, want %q", got, counters, want)
	}
	values, _, err := csv.NewReader(strings.NewReader(got), replacing.Options, 2).Read()
	if err != nil || string(values[0]) != "名\ufffd" || string(values[1]) != "\ufffd?" {
		t.Errorf("reads back as %q, %v", values, err)
	}
}

func TestHeaderAndNullTextAreInGB18030(t *testing.T) {
	t.Parallel()
	c := chinese(row.String, row.String)
	c.Header, c.NullText, c.Columns[0].Name = true, "空", "名字"
	var counters field.Counters
	encoder := csv.New(c)
	file, err := encoder.AppendRow(encoder.AppendHeader(nil), nil, batch(null, "空"), 0, &counters)
	if want := "\xc3\xfb\xd7\xd6,b\r\n\xbf\xd5,\"\xbf\xd5\"\r\n"; err != nil || string(file) != want {
		t.Fatalf("file is %q, %v, want %q", file, err, want)
	}
	reader := csv.NewReader(bytes.NewReader(file), c.Options, 2)
	for _, want := range [][]string{{"名字", "b"}, {null, "空"}} {
		values, nulls, err := reader.Read()
		if err != nil || !cmp.Equal(texts(values, nulls), want) {
			t.Errorf("read %q, %v, want %q", texts(values, nulls), err, want)
		}
	}
}

func TestTheReaderRefusesWhatIsNoGB18030(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"half a character":        "\xc3,b\r\n",
		"a quote after a lead":    "\"\xc3\",b\r\n",
		"a code of nothing":       "\xfe\xfe,b\r\n",
		"a disputed character":    "\xa6\xd9,b\r\n",
		"text in Latin-1":         "caf\xe9,b\r\n",
		"four bytes, three there": "\x95\x34\xb8,b\r\n",
	} {
		if values, _, err := csv.NewReader(strings.NewReader(file), chinese().Options, 2).Read(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: read as %q, %v", name, values, err)
		}
	}
}

// dump prints what Python's csv module reads from a file in the encoding that is named, as JSON.
const dump = `
import csv, io, json, sys
text = io.TextIOWrapper(sys.stdin.buffer, encoding=sys.argv[1], newline="")
print(json.dumps(list(csv.reader(text, strict=True))))
`

func TestIconvAndPythonReadTheTwinOfTheUTF8File(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"名字", "𠮷野家", "1"}, {"a,b", "say \"名\"", "2"}, {"line\r\n二", "=1+2", "3"}, {"👩\u200d👩\u200d👧", "e\u0301", "4"}, {"", null, "5"},
		{"亅|俖\\", "\x01\x7f\u00a0\u2028\ufffd\uffff", "6"}, {strings.Repeat("很长的\"文本\",", 5_000), "€£¥ñж", "7"},
	}
	files := map[csv.Encoding][]byte{}
	for _, encoding := range []csv.Encoding{csv.UTF8, csv.GB18030} {
		c := config(row.String, row.String, row.Int64)
		c.Header, c.Encoding, c.Columns[0].Name = true, encoding, "客户,名"
		if encoding == csv.GB18030 {
			c.Unencodable = field.Fail
		}
		encoder := csv.New(c)
		file := encoder.AppendHeader(nil)
		for _, values := range rows {
			var counters field.Counters
			var err error
			if file, err = encoder.AppendRow(file, nil, batch(values...), 0, &counters); err != nil {
				t.Fatal(err)
			}
		}
		files[encoding] = file
	}
	if got := pipe(t, files[csv.GB18030], "iconv", "-f", "GB18030", "-t", "UTF-8"); !bytes.Equal(got, files[csv.UTF8]) {
		t.Errorf("iconv makes another file of it: %d bytes, want %d", len(got), len(files[csv.UTF8]))
	}
	var inUTF8, inGB18030 [][]string
	for encoding, into := range map[csv.Encoding]*[][]string{csv.UTF8: &inUTF8, csv.GB18030: &inGB18030} {
		name := string(encoding)
		if encoding == csv.UTF8 {
			name = "utf-8"
		}
		if err := json.Unmarshal(pipe(t, files[encoding], "python3", "-c", dump, name), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(inUTF8, inGB18030); diff != "" || len(inUTF8) != len(rows)+1 {
		t.Errorf("Python reads %d rows, and the twins as different:\n%.1000s", len(inUTF8), diff)
	}
}

func pipe(t *testing.T, input []byte, command ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Fatalf("install %s to run this test (make setup): %v", command[0], err)
	}
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var complaints strings.Builder
	run.Stdin, run.Stderr = bytes.NewReader(input), &complaints
	output, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, complaints.String())
	}
	return output
}

func TestOnlyAskedForThereIsAByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options csv.Options
		want    bool
	}{
		{rfc(), false},
		{csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Header: true}, false},
		{csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Encoding: csv.GB18030, Unencodable: field.Fail}, false},
		{csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r\n", BOM: true}, true},
	} {
		config := config(row.String)
		config.Options = c.options
		config.Columns[0].Name = "名字"
		if got := bytes.HasPrefix(csv.New(config).AppendHeader(nil), []byte("\xef\xbb\xbf")); got != c.want {
			t.Errorf("%+v: a byte order mark is %v, want %v", c.options, got, c.want)
		}
	}
}

func TestOptionsThatGB18030CantHave(t *testing.T) {
	t.Parallel()
	for text, change := range map[string]func(*csv.Options){
		"byte order mark":              func(o *csv.Options) { o.BOM = true },
		"delimiter '|'":                func(o *csv.Options) { o.Delimiter = '|' },
		"null text":                    func(o *csv.Options) { o.NullText = "\ue000" },
		"must be fail or replace":      func(o *csv.Options) { o.Unencodable = "" },
		"encoding \"latin1\" must be":  func(o *csv.Options) { o.Encoding = "latin1" },
		"rule for unencodable ones is": func(o *csv.Options) { o.Encoding = csv.UTF8 },
	} {
		options := chinese().Options
		change(&options)
		if faults := options.Faults(true); len(faults) != 1 || !strings.Contains(faults[0], text) {
			t.Errorf("faults are %q, want one about %q", faults, text)
		}
	}
}

func TestNoRowInGB18030Allocates(t *testing.T) {
	c := chinese(row.String, row.String, row.Int64, row.JSON)
	c.InvalidUTF8, c.Unencodable = field.Replace, field.Replace
	encoder, b := csv.New(c), batch("名\"字\xff\ue000", "plain", "1", `["名"]`)
	var counters field.Counters
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := encoder.AppendRow(dst[:0], nil, b, 0, &counters); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("a row allocates %v times", n)
	}
}

func TestALargeTextInGB18030IsMeasuredBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	// Two bytes in UTF-8, four in GB 18030.
	text := strings.Repeat("ñ", 4<<20)
	got, _ := encode(t, chinese(row.String, row.String), text, "y")
	if len(got) != 16<<20+len(",y\r\n") {
		t.Errorf("8 MiB of text make %d bytes", len(got))
	}
	var counters field.Counters
	_, err := csv.New(chinese(row.String)).AppendRow(nil, nil, batch(strings.Repeat("ñ", 17<<20)), 0, &counters)
	wantError(t, err, "row_too_large", "32 MiB")
}
