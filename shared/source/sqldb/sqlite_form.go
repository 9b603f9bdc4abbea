package sqldb

import (
	"context"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// This file makes sure of the form in which a tenant's keys are stored: a bound is turned into the form of the first
// row, so a row in another form would lie on the wrong side of it and be left out in silence.

// proveForms refuses a tenant of whom any row writes a key column in another form than the first row. Text is proven by
// one pass over the tenant's entries of the index, which reads no row when the index holds the key's columns: 12 million
// entries take about 4 seconds of one core. Integers need no pass: they sort as numbers whatever stands between them,
// text and blobs sort above all of them, so the last row tells, and a fraction is refused where it is read. Neither does
// a business time outside the key, which is compared by value row by row.
func (s *sqliteSource) proveForms(ctx context.Context, q *row.Query) error {
	st, err := s.otherForms(q)
	if err != nil || st.text == "" {
		return err
	}
	return s.conn.rows(ctx, st, func(st *sqliteStmt) (bool, error) {
		if _, err := s.readKey(q, st); err != nil {
			return false, err
		}
		return false, job.Errorf(job.Permanent, codeFormMixed, "table %s holds a key of %s that isn't written as the tenant's first "+
			"row is; rewrite these columns in one form", q.Table, keyNames(q))
	})
}

// otherForms selects one row whose key isn't in the form of the first row's; no statement when none has to be looked for.
func (s *sqliteSource) otherForms(q *row.Query) (statement, error) {
	if s.shape == "" {
		return statement{}, nil
	}
	b := &builder{dialect: s, query: q}
	var other []string
	for i, column := range q.Key {
		form := s.forms[i]
		if form.integer || !column.Kind.Timed() && column.Kind != row.Date && column.Kind != row.Decimal {
			continue
		}
		name := quoteColumn(column)
		condition := name + " NOT GLOB '" + form.pattern(column.Kind) + "'"
		if i > 0 {
			// A blob of the same bytes would match too; in the first column it would be the last row's.
			condition = "typeof(" + name + ") <> 'text' OR " + condition
		}
		other = append(other, condition)
	}
	if len(other) == 0 {
		return statement{}, nil
	}
	tenant, err := s.tenant(b)
	if err != nil {
		return statement{}, err
	}
	return statement{
		text: "SELECT " + s.withNumber(keyFields(q)) + " FROM " + quoteTable(q.Table) + " AS t WHERE (" + strings.Join(other, " OR ") +
			") AND " + tenant + " LIMIT 1",
		args: b.args,
	}, nil
}

// checkUnits refuses a time column without a unit whose first or last row holds a number, and a key of which one of
// these rows holds a number and the other text.
func (s *sqliteSource) checkUnits(ctx context.Context, q *row.Query) error {
	var times []row.Column
	var fields []string
	for _, column := range sources(q) {
		if column.Kind.Timed() && column.Unit == "" {
			times = append(times, column)
			fields = append(fields, "typeof("+quoteColumn(column)+")")
		}
	}
	if len(times) == 0 {
		return nil
	}
	first, err := s.classes(ctx, q, fields, false)
	if err != nil || first == nil {
		return err
	}
	last, err := s.classes(ctx, q, fields, true)
	if err != nil || last == nil {
		return err
	}
	for i, column := range times {
		inKey := slices.ContainsFunc(q.Key, func(k row.Column) bool { return k.Source == column.Source })
		switch {
		case first[i] != "integer" && last[i] != "integer":
		case inKey && (first[i] == "text" || last[i] == "text"):
			return formMixed(q, column, "the tenant's last row", keyForm{integer: last[i] == "integer"},
				keyForm{integer: first[i] == "integer"})
		default:
			return job.Errorf(job.Permanent, codeUnitMissing, "column %s of table %s %s", called(column), q.Table, faultUnit)
		}
	}
	return nil
}

// classes reads one row of field texts at an end of the tenant's keys, nil when there is no row.
func (s *sqliteSource) classes(ctx context.Context, q *row.Query, fields []string, last bool) (texts []string, err error) {
	st, err := selectKeyset(s, q, strings.Join(fields, ", "), last, 1, scope{})
	if err != nil {
		return nil, err
	}
	err = s.conn.rows(ctx, st, func(st *sqliteStmt) (bool, error) {
		for i := range fields {
			texts = append(texts, string(st.value(i).bytes))
		}
		return false, nil
	})
	return texts, err
}
