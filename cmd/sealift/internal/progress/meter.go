// Package progress owns how a long wait is shown: a rate over a sliding window, an estimate of the time left only when
// there is ground for one, and one line that is drawn over on a terminal or written now and then elsewhere. Start
// reading at Meter and Display. It imports nothing of the project.
package progress

import (
	"fmt"
	"math"
	"time"
)

const (
	// window is over how long a rate is taken.
	window = 20 * time.Second
	// ground is the least time over which a rate says anything.
	ground = time.Second
	// leftMax is the longest time left that is worth saying.
	leftMax = 99 * time.Hour
	// samplesMax bounds what is remembered; more frequent samples are merged into the last.
	samplesMax = 256
)

// sample is a count at a time.
type sample struct {
	at    time.Time
	count int64
}

// Meter estimates how fast a count grows. Its zero value is ready.
type Meter struct {
	samples []sample
	// moved is when the count was last seen to change, or first seen.
	moved time.Time
}

// Add notes a count. A count that falls, as when a shard is done again, starts the estimate anew.
func (m *Meter) Add(at time.Time, count int64) {
	if n := len(m.samples); n == 0 || count != m.samples[n-1].count {
		m.moved = at
	}
	if n := len(m.samples); n > 0 && (count < m.samples[n-1].count || at.Before(m.samples[n-1].at)) {
		m.samples = m.samples[:0]
	}
	if n := len(m.samples); n > 1 && at.Sub(m.samples[n-2].at) < window/samplesMax {
		m.samples = m.samples[:n-1]
	}
	m.samples = append(m.samples, sample{at, count})
	// One sample from before the window stays, so that a count that stands still is seen to.
	for len(m.samples) > 2 && at.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
}

// Rate is the growth per second; ok is false as long as too little was seen to tell.
func (m *Meter) Rate() (rate float64, ok bool) {
	n := len(m.samples)
	if n < 2 {
		return 0, false
	}
	first, last := m.samples[0], m.samples[n-1]
	took := last.at.Sub(first.at)
	if took < ground {
		return 0, false
	}
	return float64(last.count-first.count) / took.Seconds(), true
}

// Still is for how long the count was not seen to change.
func (m *Meter) Still(now time.Time) time.Duration {
	if len(m.samples) == 0 {
		return 0
	}
	return max(now.Sub(m.moved), 0)
}

// Left estimates the time until the count reaches total; ok is false when it can't be told: nothing moves, too little
// was seen, or the count is there already.
func (m *Meter) Left(total int64) (left time.Duration, ok bool) {
	rate, known := m.Rate()
	if !known || rate <= 0 {
		return 0, false
	}
	rest := total - m.samples[len(m.samples)-1].count
	seconds := float64(rest) / rate
	if rest <= 0 || seconds > leftMax.Seconds() {
		return 0, false
	}
	return time.Duration(math.Ceil(seconds)) * time.Second, true
}

// Span renders a duration in the two largest units that matter.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	hours, minutes, seconds := int64(d/time.Hour), int64(d/time.Minute)%60, int64(d/time.Second)%60
	switch {
	case hours > 0:
		return fmt.Sprintf("%dh %02dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm %02ds", minutes, seconds)
	}
	return fmt.Sprintf("%ds", seconds)
}
