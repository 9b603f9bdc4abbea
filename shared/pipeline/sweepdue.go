package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// scanDue is the scan whose position says, for each bucket of which a sweep could not take all rows, behind which row the
// next one begins. So rows that nobody can move, however many, keep no others from being looked at.
const scanDue = "due"

// classWoken is the class of due rows that a message was sent for.
const classWoken = "woken"

// bucket is how far a sweep has come in one bucket of the due index.
type bucket struct {
	span DueSpan
	rows int
	over bool
}

// dueRows takes the rows that are due, a page of each bucket in turn, earliest first in the end; and says from where the
// next sweep has to go on.
func (s Sweeper) dueRows(ctx context.Context, was string, until time.Time, round *round) (rows []DueRow, next string) {
	from := dueFrom(was)
	buckets := make([]bucket, limits.DueBuckets)
	for n := range buckets {
		name := job.DueBucketName(n)
		buckets[n].span = DueSpan{Bucket: name, After: from[name], Limit: limits.DuePage}
	}
	for open := true; open && !past(ctx, until); {
		open = false
		for n := range buckets {
			if b := &buckets[n]; !b.over && b.rows < limits.DueRowsMax && !past(ctx, until) {
				rows = append(rows, s.duePage(ctx, b, round)...)
				open = true
			}
		}
	}
	positions := map[string]string{}
	for _, b := range buckets {
		if b.over {
			if _, behind := from[b.span.Bucket]; behind {
				round.unreached(b.span.Bucket + " before the row that it began behind")
			}
			continue
		}
		round.unreached(fmt.Sprintf("%s after %d rows", b.span.Bucket, b.rows))
		if b.span.After != (DueRow{}) {
			positions[b.span.Bucket] = strconv.FormatInt(b.span.After.DueAt.UnixMilli(), 10) + "\x00" + b.span.After.Key.PK + "\x00" + b.span.After.Key.SK
		}
	}
	slices.SortStableFunc(rows, func(a, b DueRow) int { return a.DueAt.Compare(b.DueAt) })
	if len(positions) == 0 {
		return rows, ""
	}
	text, err := json.Marshal(positions)
	round.met("position of due rows", err, 1)
	return rows, string(text)
}

// duePage takes the next page of a bucket. A bucket that can't be read is over: the next sweep begins it anew.
func (s Sweeper) duePage(ctx context.Context, b *bucket, round *round) []DueRow {
	b.span.At = s.Ledger.Now()
	page, err := s.Ledger.Due(ctx, b.span)
	round.met(b.span.Bucket, err, 1)
	if err != nil {
		round.unreached(fmt.Sprintf("%s after %d rows", b.span.Bucket, b.rows))
	}
	b.over = err != nil || len(page) < b.span.Limit
	b.rows += len(page)
	if len(page) > 0 {
		b.span.After = page[len(page)-1]
	}
	return page
}

// dueFrom reads what dueRows has written; a bucket without a position, or with one that can't be read, begins at its first.
func dueFrom(position string) map[string]DueRow {
	var texts map[string]string
	if json.Unmarshal([]byte(position), &texts) != nil {
		return nil
	}
	rows := map[string]DueRow{}
	for bucket, text := range texts {
		millis, key, _ := strings.Cut(text, "\x00")
		pk, sk, _ := strings.Cut(key, "\x00")
		at, err := strconv.ParseInt(millis, 10, 64)
		if err == nil && pk != "" && sk != "" {
			rows[bucket] = DueRow{Key: job.RowKey{PK: pk, SK: sk}, DueAt: time.UnixMilli(at).UTC()}
		}
	}
	return rows
}

// line is the due rows of one job that wait for their turn.
type line struct {
	keys  []job.RowKey
	woken int
}

