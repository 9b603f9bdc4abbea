package xlsx_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestAMillionDistinctStringsNeedNoMoreMemory(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	w, err := xlsx.NewWriter(configOf(row.String), part.Options{First: true, Shard: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := &row.Batch{}
	var buffers [2][]byte
	var peak uint64
	turn := 0
	for i := range 1_000_000 {
		b.Reset(2)
		b.AppendFunc(func(dst []byte) []byte { return strconv.AppendInt(dst, int64(i)*7_919_000_003, 36) })
		b.AppendString("k")
		full, err := w.Append(b, 0)
		if err != nil {
			t.Fatal(err)
		}
		if full {
			taken, err := w.Take(buffers[turn])
			if err != nil {
				t.Fatal(err)
			}
			turn = 1 - turn
			buffers[turn] = taken.Data
		}
		if i%100_000 == 0 {
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			peak = max(peak, memory.HeapAlloc)
		}
	}
	if peak > 48*limits.MiB {
		t.Errorf("%d MiB are in use", peak>>20)
	}
}

func wantFault(t *testing.T, err error, code string, texts ...string) {
	t.Helper()
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Kind != job.Permanent || fault.Code != code {
		t.Fatalf("the error is %v, want permanent %s", err, code)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q doesn't say %q", err, text)
		}
	}
}

func TestAWriterRefusesWhatItsPartCantTake(t *testing.T) {
	t.Parallel()
	config, b := configOf(row.Int64, row.String), numbered(3000)
	cut := part.Cut{BlockBytes: 500, PartBytes: 1000, PartsMax: 2}
	w, err := xlsx.NewWriter(config, part.Options{Shard: 1, Cut: cut})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Append(batchOf([]string{"1"}), 0)
	wantFault(t, err, "row_width", "2 values", "2 columns and 1 key values")
	r, parts := 0, 0
	for ; err == nil || parts < 2; r++ {
		var full bool
		if full, err = w.Append(b, r); err != nil {
			t.Fatal(err)
		}
		if !full {
			continue
		}
		_, err = w.Append(b, r+1)
		wantFault(t, err, "part_full", "must be taken")
		if _, err := w.Take(nil); err != nil {
			t.Fatal(err)
		}
		parts++
	}
	_, err = w.Append(b, r)
	wantFault(t, err, "shard_too_large", "2 parts", "fewer rows per shard")
	_, err = w.End()
	wantFault(t, err, "shard_too_large", "2 parts")
}

func TestARefusedRowLeavesNoTrace(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	config.InvalidUTF8 = "fail"
	good, bad := batchOf([]string{"1", "a"}), batchOf([]string{"9007199254740993", "\xff"})
	want := write(t, config, part.Options{First: true, Shard: 1}, good, 0, 1)
	w, err := xlsx.NewWriter(config, part.Options{First: true, Shard: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Append(bad, 0)
	wantFault(t, err, "value_invalid_utf8", `column "string b"`)
	if _, err := w.Append(good, 0); err != nil {
		t.Fatal(err)
	}
	got, err := w.End()
	if err != nil || string(got.Data) != string(want.data) || got.Counters != want.counters || got.RowsHash != want.hash {
		t.Errorf("the refused row left traces: %+v, %v", got.Counters, err)
	}
}

func TestAFragmentThatFitsNoShardIsRefused(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	for _, text := range []string{"{", `{"at":"x"}`, `{"done":[1]}`, `{"done":[[1,2,3,4,5,6,"x"]]}`} {
		_, err := xlsx.NewWriter(config, part.Options{Shard: 1, Fragment: text})
		wantFault(t, err, "fragment_invalid")
	}
	good := write(t, config, part.Options{First: true, Shard: 1}, numbered(3), 0, 3)
	pieces := map[string]part.Piece{
		"no JSON":        {Number: 1, Bytes: 10, Rows: 3, Fragment: "x"},
		"other rows":     {Number: 1, Bytes: int64(len(good.data)), Rows: 4, Fragment: good.fragment},
		"other bytes":    {Number: 1, Bytes: 10, Rows: 3, Fragment: good.fragment},
		"an open sheet":  {Number: 1, Bytes: 10, Rows: 0, Fragment: `{"at":10,"open":[0,0,0,0,0]}`},
		"no fragment":    {Number: 1, Bytes: 10, Rows: 3},
		"a lost segment": {Number: 1, Bytes: int64(len(good.data)), Rows: 3, Fragment: `{"at":1}`},
	}
	for name, piece := range pieces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFault(t, xlsx.NewJoiner(config).Add(context.Background(), piece), "fragment_invalid")
		})
	}
}

func TestAWorkbookInUTCKnowsNoOtherOffset(t *testing.T) {
	t.Parallel()
	config := configOf(row.Timestamp)
	styles := entryText(t, whole(t, config, batchOf([]string{"2026-03-29T03:00:00+08:00"})), "xl/styles.xml")
	if got := strings.Count(styles, "<numFmt "); got != 116 {
		t.Errorf("%d formats, want two for each of 58 suffixes", got)
	}
	config.Zone = "UTC"
	written := write(t, config, part.Options{First: true, Shard: 1}, batchOf([]string{"2026-03-29T03:00:00+08:00"}, []string{"2026-03-29T03:00:00Z"}), 0, 2)
	styles = entryText(t, join(t, config, written), "xl/styles.xml")
	if got := strings.Count(styles, "<numFmt "); got != 2 || !strings.Contains(styles, `formatCode="yyyy-mm-dd hh:mm:ss\Z"`) {
		t.Errorf("%d formats, want two with Z", got)
	}
	if written.counters.TimesAsText != 1 {
		t.Errorf("%d times are text, want the one that isn't in UTC", written.counters.TimesAsText)
	}
}

func TestNoWorkbookHasMoreFormatsThanSpreadsheetsTake(t *testing.T) {
	t.Parallel()
	config := configOf(row.Kinds()...)
	values := []string{"a", "1", "1", "1", "true", "2026-01-02", "2026-01-02T03:04:05+08:00", "2026-01-02T03:04:05", "{}", "b"}
	styles := entryText(t, whole(t, config, batchOf(values)), "xl/styles.xml")
	const least = 200
	if got := strings.Count(styles, "<numFmt "); got >= least || !strings.Contains(styles, `<numFmts count="`+strconv.Itoa(got)+`">`) {
		t.Errorf("%d formats, want less than %d", got, least)
	}
	if got := strings.Count(styles, "<xf ") - 1; !strings.Contains(styles, `<cellXfs count="`+strconv.Itoa(got)+`">`) {
		t.Errorf("%d styles aren't what the list says", got)
	}
}
