package connection_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/connection"
	"sealift/shared/source"
)

// server opens sources that last, names them and keeps what became of each.
type server struct {
	told   []string
	asleep bool
	// restless sources can't wait.
	restless bool
	closed   chan string
}

type lasting struct {
	source.Source

	server *server
	name   string
}

func (s *server) open(_ context.Context, _, dsn string) (source.Source, error) {
	user, _, _ := strings.Cut(dsn, "-password")
	l := lasting{server: s, name: strings.TrimPrefix(user, "postgres://reader:")}
	s.told = append(s.told, "open "+l.name)
	return l, nil
}

func (l lasting) Rest(context.Context) bool {
	l.server.told = append(l.server.told, "rest "+l.name)
	return !l.server.restless
}

func (l lasting) Wake(context.Context) bool {
	l.server.told = append(l.server.told, "wake "+l.name)
	return !l.server.asleep
}

func (l lasting) Close() error {
	if l.server.closed != nil {
		l.server.closed <- l.name
		return nil
	}
	l.server.told = append(l.server.told, "close "+l.name)
	return nil
}

// resting are sources of two connections that rest.
func resting(t *testing.T, s *server, rest time.Duration) (sources *connection.Sources, v *vault, c *clock) {
	t.Helper()
	v = &vault{secrets: map[string]string{name: firstDSN, "sealift/connections/stock": secondDSN}}
	sources, c = sourcesWith(t, v, connection.Config{TTL: time.Minute, Rest: rest, Open: s.open})
	return sources, v, c
}

func TestAClosedSourceRestsForTheNext(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		rest time.Duration
		do   func(open func(connection string) source.Source, s *server, v *vault, c *clock)
		want []string
	}{
		"it is woken as often as it is wanted": {time.Hour, func(open func(string) source.Source, _ *server, _ *vault, _ *clock) {
			for range 3 {
				_ = open("orders").Close()
			}
		}, []string{"open first", "rest first", "wake first", "rest first", "wake first", "rest first"}},
		"closed twice it rests once": {time.Hour, func(open func(string) source.Source, _ *server, _ *vault, _ *clock) {
			first := open("orders")
			_, _ = first.Close(), first.Close()
			open("orders")
			_ = first.Close()
			open("orders")
		}, []string{"open first", "rest first", "wake first", "open first"}},
		"who doesn't wake is replaced": {time.Hour, func(open func(string) source.Source, s *server, _ *vault, _ *clock) {
			_ = open("orders").Close()
			s.asleep = true
			open("orders")
		}, []string{"open first", "rest first", "wake first", "close first", "open first"}},
		"one at a time rests": {time.Hour, func(open func(string) source.Source, _ *server, _ *vault, _ *clock) {
			one, two := open("orders"), open("orders")
			_, _ = one.Close(), two.Close()
		}, []string{"open first", "open first", "rest first", "rest first", "close first"}},
		"another connection ends it": {time.Hour, func(open func(string) source.Source, _ *server, _ *vault, _ *clock) {
			_ = open("orders").Close()
			_ = open("stock").Close()
		}, []string{"open first", "rest first", "close first", "open second", "rest second"}},
		"a changed secret ends it": {time.Hour, func(open func(string) source.Source, _ *server, v *vault, c *clock) {
			_ = open("orders").Close()
			v.put(name, secondDSN)
			c.now = c.now.Add(time.Minute)
			open("orders")
		}, []string{"open first", "rest first", "close first", "open second"}},
		"it doesn't rest when its secret is too old": {time.Hour, func(open func(string) source.Source, _ *server, _ *vault, c *clock) {
			first := open("orders")
			c.now = c.now.Add(time.Minute)
			_ = first.Close()
		}, []string{"open first", "close first"}},
		"who can't rest is closed": {time.Hour, func(open func(string) source.Source, s *server, _ *vault, _ *clock) {
			s.restless = true
			_ = open("orders").Close()
			open("orders")
		}, []string{"open first", "rest first", "close first", "open first"}},
		"without a time for it, it is closed at once": {0, func(open func(string) source.Source, _ *server, _ *vault, _ *clock) {
			_ = open("orders").Close()
		}, []string{"open first", "close first"}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			sources, v, clock := resting(t, s, c.rest)
			c.do(func(connection string) source.Source {
				t.Helper()
				opened, err := sources.Open(t.Context(), connection)
				if err != nil {
					t.Fatal(err)
				}
				return opened
			}, s, v, clock)
			if diff := cmp.Diff(c.want, s.told); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASourceThatNobodyWantsIsClosed(t *testing.T) {
	t.Parallel()
	s := &server{closed: make(chan string)}
	sources, _, _ := resting(t, s, time.Millisecond)
	opened, err := sources.Open(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := <-s.closed; closed != "first" {
		t.Errorf("closed %q", closed)
	}
}
