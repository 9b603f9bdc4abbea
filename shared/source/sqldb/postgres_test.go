package sqldb_test

import (
	"testing"

	"sealift/shared/source/pgtest"
	"sealift/shared/source/sourcetest"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	t.Run("passes the suite", func(t *testing.T) {
		t.Parallel()
		sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
			dsn := server.Schema(t)
			return postgresSpelling(dsn).fixture(dsn)
		})
	})
}
