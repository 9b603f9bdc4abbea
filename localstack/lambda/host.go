package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"sealift/localstack/template"
)

const (
	payloadBytesMax      = 6291556 // of a synchronous request and of a response, as Lambda counts its 6 MB
	eventPayloadBytesMax = 1 << 20
	eventsMax            = 1000
	initTimeout          = 10 * time.Second
	// A process is looked at again before it can have used up what is left of its memory, if it grows no faster than this.
	growthPerMillisecond = 2 << 20
	memoryLookMin        = 5 * time.Millisecond
	memoryLookMax        = 100 * time.Millisecond
)

// Reasons for which an invocation is refused before any function sees it.
var (
	ErrNotFound    = errors.New("function not found")
	ErrThrottled   = errors.New("rate exceeded")
	ErrTooLarge    = errors.New("request too large")
	ErrInvalidJSON = errors.New("payload is not JSON")
	ErrClosed      = errors.New("the Lambda host is shut down")
)

// Options are what a Host needs. Fields without a default named beside them are required.
type Options struct {
	BinDir    string // holds <name> or <name>/bootstrap for every function, <name> being the last element of its CodeUri
	Region    string
	AccountID string
	Endpoint  string // what functions get as AWS_ENDPOINT_URL
	Output    io.Writer
	Logger    *slog.Logger
	Now       func() time.Time
	NewID     func() string // a new UUID

	ConcurrencyMax int           // of all functions together; 200
	IdleMax        time.Duration // how long a process waits for its next invocation; 2 minutes
	StopGrace      time.Duration // between SIGTERM and SIGKILL of a process with an extension; 500 ms, as on AWS. The others are killed at once
	RetryDelay     time.Duration // before the first repetition of a failed event, doubled for the second; 1 minute, as on AWS

	// OnFailure delivers the record of an event that failed for good to the function's OnFailure destination. Nil when no function has one.
	OnFailure func(ctx context.Context, destinationARN string, record []byte) error
}

// Host runs functions. Its methods are safe for concurrent use; invocations wait until Run runs.
type Host struct {
	opt       Options
	functions map[string]*function
	slots     chan struct{} // one token per invocation in flight
	events    chan struct{} // one token per event that waits in memory
	spawns    chan spawn
	stopped   chan struct{} // closed when Run has begun to stop
	output    *output

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // invocations, events and processes; added to under mu while not closed
}

// New returns a host for the functions of a stack. It starts nothing: Run does.
func New(functions []template.Function, opt Options) (*Host, error) {
	opt.ConcurrencyMax = cmp.Or(opt.ConcurrencyMax, 200)
	opt.IdleMax = cmp.Or(opt.IdleMax, 2*time.Minute)
	opt.StopGrace = cmp.Or(opt.StopGrace, 500*time.Millisecond)
	opt.RetryDelay = cmp.Or(opt.RetryDelay, time.Minute)
	if opt.BinDir == "" || opt.Output == nil || opt.Logger == nil || opt.Now == nil || opt.NewID == nil {
		return nil, errors.New("lambda host: BinDir, Output, Logger, Now and NewID are required; set them in Options")
	}
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("lambda host: memory limits and the end of children are enforced by Linux; on %s run it in a Linux virtual machine", runtime.GOOS)
	}
	dir, err := filepath.Abs(opt.BinDir) // an embedded engine may change the working directory later
	if err != nil {
		return nil, fmt.Errorf("lambda host: resolve directory of functions %s: %w", opt.BinDir, err)
	}
	opt.BinDir = dir
	h := &Host{
		opt:       opt,
		functions: map[string]*function{},
		slots:     make(chan struct{}, opt.ConcurrencyMax),
		events:    make(chan struct{}, eventsMax),
		spawns:    make(chan spawn),
		stopped:   make(chan struct{}),
		output:    &output{to: opt.Output},
	}
	for _, f := range functions {
		h.functions[f.Name] = newFunction(h, f)
	}
	return h, nil
}

