package sqldb

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"sealift/shared/limits"
)

// mysqlConn is an authenticated connection.
type mysqlConn struct {
	wire *mysqlWire
	// id is the connection's number at the server.
	id      uint32
	mariadb bool
	// sortBytes is how many bytes of a text the session has been told to sort by, 0 while it is sortBytesMin.
	sortBytes int
}

const (
	// idleSeconds ends a session whose reader has vanished; a worker never idles that long.
	idleSeconds = 900
	// restSeconds ends one that rests.
	restSeconds = 30
	// A worker lets it rest for less.
	_ = uint(restSeconds*time.Second - limits.SourceRest)
)

// dialMySQL connects and authenticates, which the library does; the statements' messages are sent by mysqlWire. product is
// what the server says that it is, whether or not it takes the connection.
func dialMySQL(ctx context.Context, config *mysqlConfig) (conn *mysqlConn, product string, err error) {
	bounded, cancel := context.WithTimeout(ctx, ConnectTime)
	defer cancel()
	opened, version, err := authenticate(bounded, config, config.secure)
	var said *mysql.MyError
	if err != nil && config.optional && bounded.Err() == nil && !errors.As(err, &said) {
		opened, version, err = authenticate(bounded, config, nil)
	}
	product = productOf(version)
	if bounded.Err() != nil {
		return nil, product, bounded.Err()
	}
	if err != nil {
		return nil, product, err
	}
	return &mysqlConn{wire: newMySQLWire(opened.Conn.Conn), id: opened.GetConnectionID(), mariadb: product == productMariaDB}, product, nil
}

// productOf is what a version is of; a server that has said none may be either.
func productOf(version string) string {
	switch {
	case version == "":
		return productEither
	case strings.Contains(version, productMariaDB):
		return productMariaDB
	}
	return productMySQL
}

// authenticate also gives the version that the server has said, "" when it said none.
func authenticate(ctx context.Context, config *mysqlConfig, secure *tls.Config) (opened *client.Conn, version string, err error) {
	var heard func() bool
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			// The library waits for a silent server without end.
			heard = context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	var greeted *client.Conn
	opened, err = client.ConnectWithDialer(ctx, "tcp", config.address, config.user, config.password, config.database, dial, func(c *client.Conn) error {
		greeted = c
		if secure != nil {
			c.SetTLSConfig(secure)
		}
		// With it, every statement would begin with its attributes.
		c.UnsetCapability(mysql.CLIENT_QUERY_ATTRIBUTES)
		return nil
	})
	if heard != nil {
		heard()
	}
	if greeted != nil {
		version = greeted.GetServerVersion()
	}
	if err != nil && secure != nil && greeted != nil && withoutTLS(greeted) {
		return nil, version, errNoTLS
	}
	return opened, version, err
}

// withoutTLS reports whether the server has said what it can do, and TLS isn't among it. The library tells that by its
// text only.
func withoutTLS(c *client.Conn) bool {
	can := strings.Split(c.CapabilityString(), "|")
	return slices.Contains(can, "CLIENT_PROTOCOL_41") && !slices.Contains(can, "CLIENT_SSL")
}

// sessionText fixes what the session may do and how its values look, whatever the server's defaults are.
func sessionText(mariadb bool) string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	limit := "max_execution_time = " + strconv.FormatInt(StatementTime.Milliseconds(), 10)
	if mariadb {
		limit = "max_statement_time = " + seconds(StatementTime)
	}
	return strings.Join([]string{
		"SET NAMES utf8mb4 COLLATE utf8mb4_bin", "time_zone = '+00:00'", "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'", "autocommit = 1",
		"innodb_lock_wait_timeout = " + seconds(LockTime), "lock_wait_timeout = " + seconds(LockTime), "wait_timeout = " + strconv.Itoa(idleSeconds),
		"sql_select_limit = 18446744073709551615", "sql_big_selects = 1", "max_sort_length = " + strconv.Itoa(sortBytesMin), limit,
		// A view's GROUP_CONCAT is cut with no more than a warning; a row that is larger than one may be is refused.
		"group_concat_max_len = " + strconv.Itoa(1<<30),
	}, ", ")
}

func (c *mysqlConn) close() { _ = c.wire.conn.Close() }

// quit ends a connection that is at rest.
func (c *mysqlConn) quit() {
	_, _ = c.wire.conn.Write([]byte{1, 0, 0, 0, quitCommand})
	c.close()
}

// kill ends the connection at the server, and with it the statement that it runs, over a second connection: a server
// that is busy doesn't notice that a client has gone.
func (c *mysqlConn) kill(ctx context.Context, config *mysqlConfig) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LockTime)
	defer cancel()
	if second, _, err := dialMySQL(ctx, config); err == nil {
		done := context.AfterFunc(ctx, second.close)
		_, _ = second.wire.run("KILL "+strconv.FormatUint(uint64(c.id), 10), 0, nil)
		done()
		second.close()
	}
	c.close()
}
