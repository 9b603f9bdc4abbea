package sqldb

import (
	"strings"
	"testing"

	"sealift/shared/job"
)

// MySQL has a number of its own for require_secure_transport, where MariaDB refuses the user.
func TestAMySQLServerThatTakesTLSOnlySaysSo(t *testing.T) {
	t.Parallel()
	err := site{connection: "till", product: productMySQL, address: "db:3306", database: "shop"}.refusedByMySQL(requireSecureTransport)
	if job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), "connection till: the MySQL server at db:3306 takes connections with TLS only") ||
		!strings.Contains(err.Error(), "write sslmode=verify-full") {
		t.Errorf("error 3159 is told as %v, want a permanent refusal that says how to ask for TLS", err)
	}
}