// Run starts processes for the invocations until ctx ends, then stops all of them and returns when none is left. It runs once.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	spawner := make(chan struct{})
	stopSpawner := make(chan struct{})
	go func() {
		defer close(spawner)
		h.serveSpawns(stopSpawner)
	}()
	ticker := time.NewTicker(max(h.opt.IdleMax/4, time.Millisecond))
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			for _, f := range h.functions {
				f.reap(h.opt.Now().Add(-h.opt.IdleMax))
			}
		}
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	close(h.stopped)
	var stops sync.WaitGroup
	for _, f := range h.functions {
		for _, p := range f.all() {
			stops.Go(p.stop)
		}
	}
	stops.Wait()
	h.work.Wait()
	close(stopSpawner)
	<-spawner
	return nil
}

// begin counts one more piece of work that Run has to wait for; it is false once the host stops.
func (h *Host) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// Invoke runs a function once and returns what it answered; a function that failed is a Response with FunctionError set, not an error. The error is one
// of this package's sentinels, or the context's: the invocation goes on then, as on AWS, and its answer is dropped.
func (h *Host) Invoke(ctx context.Context, name string, payload []byte) (Response, error) {
	if len(payload) == 0 {
		payload = []byte("{}") // what a function sees on AWS when the caller sends nothing
	}
	f, err := h.admit(name, payload, payloadBytesMax)
	if err != nil {
		return Response{}, err
	}
	release, err := f.acquire()
	if err != nil {
		return Response{}, err
	}
	if !h.begin() {
		release()
		return Response{}, ErrClosed
	}
	answer := make(chan Response, 1)
	go func() {
		defer h.work.Done()
		response := f.serve(context.WithoutCancel(ctx), &invocation{id: h.opt.NewID(), payload: payload, done: make(chan result, 1)})
		release()
		answer <- response
	}()
	select {
	case response := <-answer:
		return response, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
}

// admit finds the function and checks the payload.
func (h *Host) admit(name string, payload []byte, bytesMax int) (*function, error) {
	f, ok := h.functions[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s; the template has no function of that name", ErrNotFound, name)
	}
	if len(payload) > bytesMax {
		return nil, fmt.Errorf("%w: %d bytes for function %s; at most %d are accepted", ErrTooLarge, len(payload), name, bytesMax)
	}
	if !json.Valid(payload) {
		return nil, fmt.Errorf("%w: for function %s; send a JSON value", ErrInvalidJSON, name)
	}
	return f, nil
}

// KillProcess kills the process with that id, as a crash of its machine would; it is false when there is none.
func (h *Host) KillProcess(id string) bool {
	for _, f := range h.functions {
		for _, p := range f.all() {
			if p.id == id {
				p.kill()
				return true
			}
		}
	}
	return false
}

// Kill kills every process of a function and returns how many there were.
func (h *Host) Kill(name string) int {
	f, ok := h.functions[name]
	if !ok {
		return 0
	}
	processes := f.all()
	for _, p := range processes {
		p.kill()
	}
	return len(processes)
}

// FunctionStats is what the host has seen of one function since it started.
type FunctionStats struct {
	Name         string `json:"name"`
	MemoryMiB    int    `json:"memory_mib"`
	Invocations  int64  `json:"invocations"`
	Errors       int64  `json:"errors"` // all invocations that failed, time-outs and memory included
	Timeouts     int64  `json:"timeouts"`
	OutOfMemory  int64  `json:"out_of_memory"`
	Throttles    int64  `json:"throttles"`
	ColdStarts   int64  `json:"cold_starts"`
	PeakRSSBytes int64  `json:"peak_rss_bytes"`
	Processes    int    `json:"processes"`
	InFlight     int    `json:"in_flight"`
}

// Stats returns the figures of every function, by name.
func (h *Host) Stats() []FunctionStats {
	out := make([]FunctionStats, 0, len(h.functions))
	for _, f := range h.functions {
		out = append(out, f.snapshot())
	}
	slices.SortFunc(out, func(a, b FunctionStats) int { return strings.Compare(a.Name, b.Name) })
	return out
}
