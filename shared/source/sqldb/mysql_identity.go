package sqldb

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// relationsMax bounds the relations that a view is followed through.
const relationsMax = 256

// relation is a table or view by its schema and name.
type relation struct{ schema, name string }

// Identity implements source.Source. The server's name for itself, the tables' numbers and the columns' places and types
// are what a table is; a table that is written anew (OPTIMIZE, TRUNCATE, many an ALTER) gets another number and counts as
// another one. Without the right PROCESS the numbers are hidden and the time of creation stands for them, to the second. A
// view is its text and what its text names.
func (s *mysqlSource) Identity(ctx context.Context, q row.Query) (string, error) {
	if err := validate(&q); err != nil {
		return "", err
	}
	s.shape = ""
	if err := s.prepareQuery(ctx, &q); err != nil {
		return "", err
	}
	var facts []string
	for _, name := range sourceNames(&q) {
		c := s.table.column(name)
		facts = append(facts, fmt.Sprint("column ", name, " ", c.position, " ", c.declared, " ", c.collation))
	}
	if err := s.names(ctx, &q, statement{text: "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')"},
		func(values map[string]string) { facts = append(facts, "server "+values["value"]) }); err != nil {
		return "", err
	}
	first, err := s.resolve(ctx, &q)
	if err != nil {
		return "", err
	}
	todo := []relation{first}
	for i := 0; i < len(todo) && i < relationsMax; i++ {
		fact, below, err := s.relationFact(ctx, &q, todo[i])
		if err != nil {
			return "", err
		}
		if fact == "" && i == 0 {
			return "", job.Errorf(job.Transient, codeUnavailable, "table %s was changed while it was examined; try again", q.Table)
		}
		if fact != "" {
			facts = append(facts, fact)
		}
		for _, r := range below {
			if !slices.Contains(todo, r) {
				todo = append(todo, r)
			}
		}
	}
	slices.Sort(facts)
	return digest(facts), nil
}

// resolve is the query's relation with its schema.
func (s *mysqlSource) resolve(ctx context.Context, q *row.Query) (r relation, err error) {
	schema, name, qualified := strings.Cut(q.Table, ".")
	if qualified {
		return relation{schema, name}, nil
	}
	err = s.query(ctx, q, statement{text: "SELECT DATABASE()"}, func(values [][]byte) error {
		r = relation{string(values[0]), q.Table}
		return nil
	})
	return r, err
}

// relationFact says what a relation is, "" when there is none, and which relations a view may read.
func (s *mysqlSource) relationFact(ctx context.Context, q *row.Query, r relation) (fact string, below []relation, err error) {
	where := statement{text: " WHERE TABLE_SCHEMA = \x001\x00 AND TABLE_NAME = \x002\x00", args: []arg{textLiteral(r.schema), textLiteral(r.name)}}
	var kind, created, text string
	for _, part := range []struct{ from, a, b string }{{"TABLES", "table_type", "create_time"}, {"VIEWS", "view_definition", ""}} {
		where := where
		where.text = "SELECT * FROM information_schema." + part.from + where.text
		if err := s.names(ctx, q, where, func(values map[string]string) {
			if part.from == "VIEWS" {
				text = values[part.a]
			} else {
				kind, created = values[part.a], values[part.b]
			}
		}); err != nil || kind == "" {
			return "", nil, err
		}
	}
	if strings.HasSuffix(kind, "VIEW") {
		return fmt.Sprintf("view %q.%q %s", r.schema, r.name, text), namesIn(text), nil
	}
	number, err := s.tableNumber(ctx, q, r)
	if number == "" {
		number = "created " + created
	}
	return fmt.Sprintf("table %q.%q %s %s", r.schema, r.name, kind, number), nil, err
}

// namesIn lists the pairs of quoted names in a view's text, among which are all relations that it reads.
func namesIn(text string) []relation {
	var found []relation
	for _, match := range regexp.MustCompile("`((?:[^`]|``)+)`\\.`((?:[^`]|``)+)`").FindAllStringSubmatch(text, -1) {
		r := relation{strings.ReplaceAll(match[1], "``", "`"), strings.ReplaceAll(match[2], "``", "`")}
		if !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found
}

// tableNumber is InnoDB's number of a table, that of its first partition when it has several, and "" where it can't be
// asked for. MySQL 8 and other servers name the catalogue differently.
func (s *mysqlSource) tableNumber(ctx context.Context, q *row.Query, r relation) (number string, err error) {
	name := fileName(r.schema) + "/" + fileName(r.name)
	for _, catalogue := range []string{"INNODB_TABLES", "INNODB_SYS_TABLES"} {
		st := statement{
			text: "SELECT MIN(TABLE_ID) FROM information_schema." + catalogue + " WHERE CAST(NAME AS BINARY) = \x001\x00 OR " +
				"CAST(LEFT(NAME, CHAR_LENGTH(\x001\x00) + 3) AS BINARY) IN (\x002\x00, \x003\x00)",
			args: []arg{bytesLiteral(name), bytesLiteral(name + "#P#"), bytesLiteral(name + "#p#")},
		}
		err = s.query(ctx, q, st, func(values [][]byte) error {
			number = string(values[0])
			return nil
		})
		if code := job.CodeOf(err); code != codeDenied && code != codeSchemaChanged {
			return number, err
		}
	}
	return "", nil
}

// fileName is how InnoDB spells a name: letters, digits and _ as they are, other ASCII as @ and four hexadecimal digits.
// Names of other letters aren't found, and the time of creation counts.
func fileName(name string) string {
	var text strings.Builder
	for _, c := range name {
		if c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c > 127 {
			text.WriteRune(c)
		} else {
			fmt.Fprintf(&text, "@%04x", c)
		}
	}
	return text.String()
}
