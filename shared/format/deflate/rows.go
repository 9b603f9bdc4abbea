package deflate

// rows compresses blocks whose values are marked, each by itself.
type rows struct {
	finder finder
	coder  coder
}

func newRows() *rows {
	r := &rows{}
	r.finder.ops = make([]op, opsMax)
	for n := range r.finder.lengths {
		r.finder.lengths[n] = lengthOp(n)
	}
	return r
}

// pack appends the compressed block and a sync flush. It allocates nothing but room in dst.
func (r *rows) pack(dst []byte, block Block) []byte {
	w := bitWriter{dst: dst}
	r.finder.start(block)
	for r.finder.next() {
		r.coder.append(&w, r.finder.ops[:r.finder.n])
	}
	return w.flush()
}
