package sqldb

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// The inner pages of a B-tree are an equi-depth histogram that is always up to date: between two neighbouring entries
// of the lowest inner level lies exactly one leaf page. This file reads those entries as https://sqlite.org/fileformat.html
// lays them out, through the sqlite_dbpage table, so that the pages belong to the connection's snapshot.

const (
	pageIndexInner = 2
	pageTableInner = 5
	// levelPagesMax bounds the pages read of one level, levelBytesMax what they take; a larger level is represented by the one
	// above it.
	levelPagesMax = 4096
	levelBytesMax = 16 * limits.MiB
	// leavesSampled is of how many subtrees the rows are counted, to know the rows of all.
	leavesSampled = 16
)

// btree is one index of the table: its first page, the usable bytes of a page, and how many key columns follow the
// tenant in its entries.
type btree struct {
	root   int64
	usable int
	prefix int
}

// sample cuts the set between first and last at entries of an index; nil when no index can tell.
func (s *sqliteSource) sample(ctx context.Context, q *row.Query, first, last row.Key, opt source.PlanOptions) ([]cut, error) {
	tree, err := s.chooseTree(ctx, q)
	if err != nil || tree == nil {
		return nil, err
	}
	nodes, separators, err := s.lowestLevel(ctx, q, tree)
	if err != nil || len(separators) == 0 {
		return nil, err
	}
	each, err := s.subtreeRows(ctx, nodes, tree)
	if err != nil {
		return nil, err
	}
	step := len(separators)/cutsMax + 1
	keys, fit := s.separatorKeys(q, tree, separators, step, cutBytesMax(opt))
	for !fit {
		step *= 2
		keys, fit = s.separatorKeys(q, tree, separators, step, cutBytesMax(opt))
	}
	from, err := s.countBelow(ctx, q, keys, first)
	if err != nil {
		return nil, err
	}
	to, err := s.countBelow(ctx, q, keys, last)
	if err != nil {
		return nil, err
	}
	rows := max(1, int64(math.Round(each*float64(step))))
	cuts := []cut{{key: first, rows: rows}}
	for _, key := range keys[from:to] {
		cuts = append(cuts, cut{key: key, rows: rows})
	}
	return cuts, nil
}

