package lambda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sealift/localstack/template"
)

// deliveriesMax is how many processes may die one after the other before they take an invocation.
const deliveriesMax = 5

// function is the pool of processes of one function.
type function struct {
	template.Function
	host     *Host
	reserved chan struct{} // nil without reserved concurrency
	inFlight atomic.Int64

	mu        sync.Mutex
	idle      []*process // the one used last is at the end and is used first
	processes map[string]*process
	stats     FunctionStats
}

func newFunction(h *Host, f template.Function) *function {
	out := &function{
		Function: f, host: h, processes: map[string]*process{},
		stats: FunctionStats{Name: f.Name, MemoryMiB: f.MemoryMiB},
	}
	if f.ReservedConcurrency != nil {
		out.reserved = make(chan struct{}, *f.ReservedConcurrency)
	}
	return out
}

// acquire takes one slot of concurrency, without waiting: Lambda throttles.
func (f *function) acquire() (release func(), err error) {
	pool, limit := f.host.slots, "of the account"
	if f.reserved != nil {
		pool, limit = f.reserved, "reserved for the function"
	}
	select {
	case pool <- struct{}{}:
		return func() { <-pool }, nil
	default:
		f.mu.Lock()
		f.stats.Throttles++
		f.mu.Unlock()
		return nil, fmt.Errorf("%w: function %s has used the concurrency %s (%d); try again later", ErrThrottled, f.Name, limit, cap(pool))
	}
}

// serve runs one invocation to its end. A process that died before it took the invocation costs nothing: the next one gets it.
func (f *function) serve(ctx context.Context, inv *invocation) Response {
	f.inFlight.Add(1)
	defer f.inFlight.Add(-1)
	for range deliveriesMax {
		p, started, err := f.take(ctx)
		if err != nil {
			return f.conclude(Response{RequestID: inv.id}, failed(kindInit, inv.id, err.Error()))
		}
		response := Response{RequestID: inv.id}
		if started {
			begun := time.Now()
			if out, ok := p.awaitInit(inv.id); !ok {
				p.kill()
				<-p.exited
				response.PeakRSSBytes = p.peak()
				return f.conclude(response, out)
			}
			response.InitDuration = time.Since(begun)
		}
		begun := time.Now()
		out, taken := p.handle(inv)
		if !taken {
			continue
		}
		response.Duration = time.Since(begun)
		response.PeakRSSBytes = p.peak()
		if p.usable() {
			f.put(p)
		}
		return f.conclude(response, out)
	}
	return f.conclude(Response{RequestID: inv.id}, failed(kindCrash, inv.id, "Runtime exited before it took the invocation, every time"))
}

// conclude counts, reports and shapes the outcome of one invocation.
func (f *function) conclude(response Response, out result) Response {
	response.Payload, response.kind = out.payload, out.kind
	if out.kind != kindDone {
		response.FunctionError = "Unhandled"
	}
	f.mu.Lock()
	f.stats.Invocations++
	f.stats.PeakRSSBytes = max(f.stats.PeakRSSBytes, response.PeakRSSBytes)
	if out.kind != kindDone {
		f.stats.Errors++
	}
	switch out.kind {
	case kindTimeout:
		f.stats.Timeouts++
	case kindMemory:
		f.stats.OutOfMemory++
	default: // counted above
	}
	f.mu.Unlock()
	f.host.output.line(f.Name, response.report(f.Function))
	return response
}

// take returns an idle process, or a new one that has not yet said that it is ready.
func (f *function) take(ctx context.Context) (p *process, started bool, err error) {
	f.mu.Lock()
	for len(f.idle) > 0 {
		p = f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if p.usable() {
			f.mu.Unlock()
			return p, false, nil
		}
	}
	f.mu.Unlock()
	p, err = f.host.start(ctx, f)
	if err != nil {
		return nil, false, err
	}
	return p, true, nil
}

func (f *function) put(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.idleSince = f.host.opt.Now()
	f.idle = append(f.idle, p)
}

func (f *function) register(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.processes[p.id] = p
	f.stats.ColdStarts++
}

func (f *function) forget(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.processes, p.id)
	f.idle = slices.DeleteFunc(f.idle, func(other *process) bool { return other == p })
}

func (f *function) all() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.processes))
}

// reap stops the processes that have been idle since before the given time and waits for their end.
func (f *function) reap(before time.Time) {
	f.mu.Lock()
	var old []*process
	f.idle = slices.DeleteFunc(f.idle, func(p *process) bool {
		if p.idleSince.Before(before) {
			old = append(old, p)
			return true
		}
		return false
	})
	f.mu.Unlock()
	var stops sync.WaitGroup
	for _, p := range old {
		stops.Go(p.stop)
	}
	stops.Wait()
}

func (f *function) snapshot() FunctionStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	stats := f.stats
	stats.Processes, stats.InFlight = len(f.processes), int(f.inFlight.Load())
	for _, p := range f.processes {
		stats.PeakRSSBytes = max(stats.PeakRSSBytes, p.peak())
	}
	return stats
}

// binary finds what sam build and go build leave: <dir>/<name>/bootstrap or <dir>/<name>.
func (f *function) binary() (string, error) {
	name := path.Base(filepath.ToSlash(f.CodeURI))
	plain := filepath.Join(f.host.opt.BinDir, name)
	for _, candidate := range []string{filepath.Join(plain, "bootstrap"), filepath.Join(f.host.opt.BinDir, f.LogicalID, "bootstrap"), plain} {
		info, err := os.Stat(candidate)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return candidate, nil
		case err == nil && info.Mode().IsRegular():
			return "", fmt.Errorf("binary %s is not executable; build it again (make build) or chmod +x it", candidate)
		case err != nil && !errors.Is(err, os.ErrNotExist) && !isNotDirectory(err):
			return "", fmt.Errorf("look for the binary of function %s: %w", f.Name, err)
		}
	}
	return "", fmt.Errorf("function %s has no binary at %s or %s; build the functions first (make build)", f.Name, plain, filepath.Join(plain, "bootstrap"))
}

// environment is everything that the process sees.
func (f *function) environment(processID, runtimeAPI, taskRoot string) []string {
	opt := f.host.opt
	out := []string{
		"AWS_LAMBDA_RUNTIME_API=" + runtimeAPI,
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.MemoryMiB),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + processID,
		"AWS_EXECUTION_ENV=AWS_Lambda_" + f.Runtime,
		"_HANDLER=" + f.Handler,
		"LAMBDA_TASK_ROOT=" + taskRoot,
		"LAMBDA_RUNTIME_DIR=" + taskRoot,
		"AWS_REGION=" + opt.Region,
		"AWS_DEFAULT_REGION=" + opt.Region,
		"AWS_ENDPOINT_URL=" + opt.Endpoint,
		"AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test",
		"AWS_SESSION_TOKEN=function/" + f.Name,
		"AWS_SDK_UA_APP_ID=" + processID,
		"AWS_EC2_METADATA_DISABLED=true",
		"TZ=:UTC",
		"LANG=en_US.UTF-8",
	}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		out = append(out, name+"="+f.Env[name])
	}
	return out
}
