package sqldb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// mysqlUnmapped are letters that the server turns into ? or U+FFFD: the bytes of one, and where there is one, the bytes of
// a letter that becomes want.
func mysqlUnmapped() []struct{ charset, lost, kept, want string } {
	return []struct{ charset, lost, kept, want string }{
		{"gbk", "aaa1", "b6a9b5a5", "订单"}, {"gb2312", "a2a1", "b6a9b5a5", "订单"}, {"sjis", "f040", "5c8381", "\\メ"}, {"cp932", "81ad", "87908740", "≒①"},
		{"euckr", "c9a1", "b0a1", "가"}, {"big5", "a15a", "a440", "一"}, {"ujis", "a2af", "a1c0", "\\"}, {"eucjpms", "a2af", "adf0", "≒"},
		{"cp1251", "98", "c6", "Ж"}, {"cp1256", "ff", "c7", "ا"}, {"ascii", "e9", "7e", "~"}, {"tis620", "db", "a1", "ก"}, {"tis620", "ff", "a1", "ก"},
		{"cp1250", "81", "8a", "Š"}, {"cp1257", "a1", "d0", "Š"}, {"greek", "a4", "e1", "α"}, {"hebrew", "a1", "e0", "א"}, {"swe7", "7f", "5d", "Å"},
		{"dec8", "a4", "c5", "Å"}, {"hp8", "ff", "d0", "Å"}, {"geostd8", "81", "c0", "ა"},
	}
}

// mysqlLostLetters exports texts with letters that the server can't convert, and refuses them with row and column, and
// texts beside them, question marks included, which come as they are.
func mysqlLostLetters(t *testing.T, server *mytest.Server) {
	for _, c := range mysqlUnmapped() {
		for _, declared := range []string{"varchar(20) CHARACTER SET ", "longtext CHARACTER SET ", "char(20) CHARACTER SET "} {
			dsn := server.Schema(t)
			mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v "+declared+c.charset+", w int, UNIQUE KEY (tenant, id))",
				fmt.Sprintf("INSERT INTO t VALUES ('acme', 40, x'3f%s3f3f', 1), ('acme', 41, NULL, 2), ('acme', 42, x'', 3)", c.kept))
			src := open(t, dsn)
			q := valueQuery(row.String)
			q.Columns = []row.Column{{Source: "w", Kind: row.Int64}, {Source: "v", Kind: row.String}, {Source: "id", Kind: row.Int64}}
			if err := src.Check(context.Background(), q); err != nil {
				t.Errorf("%s: check says %v", declared+c.charset, err)
			}
			rows, err := read(src, q)
			if want := [][]string{{"1", "?" + c.want + "??", "40", "40"}, {"2", "NULL", "41", "41"}, {"3", "", "42", "42"}}; err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
				t.Errorf("%s reads %q (%v), want %q", declared+c.charset, rows, err, want)
			}
			mytest.Exec(t, dsn, fmt.Sprintf("INSERT INTO t VALUES ('acme', 43, x'3f%s%s3f', 4)", c.kept, c.lost))
			rows, err = read(src, q)
			if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_value_invalid" {
				t.Errorf("%s of x'%s' reads %q (%v), want a permanent source_value_invalid", declared+c.charset, c.lost, rows, err)
			}
			for _, part := range []string{"column v", "key 43", "character set"} {
				if !strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%s of x'%s' is told %v, want it to say %q", declared+c.charset, c.lost, err, part)
				}
			}
			_ = src.Close()
		}
	}
}

