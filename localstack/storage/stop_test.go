//go:build !aws

package storage

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// watched is a connection that tells of its end.
type watched struct {
	net.Conn
	onClose func()
}

// Close tells and ends.
func (c watched) Close() error {
	c.onClose()
	return c.Conn.Close()
}

// TestAConnectionThatWasNeverUsedDoesNotHoldTheEndUp makes such a connection as a
// pool does: its request is gone by the time that it is there. The gateway takes it
// for one whose request is being read, and would wait for that until it gives up.
func TestAConnectionThatWasNeverUsedDoesNotHoldTheEndUp(t *testing.T) {
	work, err := os.Getwd()
	ok(t, err)
	e, err := Open(t.TempDir(), Options{Region: region, AcceptToken: func(string) bool { return false }, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	ok(t, e.Ready(t.Context()))

	dialing, wanted, dialed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	dial := e.pool.DialContext
	e.pool.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		close(dialing)
		<-wanted
		conn, err := dial(context.WithoutCancel(ctx), network, address)
		close(dialed)
		return watched{conn, func() { close(ended) }}, err
	}
	asking, give := context.WithCancel(t.Context())
	go func() {
		<-dialing
		give()
		close(wanted)
	}()
	request, err := http.NewRequestWithContext(asking, http.MethodGet, "http://object-store/", nil)
	ok(t, err)
	if _, err := e.pool.RoundTrip(request); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
		t.Fatalf("the request was answered: %v", err)
	}
	<-dialed
	// Connections are accepted in order: when a later one is answered, the gateway has the one before.
	later, err := (&net.Dialer{}).DialContext(t.Context(), "unix", e.socket)
	ok(t, err)
	_, err = io.WriteString(later, "GET / HTTP/1.1\r\nHost: object-store\r\nConnection: close\r\n\r\n")
	ok(t, err)
	_, err = io.Copy(io.Discard, later)
	ok(t, err)
	ok(t, later.Close())

	cancel()
	ok(t, <-done)
	select {
	case <-ended:
	default:
		t.Error("the store gave up waiting for a connection that nobody had ended")
	}
	ok(t, e.Close())
	ok(t, os.Chdir(work))
}
