package sqldb

import (
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"

	"sealift/shared/job"
	"sealift/shared/row"
)

// MySQL has a number of its own for require_secure_transport, where MariaDB refuses the user.
func TestAMySQLServerThatTakesTLSOnlySaysSo(t *testing.T) {
	t.Parallel()
	err := mysqlRefusal(&row.Query{Table: "shop"}, &mysql.MyError{Code: 3159})
	if job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), "the MySQL server of shop takes connections with TLS only") ||
		!strings.Contains(err.Error(), "write sslmode=verify-full") {
		t.Errorf("error 3159 is told as %v, want a permanent refusal that says how to ask for TLS", err)
	}
}
