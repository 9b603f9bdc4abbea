package pipeline

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/snapshot"
)

func TestLayFilesGivesEveryRowAndEveryKeyRangeToOneFile(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		layout snapshot.Layout
		rows   []int64
		want   []string
	}{
		{"one file", snapshot.LayoutFile, []int64{3, 0, 2}, []string{"0: s1@0+30 s2@30+10 s3@40+20, 5 rows, 60 bytes"}},
		{"a file each", snapshot.LayoutFiles, []int64{3, 2}, []string{"1: s1@0+30, 3 rows, 30 bytes", "2: s2@0+20, 2 rows, 20 bytes"}},
		{
			"an empty shard counts to the file before it", snapshot.LayoutFiles, []int64{3, 0, 0, 2},
			[]string{"1: s1@0+30 s2@30+0 s3@30+0, 3 rows, 30 bytes", "2: s4@0+20, 2 rows, 20 bytes"},
		},
		{"or to the first", snapshot.LayoutFiles, []int64{0, 0, 3, 0}, []string{"1: s1@0+0 s2@0+0 s3@0+30 s4@30+0, 3 rows, 30 bytes"}},
		{"no row at all is one file", snapshot.LayoutFiles, []int64{0, 0}, []string{"1: s1@0+10 s2@10+0, 0 rows, 10 bytes"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := whole{}
			for i, rows := range c.rows {
				// A shard without rows has written what a file begins with.
				w.pieces = append(w.pieces, piece{number: i + 1, unit: fmt.Sprintf("s%d", i+1), rows: rows, object: job.StagedObject{Bytes: max(10*rows, 10)}})
				w.rows += rows
			}
			var have []string
			for _, f := range layFiles(w, c.layout) {
				text := fmt.Sprintf("%d:", f.number)
				for _, p := range f.pieces {
					text += fmt.Sprintf(" %s@%d+%d", p.unit, p.offset, p.object.Bytes)
				}
				have = append(have, fmt.Sprintf("%s, %d rows, %d bytes", text, f.rows, f.bytes))
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

func TestNumberedNamesKeepTheirEndings(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, extension, want string }{
		{"orders-20260301.csv.gz", "csv.gz", "orders-20260301-00007.csv.gz"},
		{"订单 v1.2.parquet", "parquet", "订单 v1.2-00007.parquet"},
	}
	for _, c := range cases {
		if have := numberedName(c.name, c.extension, 7); have != c.want {
			t.Errorf("file 7 of %s is %s, want %s", c.name, have, c.want)
		}
	}
}
