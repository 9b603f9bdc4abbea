package lambda

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// invocation is one event on its way through a process.
type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
	done     chan result // buffered: the first outcome wins
	taken    atomic.Bool // the process has fetched it
}

// process is one running copy of a function. Its fields above mu never change; exited and ready are closed once.
type process struct {
	id     string
	fn     *function
	cmd    *exec.Cmd
	next   chan *invocation
	ready  chan struct{} // closed when the runtime has asked for its first invocation and every extension for its first event
	failed chan []byte   // what the runtime reported instead of becoming ready
	exited chan struct{}

	idleSince time.Time // guarded by fn.mu
	busy      atomic.Bool
	peakBytes atomic.Int64
	doomed    atomic.Bool // a kill was sent; it must not be given another invocation
	tooLarge  atomic.Bool // it passed its memory limit and is being killed

	mu         sync.Mutex
	current    *invocation
	extensions extensions
	readyOnce  sync.Once
	exit       error // valid once exited is closed
}

// start starts a new process of a function; it returns before the process is ready. A context that ends would kill the process.
func (h *Host) start(ctx context.Context, f *function) (*process, error) {
	binary, err := f.binary()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the Runtime API of function %s: %w", f.Name, err)
	}
	p := &process{
		id: h.opt.NewID(), fn: f,
		next: make(chan *invocation, 1), ready: make(chan struct{}), failed: make(chan []byte, 1), exited: make(chan struct{}),
		extensions: extensions{names: map[string]string{}, asked: map[string]bool{}},
	}
	p.busy.Store(true) // so that its memory is watched while it starts
	taskRoot := filepath.Dir(binary)
	cmd := exec.CommandContext(ctx, binary)
	cmd.Dir = taskRoot
	cmd.Env = f.environment(p.id, listener.Addr().String(), taskRoot)
	lines := &lineWriter{output: h.output, name: f.Name}
	cmd.Stdout, cmd.Stderr = lines, lines
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = attributes()
	p.cmd = cmd
	if err := h.spawn(cmd); err != nil {
		_ = listener.Close() // nobody has connected
		return nil, fmt.Errorf("start function %s: %w", f.Name, err)
	}
	if !h.adopt(p) {
		p.kill()
	}
	server := &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: 10 * time.Second}
	serving := make(chan struct{})
	go func() {
		defer close(serving)
		_ = server.Serve(listener) // ends when the process does, by server.Close below
	}()
	go func() {
		p.exit = cmd.Wait()
		lines.flush()
		close(p.exited)
		_ = server.Close() // its only client is gone
		<-serving
		f.forget(p)
		h.work.Done()
	}()
	go p.watchMemory()
	return p, nil
}

// adopt registers a process and counts it as work. When the host has begun to stop, the process must be killed at once: its stop round has passed.
func (h *Host) adopt(p *process) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.work.Add(1) // the invocation that started it is still counted, so the counter is above zero
	p.fn.register(p)
	return !h.closed
}

// awaitInit waits until the process asks for its first invocation.
func (p *process) awaitInit(requestID string) (result, bool) {
	timer := time.NewTimer(initTimeout)
	defer timer.Stop()
	select {
	case <-p.ready:
		return result{}, true
	case report := <-p.failed:
		return result{kind: kindInit, payload: report}, false
	case <-p.exited:
		select {
		case report := <-p.failed:
			return result{kind: kindInit, payload: report}, false
		default:
		}
		if p.tooLarge.Load() {
			return p.memoryResult(requestID), false
		}
		return failed(kindInit, requestID, "Runtime exited during init: "+p.exitText()), false
	case <-timer.C:
		return failed(kindInit, requestID, fmt.Sprintf("init took longer than %v", initTimeout)), false
	}
}

// handle gives the process one invocation and waits for its outcome. It is false when the process ended before it took the invocation.
func (p *process) handle(inv *invocation) (result, bool) {
	inv.deadline = time.Now().Add(p.fn.Timeout)
	p.mu.Lock()
	p.current = inv
	p.mu.Unlock()
	p.busy.Store(true)
	defer func() {
		p.busy.Store(false)
		p.mu.Lock()
		p.current = nil
		p.mu.Unlock()
	}()
	p.next <- inv // buffered, and there is one invocation at a time
	timer := time.NewTimer(p.fn.Timeout)
	defer timer.Stop()
	select {
	case out := <-inv.done:
		return p.settle(out), true
	case <-p.exited:
	case <-timer.C:
		select {
		case out := <-inv.done:
			return p.settle(out), true
		default:
		}
		p.stop() // an answer that comes in the grace time is too late
		detail := fmt.Sprintf("Task timed out after %.2f seconds", p.fn.Timeout.Seconds())
		return failed(kindTimeout, inv.id, detail), true
	}
	select {
	case out := <-inv.done:
		return p.settle(out), true
	default:
	}
	switch {
	case p.tooLarge.Load():
		return p.memoryResult(inv.id), true
	case !inv.taken.Load():
		return result{}, false
	}
	return failed(kindCrash, inv.id, "Runtime exited with error: "+p.exitText()), true
}

// settle makes sure that a process which may not be used again is gone before its place is given away.
func (p *process) settle(out result) result {
	if out.kind == kindMemory {
		p.kill()
		<-p.exited
	}
	return out
}

func (p *process) memoryResult(requestID string) result {
	return failed(kindMemory, requestID, fmt.Sprintf("Runtime exited with error: signal: killed; the process used more than its %d MB", p.fn.MemoryMiB))
}

func (p *process) exitText() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return strings.TrimPrefix(p.exit.Error(), "exec: ")
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// usable says whether the process may be given an invocation.
func (p *process) usable() bool { return p.alive() && !p.doomed.Load() }

// kill ends the process and what it has started; killing one that is gone is harmless.
func (p *process) kill() {
	p.doomed.Store(true)
	p.signal(syscall.SIGKILL)
}

func (p *process) peak() int64 { return p.peakBytes.Load() }

// stop ends the process: one with an extension hears SIGTERM and has the grace time to end by itself, as on AWS.
func (p *process) stop() {
	p.doomed.Store(true)
	if p.warned() {
		p.signal(syscall.SIGTERM)
		timer := time.NewTimer(p.fn.host.opt.StopGrace)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
		}
	}
	p.kill()
	<-p.exited
}

// watchMemory kills the process once its resident set has been above its memory size. An idle process is frozen on AWS and is not looked at here.
func (p *process) watchMemory() {
	timer := time.NewTimer(memoryLookMin)
	defer timer.Stop()
	for {
		select {
		case <-p.exited:
			return
		case <-timer.C:
			if p.busy.Load() {
				p.checkMemory()
			}
			left := time.Duration((p.memoryLimit() - p.peakBytes.Load()) / growthPerMillisecond)
			timer.Reset(min(max(left*time.Millisecond, memoryLookMin), memoryLookMax))
		}
	}
}

// memoryLimit is the resident set in bytes that ends the process.
func (p *process) memoryLimit() int64 { return int64(p.fn.MemoryMiB) << 20 }

// checkMemory reads the highest resident set so far; it is false when the process is over its limit, which ends it.
func (p *process) checkMemory() bool {
	peak, ok := residentPeak(p.cmd.Process.Pid)
	if !ok {
		return !p.tooLarge.Load() // it is gone; what was seen before decides
	}
	for {
		before := p.peakBytes.Load()
		if peak <= before || p.peakBytes.CompareAndSwap(before, peak) {
			break
		}
	}
	if peak > p.memoryLimit() {
		p.tooLarge.Store(true)
		p.kill()
		return false
	}
	return true
}
