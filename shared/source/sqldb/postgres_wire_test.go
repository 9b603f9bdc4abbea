package sqldb_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// between stands between a source and its server and may change what the server says.
type between struct {
	mu sync.Mutex
	// change makes other bytes of a message, which begins with its kind and its length; cut ends the connection.
	change func(kind byte, message []byte) (instead []byte, cut bool)
}

// to makes change the one that counts from now on; nil changes nothing.
func (b *between) to(change func(kind byte, message []byte) (instead []byte, cut bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change = change
}

func (b *between) changed(message []byte) (instead []byte, cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.change == nil {
		return message, false
	}
	return b.change(message[0], message)
}

// standBetween returns a connection string like dsn that leads past b.
func standBetween(t *testing.T, dsn string) (b *between, past string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(dsn, "@")
	address, _, _ := strings.Cut(rest, "/")
	b = &between{}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				continue
			}
			running.Go(func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			})
			running.Go(func() {
				b.pass(server, client)
				_ = client.Close()
			})
		}
	})
	return b, strings.Replace(dsn, address, listener.Addr().String(), 1)
}

// pass hands on one message after the other.
func (b *between) pass(server io.Reader, client io.Writer) {
	from := bufio.NewReader(server)
	for {
		header, err := from.Peek(5)
		if err != nil {
			return
		}
		message := make([]byte, 1+binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(from, message); err != nil {
			return
		}
		instead, cut := b.changed(message)
		if _, err := client.Write(instead); err != nil || cut {
			return
		}
	}
}

// said is a message of the server's.
func said(kind byte, body string) []byte {
	message := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body))) //nolint:gosec // a few bytes
	return append(message, body...)
}

// resized is a message with another length and the same bytes.
func resized(message []byte, size int) []byte {
	binary.BigEndian.PutUint32(message[1:], uint32(size)) //nolint:gosec // a wrong one is meant
	return message
}

// readOn reads all rows behind after, also over failures that are worth a repetition, and returns the last of those.
func readOn(t *testing.T, src source.Source, q row.Query, after row.Key) (ids []string, failure error) {
	t.Helper()
	var b row.Batch
	for range 100 {
		err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 25, Bytes: 1 << 20}, &b)
		switch {
		case err != nil && (job.KindOf(err) != job.Transient || failure != nil):
			t.Fatal(err)
		case err != nil:
			failure = err
			continue
		case b.Rows() == 0:
			return ids, failure
		}
		for r := range b.Rows() {
			id, _ := b.Value(r, 0)
			ids = append(ids, string(id))
		}
		after = b.Key(b.Rows()-1, len(q.Key))
	}
	t.Fatal("the rows have no end")
	return nil, nil
}