// mysqlLostChoices is an ENUM whose members can't all be converted, and a document in such a character set.
func mysqlLostChoices(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v enum('a', x'aaa1') CHARACTER SET gbk, doc text CHARACTER SET cp1251, UNIQUE KEY (tenant, id))",
		"INSERT INTO t VALUES ('acme', 41, 1, x'22c622'), ('acme', 42, 2, NULL)")
	src := open(t, dsn)
	q := valueQuery(row.String)
	rows, err := read(src, q)
	if job.CodeOf(err) != "source_value_invalid" || !strings.Contains(fmt.Sprint(err), "key 42") {
		t.Errorf("an enum reads %q (%v), want source_value_invalid for key 42", rows, err)
	}
	q.Columns[0] = row.Column{Source: "doc", Kind: row.JSON}
	if rows, err := read(src, q); err != nil || rows[0][0] != `"Ж"` {
		t.Errorf("a document reads %q (%v)", rows, err)
	}
	mytest.Exec(t, dsn, "UPDATE t SET doc = x'229822' WHERE id = 41")
	if rows, err := read(src, q); job.CodeOf(err) != "source_value_invalid" || !strings.Contains(fmt.Sprint(err), "column doc") {
		t.Errorf("a document of a lost letter reads %q (%v), want source_value_invalid", rows, err)
	}
	// What the refusal advises.
	mytest.Exec(t, dsn, "CREATE VIEW plain AS SELECT tenant, id, doc AS v FROM t", "CREATE VIEW marked AS SELECT tenant, id, CONVERT(doc USING utf8mb4) AS v FROM t",
		"CREATE VIEW raw AS SELECT tenant, id, CAST(doc AS BINARY) AS v FROM t")
	q = valueQuery(row.String)
	q.Table = "plain"
	if rows, err := read(src, q); job.CodeOf(err) != "source_value_invalid" {
		t.Errorf("a view of a lost letter reads %q (%v), want source_value_invalid", rows, err)
	}
	for view, want := range map[string]string{"marked": `"?"`, "raw": "\"\x98\""} {
		q.Table = view
		if rows, err := read(src, q); err != nil || rows[0][0] != want {
			t.Errorf("view %s reads %q (%v), want %q", view, rows, err, want)
		}
	}
}

// mysqlLostKeys refuses keys, tenants and filters in character sets whose letters may become alike.
func mysqlLostKeys(t *testing.T, server *mytest.Server) {
	for _, c := range append(mysqlUnmapped(), struct{ charset, lost, kept, want string }{"armscii8", "", "", ""}) {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v int, legacy varchar(20) CHARACTER SET "+c.charset+
			" NOT NULL, UNIQUE KEY (tenant, id), UNIQUE KEY (tenant, legacy), UNIQUE KEY (legacy, id))")
		src := open(t, dsn)
		legacy := row.Column{Source: "legacy", Kind: row.String}
		key, tenant, filter, null := valueQuery(row.Int64), valueQuery(row.Int64), valueQuery(row.Int64), valueQuery(row.Int64)
		key.Key = []row.Column{legacy}
		tenant.TenantColumn = legacy
		filter.Filters = []row.Filter{{Column: legacy, Op: row.NotEqual, Values: []string{"x"}}}
		null.Filters = []row.Filter{{Column: legacy, Op: row.NotNull}}
		if err := src.Check(context.Background(), null); err != nil {
			t.Errorf("%s: a filter that compares no text is checked as %v", c.charset, err)
		}
		for role, q := range map[string]row.Query{"key column legacy": key, "tenant column legacy": tenant, "filtered column legacy": filter} {
			_, readErr := read(src, q)
			for _, err := range []error{src.Check(context.Background(), q), readErr} {
				if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_charset" {
					t.Errorf("%s in %s is told %v, want a permanent source_charset", role, c.charset, err)
				}
				for _, part := range []string{role, "character set " + c.charset, "utf8mb4"} {
					if !strings.Contains(fmt.Sprint(err), part) {
						t.Errorf("%s in %s is told %v, want it to say %q", role, c.charset, err, part)
					}
				}
			}
		}
		_ = src.Close()
	}
}