// separatorKeys are the keys of every so many entries; fit is false when they take more memory than they may.
func (s *sqliteSource) separatorKeys(q *row.Query, tree *btree, separators [][]byte, step, bytesMax int) (keys []row.Key, fit bool) {
	for i := step - 1; i < len(separators); i += step {
		key := s.separatorKey(q, tree, separators[i])
		if key == nil {
			continue
		}
		if bytesMax -= heldBytes(key); bytesMax < 0 {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, true
}

// lowestLevel returns the subtrees of the lowest level that fits levelPagesMax and levelBytesMax and may hold the tenant's rows,
// and the entries between them.
func (s *sqliteSource) lowestLevel(ctx context.Context, q *row.Query, tree *btree) (nodes []int64, separators [][]byte, err error) {
	nodes = []int64{tree.root}
	for len(nodes) <= min(levelPagesMax, levelBytesMax/tree.usable) {
		var below []int64
		var between [][]byte
		for i, node := range nodes {
			page, err := s.page(ctx, node)
			if err != nil {
				return nil, nil, err
			}
			if !page.inner() {
				return nodes, separators, nil
			}
			children, entries := page.children(tree.usable)
			below = append(below, children...)
			between = append(between, entries...)
			if i < len(separators) {
				between = append(between, separators[i])
			}
		}
		start, end := 0, len(below)
		for start < end-1 && tree.compareTenant(q, between[start]) < 0 {
			start++
		}
		for end-1 > start && tree.compareTenant(q, between[end-2]) > 0 {
			end--
		}
		nodes, separators = below[start:end], between[start:end-1]
	}
	return nodes, separators, nil
}

// subtreeRows estimates the entries of one subtree and its separator from a few of them.
func (s *sqliteSource) subtreeRows(ctx context.Context, nodes []int64, tree *btree) (float64, error) {
	step := max(1, len(nodes)/leavesSampled)
	total, count := 0.0, 0
	for i := step / 2; i < len(nodes); i += step {
		rows := 1.0
		node := nodes[i]
		for range 20 {
			page, err := s.page(ctx, node)
			if err != nil {
				return 0, err
			}
			if !page.inner() {
				rows *= float64(page.cells())
				break
			}
			children, _ := page.children(tree.usable)
			rows *= float64(len(children))
			node = children[len(children)/2]
		}
		total += rows + 1
		count++
	}
	return total / float64(count), nil
}

// countBelow is how many of the sorted keys lie at or below key. The database compares, as everywhere.
func (s *sqliteSource) countBelow(ctx context.Context, q *row.Query, keys []row.Key, key row.Key) (int, error) {
	low, high := 0, len(keys)
	for low < high {
		middle := (low + high) / 2
		b := &builder{dialect: s, query: q}
		var left, right []string
		for i := range keys[middle] {
			a, err := s.keyArg(q, i, keys[middle][i])
			if err != nil {
				return 0, err
			}
			c, err := s.keyArg(q, i, key[i])
			if err != nil {
				return 0, err
			}
			left, right = append(left, b.bind(a)), append(right, b.bind(c))
		}
		below := false
		err := s.conn.rows(ctx, statement{
			text: "SELECT (" + strings.Join(left, ",") + ") <= (" + strings.Join(right, ",") + ")", args: b.args,
		}, func(st *sqliteStmt) (bool, error) {
			below = st.value(0).integer == 1
			return false, nil
		})
		if err != nil {
			return 0, err
		}
		if below {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// page reads one page of the main database.
func (s *sqliteSource) page(ctx context.Context, number int64) (p btreePage, err error) {
	err = s.conn.rows(ctx, statement{
		text: "SELECT data FROM sqlite_dbpage WHERE pgno = ?1", args: []arg{{kind: argInteger, integer: number}},
	}, func(st *sqliteStmt) (bool, error) {
		p = btreePage{data: bytes.Clone(st.value(0).bytes)}
		return false, nil
	})
	if number == 1 {
		p.header = 100
	}
	if err == nil && len(p.data) < p.header+12 {
		err = &sqliteError{code: sqlite3.SQLITE_CORRUPT, message: "page " + strconv.FormatInt(number, 10) + " is missing"}
	}
	return p, err
}

// btreePage is one page of a B-tree; its header is at an offset on page 1 only.
type btreePage struct {
	data   []byte
	header int
}

func (p btreePage) inner() bool {
	return p.data[p.header] == pageIndexInner || p.data[p.header] == pageTableInner
}

func (p btreePage) cells() int { return int(binary.BigEndian.Uint16(p.data[p.header+3:])) }

// children lists an inner page's subtrees and the entries between them: the part of each index entry that lies on the
// page, or a table entry's row id as a varint. Cells that point outside the page are left out with their subtree.
func (p btreePage) children(usable int) (nodes []int64, entries [][]byte) {
	for i := range p.cells() {
		pointer := p.header + 12 + 2*i
		if pointer+2 > len(p.data) {
			break
		}
		at := int(binary.BigEndian.Uint16(p.data[pointer:]))
		if at+4 > len(p.data) {
			continue
		}
		entry := p.data[at+4:]
		if p.data[p.header] == pageIndexInner {
			length, n := varint(entry)
			if n == 0 || length > math.MaxInt32 {
				continue
			}
			local := localBytes(int(length), usable)
			if n+local > len(entry) {
				continue
			}
			entry = entry[n : n+local]
		}
		nodes = append(nodes, int64(binary.BigEndian.Uint32(p.data[at:])))
		entries = append(entries, entry)
	}
	return append(nodes, int64(binary.BigEndian.Uint32(p.data[p.header+8:]))), entries
}

// localBytes is how much of an index entry of the given length lies on its page.
func localBytes(length, usable int) int {
	most := (usable-12)*64/255 - 23
	if length <= most {
		return length
	}
	least := (usable-12)*32/255 - 23
	local := least + (length-least)%(usable-4)
	if local > most {
		return least
	}
	return local
}

// varint reads SQLite's big-endian variable-length integer; n is 0 when text ends too soon.
func varint(text []byte) (value uint64, n int) {
	for n < len(text) && n < 8 {
		value = value<<7 | uint64(text[n]&0x7f)
		n++
		if text[n-1] < 0x80 {
			return value, n
		}
	}
	if n < len(text) && n == 8 {
		return value<<8 | uint64(text[8]), 9
	}
	return 0, 0
}
