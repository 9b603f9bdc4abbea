package command_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestEveryFormatIsAskedForDownloadedAndVerified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags          []string
		name, verified string
		begins         string
	}{
		{[]string{"--format", "xlsx"}, "a.xlsx", "every row has values of the 6 columns of the receipt", "PK\x03\x04"},
		{[]string{"--format", "parquet"}, "a.parquet", "(compression zstd)", "PAR1"},
		{[]string{"--format", "parquet", "--compression", "snappy"}, "b.parquet", "(compression snappy)", "PAR1"},
		{[]string{"--encoding", "gb18030", "--compression", "none"}, "a.csv", "every record parses as csv (gb18030) with the 6 columns", "order_id,"},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			t.Parallel()
			s, ana := withOrders(t)
			file := s.path(c.name)
			created := ana.ok(ask(append(c.flags, "--download", file)...)...)
			if !bytes.HasPrefix(read(t, file), []byte(c.begins)) {
				t.Errorf("the file begins with %.20q", read(t, file))
			}
			if strings.Contains(created.stderr, "warning") {
				t.Errorf("the name is complained of: %s", created.stderr)
			}
			if got := ana.ok("export", "verify", file, "--job", id(t, created)); !strings.Contains(got.stdout, c.verified) {
				t.Errorf("verify says %s", got.stdout)
			}
			whole := read(t, file)
			whole[len(whole)/2] ^= 0x10
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := ana.run("export", "verify", file, "--job", id(t, created)); got.code != 7 || !strings.Contains(got.stdout, "DIFFERS") {
				t.Errorf("a changed byte: exit %d, %s", got.code, got.stdout)
			}
		})
	}
}

func TestCombinationsThatDoNotExistAreRefusedInTheWordsOfTheFlags(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	for want, flags := range map[string][]string{
		`--compression is "gzip"; xlsx allows only none, for it is compressed inside`:            {"--format", "xlsx", "--compression", "gzip"},
		`--compression is "gzip"; definition orders allows zstd, snappy, none for parquet`:       {"--format", "parquet", "--compression", "gzip"},
		`--bom is true; a byte order mark is for utf-8`:                                          {"--encoding", "gb18030", "--bom"},
		`--delimiter is a vertical bar, which is part of characters in gb18030; allowed with it`: {"--encoding", "gb18030", "--delimiter", "pipe"},
		`--encoding is for csv; xlsx has no such option`:                                         {"--format", "xlsx", "--encoding", "gb18030"},
	} {
		if got := ana.run(ask(flags...)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: exit %d, %s; want %s", flags, got.code, got.stderr, want)
		}
	}
}

func TestTheFileHasTheNameThatWasAskedForEverywhere(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	const name = `订单,导出 (Q3).csv`
	folder := s.path("files") + "/"
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	created := ana.ok(ask("--compression", "none", "--file-name", name, "--download", folder)...)
	if !strings.Contains(created.stdout, folder+name) || len(read(t, folder+name)) == 0 {
		t.Errorf("create says %s", created.stdout)
	}
	if got := ana.ok("export", "show", id(t, created)); !strings.Contains(got.stdout, name) {
		t.Errorf("show says %s", got.stdout)
	}
	if got := ana.ok("export", "verify", folder+name, "--job", id(t, created)); !strings.Contains(got.stdout, name+" is the file of export") {
		t.Errorf("verify says %s", got.stdout)
	}
}
