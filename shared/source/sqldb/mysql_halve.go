package sqldb

import (
	"bytes"
	"container/heap"
	"context"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"sealift/shared/row"
	"sealift/shared/source"
)

const (
	// halvesMax bounds the pieces of one plan, and with them its statements.
	halvesMax = 1 << 14
	// middlesMax bounds the values that are tried inside one piece.
	middlesMax = 80
	// scaleRowsMin is the shortest range on which estimates are measured.
	scaleRowsMin = 1 << 8
)

// halver cuts one set: it halves the piece with the most rows until all are small.
type halver struct {
	source *mysqlSource
	query  *row.Query
	opt    source.PlanOptions
	pieces []*piece
	// size is how many rows a piece should have.
	size float64
	// swapped says that the server sorts every UUID by its parts in reverse.
	swapped bool
}

// piece is the keys from first, a real one, up to the next piece's.
type piece struct {
	first, last row.Key
	// end is the next piece's first key, nil for the last piece.
	end  row.Key
	rows float64
	next *piece
}

// Len, Less, Swap, Push and Pop make halver a heap of pieces, the fullest on top.
func (h *halver) Len() int           { return len(h.pieces) }
func (h *halver) Less(i, j int) bool { return h.pieces[i].rows > h.pieces[j].rows }
func (h *halver) Swap(i, j int)      { h.pieces[i], h.pieces[j] = h.pieces[j], h.pieces[i] }

// Push implements heap.Interface.
func (h *halver) Push(x any) {
	if p, ok := x.(*piece); ok {
		h.pieces = append(h.pieces, p)
	}
}

// Pop implements heap.Interface.
func (h *halver) Pop() any {
	p := h.pieces[len(h.pieces)-1]
	h.pieces = h.pieces[:len(h.pieces)-1]
	return p
}

// cuts divides a piece whose rows are estimated.
func (h *halver) cuts(ctx context.Context, head *piece) ([]cut, error) {
	first, last := head.first, head.last
	if err := h.swaps(ctx); err != nil {
		return nil, err
	}
	total, count := head.rows, 1
	heap.Push(h, head)
	held := heldBytes(first) + heldBytes(last)
	for h.Len() > 0 && count < halvesMax && held < cutBytesMax(h.opt) {
		p, _ := heap.Pop(h).(*piece)
		h.size = max(float64(h.opt.ShardRows), total/float64(h.opt.ShardsMax)) / piecesPerShard
		if p.rows <= h.size {
			break
		}
		total -= p.rows
		parts, err := h.halve(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			total += part.rows
			held += heldBytes(part.first) + heldBytes(part.last)
			heap.Push(h, part)
		}
		if len(parts) == 0 {
			// One key, or values that nothing is known between.
			total += p.rows
		}
		count += len(parts)
	}
	scales, err := h.scales(ctx, first, last)
	if err != nil {
		return nil, err
	}
	var cuts []cut
	for p := head; p != nil; p = p.next {
		cuts = append(cuts, cut{key: p.first, rows: max(1, int64(scaled(p.rows, scales)))})
	}
	return cuts, nil
}

// scale is an estimate of a range and how many rows the range really has.
type scale struct{ estimate, rows float64 }

// scales measures the server's estimates on the set's first rows: InnoDB doubles those of ranges that it hasn't read
// whole, so that shards of one size would be half of it.
func (h *halver) scales(ctx context.Context, first, last row.Key) ([]scale, error) {
	var scales []scale
	p := &piece{first: first, last: last}
	for rows := walkRows; rows >= scaleRowsMin; rows /= 4 {
		end, err := h.step(ctx, p, rows)
		if err != nil {
			return nil, err
		}
		estimate, err := h.source.estimate(ctx, h.query, (&piece{first: first, end: end}).scope())
		if err != nil {
			return nil, err
		}
		if estimate > 0 {
			scales = append(scales, scale{estimate: estimate, rows: float64(rows)})
		}
	}
	return scales, nil
}

// scaled corrects an estimate as the nearest of the measured ones has to be.
func scaled(estimate float64, scales []scale) float64 {
	nearest, distance := 1.0, math.Inf(1)
	for _, s := range scales {
		if d := math.Abs(math.Log(max(1, estimate) / s.estimate)); d < distance {
			nearest, distance = s.rows/s.estimate, d
		}
	}
	return estimate * nearest
}

// scope is the piece's rows.
func (p *piece) scope() scope {
	s := scope{lower: &keyBound{key: p.first}, upper: &keyBound{key: p.last}}
	if p.end != nil {
		s.upper = &keyBound{key: p.end, strict: true}
	}
	return s
}

// halve splits p into itself and a piece behind it, and returns both; none when p can't be split.
func (h *halver) halve(ctx context.Context, p *piece) ([]*piece, error) {
	key, err := h.inside(ctx, p)
	if err != nil || key == nil {
		return nil, err
	}
	second := &piece{first: key, last: p.last, end: p.end, next: p.next}
	// The last key of the first half is the one before the second's first.
	before := p.scope()
	before.upper = &keyBound{key: key, strict: true}
	if p.last, err = h.source.keyAt(ctx, h.query, before, true); err != nil {
		return nil, err
	}
	p.end, p.next = key, second
	for _, half := range []*piece{p, second} {
		if half.rows, err = h.source.estimate(ctx, h.query, half.scope()); err != nil {
			return nil, err
		}
	}
	return []*piece{p, second}, nil
}

