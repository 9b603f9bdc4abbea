package sqldb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source"
)

// textTable is a relation whose columns k and note are texts of so many letters under a collation.
func textTable(collation, charset string, letters int) *mysqlTable {
	text := newMySQLType("text", "text", collation)
	text.charset = charset
	return &mysqlTable{columns: map[string]mysqlColumn{
		"k": {mysqlType: text, collation: collation, letters: letters}, "id": {mysqlType: newMySQLType("int", "int(11)", "")},
		"note": {mysqlType: text, collation: collation, letters: letters},
	}}
}

func textQuery() *row.Query {
	return &row.Query{Table: "w_v", Columns: []row.Column{{Source: "note", Kind: row.String}}, Key: []row.Column{{Source: "k", Kind: row.String}, {Source: "id", Kind: row.Int64}}}
}

// A server that gives its rows in another order than it compares them must not give a file.
func TestMySQLRowsOutOfOrderEndTheRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		collation, charset string
		rows               []string
		limit              int
		want               string
	}{
		"text of bytes":                        {"utf8mb4_nopad_bin", "utf8mb4", []string{"a 9", "b 1", "a 10"}, 10, "source_key_collation"},
		"text of bytes, behind a full batch":   {"utf8mb4_nopad_bin", "utf8mb4", []string{"a 9", "b 1", "a 10"}, 2, "source_key_collation"},
		"text of padded bytes":                 {"utf8mb4_bin", "utf8mb4", []string{"b 1", "a 1"}, 10, "source_key_collation"},
		"a number behind the same text":        {"utf8mb4_general_ci", "utf8mb4", []string{"a 9", "a 10", "a 2"}, 10, "source_key_collation"},
		"a number, behind a full batch":        {"utf8mb4_general_ci", "utf8mb4", []string{"a 10", "a 2"}, 1, "source_key_collation"},
		"the same key, behind a full batch":    {"utf8mb4_nopad_bin", "utf8mb4", []string{"a 2", "a 2"}, 1, "source_key_not_unique"},
		"rows in order":                        {"utf8mb4_nopad_bin", "utf8mb4", []string{"B 10", "a 9", "a 10", "é 1", "😀 1"}, 10, ""},
		"an order that only the server knows":  {"utf8mb4_general_ci", "utf8mb4", []string{"b 1", "a 2"}, 10, ""},
		"an order of other bytes than UTF-8's": {"latin1_nopad_bin", "latin1", []string{"€ 1", "é 2"}, 10, ""},
	} {
		q := textQuery()
		s := &mysqlSource{table: textTable(c.collation, c.charset, 100), zone: utcZone()}
		b := &row.Batch{}
		b.Reset(3)
		_, index := s.fields(q)
		reader := newMySQLReader(s, q, index, source.Limit{Rows: c.limit, Bytes: 1 << 20}, b)
		var err error
		for _, text := range c.rows {
			k, id, _ := strings.Cut(text, " ")
			var more bool
			if more, err = reader.row([][]byte{[]byte("note"), []byte(k), []byte(id)}); !more || err != nil {
				break
			}
		}
		if told(err) != c.want {
			t.Errorf("%s: told %v, want %q", name, err, c.want)
		}
	}
}

func TestMySQLSortsAsFarAsKeysReach(t *testing.T) {
	t.Parallel()
	for letters, want := range map[int][2]int{
		190: {1024, 2 * 16 * 760}, 256: {1024, 2 * 16 * 1024}, 300: {1200, 2 * 16 * 1200}, 65_535: {65_536, 2 * 16 * 65_536}, 4_294_967_295: {65_536, 2 * 16 * 65_536},
	} {
		bytes, buffer := textTable("utf8mb4_nopad_bin", "utf8mb4", letters).sorting(textQuery())
		if diff := cmp.Diff(want, [2]int{bytes, buffer}); diff != "" {
			t.Errorf("of a key of %d letters, bytes and memory (-want +got):\n%s", letters, diff)
		}
	}
}
