package sqldb

import (
	"context"

	"sealift/shared/row"
)

// Identity implements source.Source. SQLite numbers its tables by their first page, which a new table may be given
// again; only the schema's version tells the two apart, and every change of the file's schema raises it: a new index, the
// first ANALYZE and VACUUM too, for which an export then has to begin anew.
func (s *sqliteSource) Identity(ctx context.Context, q row.Query) (text string, err error) {
	if err := validate(&q); err != nil {
		return "", err
	}
	err = s.within(ctx, &q, func(ctx context.Context) error {
		table, err := s.describe(ctx, &q)
		if err != nil {
			return err
		}
		if err := table.check(&q); err != nil {
			return err
		}
		facts := append([]string{s.file}, sourceNames(&q)...)
		schema, name := sqliteName(q.Table)
		relations := 0
		err = s.conn.rows(ctx, statement{
			text: "SELECT type, rootpage, sql, (SELECT schema_version FROM pragma_schema_version) FROM " + quote(schema) +
				".sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')",
			args: []arg{{text: name}},
		}, func(st *sqliteStmt) (bool, error) {
			relations++
			for i := range 4 {
				facts = append(facts, string(st.value(i).asText()))
			}
			return true, nil
		})
		if err == nil && relations == 0 {
			err = missingTable(&q)
		}
		text = digest(facts)
		return err
	})
	if err != nil {
		return "", err
	}
	return text, nil
}