// inside finds a real key of the piece above its first: at a value between its ends in the first key column in which
// these differ, and right above the first where there is none. Every probe stays inside the piece, so that a wrong idea
// of a column's order costs evenness and nothing else.
func (h *halver) inside(ctx context.Context, p *piece) (row.Key, error) {
	column := 0
	for column < len(p.first) && p.first[column] == p.last[column] {
		column++
	}
	if column == len(p.first) {
		return nil, nil
	}
	kind := h.query.Key[column].Kind
	low, high := p.first[column], p.last[column]
	probe := func(value string, beyond bool) (row.Key, error) {
		s := p.scope()
		s.lowest = append(s.lowest, *s.lower)
		s.lower = &keyBound{key: append(slices.Clone(p.first[:column]), value), strict: beyond}
		return h.source.keyAt(ctx, h.query, s, false)
	}
	for range middlesMax {
		middle, ok := h.middle(column, low, high)
		if !ok {
			break
		}
		key, err := probe(middle, false)
		switch {
		case err != nil:
			return nil, err
		case key == nil:
			high = middle
		case slices.Equal(key, p.first):
			low = middle
		default:
			return key, nil
		}
	}
	if kind == row.String {
		return h.walked(ctx, p)
	}
	return probe(p.first[column], true)
}

// walked finds a key by walking a piece's index entries as far as a piece should reach, for text that has no middle. When
// that is the piece's last key, there are no more rows than were walked.
func (h *halver) walked(ctx context.Context, p *piece) (row.Key, error) {
	key, err := h.step(ctx, p, max(1, int(h.size)))
	if err != nil || slices.Equal(key, p.first) || slices.Equal(key, p.last) {
		p.rows = min(p.rows, h.size)
		return nil, err
	}
	return key, nil
}

// step is the key so many rows behind the piece's first, or the last one before the piece's end.
func (h *halver) step(ctx context.Context, p *piece, rows int) (key row.Key, err error) {
	st, err := selectKeyset(h.source, h.query, keyFields(h.query), false, rows+1, p.scope())
	if err != nil {
		return nil, err
	}
	st.text = "SELECT * FROM (" + st.text + ") AS w ORDER BY " + descending(len(h.query.Key)) + " LIMIT 1"
	err = h.source.query(ctx, h.query, st, func(values [][]byte) error {
		key, err = h.source.readKey(h.query, values)
		return err
	})
	return key, err
}

// middleOf is a value between two, which need not exist in the table; ok is false when none is known.
func middleOf(kind row.Kind, low, high string) (middle string, ok bool) {
	if kind == row.String {
		return middleText(low, high)
	}
	values := interpolate(kind, low, high, 2)
	if len(values) == 0 || values[0] == low {
		return "", false
	}
	return values[0], true
}

// letters are what middles of texts are made of, in the order in which collations have them.
const letters = "0123456789abcdefghijklmnopqrstuvwxyz"

// lettersMax is how many letters behind the common beginning are weighed.
const lettersMax = 12

// middleText is a text about half way between two, counting their letters and digits only. It is a guess: only the
// database knows the order.
func middleText(low, high string) (string, bool) {
	common := 0
	for common < len(low) && common < len(high) && low[common] == high[common] {
		common++
	}
	for _, text := range []string{low, high} {
		if common < len(text) && !strings.Contains(letters, strings.ToLower(text[common:common+1])) {
			return "", false
		}
	}
	base := big.NewInt(int64(len(letters)) + 1)
	number := func(text string) *big.Int {
		n := new(big.Int)
		for i := range lettersMax {
			n.Mul(n, base)
			if common+i < len(text) {
				n.Add(n, big.NewInt(int64(strings.IndexByte(letters, strings.ToLower(text[common+i : common+i+1])[0])+1)))
			}
		}
		return n
	}
	sum := new(big.Int).Add(number(low), number(high))
	half := sum.Rsh(sum, 1)
	if half.Cmp(number(low)) <= 0 || half.Cmp(number(high)) >= 0 {
		return "", false
	}
	var text []byte
	for range lettersMax {
		digit := new(big.Int)
		half.DivMod(half, base, digit)
		if d := digit.Int64(); d > 0 {
			text = append(text, letters[d-1])
		} else {
			text = text[:0]
		}
	}
	slices.Reverse(text)
	// Where letters of both cases sort apart, the middle is of the case of its neighbours.
	if neighbour := (low + high[min(common, len(high)):])[common:]; len(text) > 0 && neighbour != "" && strings.ToUpper(neighbour[:1]) == neighbour[:1] {
		text = append(bytes.ToUpper(text[:1]), text[1:]...)
	}
	return low[:common] + string(text), utf8.ValidString(low[:common])
}
