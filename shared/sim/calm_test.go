package sim_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sealift/shared/artifact"
	"sealift/shared/audit"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// turnsMax bounds one life.
const turnsMax = 5_000

// play lets things happen in their order until nobody has anything left to do: calls are answered first, then messages
// delivered, and time passes when nothing else can happen. before is asked before every turn and may do something of its
// own; nil does nothing.
func (l *life) play(before func()) {
	for turn := 0; ; turn++ {
		l.rest()
		if len(l.broken) > 0 {
			return
		}
		if turn == turnsMax {
			l.breaks("the job is still %s after %d turns", l.state(), turn)
			return
		}
		if before != nil {
			before()
			l.rest()
		}
		able, ready, late := l.able(), l.ready(), l.arrived()
		due, sweeps := l.sweepDue()
		switch {
		case len(late) > 0:
			l.arrive(late[l.pick(len(late))])
		case len(able) > 0:
			l.answer(able[l.pick(len(able))])
		case len(ready) > 0:
			l.deliver(ready[l.pick(len(ready))], functionTime, l.pace)
		case l.quiet():
			return
		case sweeps && !due.After(l.now()):
			l.sweep()
		default:
			l.sleep()
		}
	}
}

// crowd plays a life in which so many workers are at it whenever there is work, and anybody's call may be the next.
func (l *life) crowd(workers int) {
	l.chooses = true
	l.play(func() {
		for _, message := range l.ready() {
			if l.working() < workers {
				l.deliver(message, functionTime, 0)
			}
		}
	})
}

// working counts the workers at work.
func (l *life) working() int {
	working := 0
	for _, a := range l.active {
		if a.doing.on.Unit != "" {
			working++
		}
	}
	return working
}

// functionTime is the time limit of the functions that work.
const functionTime = 15 * time.Minute

// pick chooses one of n: the first, or any.
func (l *life) pick(n int) int {
	if !l.chooses || n == 1 {
		return 0
	}
	return l.random.IntN(n)
}

// tidy lets the safe age of orphans pass and sweeps what is left.
func (l *life) tidy() {
	l.pass(orphanAge + time.Minute)
	l.open.Store(true)
	l.sweep()
	l.play(nil)
	l.open.Store(false)
}

// reference is what an undisturbed life of a shape leads to.
type reference struct {
	shape   shape
	files   [][]byte
	actions []string
	answers int
	// totals and values are what the files add up to when they are read again.
	totals format.Totals
	values uint64
}

// references plays an undisturbed life of each shape and checks its file against the rows themselves.
func references(t *testing.T) []reference {
	t.Helper()
	all := make([]reference, 0, len(shapes()))
	for _, s := range shapes() {
		var ref reference
		synctest.Test(t, func(t *testing.T) {
			l := newLife(s, 0)
			defer l.close()
			l.ask()
			l.play(nil)
			ref = reference{shape: s, files: l.files(l.receipt()), actions: l.actions(), answers: l.answers}
			ref.totals, ref.values = l.readAgain(ref.files)
			l.checkStore(l.job(), l.deliveredKeys())
			l.tidy()
			l.check(ref, job.StateCompleted)
			if len(l.broken) > 0 {
				t.Fatalf("undisturbed, %s: %q\n%s", s.name, l.broken, l.story())
			}
		})
		if s.format.Type == "csv" && s.format.Compression == "none" && !s.many() {
			records, err := csv.NewReader(bytes.NewReader(ref.files[0])).ReadAll()
			if err != nil || len(records) != s.rows()+1 {
				t.Fatalf("undisturbed, %s: %d records of %d rows, %v", s.name, len(records), s.rows(), err)
			}
			for i, want := range s.values() {
				if !slices.Equal(records[i+1], want[:]) {
					t.Fatalf("undisturbed, %s: row %d is %q, want %q", s.name, i, records[i+1], want)
				}
			}
		}
		want := []string{"created", "planned", "publishing", "completed", "cleaned"}
		if !slices.Equal(ref.actions, want) {
			t.Fatalf("undisturbed, %s: the audit is %q, want %q", s.name, ref.actions, want)
		}
		all = append(all, ref)
	}
	return all
}

func (l *life) job() job.Job {
	row, err := l.world.Ledger.Row(context.Background(), job.JobKey(l.id))
	if err != nil {
		l.breaks("read the job: %v", err)
	}
	j, err := job.DecodeJob(row)
	if err != nil {
		l.breaks("decode the job: %v", err)
	}
	return j
}

// check holds what must be true of every end in one of the states.
func (l *life) check(ref reference, allowed ...job.State) {
	l.checkState(allowed...)
	j := l.job()
	l.broken = append(l.broken, l.world.Violations()...)
	var expected []string
	switch {
	case j.State == job.StateCompleted:
		expected = l.deliveredKeys()
		l.conserveFiles(ref)
	case j.Failure.Code == "object_conflict":
		expected = l.evidence(j)
	}
	l.checkStore(j, expected)
	l.checkRows()
	if field := l.world.Ledger.Peek(job.JobKey(l.id))[laterFieldName]; l.annotated && field != "kept" {
		l.breaks("the job's row has lost a field of a later release: %v", field)
	}
	l.checkAudit(j)
	l.conserve()
	if l.said.cancelled && j.State != job.StateCancelled || l.said.tooLate && j.State == job.StateCancelled {
		l.breaks("somebody was told the opposite: %+v, and the job ended %s", l.said, j.State)
	}
}

