package sqldb

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"sealift/shared/row"
)

// A server that sorts compares only the first max_sort_length bytes of a text and takes texts that differ behind them for the
// same. Keys of views are sorted; sorted otherwise than compared they lose rows. So the session has the server look as far as
// the key's columns reach, up to a bound, and longer keys are refused. A session that looks further than it has to would only
// cost memory: a sort refuses to begin (error 1038) unless fifteen of its longest keys fit into sort_buffer_size.

const (
	// sortBytesMin is how far every session looks, the default of the servers.
	sortBytesMin = 1024
	// sortLettersMax is how many letters of a key can be told apart, less one: another may be that long and go on.
	sortLettersMax = 1 << 14
	// letterBytes is the most that a letter takes in what is sorted.
	letterBytes = 4
	// sortKeys is how many of its longest keys a sort has to hold, and one to spare.
	sortKeys = 16
	// sortBufferMax bounds the memory that is asked for.
	sortBufferMax = 64 << 20
)

// sorting is how many bytes of a key column the server has to look at, and how much memory a sort of the relation's texts then
// takes: a view may group or sort by any of them.
func (t *mysqlTable) sorting(q *row.Query) (bytes, buffer int) {
	bytes = sortBytesMin
	for _, column := range q.Key {
		if have := t.column(column.Source); have.class == classText {
			bytes = max(bytes, letterBytes*min(have.letters, sortLettersMax))
		}
	}
	for _, column := range t.columns {
		if column.class == classText || column.class == classBinary {
			buffer += sortKeys * min(bytes, letterBytes*min(column.letters, sortLettersMax))
		}
	}
	return bytes, min(buffer, sortBufferMax)
}

// sortWhole has the session look as far as the query's keys reach.
func (s *mysqlSource) sortWhole(ctx context.Context, q *row.Query) error {
	bytes, buffer := s.table.sorting(q)
	if bytes <= max(sortBytesMin, s.conn.sortBytes) {
		return nil
	}
	if err := s.command(ctx, q, "SET SESSION max_sort_length = "+strconv.Itoa(bytes)+", sort_buffer_size = GREATEST(@@SESSION.sort_buffer_size, "+
		strconv.Itoa(buffer)+")"); err != nil {
		return err
	}
	s.conn.sortBytes = bytes
	return nil
}

// longKey reports whether a key's value is longer than the server tells apart.
func (t mysqlType) longKey(value []byte) bool {
	return t.class == classText && len(value) >= sortLettersMax && utf8.RuneCount(value) >= sortLettersMax
}

// faultLongKey is that of a key's text of sortLettersMax letters or more.
const faultLongKey fault = "has more than 16,383 characters, and the server can't be told to sort by more; shorten it, or choose another key in the definition"

// sequence knows the order of text too that the server compares byte by byte.
func (s *mysqlSource) sequence(q *row.Query) sequence {
	known := newSequence(q)
	for k, column := range q.Key {
		have := s.table.column(column.Source)
		if have.class != classText || have.charset != "utf8mb4" && have.charset != "utf8mb3" && have.charset != "utf8" {
			continue
		}
		if have.exact {
			known.orders[k] = orderBytes
		} else if strings.HasSuffix(have.collation, "_bin") {
			known.orders[k] = orderPadded
		}
	}
	return known
}
