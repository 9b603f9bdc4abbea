package sqldb_test

import (
	"strings"
	"testing"

	"sealift/shared/source/sourcetest"
)

func TestSQLitePassesTheSuite(t *testing.T) {
	t.Parallel()
	spaced := func(canonical string) string { return strings.TrimSuffix(strings.Replace(canonical, "T", " ", 1), "Z") }
	bare := func(canonical string) string { return strings.TrimSuffix(canonical, "Z") }
	for _, form := range []struct {
		name              string
		times             func(canonical string) string
		primary, numbered bool
	}{
		{"times with a space and no zone", spaced, false, false},
		{"times in RFC 3339, row numbers as ids", func(canonical string) string { return canonical }, false, true},
		{"times with a T and no zone in a table without row ids", bare, true, false},
	} {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
				dsn, exec := sqliteFile(t)
				s := sqliteSpelling(exec, form.times)
				s.primary, s.numbered = form.primary, form.numbered
				return s.fixture(dsn)
			})
		})
	}
}
