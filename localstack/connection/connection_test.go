package connection_test

import (
	"context"
	"strings"
	"testing"

	"sealift/localstack/connection"
)

func TestAnAddressIsTakenAsTheSourceReadsIt(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"sqlite:///srv/shop.db", "sqlite:/srv/shop.db", "sqlite:///srv/50%/my shop.db", "postgres://db/?database=shop", "postgres://reader@db1:5432,db2/shop", "postgres://reader@db1,db2:5433/shop?sslmode=require", "postgres://db?dbname=shop&user=reader", "postgres://reader:hush@db.example:5432/shop?sslmode=verify-full", "postgresql://reader@db/shop",
		"mysql://reader:hush@db.example/shop?sslmode=require", "mariadb://reader@db/shop",
	} {
		got, err := connection.Read(context.Background(), strings.NewReader("  "+address+"\r\n \n\n"))
		if err != nil || got != address {
			t.Errorf("%s is read as %q (%v)", address, got, err)
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want string }{
		"a word":               {"hush", "has no scheme"},
		"a page":               {"https://reader:hush@db/shop", "has a scheme other than sqlite, postgres, mysql and mariadb"},
		"a scheme in capitals": {"POSTGRES://reader:hush@db/shop", "has a scheme other than"},
		"words and values":     {"host=db user=reader password=hush", "has no scheme"},
		"a port that is none":  {"postgres://reader:hush@db:port/shop", "can't be parsed"},
		"a mode that is none":  {"postgres://reader:hush@db/shop?sslmode=hush", "can't be parsed"},
		"no user":              {"mysql://db/shop", "names no host or user"},
		"a foreign parameter":  {"mysql://reader:hush@db/shop?tls=true", "has a parameter other than sslmode and sslrootcert"},
		"an open percent sign": {"mysql://reader:hush%@db/shop", "can't be parsed"},
		"a file with a host":   {"sqlite://hush/shop.db", "names a host"},
		"no file":              {"sqlite:", "names no file"},
		"a relative file":      {"sqlite:hush.db", "names its file by a relative path, which is another file for each program that reads it"},
		"a file up the tree":   {"sqlite:../hush.db", "names its file by a relative path"},
		"no database":          {"postgres://reader:hush@db", "names no database"},
		"an empty database":    {"postgresql://reader:hush@db:5432/?sslmode=disable", "names no database"},
		"hosts, no database":   {"postgres://reader:hush@db1:5432,db2?sslmode=require", "names no database"},
		"no MySQL database":    {"mysql://reader:hush@db", "names no database"},
		"no MariaDB database":  {"mariadb://reader:hush@db/?sslmode=require", "names no database"},
		"an open slash":        {"postgres://reader:12/hush@db/shop", "can't be parsed"},
	} {
		got, err := connection.Read(context.Background(), strings.NewReader(c.given+"\n"))
		if err == nil {
			t.Errorf("%s is taken as %q", name, got)
			continue
		}
		for _, words := range []string{c.want, "sqlite:///absolute/path.db", "postgres://user:password@host:port/database", "mysql://", "mariadb://"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s is refused with %q, which does not say %q", name, err, words)
			}
		}
		if got != "" || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "permanent:") {
			t.Errorf("%s is refused with %q and %q, which repeats it or a code", name, got, err)
		}
	}
	for name, given := range map[string]string{"nothing": "", "empty lines": "\n\n", "blanks": "  \t"} {
		if _, err := connection.Read(context.Background(), strings.NewReader(given)); err == nil || !strings.Contains(err.Error(), "send one line, as in postgres://") {
			t.Errorf("%s is told %v, want what to send", name, err)
		}
	}
	for name, given := range map[string]string{
		"two addresses": "sqlite:///hush.db\npostgres://reader:hush@db/shop\n", "an address in pieces": "postgres://reader:hush@db/shop\n?sslmode=verify-full", "an old Mac's lines": "sqlite:///hush.db\rmore",
	} {
		_, err := connection.Read(context.Background(), strings.NewReader(given))
		if err == nil || !strings.Contains(err.Error(), "the standard input has more than one line; send one line, as in postgres://") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s is told %v, want that one line is allowed", name, err)
		}
	}
	if _, err := connection.Read(context.Background(), strings.NewReader("sqlite:///"+strings.Repeat("x", 1<<15))); err == nil || !strings.Contains(err.Error(), "more than 16384 bytes") {
		t.Errorf("an endless line is told %v", err)
	}
}