// mysqlWholeCharsets reads every letter of the character sets that may be keys, by itself, as value and as key.
func mysqlWholeCharsets(t *testing.T, server *mytest.Server) {
	// The server holds bytes that aren't assigned, as five of cp1252, to be the control characters of ISO 8859-1.
	of := func(c *charmap.Charmap) func(code int) string {
		return func(code int) string {
			if letter := c.DecodeByte(byte(code)); letter != '\uFFFD' {
				return string(letter)
			}
			return string(rune(code))
		}
	}
	// The server's own tables have a few letters unlike others'.
	except := func(otherwise func(code int) string, letters map[int]string) func(code int) string {
		return func(code int) string {
			if letter, ok := letters[code]; ok {
				return letter
			}
			return otherwise(code)
		}
	}
	unicode := func(code int) string { return string(rune(code)) }
	for charset, want := range map[string]func(code int) string{
		"latin1": of(charmap.Windows1252), "cp850": of(charmap.CodePage850), "cp852": of(charmap.CodePage852), "cp866": except(of(charmap.CodePage866), map[int]string{0xfc: "ⁿ", 0xfd: "²"}), "koi8r": of(charmap.KOI8R),
		"koi8u": except(of(charmap.KOI8U), map[int]string{0x95: "•", 0xae: "╝", 0xbe: "╬"}), "latin2": of(charmap.ISO8859_2), "latin5": of(charmap.ISO8859_9), "latin7": of(charmap.ISO8859_13),
		"keybcs2": nil, "macce": nil, "macroman": of(charmap.Macintosh),
		"utf8mb3": unicode, "utf8mb4": unicode, "ucs2": unicode, "utf16": unicode, "utf16le": unicode, "utf32": unicode,
	} {
		dsn := server.Schema(t)
		letters, codes := "char(seq)", "seq_0_to_255"
		if strings.HasPrefix(charset, "u") {
			letters, codes = "convert(char(seq using utf32) using "+charset+")", "seq_0_to_65535"
		}
		mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id varchar(1) CHARACTER SET "+charset+" COLLATE "+charset+"_bin NOT NULL, v int, UNIQUE KEY (tenant, id))",
			"INSERT INTO t SELECT 'acme', "+letters+", seq FROM "+codes+" WHERE seq NOT BETWEEN 0xd800 AND 0xdfff")
		if charset != "ucs2" && charset != "utf8mb3" && strings.HasPrefix(charset, "u") {
			mytest.Exec(t, dsn, "INSERT INTO t SELECT 'acme', "+letters+", seq FROM seq_65536_to_70000", "INSERT INTO t SELECT 'acme', "+letters+", seq FROM seq_1110000_to_1114111")
		}
		src := open(t, dsn)
		q := valueQuery(row.Int64)
		q.Key[0].Kind = row.String
		q.Columns = append(q.Columns, q.Key[0])
		q.Filters = []row.Filter{{Column: q.Key[0], Op: row.NotEqual, Values: []string{"no letter"}}}
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: check says %v", charset, err)
		}
		var b row.Batch
		var after row.Key
		rows, seen := 0, map[string]bool{}
		for {
			if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 5000, Bytes: 1 << 20}, &b); err != nil {
				t.Fatalf("%s: %v", charset, err)
			}
			if b.Rows() == 0 {
				break
			}
			for i := range b.Rows() {
				var code int
				number, _ := b.Value(i, 0)
				_, _ = fmt.Sscan(string(number), &code)
				text, _ := b.Value(i, 1)
				if want != nil && string(text) != want(code) || seen[string(text)] {
					t.Errorf("%s: code %x reads as %q", charset, code, text)
				}
				seen[string(text)] = true
			}
			rows += b.Rows()
			after = b.Key(b.Rows()-1, 1)
		}
		if count := mytest.Query(t, dsn, "SELECT count(*) FROM t"); count[0] != fmt.Sprint(rows) || rows < 256 {
			t.Errorf("%s: read %d rows of %s", charset, rows, count[0])
		}
		_ = src.Close()
	}
}
