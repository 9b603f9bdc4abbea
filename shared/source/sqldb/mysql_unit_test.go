package sqldb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
)

func TestMySQLAddressesAreReadWhole(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"mysql://reader:p%40ss@db.example:3307/shop":                       "db.example:3307 reader p@ss shop prefer",
		"mariadb://reader@db.example/shop?sslmode=disable":                 "db.example:3306 reader  shop plain",
		"mysql://reader@[::1]:3306/":                                       "[::1]:3306 reader   prefer",
		"mysql://reader:p@db/shop?sslmode=require":                         "db:3306 reader p shop tls",
		"mysql://reader:p@db/shop?sslmode=verify-full":                     "db:3306 reader p shop tls",
		"mysql://reader:p@db/shop?sslmode=verify-ca":                       "db:3306 reader p shop tls",
		"mysql://reader:hush@db/shop?sslmode=perhaps":                      "",
		"mysql://reader:hush@db/shop?tls=true":                             "",
		"mysql://reader:hush@db/shop?sslmode=verify-ca&sslrootcert=/no/ca": "",
		"mysql://db/shop": "", "mysql:reader:hush@db": "", "mysql://reader:hush@db:port/shop": "", "mysql://reader:hush@/shop": "",
	} {
		c, err := parseMySQL(dsn)
		if want == "" {
			if job.CodeOf(err) != "source_dsn_invalid" || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s is told %v, want source_dsn_invalid without the password", dsn, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		mode := "tls"
		if c.secure == nil {
			mode = "plain"
		} else if c.optional {
			mode = "prefer"
		}
		if diff := cmp.Diff(want, fmt.Sprintf("%s %s %s %s %s", c.address, c.user, c.password, c.database, mode)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dsn, diff)
		}
	}
}

func TestMySQLRowValuesAreSpelledOut(t *testing.T) {
	t.Parallel()
	var s mysqlSource
	for want, columns := range map[string][]string{
		"a > 1": {"a"}, "(a > 1 OR a = 1 AND b > 2)": {"a", "b"}, "(a > 1 OR a = 1 AND (b > 2 OR b = 2 AND c > 3))": {"a", "b", "c"},
	} {
		if got := s.rowValues(columns, []string{"1", "2", "3"}[:len(columns)], ">"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		inclusive := strings.Replace(want, "> "+fmt.Sprint(len(columns)), ">= "+fmt.Sprint(len(columns)), 1)
		if got := s.rowValues(columns, []string{"1", "2", "3"}[:len(columns)], ">="); got != inclusive {
			t.Errorf("got %s, want %s", got, inclusive)
		}
	}
}

func TestMiddlesOfTextLieBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ low, high, want string }{
		{"a", "c", "b"}, {"A1", "A9", "A5"}, {"k100", "k300", "k2"}, {"0", "f", "7"}, {"A-x", "F-x", "C"}, {"order-1", "order-3", "order-2"},
		{"订单1", "订单9", "订单5"},
	} {
		got, ok := middleText(c.low, c.high)
		if !ok || got <= c.low || got >= c.high || !strings.HasPrefix(got, c.want) {
			t.Errorf("between %s and %s lies %s, want %s…", c.low, c.high, got, c.want)
		}
	}
	for _, c := range [][2]string{{"a", "a"}, {"a", "A"}, {"订", "单"}, {"-", "_"}, {"a-", "ab"}, {"", ""}, {"b", "a"}} {
		if got, ok := middleText(c[0], c[1]); ok {
			t.Errorf("between %s and %s lies %s, want nothing", c[0], c[1], got)
		}
	}
}

// FuzzMySQLWire answers a statement with any bytes: the reader ends with rows or an error and never panics.
func FuzzMySQLWire(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x02\x00\x00\x04\x011\x05\x00\x00\x05\xfe\x00\x00\x02\x00"))
	f.Add([]byte("\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
	f.Add([]byte("\x0a\x00\x00\x01\xff\x15\x04#28000no"))
	f.Add([]byte("\xff\xff\xff\x01\xfe"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		client, server := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, server, 5)
			_, _ = io.Copy(server, bytes.NewReader(answer))
			_ = server.Close()
		}()
		wire := newMySQLWire(client)
		_, _ = wire.run("", 100, &everyRow{each: func([][]byte) error { return context.Canceled }})
		_ = client.Close()
	})
}
