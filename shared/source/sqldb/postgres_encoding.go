package sqldb

import (
	"context"
	"strings"
	"unicode/utf8"

	"sealift/shared/job"
	"sealift/shared/row"
)

// Databases whose encoding isn't UTF8. The server turns their text into UTF-8 and what is asked into theirs, and refuses
// what has no letter on the other side.

// encodingNone is that of a database that takes any bytes for text and compares them as they are.
const encodingNone = "SQL_ASCII"

// encoding is the database's.
func (s *postgresSource) encoding() string { return s.conn.ParameterStatus("server_encoding") }

// passBytes has this session and later ones send the bytes of a database without encoding as they are stored, as SQLite's
// are sent: what isn't UTF-8 among them is judged by the rule of the definition, in a key by whoever writes it down. The
// server would refuse the whole statement and say neither row nor column.
func (s *postgresSource) passBytes(ctx context.Context, q *row.Query) error {
	const parameter = "client_encoding"
	if s.encoding() != encodingNone || s.config.RuntimeParams[parameter] == encodingNone {
		return nil
	}
	if err := s.command(ctx, q, "SET "+parameter+" TO "+encodingNone); err != nil {
		return err
	}
	s.config.RuntimeParams[parameter] = encodingNone
	return nil
}

// unspelt returns those of the query's tenant and texts to filter by that no text of the database can be, because its
// encoding hasn't their letters. The server is asked, with all of them first, because hardly ever is there one.
func (s *postgresSource) unspelt(ctx context.Context, q *row.Query) (map[string]bool, error) {
	if encoding := s.encoding(); encoding == "UTF8" || encoding == encodingNone {
		return nil, nil
	}
	var texts []arg
	for _, text := range asked(q) {
		if !plainASCII(text) {
			texts = append(texts, arg{text: text})
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	spelt, err := s.spells(ctx, q, texts)
	if err != nil || spelt {
		return nil, err
	}
	unspelt := map[string]bool{}
	for _, text := range texts {
		if spelt, err = s.spells(ctx, q, []arg{text}); err != nil {
			return nil, err
		}
		unspelt[text.text] = !spelt
	}
	return unspelt, nil
}

// textual reports whether a text of the database can be this one. None holds NUL, whatever its encoding.
func (s *postgresSource) textual(text string) bool {
	return !strings.ContainsRune(text, 0) && (s.table == nil || !s.table.unspelt[text])
}

// spells reports whether the database's encoding has all letters of the texts.
func (s *postgresSource) spells(ctx context.Context, q *row.Query, texts []arg) (bool, error) {
	markers := make([]string, len(texts))
	for i := range texts {
		markers[i] = s.marker(i+1) + "::text IS NULL"
	}
	st := statement{text: "SELECT " + strings.Join(markers, " OR "), args: texts}
	err := s.query(ctx, q, st, func([][]byte) error { return nil })
	if job.CodeOf(err) == codeQueryInvalid {
		return false, nil
	}
	return err == nil, err
}

// asked lists the texts that people put into a query; its other parameters come from the database.
func asked(q *row.Query) []string {
	texts := []string{q.Tenant}
	for _, f := range q.Filters {
		if f.Column.Kind == row.String {
			texts = append(texts, f.Values...)
		}
	}
	return texts
}

// plainASCII reports whether every encoding has the text.
func plainASCII(text string) bool {
	return !strings.ContainsFunc(text, func(ch rune) bool { return ch == 0 || ch >= utf8.RuneSelf })
}

// untranslatable refuses text that has no letter on the other side, which the server names by its code and no more of the
// text with it. It is the table's where all that was asked is ASCII.
func untranslatable(q *row.Query, said string) error {
	for _, text := range asked(q) {
		if !plainASCII(text) {
			return job.Errorf(job.Permanent, codeQueryInvalid, "the tenant or a filter's value can't be written in the encoding of the database, or "+
				"table %s holds text that can't be read as UTF-8%s; repair such rows, or export a view that replaces the character", q.Table, said)
		}
	}
	return job.Errorf(job.Permanent, codeValueInvalid, "table %s holds text that can't be read as UTF-8%s; repair the rows that hold these "+
		"bytes, or export a view that replaces them, as replace(column, chr(129), '?') does with 0x81 in an encoding of single bytes", q.Table, said)
}
