package format_test

import (
	"strings"
	"testing"

	"sealift/shared/format"
	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/row"
)

func TestATimeThatTheZoneCantShowIsRefusedWithTheWayOutExceptWhereTimesAreUTC(t *testing.T) {
	t.Parallel()
	for _, name := range []format.Name{format.CSV, format.JSONL, format.XLSX, format.Parquet} {
		spec := documents(name)
		spec.Columns[0] = row.Column{Name: "valid_until", Kind: row.Timestamp}
		for zone, at := range map[string]string{
			"Asia/Shanghai": "9999-12-31T23:30:00-00:00", "America/New_York": "0001-01-01T00:00:00.000001-00:00",
		} {
			spec.Zone = zone
			b := documentBatch(at)
			w := newWriter(t, spec, format.PartOptions{First: true, Shard: 1})
			if name == format.Parquet {
				file, _ := documentFile(t, spec, b)
				if got, _ := firstRow(t, spec, file); got != at {
					t.Errorf("%s: %s is read as %s", name, at, got)
				}
				continue
			}
			_, err := w.Append(b, 0)
			wantError(t, err, job.Permanent, field.CodeOutOfRange, `column "valid_until" of the row with key k1`, "time zone",
				"years 0001 to 9999", "zone UTC", "Parquet")
			if strings.Contains(err.Error(), at[:10]) || strings.Contains(err.Error(), "repair") {
				t.Errorf("%q shows the value or blames the row", err)
			}
		}
	}
}
