package lambda

import (
	"os/exec"
	"runtime"
)

// spawn is one request to start a process.
type spawn struct {
	cmd  *exec.Cmd
	done chan error
}

// serveSpawns starts every process from one operating system thread that lives as long as the host: the kernel ties the death signal of a child to
// the thread that started it, so that no child outlives the host, however the host ends. It never unlocks the thread: what is left of the children dies with it.
func (h *Host) serveSpawns(stop <-chan struct{}) {
	runtime.LockOSThread()
	for {
		select {
		case <-stop:
			return
		case s := <-h.spawns:
			s.done <- s.cmd.Start()
		}
	}
}

// spawn starts a command on the host's thread.
func (h *Host) spawn(cmd *exec.Cmd) error {
	s := spawn{cmd: cmd, done: make(chan error, 1)}
	select {
	case h.spawns <- s:
		return <-s.done
	case <-h.stopped:
		return ErrClosed
	}
}
