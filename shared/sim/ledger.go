package sim

import (
	"context"
	"maps"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// Ledger is the table. Rows that it hands out are shared and must not be changed.
type Ledger struct {
	world *World
	state *rows
	lag   time.Duration
	actor string
	// off is how wrong the caller's own clock is, which counts until the ledger has answered; nil means that it has.
	off      time.Duration
	answered *atomic.Bool
	// halt is when the caller's clock stood still since the ledger last answered it.
	halt *atomic.Pointer[halt]
}

// halt is a stretch of time in which a process and its clock stood still.
type halt struct {
	from time.Time
	by   time.Duration
}

var _ pipeline.Ledger = (*Ledger)(nil)

// rows are the table's content: immutable rows by key, and the order of the sort keys of each partition.
type rows struct {
	byKey map[job.RowKey]job.Fields
	order map[string][]string
	index index
	// bound names, by object key, the completed job that delivers the object.
	bound map[string]string
	// taken and returned are all steps up and down of the tenants' counts of active jobs.
	taken, returned int64
	// steps is where a change is prepared, to be used again.
	steps []step
}

// writesMax is the ledger's limit on the writes of one change.
const writesMax = 100

func newLedger(w *World) *Ledger {
	return &Ledger{world: w, state: &rows{
		byKey: map[job.RowKey]job.Fields{}, order: map[string][]string{}, bound: map[string]string{},
	}}
}

// Adopt takes over all rows of another ledger as they stand, so that many worlds can begin alike. It is no call of the
// port.
func (l *Ledger) Adopt(other *Ledger) {
	maps.Copy(l.state.byKey, other.state.byKey)
	for pk, order := range other.state.order {
		l.state.order[pk] = slices.Clone(order)
	}
	l.state.index.alarms = append(l.state.index.alarms, other.state.index.alarms...)
	maps.Copy(l.state.bound, other.state.bound)
}

// Lagging is a view of the same ledger for a caller whose estimate of the ledger's time is behind by that much.
func (l *Ledger) Lagging(by time.Duration) *Ledger {
	view := *l
	view.lag = by
	return &view
}

// Now is the world's time less the view's lag, and less what its clock has missed; before the ledger has answered, it is
// what the caller's own clock says.
func (l *Ledger) Now() time.Time {
	now := l.world.Clock.Now()
	if l.answered == nil {
		return now.Add(-l.lag)
	}
	if missed := l.halt.Load(); missed != nil {
		now = now.Add(-min(now.Sub(missed.from), missed.by))
	}
	if !l.answered.Load() {
		return now.Add(l.off)
	}
	return now.Add(-l.lag)
}

// Halt makes the caller's clock stand still from now on for that long, as that of a suspended machine does. What it has
// missed it learns from the ledger's next answer. It is for views of World.Caller only.
func (l *Ledger) Halt(by time.Duration) { l.halt.Store(&halt{from: l.world.Clock.Now(), by: by}) }

// read and write make a call and note that the ledger has answered.
func (l *Ledger) read(ctx context.Context, method, of, subject string, effect func() error) error {
	call := Call{Port: PortLedger, Method: method, Actor: l.actor, Subject: subject, Of: of}
	return l.world.read(ctx, call, func() error { l.hear(); return effect() })
}

func (l *Ledger) write(ctx context.Context, method, subject string, effect func() error) error {
	call := Call{Port: PortLedger, Method: method, Actor: l.actor, Subject: subject}
	return l.world.write(ctx, call, func() error { l.hear(); return effect() })
}

func (l *Ledger) hear() {
	if l.answered != nil {
		l.answered.Store(true)
		l.halt.Store(nil)
	}
}

// Apply makes the change happen, wholly or not at all.
func (l *Ledger) Apply(ctx context.Context, change job.Change) error {
	return l.write(ctx, "Apply", change.Name(), func() error {
		if err := wellFormed(change); err != nil {
			return err
		}
		return l.state.apply(l.world, l.actor, change)
	})
}

func (s *rows) apply(w *World, actor string, change job.Change) error {
	var refused map[int]job.Fields
	for index, write := range change.Writes() {
		row := s.byKey[write.Key]
		for _, guard := range write.Guards {
			if guard.Holds(row) {
				continue
			}
			if refused == nil {
				refused = map[int]job.Fields{}
			}
			if refused[index] = row; row == nil {
				refused[index] = job.Fields{}
			}
			break
		}
	}
	if refused != nil {
		return change.Judge(refused)
	}
	s.steps = s.steps[:0]
	for index, write := range change.Writes() {
		old := s.byKey[write.Key]
		next, err := written(write, old)
		if err != nil {
			return job.Errorf(job.Permanent, "ledger_invalid", "change %s, write %d: %w", change.Name(), index, err)
		}
		s.steps = append(s.steps, step{write: write, old: old, next: next})
	}
	police(w, actor, change.Name(), s.steps)
	now := w.Clock.Now()
	for i := range s.steps {
		if step := &s.steps[i]; !step.write.Check {
			s.put(now, step.write.Key, step.next)
		}
	}
	return nil
}

func (s *rows) put(now time.Time, key job.RowKey, row job.Fields) {
	if _, exists := s.byKey[key]; !exists {
		order := s.order[key.PK]
		at, _ := slices.BinarySearch(order, key.SK)
		s.order[key.PK] = slices.Insert(order, at, key.SK)
	}
	if key.SK == "QUOTA" {
		by := number(row, "active_jobs") - number(s.byKey[key], "active_jobs")
		s.taken, s.returned = s.taken+max(by, 0), s.returned+max(-by, 0)
	}
	s.byKey[key] = row
	s.index.put(now, key, row)
	if key.SK == "JOB" && row[fieldState] == string(job.StateCompleted) {
		for _, field := range []string{"artifact_key", "artifact_receipt_key"} {
			if object, ok := row[field].(string); ok && object != "" {
				s.bound[object], s.bound[place(object)] = key.PK, key.PK
			}
		}
	} else if key.SK == "JOB" && row[fieldState] == string(job.StateExpired) {
		for object, owner := range s.bound {
			if owner == key.PK {
				delete(s.bound, object)
			}
		}
	}
}

// written is the row that a write leaves behind.
func written(write job.Write, old job.Fields) (job.Fields, error) {
	if write.Check {
		return old, nil
	}
	var next job.Fields
	if write.Insert || old == nil {
		next = make(job.Fields, len(write.Set)+len(write.Add)+2)
	} else {
		next = maps.Clone(old)
	}
	next[job.FieldPK], next[job.FieldSK] = write.Key.PK, write.Key.SK
	for _, field := range write.Set {
		next[field.Name] = field.Value
	}
	for _, field := range write.Add {
		number, present := next[field.Name]
		was, isNumber := number.(int64)
		by, ok := field.Value.(int64)
		if !ok || present && !isNumber {
			return nil, job.Errorf(job.Permanent, "ledger_invalid", "field %s is not a whole number to add to", field.Name)
		}
		next[field.Name] = was + by
	}
	for _, field := range write.Append {
		list, ok := next[field.Name].([]string)
		more, okMore := field.Value.([]string)
		if !ok || !okMore {
			return nil, job.Errorf(job.Permanent, "ledger_invalid", "field %s is not a list to append to", field.Name)
		}
		next[field.Name] = slices.Concat(list, more)
	}
	for _, name := range write.Remove {
		delete(next, name)
	}
	return next, nil
}

// wellFormed refuses what the real ledger refuses before it sends anything.
func wellFormed(change job.Change) error {
	writes := change.Writes()
	invalid := func(format string, args ...any) error {
		return job.Errorf(job.Permanent, "ledger_change_invalid", "change "+change.Name()+": "+format, args...)
	}
	if len(writes) == 0 || len(writes) > writesMax {
		return invalid("%d writes; one change holds 1 to %d", len(writes), writesMax)
	}
	for index, write := range writes {
		effects := len(write.Set) + len(write.Add) + len(write.Append) + len(write.Remove)
		switch {
		case len(write.Guards) == 0:
			return invalid("write %d has no guard", index)
		case write.Key.PK == "" || write.Key.SK == "":
			return invalid("write %d has an empty key", index)
		case slices.ContainsFunc(writes[:index], func(other job.Write) bool { return other.Key == write.Key }):
			return invalid("write %d is the second one of row %v", index, write.Key)
		case write.Check && effects > 0:
			return invalid("write %d is a check that writes", index)
		case write.Insert && effects > len(write.Set):
			return invalid("write %d is an insert that does more than set", index)
		case !write.Check && !write.Insert && effects == 0:
			return invalid("write %d is an update that changes nothing", index)
		}
	}
	return nil
}

// Row reads one row, or only those of its fields that are named; an absent one is empty.
func (l *Ledger) Row(ctx context.Context, key job.RowKey, only ...string) (job.Fields, error) {
	row := job.Fields{}
	err := l.read(ctx, "Row", key.PK, key.SK, func() error {
		found := l.state.byKey[key]
		if len(only) == 0 && found != nil {
			row = found
		}
		for _, name := range only {
			if value, ok := found[name]; ok {
				row[name] = value
			}
		}
		return nil
	})
	return or(row, err)
}

// Rows reads up to span.Limit rows of one partition in the order of their sort keys.
func (l *Ledger) Rows(ctx context.Context, span pipeline.Span) ([]job.Fields, error) {
	var found []job.Fields
	err := l.read(ctx, "Rows", span.PK, span.From, func() error {
		order := l.state.order[span.PK]
		at := sort.SearchStrings(order, span.From)
		for _, sk := range order[at:] {
			if span.To != "" && sk > span.To || len(found) == span.Limit {
				break
			}
			if span.After == "" || sk > span.After {
				found = append(found, l.state.byKey[job.RowKey{PK: span.PK, SK: sk}])
			}
		}
		return checkLimit("read rows", span.Limit)
	})
	return or(found, err)
}

// Peek is one row as it stands, nil when there is none. It is no call of the port.
func (l *Ledger) Peek(key job.RowKey) job.Fields {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.state.byKey[key]
}

// Rewrite sets one field of a row behind the pipeline's back, as another release would. It is no call of the port.
func (l *Ledger) Rewrite(key job.RowKey, field string, value job.Value) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if row := l.state.byKey[key]; row != nil {
		row = maps.Clone(row)
		row[field] = value
		l.state.byKey[key] = row
		l.state.index.put(l.world.Clock.Now(), key, row)
	}
}

