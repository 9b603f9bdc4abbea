package sqldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
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

// answerRow is the answer to a statement up to its first row: one field, and a row of the text 1.
const answerRow = "\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x02\x00\x00\x04\x011"

// answered is a connection whose server answers one statement and hangs up, or stays silent until the test ends.
func answered(tb testing.TB, answer string, silent bool) *mysqlWire {
	tb.Helper()
	client, server := net.Pipe()
	tb.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() {
		_, _ = io.CopyN(io.Discard, server, 5)
		_, _ = io.WriteString(server, answer)
		if !silent {
			_ = server.Close()
		}
	}()
	return newMySQLWire(client)
}

func TestMySQLRefusalsGoBeforeWhatEndsTheRest(t *testing.T) {
	t.Parallel()
	const end = "\x05\x00\x00\x05\xfe\x00\x00\x02\x00"
	const laterEnd = "\x05\x00\x00\x06\xfe\x00\x00\x02\x00"
	refusal := refusedValue()
	refuse := &everyRow{each: func([][]byte) error { return refusal }}
	var beyond strings.Builder
	for sequence := range 5 {
		beyond.WriteString("\xff\xff\xff" + string(rune(5+sequence)) + strings.Repeat("x", packetMax))
	}
	for name, c := range map[string]struct {
		rest   string
		broken bool
	}{
		"the end":                        {end, false},
		"another row":                    {"\x02\x00\x00\x05\x012" + laterEnd, false},
		"more than is read":              {"\x65\x00\x00\x05\x64" + strings.Repeat("x", 100) + laterEnd, true},
		"a row beyond every limit":       {beyond.String(), true},
		"an error of the server":         {"\x0a\x00\x00\x05\xff\x15\x04#28000no", false},
		"an error that can't be read":    {"\x02\x00\x00\x05\xff\x15", true},
		"the connection's end":           {"", true},
		"the connection's end in a row":  {"\x09\x00\x00\x05\x08x", true},
		"another answer's packet":        {"\x02\x00\x00\x04\x012" + end, true},
		"a message of no bytes at all":   {"\x00\x00\x00\x05", true},
		"a message that is half a large": {"\xff\xff\xff\x05x", true},
	} {
		broken, err := answered(t, answerRow+c.rest, false).run("", 100, refuse)
		if !errors.Is(err, refusal) || broken != c.broken {
			t.Errorf("a refused row before %s: broken %t with %v, want broken %t and the refusal", name, broken, err, c.broken)
		}
	}
}

func TestMySQLAnswersThatAreNotDueAreRefused(t *testing.T) {
	t.Parallel()
	const row, ok = answerRow, "\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"
	one := func(got *int) *everyRow {
		return &everyRow{each: func([][]byte) error { *got++; return nil }}
	}
	for name, c := range map[string]struct {
		answer string
		// want is how many rows a statement gets before it is refused; -1 for a command.
		want int
		good bool
	}{
		"a result":                          {row + "\x05\x00\x00\x05\xfe\x00\x00\x02\x00", 1, true},
		"the end of a command":              {ok, 0, false},
		"an end that is another's":          {row + "\x05\x00\x00\x09\xfe\x00\x00\x02\x00", 1, false},
		"an end that came before":           {"\x05\x00\x00\x05\xfe\x00\x00\x02\x00" + row, 0, false},
		"a result that began before":        {row[5:], 0, false},
		"the end of a command, to one":      {ok, -1, true},
		"a result to a command":             {row, -1, false},
		"another command's end, to command": {strings.Replace(ok, "\x00\x01", "\x00\x02", 1), -1, false},
	} {
		got := 0
		var r mysqlResult
		if c.want >= 0 {
			r = one(&got)
		}
		broken, err := answered(t, c.answer, false).run("", 100, r)
		if (err == nil) != c.good || broken == c.good || got != max(0, c.want) {
			t.Errorf("%s: %d rows, broken %t, %v; want %d rows, good %t", name, got, broken, err, max(0, c.want), c.good)
		}
	}
}

func TestMySQLRefusalsGoBeforeAnEndedContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal error
		want    string
	}{"a refused row": {refusedValue(), codeValueInvalid}, "a row that is taken": {nil, codeCancelled}} {
		ctx, cancel := context.WithCancel(context.Background())
		s := &mysqlSource{config: &mysqlConfig{address: "127.0.0.1:1"}, conn: &mysqlConn{wire: answered(t, answerRow, true)}}
		err := s.run(ctx, &row.Query{Table: "t"}, statement{}, 100, &everyRow{each: func([][]byte) error {
			cancel()
			return c.refusal
		}})
		if job.CodeOf(err) != c.want {
			t.Errorf("%s before the context's end is told %v, want %s", name, err, c.want)
		}
		cancel()
	}
}

func refusedValue() error {
	return invalidValue(row.Column{Source: "v", Kind: row.Int64}, placeAt(row.Key{"41"}), faultUnsigned)
}
