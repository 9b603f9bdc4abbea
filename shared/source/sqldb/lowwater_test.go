package sqldb

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pair is both ends of a connection, the first of which gathers.
func pair(t *testing.T) (*lowWaterConn, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialled.Close() })
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	near := lowWaterOf(lowWater(dialled))
	near.gather(true)
	return near, far
}

func TestAGatheringReaderGetsWhatThereIs(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	// The far end says a little, and says more only when it is answered: who waited for waterBytes would wait for ever.
	failed := make(chan error, 1)
	go func() {
		answer := make([]byte, 1)
		for _, text := range []string{"a", "little", "at a time"} {
			if _, err := io.WriteString(far, text); err != nil {
				failed <- err
				return
			}
			if _, err := far.Read(answer); err != nil {
				failed <- err
				return
			}
		}
		failed <- far.Close()
	}()
	var got []byte
	room := make([]byte, 100)
	for {
		n, err := near.Read(room)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, room[:n]...)
		if _, err := near.Write([]byte("!")); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-failed; err != nil || string(got) != "alittleat a time" {
		t.Errorf("read %q (%v)", got, err)
	}
}

func TestAGatheringReaderLosesNothing(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	want := make([]byte, 20*waterBytes+12345)
	for i := range want {
		want[i] = byte(i * i >> 7)
	}
	go func() {
		for sent, piece := 0, 1; sent < len(want); piece = piece*7%8191 + 1 {
			n, err := far.Write(want[sent:min(sent+piece, len(want))])
			if err != nil {
				return
			}
			sent += n
		}
		_ = far.Close()
	}()
	var got []byte
	room := make([]byte, 3*waterBytes/2)
	for turn := 0; ; turn++ {
		// As a source does at the end of each chunk.
		near.gather(turn%5 != 4)
		n, err := near.Read(room)
		got = append(got, room[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, which are not the %d that were sent", len(got), len(want))
	}
}

func TestAGatheringReaderKeepsDeadlines(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*lowWaterConn) error{
		"before":  func(c *lowWaterConn) error { return c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) },
		"in past": func(c *lowWaterConn) error { return c.SetDeadline(time.Unix(1, 0)) },
		"meanwhile": func(c *lowWaterConn) error {
			time.AfterFunc(10*time.Millisecond, func() { _ = c.SetDeadline(time.Now()) })
			return nil
		},
	} {
		near, far := pair(t)
		if err := set(near); err != nil {
			t.Fatal(err)
		}
		if n, err := near.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read %d bytes, %v, want the deadline's error", name, n, err)
		}
		// Without gathering the deadline is still the same, and without a deadline the reader waits.
		near.gather(false)
		if n, err := near.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read %d bytes afterwards, %v, want the deadline's error", name, n, err)
		}
		if err := near.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*waterTime, func() { _, _ = far.Write([]byte("x")) })
		if n, err := near.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("%s: read %d bytes without a deadline, %v, want 1", name, n, err)
		}
	}
}

func TestAReaderThatWaitsAlreadyGathers(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	near.gather(false)
	// The reader that would wait for ever is let go, and fails.
	giveUp := time.AfterFunc(10*time.Second, func() { _ = near.Close() })
	defer giveUp.Stop()
	got := make(chan string)
	go func() {
		room := make([]byte, 100)
		n, err := near.Read(room)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- string(room[:n])
	}()
	time.Sleep(20 * time.Millisecond)
	near.gather(true)
	if _, err := io.WriteString(far, "little"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "little" {
		t.Errorf("read %q", text)
	}
}

// A driver that cancels sets a deadline for the server's last word, which is short.
func TestAGatheringReaderHearsALittleBeforeALaterDeadline(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	time.AfterFunc(waterTime/2, func() {
		_ = near.SetDeadline(time.Now().Add(5 * time.Second))
		time.AfterFunc(10*waterTime, func() { _, _ = io.WriteString(far, "little") })
	})
	room := make([]byte, 100)
	if n, err := near.Read(room); err != nil || string(room[:n]) != "little" {
		t.Errorf("read %q (%v)", room[:n], err)
	}
}
