package connection

import (
	"context"
	"sync"
	"time"

	"sealift/shared/source"
)

// resting is a source that nobody uses at the moment.
type resting struct {
	source source.Lasting
	with   secret
	// alarm closes it when nobody has come for it.
	alarm *time.Timer
}

// lent is a source in the hands of a caller, whose Close lets it rest.
type lent struct {
	source.Source

	end   func() error
	renew func(ctx context.Context) (source.Source, error)
}

// Close gives the source back; the second time it does nothing.
func (l lent) Close() error { return l.end() }

// Renew reads the secret of the source's connection again if the source was opened with a string from before, and opens the
// source that a changed one names, beside this one. It returns nil when the string is still the same.
func (l lent) Renew(ctx context.Context) (source.Source, error) { return l.renew(ctx) }

// loan is what is known of a source that is given to a caller.
type loan struct {
	connection string
	with       secret
	// kept says that the string was read earlier, for another source.
	kept bool
}

// lend makes a source rest when its caller closes it, if it can, whether or not ctx has ended by then.
func (s *Sources) lend(ctx context.Context, opened source.Source, l loan) source.Source {
	lasting, lasts := opened.(source.Lasting)
	lasts = lasts && s.config.Rest > 0
	if !lasts && !l.kept {
		return opened
	}
	end := opened.Close
	if lasts {
		end = func() error { return s.rest(context.WithoutCancel(ctx), lasting, l.with) }
	}
	return lent{Source: opened, end: sync.OnceValue(end), renew: func(ctx context.Context) (source.Source, error) {
		if !l.kept {
			return nil, nil //nolint:nilnil // the string was read for this very source
		}
		return s.renew(ctx, l.connection, l.with)
	}}
}

// rest keeps the source, in place of another that rests already, until it is woken or its time is over.
func (s *Sources) rest(ctx context.Context, lasting source.Lasting, with secret) error {
	wait := min(s.config.Rest, with.until.Sub(s.config.Now()))
	if wait <= 0 || !lasting.Rest(ctx) {
		return lasting.Close()
	}
	r := &resting{source: lasting, with: with}
	s.mu.Lock()
	before := s.resting
	s.resting = r
	r.alarm = time.AfterFunc(wait, func() { s.expire(r) })
	s.mu.Unlock()
	return before.close()
}

// expire closes a source that still rests.
func (s *Sources) expire(r *resting) {
	s.mu.Lock()
	mine := s.resting == r
	if mine {
		s.resting = nil
	}
	s.mu.Unlock()
	if mine {
		_ = r.close()
	}
}

// wake is the source that rests if it is of this connection string and its server still answers; nil otherwise, and none
// rests any more.
func (s *Sources) wake(ctx context.Context, with secret) source.Source {
	s.mu.Lock()
	r := s.resting
	s.resting = nil
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	// After a sleep of the whole machine the alarm may be late.
	if r.with == with && s.config.Now().Before(with.until) && r.source.Wake(ctx) {
		r.alarm.Stop()
		return r.source
	}
	_ = r.close()
	return nil
}

// close ends the connection; nil has none.
func (r *resting) close() error {
	if r == nil {
		return nil
	}
	r.alarm.Stop()
	return r.source.Close()
}
