package e2e

import (
	"fmt"
	"strings"
	"testing"

	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// postgres writes the orders into a new schema of the server and returns its address.
func postgres(t *testing.T, server *pgtest.Server, list []order) string {
	t.Helper()
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, `CREATE TABLE orders (id bigint PRIMARY KEY, tenant_id text NOT NULL, code text NOT NULL, placed_at timestamptz NOT NULL,
		day date NOT NULL, amount numeric(20,2) NOT NULL, big bigint NOT NULL, weight double precision NOT NULL, gift boolean NOT NULL, note text)`,
		insertion(list, order.values, strings.NewReplacer("'", "''")), "CREATE INDEX ON orders (tenant_id, placed_at, id)", "ANALYZE orders")
	return dsn
}

// mariadb does the same on a server of that kind.
func mariadb(t *testing.T, server *mytest.Server, list []order) string {
	t.Helper()
	dsn := server.Schema(t)
	values := func(o order) []any {
		list := o.values()
		list[3] = o.placed.UTC().Format("2006-01-02 15:04:05.000000")
		return list
	}
	mytest.Exec(t, dsn, `CREATE TABLE orders (id bigint PRIMARY KEY, tenant_id varchar(100) NOT NULL, code varchar(20) NOT NULL, placed_at timestamp(6) NOT NULL,
		day date NOT NULL, amount decimal(20,2) NOT NULL, big bigint NOT NULL, weight double NOT NULL, gift boolean NOT NULL, note text,
		INDEX (tenant_id, placed_at, id)) CHARACTER SET utf8mb4`,
		"SET time_zone = '+00:00'", insertion(list, values, strings.NewReplacer("'", "''", `\`, `\\`)), "ANALYZE TABLE orders")
	return dsn
}

// insertion is one statement that writes every order.
func insertion(list []order, values func(order) []any, escape *strings.Replacer) string {
	var insert strings.Builder
	for i, o := range list {
		separator := ",("
		if i == 0 {
			separator = "INSERT INTO orders VALUES ("
		}
		insert.WriteString(separator)
		for k, value := range values(o) {
			if k > 0 {
				insert.WriteByte(',')
			}
			switch v := value.(type) {
			case nil:
				insert.WriteString("NULL")
			case string:
				insert.WriteString("'" + escape.Replace(v) + "'")
			default:
				fmt.Fprint(&insert, v)
			}
		}
		insert.WriteByte(')')
	}
	return insert.String()
}
