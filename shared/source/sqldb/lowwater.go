package sqldb

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// lowWaterConn is a TCP connection whose reader may sleep until much has come. A server sends rows in pieces of a few
// kilobytes; a reader that is faster is woken for each of them, which costs both sides more than the reading does. It is
// what network cards do about interrupts. While it gathers, the system wakes the reader for waterBytes (socket(7),
// SO_RCVLOWAT), at the connection's end, and after waterTime for whatever is there, so that a peer which has no more to
// say is only heard a little later. Without such a system it is the connection that it is made of.
//
// Deadlines and gathering may change while a reader waits: the driver may have left one behind that waits for what is due
// next (it reads in the background while a write is slow).
type lowWaterConn struct {
	*net.TCPConn

	mu        sync.Mutex
	gathering bool
	// until is the deadline of those who use the connection, and soon the nearer one that was set instead while it gathers.
	until, soon time.Time
}

const (
	// waterBytes is much more than a peer sends at a time. The system makes the connection's buffer twice as large at least,
	// and wakes the reader before it is full, so that the peer needn't stop.
	waterBytes = 256 << 10
	// waterTime is what can be lost where less comes than was expected; a reader that wakes as seldom costs nothing.
	waterTime = 8 * time.Millisecond
)

// lowWater lets a connection gather, when it is one that can.
func lowWater(conn net.Conn) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &lowWaterConn{TCPConn: tcp}
	}
	return conn
}

// lowWaterOf finds what lowWater made below a connection; nil when there is none.
func lowWaterOf(conn net.Conn) *lowWaterConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*lowWaterConn)
	return c
}

// gather begins or ends to let the reader sleep. It should only do so when waterBytes are known to come. A nil connection
// never does.
func (c *lowWaterConn) gather(on bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gathering == on {
		return
	}
	bytes := 1
	if on {
		bytes = waterBytes
	}
	if !setLowWater(c.TCPConn, bytes) {
		return
	}
	c.gathering = on
	// It fails on a closed connection, which the read will tell.
	_ = c.limit()
}

// limit lets the next read, and one that waits already, wait until the deadline that was set, and no longer than
// waterTime while it gathers. It belongs to who holds mu.
func (c *lowWaterConn) limit() error {
	until := c.until
	c.soon = time.Time{}
	if c.gathering {
		if soon := time.Now().Add(waterTime); until.IsZero() || soon.Before(until) {
			until, c.soon = soon, soon
		}
	}
	return c.TCPConn.SetReadDeadline(until)
}

// renew begins the time anew that a read may take, unless at least half of it is left: to set a deadline wakes the thread
// that waits for all of them.
func (c *lowWaterConn) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gathering || time.Until(c.soon) > waterTime/2 {
		return
	}
	_ = c.limit()
}

// over reports whether the deadline that was set has passed.
func (c *lowWaterConn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.until.IsZero() && !time.Now().Before(c.until)
}

// Read implements net.Conn.
func (c *lowWaterConn) Read(p []byte) (int, error) {
	for {
		c.renew()
		n, err := c.TCPConn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.over() {
			return n, err
		}
	}
}

// SetDeadline implements net.Conn.
func (c *lowWaterConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *lowWaterConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.limit()
}
