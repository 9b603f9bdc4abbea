package sqldb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sealift/shared/job"
)

// errNoTLS is a MySQL server's greeting without TLS where the connection string asks for it.
var errNoTLS = errors.New("the server offers no TLS")

// tlsMissing refuses a connection whose string asks for TLS where the server has none. Trying again would not help.
func (s site) tlsMissing(asked *tls.Config) error {
	return job.Errorf(job.Permanent, codeDenied, "%sthe connection string asks for TLS with sslmode=%s, and %s offers none; set up TLS on the "+
		"server, or, where the network is trusted, write sslmode=disable in the connection's secret", prefix(s.connection), sslMode(asked), s.server())
}

// tlsNeeded refuses a connection without TLS to a server that takes none.
func (s site) tlsNeeded() error {
	return s.errorf(job.Permanent, codeDenied, "takes connections with TLS only, and the connection string says sslmode=disable; write "+
		"sslmode=verify-full (or require, which checks no certificate) in the connection's secret")
}

// certificateRefused is the permanent error of a certificate that doesn't verify, nil when err is about something else.
func (s site) certificateRefused(asked *tls.Config, err error) error {
	fault := certificateFault(err)
	if fault == nil || asked == nil {
		return nil
	}
	why := " (" + fault.Error() + ")"
	if s.password != "" && strings.Contains(why, s.password) {
		// The names in a certificate are the server's to choose.
		why = ""
	}
	return job.Errorf(job.Permanent, codeDenied, "%sthe certificate of %s doesn't verify as sslmode=%s asks%s; give the server a certificate that "+
		"fits, or, in the connection's secret, name the file with its authority's certificate as sslrootcert, or the host that the certificate is "+
		"for", prefix(s.connection), s.server(), sslMode(asked), why)
}

// certificateFault finds what the standard library says of a certificate.
func certificateFault(err error) error {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		roots     x509.SystemRootsError
		extension x509.UnhandledCriticalExtension
		whole     *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &authority):
		return authority
	case errors.As(err, &host):
		return host
	case errors.As(err, &invalid):
		return invalid
	case errors.As(err, &roots):
		return roots
	case errors.As(err, &extension):
		return extension
	case errors.As(err, &whole):
		return whole.Err
	}
	return nil
}

// sslMode is the mode that a configuration came from, as both drivers make them.
func sslMode(config *tls.Config) string {
	switch {
	case !config.InsecureSkipVerify:
		return "verify-full"
	case config.VerifyConnection != nil || config.VerifyPeerCertificate != nil:
		return "verify-ca"
	}
	return "require"
}

// postgresTLS is the permanent error behind a connection that failed because of TLS, nil when it failed otherwise. The
// driver tells by its text only that a server offers no TLS, so the server is asked once more.
func (s site) postgresTLS(ctx context.Context, err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return nil
	}
	config := failed.Config
	if refused := s.certificateRefused(config.TLSConfig, err); refused != nil {
		return refused
	}
	hosts := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, host := range hosts {
		if host.TLSConfig == nil || !lacksTLS(ctx, config, host) {
			return nil
		}
	}
	return s.tlsMissing(config.TLSConfig)
}

// lacksTLS asks a PostgreSQL server whether it offers TLS and reports whether it said no.
func lacksTLS(ctx context.Context, config *pgconn.Config, host *pgconn.FallbackConfig) bool {
	ctx, cancel := context.WithTimeout(ctx, LockTime)
	defer cancel()
	network, address := pgconn.NetworkAddress(host.Host, host.Port)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	// The message SSLRequest, which a server answers with one byte: PostgreSQL's documentation, "SSL Session Encryption".
	const sslRequest = 80877103
	request := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), sslRequest)
	if _, err := conn.Write(request); err != nil {
		return false
	}
	var answer [1]byte
	_, err = io.ReadFull(conn, answer[:])
	return err == nil && answer[0] == 'N'
}
