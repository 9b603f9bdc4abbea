package pipeline

import (
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Memory keeps the large buffers of a shard for the next one of the same process, which would otherwise make the system
// hand out and clear them anew each time. A nil Memory keeps nothing. It may be shared by goroutines; it holds what one
// shard needs.
type Memory struct {
	parts   chan []byte
	batches chan *row.Batch
}

// NewMemory returns a Memory that holds the buffers of one shard's parts and no batch yet. Until they are written to they
// take no memory of the system's, but they count for Go's collector, which would else run at every megabyte that a new
// process grows by.
func NewMemory() *Memory {
	m := &Memory{parts: make(chan []byte, limits.PartsInFlight), batches: make(chan *row.Batch, limits.BatchesAhead)}
	for range limits.PartsInFlight {
		m.parts <- make([]byte, 0, limits.PartBytes+limits.BlockBytes)
	}
	return m
}

// part is a buffer for a part; nil when none is kept.
func (m *Memory) part() []byte {
	if m == nil {
		return nil
	}
	select {
	case buffer := <-m.parts:
		return buffer
	default:
		return nil
	}
}

// keepPart takes a buffer that nobody reads any more. What large rows or parts have blown up is given back to the system.
func (m *Memory) keepPart(buffer []byte) {
	if m == nil || cap(buffer) == 0 || cap(buffer) > 2*limits.PartBytes {
		return
	}
	select {
	case m.parts <- buffer[:0]:
	default:
	}
}

// batch is an empty batch.
func (m *Memory) batch() *row.Batch {
	if m == nil {
		return &row.Batch{}
	}
	select {
	case b := <-m.batches:
		return b
	default:
		return &row.Batch{}
	}
}

// keepBatch takes a batch that nobody reads any more.
func (m *Memory) keepBatch(b *row.Batch) {
	if m == nil || b.Capacity() > 2*limits.BatchBytes {
		return
	}
	select {
	case m.batches <- b:
	default:
	}
}
