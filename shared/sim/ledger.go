package sim

import (
	"context"
	"maps"
	"slices"
	"sort"
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
}

var _ pipeline.Ledger = (*Ledger)(nil)

// rows are the table's content: immutable rows by key, and the order of the sort keys of each partition.
type rows struct {
	byKey map[job.RowKey]job.Fields
	order map[string][]string
	// bound names, by object key, the completed job that delivers the object.
	bound map[string]string
}

// writesMax is the ledger's limit on the writes of one change.
const writesMax = 100

func newLedger(w *World) *Ledger {
	return &Ledger{world: w, state: &rows{
		byKey: map[job.RowKey]job.Fields{}, order: map[string][]string{}, bound: map[string]string{},
	}}
}

// Lagging is a view of the same ledger for a caller whose estimate of the ledger's time is behind by that much.
func (l *Ledger) Lagging(by time.Duration) *Ledger {
	view := *l
	view.lag = by
	return &view
}

// Now is the world's time less the view's lag.
func (l *Ledger) Now() time.Time { return l.world.Clock.Now().Add(-l.lag) }

// Apply makes the change happen, wholly or not at all.
func (l *Ledger) Apply(ctx context.Context, change job.Change) error {
	fault, err := l.world.enter(ctx, l.actor, PortLedger, "Apply", change.Name())
	if err != nil {
		return err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if err := wellFormed(change); err != nil {
		return err
	}
	if err := l.state.apply(l.world, change); err != nil {
		return err
	}
	return fault.written(PortLedger, "Apply")
}

func (s *rows) apply(w *World, change job.Change) error {
	var refused map[int]job.Fields
	for index, write := range change.Writes() {
		row := s.byKey[write.Key]
		if row == nil {
			row = job.Fields{}
		}
		for _, guard := range write.Guards {
			if !guard.Holds(row) {
				if refused == nil {
					refused = map[int]job.Fields{}
				}
				refused[index] = row
				break
			}
		}
	}
	if refused != nil {
		return change.Judge(refused)
	}
	steps := make([]step, 0, len(change.Writes()))
	for index, write := range change.Writes() {
		old := s.byKey[write.Key]
		next, err := written(write, old)
		if err != nil {
			return job.Errorf(job.Permanent, "ledger_invalid", "change %s, write %d: %w", change.Name(), index, err)
		}
		steps = append(steps, step{write: write, old: old, next: next})
	}
	police(w, change.Name(), steps)
	for _, step := range steps {
		if !step.write.Check {
			s.put(step.write.Key, step.next)
		}
	}
	return nil
}

func (s *rows) put(key job.RowKey, row job.Fields) {
	if _, exists := s.byKey[key]; !exists {
		order := s.order[key.PK]
		at, _ := slices.BinarySearch(order, key.SK)
		s.order[key.PK] = slices.Insert(order, at, key.SK)
	}
	s.byKey[key] = row
	if key.SK == "JOB" && row[fieldState] == string(job.StateCompleted) {
		for _, field := range []string{"artifact_key", "artifact_receipt_key"} {
			if object, ok := row[field].(string); ok && object != "" {
				s.bound[object] = key.PK
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
	seen := make(map[job.RowKey]bool, len(writes))
	for index, write := range writes {
		effects := len(write.Set) + len(write.Add) + len(write.Append) + len(write.Remove)
		switch {
		case len(write.Guards) == 0:
			return invalid("write %d has no guard", index)
		case write.Key.PK == "" || write.Key.SK == "":
			return invalid("write %d has an empty key", index)
		case seen[write.Key]:
			return invalid("write %d is the second one of row %v", index, write.Key)
		case write.Check && effects > 0:
			return invalid("write %d is a check that writes", index)
		case write.Insert && effects > len(write.Set):
			return invalid("write %d is an insert that does more than set", index)
		case !write.Check && !write.Insert && effects == 0:
			return invalid("write %d is an update that changes nothing", index)
		}
		seen[write.Key] = true
	}
	return nil
}

// Row reads one row; an absent one is empty.
func (l *Ledger) Row(ctx context.Context, key job.RowKey) (job.Fields, error) {
	fault, err := l.world.enter(ctx, l.actor, PortLedger, "Row", key.PK+"|"+key.SK)
	if err != nil {
		return nil, err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	row := l.state.byKey[key]
	if row == nil {
		row = job.Fields{}
	}
	return row, fault.read(PortLedger, "Row")
}

// Rows reads up to span.Limit rows of one partition in the order of their sort keys.
func (l *Ledger) Rows(ctx context.Context, span pipeline.Span) ([]job.Fields, error) {
	fault, err := l.world.enter(ctx, l.actor, PortLedger, "Rows", span.PK+"|"+span.From)
	if err != nil {
		return nil, err
	}
	if err := checkLimit("read rows", span.Limit); err != nil {
		return nil, err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	order := l.state.order[span.PK]
	at := sort.SearchStrings(order, span.From)
	var found []job.Fields
	for _, sk := range order[at:] {
		if span.To != "" && sk > span.To || len(found) == span.Limit {
			break
		}
		if span.After == "" || sk > span.After {
			found = append(found, l.state.byKey[job.RowKey{PK: span.PK, SK: sk}])
		}
	}
	return found, fault.read(PortLedger, "Rows")
}

// Due reads up to limit keys of rows of one bucket that are due at or before the time, earliest first.
func (l *Ledger) Due(ctx context.Context, bucket string, at time.Time, limit int) ([]job.RowKey, error) {
	fault, err := l.world.enter(ctx, l.actor, PortLedger, "Due", bucket)
	if err != nil {
		return nil, err
	}
	if err := checkLimit("read due rows", limit); err != nil {
		return nil, err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	type due struct {
		key    job.RowKey
		millis int64
	}
	var found []due
	for key, row := range l.state.byKey {
		millis, ok := row[job.FieldDueAt].(int64)
		if ok && row[job.FieldDueBucket] == bucket && millis <= at.UnixMilli() {
			found = append(found, due{key, millis})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.millis != b.millis {
			return a.millis < b.millis
		}
		return a.key.PK < b.key.PK || a.key.PK == b.key.PK && a.key.SK < b.key.SK
	})
	keys := make([]job.RowKey, 0, min(limit, len(found)))
	for _, one := range found[:min(limit, len(found))] {
		keys = append(keys, one.key)
	}
	return keys, fault.read(PortLedger, "Due")
}

// Recent reads up to limit of a tenant's job rows, newest first, that are older than the created key before.
func (l *Ledger) Recent(ctx context.Context, tenantKey, before string, limit int) ([]job.Fields, error) {
	fault, err := l.world.enter(ctx, l.actor, PortLedger, "Recent", tenantKey)
	if err != nil {
		return nil, err
	}
	if err := checkLimit("read recent jobs", limit); err != nil {
		return nil, err
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	var found []job.Fields
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
	return found[:min(limit, len(found))], fault.read(PortLedger, "Recent")
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
