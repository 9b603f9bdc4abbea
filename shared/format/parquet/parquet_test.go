package parquet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/part"
)

func TestAFileReadsBackAsItsRows(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, rows := orders(codec), table(1, 700)
			for what, cut := range map[string]part.Cut{"small": small(), "usual": {}} {
				file, hash := export(t, config, cut, rows[:250], nil, rows[250:251], rows[251:])
				got, gotHash, err := read(file, config)
				if err != nil {
					t.Fatalf("%s cuts: %v", what, err)
				}
				if diff := cmp.Diff(rows, got); diff != "" {
					t.Errorf("%s cuts: written (-) and read (+) rows differ:\n%.2000s", what, diff)
				}
				if hash != gotHash {
					t.Errorf("%s cuts: the parts' rows hash to %x, those of the file to %x", what, hash, gotHash)
				}
			}
		})
	}
}
