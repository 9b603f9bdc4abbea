package sqldb_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source/mytest"
	"sealift/shared/source/sqldb"
)

// certificate writes a self-signed certificate for a host and its key where every user may read them.
func certificate(t *testing.T, host string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "mysql-tls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// wantRefused wants a permanent refusal that says text and what to change.
func wantRefused(t *testing.T, name string, err error, text string) {
	t.Helper()
	if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" || !strings.Contains(err.Error(), text) ||
		!strings.Contains(err.Error(), "in the connection's secret") {
		t.Errorf("%s: %v, want a permanent source_denied that says %q and names the connection's secret", name, err, text)
	}
}

func TestMySQLUsesTLSAsTheAddressAsks(t *testing.T) {
	t.Parallel()
	mine, key := certificate(t, "127.0.0.1")
	foreign, _ := certificate(t, "127.0.0.1")
	named, namedKey := certificate(t, "db.example")
	secure, other, plain := mytest.Start(t, "--ssl-cert="+mine, "--ssl-key="+key), mytest.Start(t, "--ssl-cert="+named, "--ssl-key="+namedKey), mytest.Start(t)
	strict := mytest.Start(t, "--ssl-cert="+mine, "--ssl-key="+key)
	for _, c := range []struct {
		name    string
		server  *mytest.Server
		options string
		want    string // the session's cipher, some or none, or what the refusal says
	}{
		{"disable", secure, "sslmode=disable", "none"}, {"prefer", secure, "sslmode=prefer", "some"}, {"nothing said", secure, "", "some"},
		{"require", secure, "sslmode=require", "some"}, {"verify-ca", secure, "sslmode=verify-ca&sslrootcert=" + mine, "some"},
		{"verify-full", secure, "sslmode=verify-full&sslrootcert=" + mine, "some"}, {"verify-full by another root", secure, "sslmode=verify-full&sslrootcert=" + foreign, "certificate signed by unknown authority"},
		{"verify-ca by another root", secure, "sslmode=verify-ca&sslrootcert=" + foreign, "sslmode=verify-ca asks (x509: certificate signed by unknown authority"}, {"verify-full by the system's roots", secure, "sslmode=verify-full", "sslmode=verify-full asks (x509: certificate signed by unknown authority"},
		{"verify-ca of another host", other, "sslmode=verify-ca&sslrootcert=" + named, "some"}, {"verify-full of another host", other, "sslmode=verify-full&sslrootcert=" + named, "cannot validate certificate for 127.0.0.1"},
		{"prefer without TLS", plain, "sslmode=prefer", "none"}, {"require without TLS", plain, "sslmode=require", "asks for TLS with sslmode=require, and the MariaDB server at " + address(plain.DSN()) + " offers none; set up TLS on the server"},
		{"verify-ca without TLS", plain, "sslmode=verify-ca&sslrootcert=" + mine, "asks for TLS with sslmode=verify-ca"},
		{"verify-full without TLS", plain, "sslmode=verify-full", "asks for TLS with sslmode=verify-full"},
		{"disable where TLS is a must", strict, "sslmode=disable", "correct user, password, database or sslmode"},
	} {
		dsn := c.server.Schema(t)
		mytest.Exec(t, dsn, "CREATE VIEW t AS SELECT 'acme' AS tenant, 1 AS id, variable_value AS v FROM information_schema.SESSION_STATUS WHERE variable_name = 'Ssl_cipher'")
		if c.server == strict {
			mytest.Exec(t, dsn, "SET GLOBAL require_secure_transport = ON")
		}
		src, err := sqldb.Open(context.Background(), strings.Replace(dsn, "sslmode=disable", c.options, 1))
		if c.want != "some" && c.want != "none" {
			wantRefused(t, c.name, err, c.want)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		rows, err := read(src, valueQuery(row.String))
		if err != nil || (rows[0][0] != "") != (c.want == "some") {
			t.Errorf("%s: the cipher is %q (%v), want %s", c.name, rows, err, c.want)
		}
		_ = src.Close()
	}
}

// A server that takes connections and says nothing is given up.
func TestMySQLWaitsForNoSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := sqldb.Open(ctx, "mysql://root@"+listener.Addr().String()+"/shop"); job.KindOf(err) != job.Cancelled {
		t.Errorf("a silent server is told as %v when the context ends, want cancelled", err)
	}
	_ = listener.Close()
	if _, err := sqldb.Open(context.Background(), "mysql://root:hush@"+listener.Addr().String()+"/shop"); job.CodeOf(err) != "source_unavailable" || strings.Contains(err.Error(), "hush") {
		t.Errorf("a closed port is told as %v, want source_unavailable", err)
	}
}
