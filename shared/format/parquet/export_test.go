package parquet

// Groups tells tests how many rows the row groups of a file or part have, in order, and where they begin.
func Groups(config Config, file []byte) (rows, offsets []int64, err error) {
	s := newSchema(config)
	n, _ := footerLength(file)
	end := int64(len(file) - endBytes)
	r, _, count, err := s.readFooter(file[end-n : end])
	if err != nil {
		return nil, nil, err
	}
	for range count {
		g := s.readGroup(r)
		rows, offsets = append(rows, g.rows), append(offsets, g.offset)
	}
	return rows, offsets, r.err
}

// Held tells tests what the buffers of the open part and of the open row group take.
func Held(w *Writer) (part, group int) {
	group = cap(w.finished.data)
	for _, c := range w.columns {
		group += cap(c.values) + 2*cap(c.numbers) + cap(c.valid)
		if d := c.dictionary; d != nil {
			group += cap(d.values) + 4*cap(d.starts) + 4*cap(d.slots)
		}
	}
	return cap(w.part.Data), group
}
