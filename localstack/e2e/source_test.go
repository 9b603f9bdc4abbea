package e2e

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"sealift/shared/source/pgtest"
)

// proveDownSource has a source that is away when it is asked and comes back at the same address.
func proveDownSource(t *testing.T, s *shared) {
	target, err := url.Parse(s.pg)
	ok(t, err)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	address := closed.Addr().String()
	ok(t, closed.Close())
	away := *target
	away.Host = address
	s.connect(t, "away", away.String())
	s.define(t, definition("away", "away", map[string]any{"shard_rows": 2_000}))
	ana := s.user(t, "away", "ana")
	id := ana.create(t, whole("away", "csv", "none"), "away")
	await(t, patience, "the plan of an export whose source is away is not tried again", func() (string, bool) {
		unit := s.unit(t, id, "plan")
		return unit["state"] + ", faults " + unit["faults"], unit["faults"] == "2"
	})
	if e := ana.show(t, id); e.State != "queued" {
		t.Fatalf("export %s is %s while its source is away", id, e.State)
	}
	relay(t, address, target.Host)
	e := ana.completed(t, id)
	if e.File.Rows != 0 {
		t.Errorf("tenant away has %d rows", e.File.Rows)
	}
	if attempts := s.unit(t, id, "plan")["history"]; strings.Count(attempts, "failed, will retry") < 2 {
		t.Errorf("the unit's history does not tell its failures: %s", attempts)
	}
}

// relay passes connections on until the test ends.
func relay(t *testing.T, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	ok(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			one, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			other, err := net.Dial("tcp", to)
			if err != nil {
				t.Error(err)
				_ = one.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{one, other}, {other, one}} {
				group.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_, _ = pair[0].Close(), pair[1].Close()
				})
			}
			context := t.Context()
			group.Go(func() {
				<-context.Done()
				_, _ = one.Close(), other.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
}

// proveBrokenSources has exports fail at once, for a reason that says what to mend.
func proveBrokenSources(t *testing.T, s *shared) {
	dropped := postgres(t, s.server, s.list[:100])
	pgtest.Exec(t, dropped, "ALTER TABLE orders DROP COLUMN code")
	s.connect(t, "dropped", dropped)
	gone := sqlite(t, s.list[:100])
	s.connect(t, "gone", gone)
	ok(t, os.Remove(strings.TrimPrefix(gone, "sqlite://")))
	for _, c := range []struct {
		connection string
		code       string
		says       []string
	}{
		{"dropped", "source_schema_changed", []string{"orders", "code", "restore it"}},
		{"gone", "source_denied", []string{"orders.db", "check the path"}},
		{"secretless", "connection_missing", []string{`"$STACK/connections/secretless"`, "bin/localstack connect --name secretless"}},
	} {
		t.Run(c.connection, func(t *testing.T) {
			t.Parallel()
			s.define(t, definition(c.connection, c.connection, map[string]any{}))
			bob := s.user(t, "broken", "bob")
			id := bob.create(t, whole(c.connection, "csv", "none"), c.connection)
			e := bob.ended(t, id, patience)
			if e.State != "failed" || e.Failure.Code != c.code || e.Failure.Unit != "plan" {
				t.Errorf("export %s is %s: %+v; want failed, %s, by its plan", id, e.State, e.Failure, c.code)
			}
			for _, words := range c.says {
				if !strings.Contains(e.Failure.Detail, words) {
					t.Errorf("the reason does not say %q: %s", words, e.Failure.Detail)
				}
			}
			bob.link(t, id).want(t, http.StatusConflict)
			s.settle(t, []string{id})
		})
	}
}
