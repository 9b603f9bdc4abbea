package limits

// What a worker holds for a columnar file.
const (
	// OpenBytes is what the open pages of all columns make together: the pages of up to 20 columns are of PageBytes, those
	// of more columns are smaller.
	OpenBytes = 5 * MiB
	// GroupHeldBytes is how much the finished and the open pages of a row group may take before it ends with fewer rows.
	GroupHeldBytes = 12 * MiB

	// ColumnarBytesMax is what a worker's process may take for a table of any width whose rows are smaller than a batch,
	// ColumnarBytesOther what it takes for no table at all.
	ColumnarBytesMax   = 160 * MiB
	ColumnarBytesOther = 20 * MiB
	// ColumnarPartBytes is what the buffer of a part takes. A part ends at the latest with the row group that passes its
	// size by a block, and with the open pages of that; another block is for what is only known when they are encoded.
	ColumnarPartBytes = PartBytes + 2*BlockBytes + OpenBytes
	// ColumnarGroupBytes is what the open row group takes. A buffer that grows is a quarter larger than what it must hold.
	// That of an open page is kept up to one and a half times its size; a dictionary's numbers have one beside that of the
	// values; and each value, which is at least a byte of GroupBytes, has a bit that tells whether it is NULL. The tables
	// of a dictionary are up to three times as large as its values.
	ColumnarGroupBytes = GroupHeldBytes*5/4 + OpenBytes*3/2 + OpenBytes*5/4 + GroupBytes/8*5/4 + 4*DictionariesBytes
)

// The relations that must hold between them.
const (
	columnarHeapBytes = (PartsInFlight+1)*ColumnarPartBytes + ColumnarGroupBytes + BatchesAhead*(BatchBytes+8*BatchValues)

	_ = uint(ColumnarBytesMax - ColumnarBytesOther - columnarHeapBytes*(100+WorkerGCPercent)/100) // a table of any width fits
	_ = uint(OpenBytes - ColumnsMax*4096)                                                         // the widest has no crumbs for pages
	_ = uint(GroupHeldBytes - PartBytes - OpenBytes/2)                                            // a row group fills a part
	_ = uint(2*PartBytes - ColumnarPartBytes)                                                     // a buffer is kept for the next part
)
