package pipeline

import (
	"testing"

	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestMemoryKeepsWhatOneShardNeedsAndNothingBlownUp(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	for range limits.PartsInFlight {
		if buffer := m.part(); cap(buffer) < limits.PartBytes || len(buffer) != 0 {
			t.Errorf("a new memory gives %d of %d bytes", len(buffer), cap(buffer))
		}
	}
	if m.part() != nil || m.batch() == nil {
		t.Error("a memory gives more buffers than it has, or no batch")
	}
	for range limits.PartsInFlight + 3 {
		m.keepPart(make([]byte, 10, limits.PartBytes))
	}
	for range limits.PartsInFlight {
		if buffer := m.part(); cap(buffer) != limits.PartBytes || len(buffer) != 0 {
			t.Errorf("a kept buffer comes back with %d of %d bytes", len(buffer), cap(buffer))
		}
	}
	m.keepPart(make([]byte, 0, 3*limits.PartBytes))
	if m.part() != nil {
		t.Error("a buffer that large parts have blown up is kept, or one more than a shard needs")
	}
	usual, large := &row.Batch{}, &row.Batch{}
	usual.Reset(1)
	usual.AppendString("x")
	large.Reset(1)
	large.Append(make([]byte, 3*limits.BatchBytes))
	m.keepBatch(large)
	m.keepBatch(usual)
	if m.batch() != usual {
		t.Error("the usual batch is not kept, or the one that large rows have blown up is")
	}
	var none *Memory
	none.keepPart(make([]byte, 1))
	none.keepBatch(usual)
	if none.part() != nil || none.batch() == usual {
		t.Error("no memory keeps something")
	}
}
