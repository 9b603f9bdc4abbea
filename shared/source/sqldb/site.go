package sqldb

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"sealift/shared/job"
	"sealift/shared/row"
)

// site is a database server as messages name it: by its connection and by where it is, never by who asks. What is said of
// opening a connection is in words of this package throughout: the driver's and the server's own may repeat anything of the
// connection string.
type site struct {
	// connection is the name that definitions give the source, "" where it has none.
	connection string
	// product is what runs there; of MySQL and MariaDB it isn't known which before the server has said so.
	product, address, database string
	// password is left out of what a certificate says.
	password string
}

const productPostgres, productMySQL, productMariaDB, productEither = "PostgreSQL", "MySQL", "MariaDB", "MariaDB or MySQL"

// prefix begins every message of a source that has a name.
func prefix(connection string) string {
	if connection == "" {
		return ""
	}
	return "connection " + connection + ": "
}

func (s site) server() string { return "the " + s.product + " server at " + s.address }

// errorf is an error whose message begins with the connection and the server.
func (s site) errorf(kind job.Kind, code, format string, args ...any) error {
	return job.Errorf(kind, code, "%s%s %s", prefix(s.connection), s.server(), fmt.Sprintf(format, args...))
}

// to is the database of a message that the server refuses a connection to it, nothing where the string names none.
func (s site) to() string {
	if s.database == "" {
		return ""
	}
	return " to database " + s.database
}

// unopened is the error of a connection that didn't come to be, for a reason that isn't the server's to tell.
func (s site) unopened(err error) error {
	var lookup *net.DNSError
	var operation *net.OpError
	if errors.As(err, &lookup) || errors.As(err, &operation) && operation.Op == "dial" {
		return s.errorf(job.Transient, codeUnavailable, "can't be reached%s; check host and port in the connection's secret if this lasts", networkCause(err))
	}
	return s.errorf(job.Transient, codeUnavailable, "ended the connection before it was open%s; check host, port and sslmode in the connection's secret "+
		"if this lasts", networkCause(err))
}

// silent is the error of a connection that nobody has answered in time.
func (s site) silent() error {
	return s.errorf(job.Transient, codeTimeout, "didn't answer within %s; check host and port in the connection's secret, and what lies between, if this "+
		"lasts", ConnectTime)
}

// stopped is the error of a connection that the caller didn't wait for.
func (s site) stopped() error {
	return job.Errorf(job.Cancelled, codeCancelled, "%sconnecting to %s was stopped because its context ended", prefix(s.connection), s.server())
}

// refused is the error of a connection that the server doesn't want as it is asked for; coded is its number of the reason.
func (s site) refused(coded string) error {
	return s.errorf(job.Permanent, codeDenied, "refused the connection%s%s; correct user, password, database or sslmode in the connection's secret", s.to(), coded)
}

// crowded is the error of a server that has no room, for a connection or for a read of a table.
func (s site) crowded(what, coded string) error {
	return s.errorf(job.Overload, codeOverloaded, "has no room for another %s%s; it is tried again later", what, coded)
}

// busy is the error of a server that takes no connections at the moment, as while it starts.
func (s site) busy(coded string) error {
	return s.errorf(job.Transient, codeUnavailable, "takes no connection at the moment%s; try again", coded)
}

// ended is the error of a connection that was lost while it was used.
func (s site) ended(q *row.Query, err error) error {
	return s.errorf(job.Transient, codeUnavailable, "ended the connection while table %s was read%s; look at the server if this lasts", q.Table, networkCause(err))
}

// failed is the error of a statement that the server couldn't do for a reason of its own.
func (s site) failed(q *row.Query, coded string) error {
	return s.errorf(job.Transient, codeUnavailable, "couldn't read table %s at the moment%s; try again", q.Table, coded)
}

// closed is the error of a source that is used after its Close.
func closed(connection string) error {
	return job.Errorf(job.Permanent, codeUnavailable, "%sthe source is closed; open it again", prefix(connection))
}

// networkCause says in known words why a connection failed, nothing where only the driver could say it.
func networkCause(err error) string {
	var (
		lookup    *net.DNSError
		number    syscall.Errno
		address   *net.AddrError
		operation *net.OpError
	)
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return " (no such host)"
	case errors.As(err, &lookup):
		return " (the host's address can't be looked up)"
	case errors.As(err, &number):
		return " (" + number.Error() + ")"
	case errors.As(err, &address):
		return " (" + address.Err + ")"
	case errors.As(err, &operation) && operation.Op == "remote error":
		// An alert of TLS, whose texts are the standard library's.
		return " (" + operation.Err.Error() + ")"
	case errors.As(err, new(tls.RecordHeaderError)):
		return " (it doesn't speak TLS)"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return " (no answer in time)"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return " (it hung up)"
	}
	return ""
}
