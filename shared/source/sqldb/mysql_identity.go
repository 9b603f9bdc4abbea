package sqldb

import (
	"context"
	"fmt"
	"maps"
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

// String is the same for no two relations.
func (r relation) String() string { return fmt.Sprintf("%q.%q", r.schema, r.name) }

// identify is the identity of what q reads. The server's name for itself, the tables' numbers and the columns' places and types
// are what a table is; a table that is written anew (OPTIMIZE, TRUNCATE, many an ALTER) gets another number and counts as
// another one. Without the right PROCESS the numbers are hidden and the time of creation stands for them, to the second. A
// view is its text and what its text names, which only a user with SHOW VIEW sees; for others it is its definer and its
// columns alone, and what is below it is whatever it is.
func (s *mysqlSource) identify(ctx context.Context, q row.Query) (string, error) {
	if err := validate(&q); err != nil {
		return "", err
	}
	s.shape = ""
	if err := s.prepareQuery(ctx, &q); err != nil {
		return "", err
	}
	known := facts{told: map[string]string{}}
	for _, name := range sourceNames(&q) {
		c := s.table.column(name)
		known.fixed = append(known.fixed, fmt.Sprint("column ", name, " ", c.position, " ", c.declared, " ", c.collation))
	}
	if err := s.names(ctx, &q, statement{text: "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')"},
		func(values map[string]string) { known.fixed = append(known.fixed, "server "+values["value"]) }); err != nil {
		return "", err
	}
	first, err := s.resolve(ctx, &q)
	if err != nil {
		return "", err
	}
	known.fixed = append(known.fixed, "relation "+first.String())
	todo := []relation{first}
	for i := 0; i < len(todo) && i < relationsMax; i++ {
		below, err := s.tell(ctx, &q, todo[i], known.told)
		if err != nil {
			return "", err
		}
		if len(known.told) == 0 {
			return "", job.Errorf(job.Transient, codeUnavailable, "table %s was changed while it was examined; try again", q.Table)
		}
		for _, r := range below {
			if !slices.Contains(todo, r) {
				todo = append(todo, r)
			}
		}
	}
	return known.identity(), nil
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

// tell adds what the user may see of a relation, nothing when there is none, and lists which relations a view may read.
func (s *mysqlSource) tell(ctx context.Context, q *row.Query, r relation, told map[string]string) (below []relation, err error) {
	where := statement{text: " WHERE TABLE_SCHEMA = \x001\x00 AND TABLE_NAME = \x002\x00", args: []arg{textLiteral(r.schema), textLiteral(r.name)}}
	seen := map[string]string{}
	for _, from := range []string{"TABLES", "VIEWS"} {
		st := statement{text: "SELECT * FROM information_schema." + from + where.text, args: where.args}
		if err := s.names(ctx, q, st, func(values map[string]string) { maps.Copy(seen, values) }); err != nil || len(seen) == 0 {
			return nil, err
		}
	}
	told["kind of "+r.String()] = seen["table_type"]
	if strings.HasSuffix(seen["table_type"], "VIEW") {
		told["maker of "+r.String()] = strings.Join([]string{seen["definer"], seen["security_type"], seen["algorithm"]}, " ")
		if text := seen["view_definition"]; text != "" {
			told["text of "+r.String()] = text
			return namesIn(text), nil
		}
		return nil, nil
	}
	number, err := s.tableNumber(ctx, q, r)
	if number == "" {
		told["creation of "+r.String()] = seen["create_time"]
	} else {
		told["number of "+r.String()] = number
	}
	return nil, err
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
