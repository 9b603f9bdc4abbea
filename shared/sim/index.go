package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// index is the due index, which may lag behind the rows. There are few entries, so they are in no order.
type index struct {
	// alarms are the rows that are due some time, shown what those who ask for due rows are shown: the same, or in an index
	// that lags, as they were a moment ago.
	alarms, shown []alarm
	lag           time.Duration
	news          []news
}

// alarm is a row that is due some time.
type alarm struct {
	key    job.RowKey
	bucket string
	millis int64
}

// news is a change that an index that lags will show.
type news struct {
	at    time.Time
	alarm alarm
	due   bool
}

// put notes when a row is due.
func (x *index) put(now time.Time, key job.RowKey, row job.Fields) {
	millis, due := row[job.FieldDueAt].(int64)
	a := alarm{key, text(row, job.FieldDueBucket), millis}
	x.alarms = set(x.alarms, a, due)
	if x.lag > 0 {
		x.news = append(x.news, news{now, a, due})
	}
}

func set(alarms []alarm, a alarm, due bool) []alarm {
	at := slices.IndexFunc(alarms, func(other alarm) bool { return other.key == a.key })
	switch {
	case due && at < 0:
		return append(alarms, a)
	case due:
		alarms[at] = a
	case at >= 0:
		return slices.Delete(alarms, at, at+1)
	}
	return alarms
}

// show is what the index shows at a moment.
func (x *index) show(now time.Time) []alarm {
	if x.lag == 0 {
		return x.alarms
	}
	for len(x.news) > 0 && !x.news[0].at.Add(x.lag).After(now) {
		x.shown = set(x.shown, x.news[0].alarm, x.news[0].due)
		x.news = x.news[1:]
	}
	return x.shown
}

// LagIndex makes the due index lag behind the rows from now on. It is no call of the port.
func (l *Ledger) LagIndex(by time.Duration) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.state.index.lag, l.state.index.shown = by, slices.Clone(l.state.index.alarms)
}

// Due reads up to span.Limit rows of one bucket that are due at or before span.At, earliest first.
func (l *Ledger) Due(ctx context.Context, span pipeline.DueSpan) ([]pipeline.DueRow, error) {
	var rows []pipeline.DueRow
	err := l.read(ctx, "Due", "", span.Bucket, func() error {
		rows = due(l.state.index.show(l.world.Clock.Now()), span)
		return checkLimit("read due rows", span.Limit)
	})
	return or(rows, err)
}

func due(alarms []alarm, span pipeline.DueSpan) []pipeline.DueRow {
	after := alarm{key: span.After.Key, millis: span.After.DueAt.UnixMilli()}
	var found []alarm
	for _, a := range alarms {
		if a.bucket == span.Bucket && a.millis <= span.At.UnixMilli() && (span.After == pipeline.DueRow{} || order(a, after) > 0) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, order)
	rows := make([]pipeline.DueRow, 0, min(max(span.Limit, 0), len(found)))
	for _, a := range found[:cap(rows)] {
		rows = append(rows, pipeline.DueRow{Key: a.key, DueAt: time.UnixMilli(a.millis).UTC()})
	}
	return rows
}

func order(a, b alarm) int {
	return cmp.Or(cmp.Compare(a.millis, b.millis), cmp.Compare(a.key.PK, b.key.PK), cmp.Compare(a.key.SK, b.key.SK))
}

// NextDue is the earliest time at which a row is due; ok is false when none is. It is no call of the port.
func (l *Ledger) NextDue() (at time.Time, ok bool) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	for _, a := range l.state.index.alarms {
		if !ok || a.millis < at.UnixMilli() {
			at, ok = time.UnixMilli(a.millis).UTC(), true
		}
	}
	return at, ok
}
