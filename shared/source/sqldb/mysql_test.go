package sqldb_test

import (
	"testing"

	"sealift/shared/source/mytest"
	"sealift/shared/source/sourcetest"
)

func TestMySQL(t *testing.T) {
	t.Parallel()
	server := mytest.Start(t)
	t.Run("passes the suite", func(t *testing.T) {
		t.Parallel()
		sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture { return mysqlFixture(server.Schema(t)) })
	})
}