// deliveredKeys are the objects that a completed job delivers.
func (l *life) deliveredKeys() []string {
	j := l.job()
	keys := []string{j.Artifact.Key, j.Artifact.ReceiptKey}
	for _, file := range l.receipt().Files {
		if key := l.fileKey(file); key != j.Artifact.Key {
			keys = append(keys, key)
		}
	}
	return keys
}

// evidence is what is kept of a job whose place was taken: the object that took it, and what was published beside it.
func (l *life) evidence(j job.Job) []string {
	objects, err := l.world.Store.Objects(context.Background(), "artifacts/", "", 1000)
	if err != nil {
		l.breaks("list the store: %v", err)
	}
	keys := []string{}
	for _, object := range objects {
		if (artifact.Keys{}).Beside(j.Publish.ArtifactKey, object.Key) {
			keys = append(keys, object.Key)
		}
	}
	if !slices.Contains(keys, j.Publish.ArtifactKey) {
		l.breaks("the evidence of a conflict is gone: %q", keys)
	}
	return keys
}

func (l *life) checkState(allowed ...job.State) {
	if j := l.job(); !slices.Contains(allowed, j.State) {
		l.breaks("the job ended %s (%+v), want one of %q", j.State, j.Failure, allowed)
	}
}

// checkStore holds that exactly the expected objects are left and no upload.
func (l *life) checkStore(j job.Job, expected []string) {
	ctx := context.Background()
	objects, errObjects := l.world.Store.Objects(ctx, "", "", 1000)
	uploads, errUploads := l.world.Store.Uploads(ctx, "", pipeline.StoredUpload{}, 1000)
	if errObjects != nil || errUploads != nil {
		l.breaks("list the store: %v, %v", errObjects, errUploads)
	}
	left := make([]string, 0, len(objects))
	for _, object := range objects {
		left = append(left, object.Key)
	}
	slices.Sort(expected)
	if !slices.Equal(left, expected) {
		l.breaks("after a job that is %s the store holds %q, want %q", j.State, left, expected)
	}
	if len(uploads) > 0 {
		l.breaks("after a job that is %s uploads are open: %+v", j.State, uploads)
	}
}

// checkGone holds that the clean-up itself leaves nothing of a delivery that has ended; the sweep for orphans has not
// been there yet.
func (l *life) checkGone() {
	j := l.job()
	for _, key := range []string{j.Artifact.Key, j.Artifact.ReceiptKey} {
		if _, there, err := l.world.Store.Stat(context.Background(), key); j.State == job.StateExpired && (there || err != nil) {
			l.breaks("the delivery has ended and %s is still there, %v", key, err)
		}
	}
}

// checkRows holds that there is one job, and that everything of it is over.
func (l *life) checkRows() {
	jobs := 0
	l.world.Ledger.Each(func(key job.RowKey, row job.Fields) {
		_, unit, ok := job.ParseRowKey(key)
		state, _ := row["state"].(string)
		switch {
		case !ok:
		case unit == "":
			jobs++
		case unit == job.CleanID && job.UnitState(state) != job.UnitDone:
			l.breaks("the clean-up ended %s: %v", state, row["history"])
		case !job.UnitState(state).Over():
			l.breaks("unit %s is left %s", unit, state)
		}
	})
	if jobs != 1 {
		l.breaks("%d jobs were made of one intent", jobs)
	}
}

// actions are what the audit says was done, in order.
func (l *life) actions() []string {
	var all []string
	for _, event := range l.events() {
		all = append(all, string(event.Action))
	}
	return all
}

func (l *life) events() []audit.Event {
	from, to := job.EventSpan()
	rows, err := l.world.Ledger.Rows(context.Background(), pipeline.Span{PK: job.JobKey(l.id).PK, From: from, To: to, Limit: 1000})
	if err != nil {
		l.breaks("read the audit: %v", err)
	}
	events := make([]audit.Event, 0, len(rows))
	for _, row := range rows {
		event, err := job.DecodeEvent(row)
		if err != nil {
			l.breaks("decode an event: %v", err)
		}
		events = append(events, event)
	}
	return events
}

// checkAudit holds that the audit is the chain of the job's transitions, each once, and counts every link.
func (l *life) checkAudit(j job.Job) {
	version, state, links, last := int64(0), "", 0, int64(0)
	for _, event := range l.events() {
		if event.To != "" || event.Action == audit.Signed {
			if event.AtMilli < last {
				l.breaks("the audit's %s lies before what it follows", event.Action)
			}
			last = event.AtMilli
		}
		switch {
		case event.Action == audit.Signed:
			links++
			version++
		case event.To != "":
			if event.From != state {
				l.breaks("the audit goes from %s to %s when the job is %s", event.From, event.To, state)
			}
			version, state = version+1, event.To
		}
		if event.Version != version {
			l.breaks("the audit's %s is of version %d, want %d", event.Action, event.Version, version)
		}
	}
	if version != j.Version || state != string(j.State) {
		l.breaks("the audit ends %s with version %d, the job is %s with version %d", state, version, j.State, j.Version)
	}
	if int64(links) != j.Downloads || l.said.links > links {
		l.breaks("%d links were given, the audit has %d and the job counts %d", l.said.links, links, j.Downloads)
	}
}
