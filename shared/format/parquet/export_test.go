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
