package sqldb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
)

// mysqlConfig is what a connection string says.
type mysqlConfig struct {
	address, user, password, database string
	// secure is nil for a connection without TLS; optional says that a server without TLS is used all the same.
	secure   *tls.Config
	optional bool
}

// parseMySQL reads mysql://user:password@host:port/database?sslmode=…&sslrootcert=…. The modes are PostgreSQL's: disable,
// prefer (the default: TLS when the server has it, unverified), require (unverified), verify-ca and verify-full.
func parseMySQL(dsn string) (*mysqlConfig, error) {
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.Opaque != "" || parsed.Hostname() == "" || parsed.User.Username() == "" || misread(dsn) {
		// The parser's error repeats the string.
		return nil, badDSN("can't be parsed, or names no host or user")
	}
	port := parsed.Port()
	if port == "" {
		port = "3306"
	}
	c := &mysqlConfig{
		address: net.JoinHostPort(parsed.Hostname(), port), user: parsed.User.Username(), database: strings.Trim(parsed.Path, "/"),
	}
	c.password, _ = parsed.User.Password()
	options, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, badDSN("has parameters that can't be parsed")
	}
	for name := range options {
		if name != "sslmode" && name != "sslrootcert" {
			return nil, badDSN("has a parameter other than sslmode and sslrootcert")
		}
	}
	return c, c.secureAs(options.Get("sslmode"), options.Get("sslrootcert"), parsed.Hostname())
}

func (c *mysqlConfig) secureAs(mode, rootFile, host string) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if rootFile != "" {
		text, err := os.ReadFile(rootFile)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return badDSN("names a file as sslrootcert that holds no certificates")
		}
	}
	switch mode {
	case "disable":
		return nil
	case "", "prefer":
		c.optional = true
		config.InsecureSkipVerify = true
	case "require":
		config.InsecureSkipVerify = true
	case "verify-ca":
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, config.RootCAs) }
	case "verify-full":
	default:
		return badDSN("has an sslmode other than disable, prefer, require, verify-ca and verify-full")
	}
	c.secure = config
	return nil
}

// verifyChain checks who signed the server's certificate and not whom it names.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
