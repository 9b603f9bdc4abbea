package row_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
)

// value is one value with what tells NULL from empty.
type value struct {
	Text string
	OK   bool
}

func TestBatchFilledByRowsIsThatFilledByValues(t *testing.T) {
	t.Parallel()
	rows := [][]value{{{"a", true}, {"", false}, {"1", true}}, {{"", false}, {"", true}, {"2", true}}, {{"bc", true}, {"d", true}, {"", false}}}
	var single, whole row.Batch
	// The first round leaves memory behind, as a batch of an earlier read does.
	for range 2 {
		single.Reset(3)
		whole.Reset(3)
		for _, values := range rows {
			data, spans := whole.Lend()
			bytes := 0
			for _, v := range values {
				if !v.OK {
					single.AppendNull()
					spans = append(spans, 0)
					continue
				}
				single.AppendString(v.Text)
				// What lies between two values is nobody's.
				data = append(data, "--"+v.Text+"--"...)
				spans = append(spans, row.At(2, 2+len(v.Text)).Shift(len(data)-4-len(v.Text)))
				bytes += len(v.Text)
			}
			whole.Return(data, spans, bytes)
		}
	}
	if single.Bytes() != 6 || whole.Bytes() != 6 {
		t.Errorf("the values have %d and %d bytes, want 6", single.Bytes(), whole.Bytes())
	}
	for name, b := range map[string]*row.Batch{"by values": &single, "by rows": &whole} {
		var byValue, byRow [][]value
		for r := range b.Rows() {
			values, again := make([]value, b.Width()), make([]value, b.Width())
			arena, spans := b.Row(r)
			for c := range values {
				text, ok := b.Value(r, c)
				values[c] = value{string(text), ok}
				if !spans[c].Null() {
					again[c] = value{string(spans[c].Of(arena)), true}
				}
			}
			byValue, byRow = append(byValue, values), append(byRow, again)
		}
		if diff := cmp.Diff(rows, byValue); diff != "" {
			t.Errorf("the batch filled %s has other values (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(rows, byRow); diff != "" {
			t.Errorf("the batch filled %s has other rows (-want +got):\n%s", name, diff)
		}
	}
}
