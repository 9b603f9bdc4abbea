package storage

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// drainBytesMax and drainWait bound how much of a refused upload is read
	// and thrown away, so that its sender comes to read the answer.
	drainBytesMax = 256 << 20
	drainWait     = 10 * time.Second
)

// patient is a connection to the gateway on which a refused upload is still
// answered. The gateway may refuse a request before it has read the body, and
// hang up; a client that only sees its writing fail never learns why. So once
// the other side stops reading, the rest of the body is dropped and the answer
// that is already there gets read.
type patient struct {
	net.Conn
	dropping atomic.Bool
}

// Write sends p, or drops it when the gateway has stopped reading.
func (c *patient) Write(p []byte) (int, error) {
	if c.dropping.Load() {
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		c.dropping.Store(true)
		return len(p), nil
	}
	return n, err
}

// shared is a request body that the proxy reads first and drain ends. The proxy
// may still be reading when it returns, so turns are taken.
type shared struct {
	mu     sync.Mutex
	body   io.ReadCloser
	read   bool
	closed bool
	err    error
}

// Read reads from the client until the proxy closes the body.
func (s *shared) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	s.read = true
	n, err := s.body.Read(p)
	s.err = err
	return n, err
}

// Close ends the proxy's reading and leaves the body open for drain.
func (s *shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// drain reads what the gateway left. A client that was told to send a body keeps
// sending after it was refused; hanging up on it would lose the answer.
func (s *shared) drain(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if !s.read || s.err != nil {
		return
	}
	control := http.NewResponseController(w)
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(drainWait))
	if _, err := io.CopyN(io.Discard, s.body, drainBytesMax); errors.Is(err, io.EOF) {
		_ = control.SetReadDeadline(time.Time{})
	}
}
