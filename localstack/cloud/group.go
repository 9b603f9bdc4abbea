package cloud

import (
	"context"
	"fmt"
	"sync"
)

// group runs the parts of the cloud and remembers the first that failed.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
	failed chan struct{}

	mu  sync.Mutex
	err error
}

// newGroup is a group whose parts end when ctx does, or stop is called.
func newGroup(ctx context.Context) *group {
	ctx, cancel := context.WithCancel(ctx)
	return &group{ctx: ctx, cancel: cancel, failed: make(chan struct{})}
}

// sub is a group whose parts can be stopped before the others; its failures are
// the group's.
func (g *group) sub() *part {
	ctx, cancel := context.WithCancel(g.ctx)
	return &part{group: g, ctx: ctx, cancel: cancel}
}

// run starts a part. It must return when its context ends, and not before.
func (g *group) run(name string, work func(context.Context) error) {
	g.all.Go(func() {
		err := work(g.ctx)
		g.note(g.ctx, name, err)
	})
}

func (g *group) note(ctx context.Context, name string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = fmt.Errorf("%s stopped: %w", name, err)
		close(g.failed)
	}
}

// stop ends all parts and waits for them.
func (g *group) stop() {
	g.cancel()
	g.all.Wait()
}

// failure is the first part's error.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// part is a sub-group.
type part struct {
	group  *group
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func (p *part) run(name string, work func(context.Context) error) {
	p.all.Go(func() { p.group.note(p.ctx, name, work(p.ctx)) })
}

func (p *part) stop() {
	p.cancel()
	p.all.Wait()
}
