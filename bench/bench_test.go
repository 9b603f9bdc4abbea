package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOrdersAreTheSameEveryTimeAndOfTheWantedSize(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := writeOrders(out, rows, func(int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same number of rows gave two tables")
	}
	if size := first.Len() / rows; size < 150 || size > 190 {
		t.Errorf("a row has %d bytes, want about 170", size)
	}
	records, err := csv.NewReader(&first).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(columns, ",") + 1; len(records) != rows || len(records[0]) != want {
		t.Errorf("there are %d records of %d fields, want %d of %d", len(records), len(records[0]), rows, want)
	}
}

func TestSmallExportEndsBetweenTwoInstants(t *testing.T) {
	t.Parallel()
	g := newGenerator(1000)
	if last, next := g.placed(smallRows), g.placed(smallRows+1); !last.Before(next) {
		t.Errorf("order %d is placed at %s and the next at %s; a span can't separate them", smallRows, last, next)
	}
}

func TestLoopWritesCSVThatReadsBack(t *testing.T) {
	t.Parallel()
	values := [][]byte{[]byte("1"), []byte("acme"), []byte("SO1"), []byte("2025-01-01"), []byte("paid"), []byte("O'Brien, Pat"), []byte("a@b"), []byte("CN"),
		[]byte("1.50"), []byte("2"), nil, []byte("line one\nline \"two\"")}
	text := appendLoopRow(nil, values, quotable())
	got, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(values))
	for i, value := range values {
		want[i] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the row reads back otherwise (-want +got):\n%s", diff)
	}
}

func TestSpreadIsTheMiddleWithItsEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []float64
		want   spread
	}{
		{"nothing", nil, spread{}},
		{"one", []float64{3}, spread{3, 3, 3}},
		{"odd", []float64{9, 1, 4}, spread{4, 1, 9}},
		{"even", []float64{8, 2, 4, 6}, spread{5, 2, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := spreadOf(c.values); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTransactionIsBilledTwiceForEveryItem(t *testing.T) {
	t.Parallel()
	calls := []called{
		{Service: "dynamodb", Operation: "GetItem", Calls: 4, Items: 4},
		{Service: "dynamodb", Operation: "TransactWriteItems", Calls: 2, Items: 6},
		{Service: "s3", Operation: "UploadPart", Calls: 10, Items: 10},
		{Service: "kms", Operation: "Sign", Calls: 1, Items: 1},
		{Service: "kms", Operation: "GetPublicKey", Calls: 1, Items: 1},
	}
	got := map[string]bill{}
	for _, b := range bills(calls, 2_000_000) {
		got[b.What] = b
	}
	for name, want := range map[string]bill{
		"DynamoDB reads":        {What: "DynamoDB reads", Calls: 2, Units: 2, Dollars: 2 * 0.125 / 1e6},
		"DynamoDB transactions": {What: "DynamoDB transactions", Calls: 1, Units: 6, Dollars: 6 * 0.625 / 1e6},
		"KMS signatures":        {What: "KMS signatures", Calls: 1, Units: 1, Dollars: 15 / 1e6},
		"S3 puts and parts":     {What: "S3 puts and parts", Calls: 5, Units: 5, Dollars: 5 * 5 / 1e6},
	} {
		if got[name] != want {
			t.Errorf("%s: got %+v, want %+v", name, got[name], want)
		}
	}
	if got := items("TransactWriteItems", "ledger JOB#1 A ledger JOB#1 B"); got != 2 {
		t.Errorf("a transaction about two items has %d", got)
	}
}

func TestProcessTimesAreReadBehindAnyName(t *testing.T) {
	t.Parallel()
	text := "42 (a) b (c) S 7 1 1 0 -1 0 0 0 0 0 150 50 300 100 20 0 1 0 5 0 0"
	got, ok := parseStat([]byte(text))
	if want := (process{pid: 42, parent: 7, own: 2, reaped: 4}); !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
}

func TestAnExportIsLookedAtMoreOftenTowardsItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		elapsed       time.Duration
		written, rows int64
		want          time.Duration
	}{
		{0, 0, 1000, 500 * time.Millisecond},
		{time.Second, 100, 1000, time.Second},
		{3 * time.Second, 750, 1000, 500 * time.Millisecond},
		{4 * time.Second, 1000, 1000, 50 * time.Millisecond},
	} {
		if got := nextLook(c.elapsed, c.written, c.rows); got != c.want {
			t.Errorf("with %d of %d rows after %s the next look is in %s, want %s", c.written, c.rows, c.elapsed, got, c.want)
		}
	}
}

func TestColdStartsAreFoundInTheLog(t *testing.T) {
	t.Parallel()
	text := "sealift-query REPORT RequestId: 1 Duration: 2.00 ms Memory Size: 256 MB Max Memory Used: 9 MB Init Duration: 7.25 ms\n" +
		"sealift-query REPORT RequestId: 2 Duration: 2.00 ms Memory Size: 256 MB Max Memory Used: 9 MB\n"
	got := started().FindAllStringSubmatch(text, -1)
	if len(got) != 1 || got[0][1] != "query" || got[0][2] != "7.25" {
		t.Errorf("found %q", got)
	}
}

// exampleReport has a line of every sort.
func exampleReport() *report {
	r := &report{Date: "2026-01-02", Machine: "2 processors", Rows: 1000, Rounds: 1, Raw: 165_000, Sizes: map[string]int64{"create": 12_000_000},
		Starts: map[string][]float64{"create": {8, 9, 10}}, Small: answers{Asked: []float64{8}, Downloaded: []float64{200}},
		Lines: []measured{
			{line{Name: nameLoop2, Group: groupLoop}, []sample{{Rows: 1000, Seconds: 1, OwnSeconds: 1, ServerSeconds: 0.5, PeakBytes: map[string]int64{"largest": 20 << 20}}}},
			{line{Name: nameGzip6, Group: groupRival}, []sample{{Rows: 1000, Seconds: 4, OwnSeconds: 4}}},
			{line{Name: ours(form{"csv", "gzip"}, 2), Group: groupOurs}, []sample{{Rows: 1000, Seconds: 1.25, OwnSeconds: 1.2, CloudSeconds: 1,
				PeakBytes: map[string]int64{"process-shard": 40 << 20, "finalize": 16 << 20}}}},
			{line{Name: ours(form{"jsonl", "gzip"}, 2), Group: groupOurs}, []sample{{Rows: 1000, Seconds: 1.58, OwnSeconds: 2}}},
			{line{Name: ours(form{"xlsx", "none"}, 2), Group: groupExcel}, []sample{{Rows: 500_000, Seconds: 1, OwnSeconds: 2,
				PeakBytes: map[string]int64{"process-shard": 60 << 20}}}},
			{line{Name: nameExcelize, Group: groupExcel}, []sample{{Rows: 500_000, Seconds: 5, OwnSeconds: 6, PeakBytes: map[string]int64{"largest": 1000 << 20}}}},
			{line{Name: "<absent> & gone", Group: groupRival, Missing: "not installed"}, nil},
		}}
	r.bill()
	r.judge()
	return r
}

func TestGoalsAreJudgedOnWhatWasMeasured(t *testing.T) {
	t.Parallel()
	got := exampleReport().Goals
	want := []goal{
		{"speed against the loop, both with 2 workers", "0.80 times", "at least 0.75", true},
		{"speed against psql | gzip -6", "3.20 times", "at least 3.00", true},
		{"processor time a row against the loop, with database and cloud", "1.47 times", "at most 1.30", false},
		{"the same of the exporter alone", "1.20 times", "at most 1.30", true},
		{"process-shard's peak resident set", "40 MiB", "at most 96 MiB", true},
		{"speed of jsonl against csv", "0.79 times", "at least 0.80", false},
		{"speed of xlsx", "500k rows/s", "at least 250k", true},
		{"speed of xlsx against excelize", "5.00 times", "at least 6.00", false},
		{"peak resident set of xlsx against excelize", "0.06 times", "at most 0.10", true},
		{"median time until asking is answered", "8.0 ms", "below 30 ms", true},
		{"median time until 10 rows are downloaded", "200 ms", "below 2000 ms", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the goals differ (-want +got):\n%s", diff)
	}
}

func TestTheMainLineIsMeasuredBesideTheLoop(t *testing.T) {
	t.Parallel()
	var r report
	for _, name := range []string{nameLoop1, nameLoop2, nameGzip6, ours(form{"csv", "gzip"}, 1), ours(form{"csv", "gzip"}, 2), nameExcelize} {
		r.Lines = append(r.Lines, measured{line: line{Name: name}})
	}
	var order []string
	for _, m := range r.turns() {
		order = append(order, m.Name)
	}
	want := []string{nameLoop1, nameLoop2, ours(form{"csv", "gzip"}, 2), nameGzip6, ours(form{"csv", "gzip"}, 1), nameExcelize}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("the order of measuring (-want +got):\n%s", diff)
	}
	r.Lines = r.Lines[:4]
	if turns := r.turns(); len(turns) != 4 {
		t.Errorf("without the main line %d of 4 lines are measured", len(turns))
	}
}

func TestTableAndPictureNameEveryLineAndSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := exampleReport()
	var table strings.Builder
	if err := r.print(&table); err != nil {
		t.Fatal(err)
	}
	var drawn strings.Builder
	decoder := xml.NewDecoder(bytes.NewReader(picture(r)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if text, ok := token.(xml.CharData); ok {
			drawn.Write(text)
		}
	}
	for where, text := range map[string]string{"table": table.String(), "picture": drawn.String()} {
		for _, m := range r.Lines {
			if !strings.Contains(text, m.Name) {
				t.Errorf("the %s lacks %s", where, m.Name)
			}
		}
		if !strings.Contains(text, "missing: not installed") {
			t.Errorf("the %s does not say what is missing", where)
		}
	}
}

func TestWhatWasNotMeasuredIsNotPrinted(t *testing.T) {
	t.Parallel()
	r := exampleReport()
	r.Small, r.Bills = answers{}, nil
	for text, measured := range map[string]bool{"asking answered": false, "rows downloaded": false, "together": false, "loop, 2 workers": true} {
		for _, c := range []struct {
			report *report
			want   bool
		}{{exampleReport(), true}, {r, measured}} {
			var table strings.Builder
			if err := c.report.print(&table); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(table.String(), text); got != c.want {
				t.Errorf("the table has %q: %v, want %v", text, got, c.want)
			}
		}
	}
}