// What the server says wrong may fail a read; it must never shorten the file.
func TestPostgresMessagesThatAreNotDueLoseNoRow(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Schema(t)
	pgtest.Exec(t, dsn, mixedOrders,
		`INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'note ' || i FROM generate_series(1, 60) AS g(i)`)
	var want []string
	for i := 1; i <= 60; i++ {
		want = append(want, fmt.Sprint(i))
	}
	b, past := standBetween(t, dsn)
	ready, complete, suspended := said('Z', "I"), said('C', "SELECT 1\x00"), said('s', "")
	failed := said('E', "SERROR\x00VERROR\x00C57P01\x00Mterminating connection\x00\x00")
	for _, c := range []struct {
		name   string
		kind   byte
		change func(message []byte) []byte
		cut    bool
		want   string // of the failure, empty when there is none to be
	}{
		{"ready before the answer", '1', func(m []byte) []byte { return append(ready, m...) }, false, "source_unavailable"},
		{"an earlier answer's end before this one", '1', func(m []byte) []byte { return slices.Concat(complete, ready, m) }, false, "source_unavailable"},
		{"ready among the rows", 'D', func(m []byte) []byte { return append(m, ready...) }, false, "source_unavailable"},
		{"an end among the rows", 'D', func(m []byte) []byte { return append(m, complete...) }, false, "source_unavailable"},
		{"a pause among the rows", 'D', func(m []byte) []byte { return append(m, suspended...) }, false, "source_unavailable"},
		{"ready instead of the end", 'C', func([]byte) []byte { return ready }, false, "source_unavailable"},
		{"rows that are not described", 'T', func([]byte) []byte { return nil }, false, "source_unavailable"},
		{"a description of nothing", 'T', func([]byte) []byte { return said('T', "\x00\x00") }, false, "source_unavailable"},
		{"a failure behind the end", 'C', func(m []byte) []byte { return append(m, failed...) }, false, "57P01"},
		{"a failure before ready", 'Z', func(m []byte) []byte { return append(failed, m...) }, false, "57P01"},
		{"a failure among the rows, and the connection's end", 'D', func(m []byte) []byte { return append(m, failed...) }, true, "57P01"},
		{"half a row, and the connection's end", 'D', func(m []byte) []byte { return m[:len(m)/2] }, true, "source_unavailable"},
		{"half a header, and the connection's end", 'D', func(m []byte) []byte { return m[:3] }, true, "source_unavailable"},
		{"a row with rubbish behind it", 'D', func(m []byte) []byte { return resized(append(m, "rubbish"...), len(m)+6) }, false, "source_unavailable"},
		{"a row that ends too early", 'D', func(m []byte) []byte { return resized(m, len(m)-2) }, false, "source_unavailable"},
		{"a row with a negative length", 'D', func(m []byte) []byte { return resized(m, -1) }, false, "source_unavailable"},
		{"a row without a length", 'D', func(m []byte) []byte { return resized(m, 0) }, false, "source_unavailable"},
		{"a row of one byte", 'D', func([]byte) []byte { return said('D', "\x00") }, false, "source_unavailable"},
		{"a row of no values", 'D', func([]byte) []byte { return said('D', "\x00\x00") }, false, "source_unavailable"},
		{"a value of less than no bytes", 'D', func(m []byte) []byte {
			last := len(m) - len("note 26")
			return resized(append(m[:last-4], "\xff\xff\xff\xfe"...), last-1)
		}, false, "source_unavailable"},
		{"ready before the proof", 'C', func(m []byte) []byte { return append(m, ready...) }, false, "source_unavailable"},
		{"an end before the proof", 'C', func(m []byte) []byte { return append(m, complete...) }, false, "source_unavailable"},
		{"a notice among the rows", 'D', func(m []byte) []byte { return append(said('N', "SNOTICE\x00C00000\x00Mhello\x00\x00"), m...) }, false, ""},
		{"a setting among the rows", 'D', func(m []byte) []byte { return append(said('S', "TimeZone\x00UTC\x00"), m...) }, false, ""},
	} {
		src := open(t, past)
		identity(t, src, mixedQuery())
		first := readSome(t, src, mixedQuery())
		changed := false
		b.to(func(kind byte, message []byte) ([]byte, bool) {
			if kind != c.kind || changed {
				return message, false
			}
			changed = true
			return c.change(message), c.cut
		})
		ids, failure := readOn(t, src, mixedQuery(), first)
		b.to(nil)
		if (c.want == "") != (failure == nil) || failure != nil && !strings.Contains(failure.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, failure, c.want)
		}
		if !slices.Equal(ids, want[25:]) {
			t.Errorf("%s: read rows %v, want 26 to 60", c.name, ids)
		}
		_ = src.Close()
	}
}

// An empty plan is an empty file: what is no answer to a statement may not make one.
func TestPostgresPlanIsNotMadeOfAnotherAnswer(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Schema(t)
	pgtest.Exec(t, dsn, mixedOrders,
		`INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'note ' || i FROM generate_series(1, 60) AS g(i)`)
	b, past := standBetween(t, dsn)
	for name, other := range map[string][]byte{
		"an earlier end":    said('C', "SELECT 1\x00"),
		"an earlier answer": slices.Concat(said('C', "SELECT 0\x00"), said('Z', "I")),
	} {
		for nth := range 7 {
			src := open(t, past)
			statements := 0
			b.to(func(kind byte, message []byte) ([]byte, bool) {
				if kind != '1' {
					return message, false
				}
				if statements++; statements != nth {
					return message, false
				}
				return slices.Concat(other, message), false
			})
			plan, err := src.Plan(context.Background(), mixedQuery(), source.PlanOptions{ShardRows: 20, ShardsMax: 10})
			b.to(nil)
			if nth == 0 && err != nil || err == nil && plan.Ceiling.String() != "2026-01-01T00:01:00Z/60" || err != nil && job.KindOf(err) != job.Transient {
				t.Errorf("%s before answer %d: ceiling %s, %v, want the last row's or a transient error", name, nth, plan.Ceiling, err)
			}
			_ = src.Close()
		}
	}
}

const mixedOrders = `CREATE TABLE orders (tenant text NOT NULL, created_at timestamptz NOT NULL, id bigint NOT NULL, note text);
	CREATE UNIQUE INDEX orders_key ON orders (tenant, created_at, id)`

func mixedQuery() row.Query {
	q := benchQuery()
	q.Columns = []row.Column{q.Columns[0], {Name: "note", Source: "note", Kind: row.String, Scale: -1}}
	return q
}

// readSome reads the first batch and returns its last key.
func readSome(t *testing.T, src source.Source, q row.Query) row.Key {
	t.Helper()
	var b row.Batch
	if err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: 25, Bytes: 1 << 20}, &b); err != nil || b.Rows() != 25 {
		t.Fatal(b.Rows(), err)
	}
	return b.Key(24, len(q.Key))
}
