package pipeline

import (
	"testing"

	"sealift/shared/definition"
	"sealift/shared/row"
)

func TestMasksReplaceValuesAndLeaveNullAndKeysAlone(t *testing.T) {
	t.Parallel()
	masks := []definition.MaskKind{definition.MaskRedact, definition.MaskLast4, definition.MaskNull, ""}
	var from, to row.Batch
	from.Reset(5)
	for _, values := range [][]string{{"secret", "6222020200112233", "9", "plain", "key1"}, {"", "李小龙四五", "9", "", "key2"}, {"x", "abc", "", "p", "key3"}} {
		for _, value := range values {
			from.AppendString(value)
		}
	}
	for range 4 {
		from.AppendNull()
	}
	from.AppendString("key4")
	applyMasks(masks, &from, &to)
	want := [][]string{
		{"***", "************2233", "NULL", "plain", "key1"},
		{"***", "*小龙四五", "NULL", "", "key2"},
		{"***", "***", "NULL", "p", "key3"},
		{"NULL", "NULL", "NULL", "NULL", "key4"},
	}
	counts := []int64{3, 3, 3, 0}
	if to.Rows() != len(want) {
		t.Fatalf("%d rows, want %d", to.Rows(), len(want))
	}
	for r, values := range want {
		for c, wanted := range values {
			got := "NULL"
			if value, ok := to.Value(r, c); ok {
				got = string(value)
			}
			if got != wanted {
				t.Errorf("row %d column %d is %q, want %q", r, c, got, wanted)
			}
		}
		if got := maskedIn(masks, &from, r); got != counts[r] {
			t.Errorf("row %d counts %d masked values, want %d", r, got, counts[r])
		}
	}
}