// lines sorts due rows by their job; whoever is due first comes first. Clean-ups, which take long, are apart.
func lines(rows []DueRow) (all []line, cleanUps []job.RowKey) {
	index := map[string]int{}
	for _, row := range rows {
		if _, unitID, ok := job.ParseRowKey(row.Key); ok && unitID == job.CleanID {
			cleanUps = append(cleanUps, row.Key)
			continue
		}
		at, known := index[row.Key.PK]
		if !known {
			at = len(all)
			index[row.Key.PK] = at
			all = append(all, line{})
		}
		all[at].keys = append(all[at].keys, row.Key)
	}
	return all, cleanUps
}

// takeTurns visits one row of each job after the other until all are visited or the time is over, so that no job's mass
// keeps another waiting. A job that has had its share of messages waits for the next sweep.
func (s Sweeper) takeTurns(ctx context.Context, waiting []line, until time.Time, round *round) {
	var left []line
	for len(waiting) > 0 && !past(ctx, until) {
		kept := waiting[:0:0]
		for n := range waiting {
			l := &waiting[n]
			if !past(ctx, until) {
				s.visitNext(ctx, l, round)
			}
			switch {
			case len(l.keys) == 0:
			case l.woken < limits.WakesMax:
				kept = append(kept, *l)
			default:
				left = append(left, *l)
			}
		}
		waiting = kept
	}
	round.unvisited(append(left, waiting...))
}

// visitNext visits the first of a job's rows. What this release can't read it leaves alone, and when that is the job's own
// row, with it all others.
func (s Sweeper) visitNext(ctx context.Context, l *line, round *round) {
	key := l.keys[0]
	l.keys = l.keys[1:]
	jobID, unitID, ok := job.ParseRowKey(key)
	if !ok {
		round.due("foreign", key, nil, 1)
		return
	}
	j, err := readJob(ctx, s.Ledger, jobID)
	if job.Unreadable(err) {
		round.due(classUnread, key, err, 1+len(l.keys))
		l.keys = nil
		return
	}
	class := ""
	if err == nil {
		class, err = s.visit(ctx, j, unitID)
	}
	switch {
	case job.KindOf(err) == job.Fenced:
		class, err = "moved", nil // somebody was faster, which is as good
	case job.Unreadable(err):
		class = classUnread
	case err != nil:
		class = "failed"
	case class == classWoken:
		l.woken++
	}
	round.due(class, key, err, 1)
}

// cleanUps runs the clean-ups that are due, those of one tenant after another's. Each gets its share of the time, and goes
// on in the next sweep.
func (s Sweeper) cleanUps(ctx context.Context, keys []job.RowKey, round *round) {
	until := share(ctx, limits.CleanPercent)
	keys = s.tenantsInTurn(ctx, keys)
	for n, key := range keys {
		turn, enough := turnOf(until, len(keys)-n)
		if past(ctx, until) || !enough {
			round.unreached(fmt.Sprintf("%d clean-ups", len(keys)-n))
			return
		}
		own, cancel := ctx, context.CancelFunc(func() {})
		if turn > 0 {
			own, cancel = context.WithTimeout(ctx, turn)
		}
		s.visitNext(own, &line{keys: []job.RowKey{key}}, round)
		cancel()
	}
}

// tenantsInTurn puts one unit of each tenant after the other; each tenant's keep their order. Those that there is no time to
// look at come last.
func (s Sweeper) tenantsInTurn(ctx context.Context, keys []job.RowKey) []job.RowKey {
	until := share(ctx, limits.LookPercent)
	type placed struct {
		key  job.RowKey
		turn int
	}
	turns := map[string]int{}
	units := make([]placed, len(keys))
	for n, key := range keys {
		units[n] = placed{key: key, turn: len(keys)}
		if len(keys) == 1 || past(ctx, until) {
			continue
		}
		// One that can't be read is nobody's; whoever visits it says so.
		fields, _ := s.Ledger.Row(ctx, key, "tenant")
		tenant, _ := fields["tenant"].(string)
		units[n].turn = turns[tenant]
		turns[tenant]++
	}
	slices.SortStableFunc(units, func(a, b placed) int { return cmp.Compare(a.turn, b.turn) })
	inTurn := make([]job.RowKey, len(units))
	for n, unit := range units {
		inTurn[n] = unit.key
	}
	return inTurn
}