// Strip removes fields of a row behind the pipeline's back, as if a release had written it that didn't know them. It is no
// call of the port.
func (l *Ledger) Strip(key job.RowKey, fields ...string) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if row := l.state.byKey[key]; row != nil {
		row = maps.Clone(row)
		for _, field := range fields {
			delete(row, field)
		}
		l.state.byKey[key] = row
	}
}

// Quota counts how often tenants' active jobs grew and shrank. It is no call of the port.
func (l *Ledger) Quota() (taken, returned int64) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.state.taken, l.state.returned
}

// Recent reads up to limit of a tenant's job rows, newest first, that are older than the created key before.
func (l *Ledger) Recent(ctx context.Context, tenantKey, before string, limit int) ([]job.Fields, error) {
	var found []job.Fields
	err := l.read(ctx, "Recent", "", tenantKey, func() error {
		for _, row := range l.state.byKey {
			created, _ := row[job.FieldCreated].(string)
			if row[job.FieldTenantKey] == tenantKey && created != "" && (before == "" || created < before) {
				found = append(found, row)
			}
		}
		sort.Slice(found, func(i, j int) bool {
			a, _ := found[i][job.FieldCreated].(string)
			b, _ := found[j][job.FieldCreated].(string)
			return a > b
		})
		found = found[:min(max(limit, 0), len(found))]
		return checkLimit("read recent jobs", limit)
	})
	return or(found, err)
}

// or is the value, unless there is an error.
func or[T any](value T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// Each calls visit with every row in the order of the keys, for the invariants of a test. It is no call of the port.
func (l *Ledger) Each(visit func(key job.RowKey, row job.Fields)) {
	l.world.mu.Lock()
	keys := make([]job.RowKey, 0, len(l.state.byKey))
	for _, pk := range slices.Sorted(maps.Keys(l.state.order)) {
		for _, sk := range l.state.order[pk] {
			keys = append(keys, job.RowKey{PK: pk, SK: sk})
		}
	}
	found := make([]job.Fields, len(keys))
	for i, key := range keys {
		found[i] = l.state.byKey[key]
	}
	l.world.mu.Unlock()
	for i, key := range keys {
		visit(key, found[i])
	}
}

func checkLimit(operation string, limit int) error {
	if limit < 1 {
		return job.Errorf(job.Permanent, "ledger_invalid", "%s: the limit is %d; ask for at least one row", operation, limit)
	}
	return nil
}
