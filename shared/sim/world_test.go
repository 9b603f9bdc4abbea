package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/pipeline/pipelinetest"
	"sealift/shared/sim"
)

// create is the sample that makes a job, and its key.
func create(t *testing.T) (job.Change, job.RowKey) {
	t.Helper()
	for _, sample := range pipelinetest.Samples() {
		if sample.Name == "create" {
			return sample.Change, sample.Change.Writes()[job.CreateJobWrite].Key
		}
	}
	t.Fatal("there is no sample create")
	return job.Change{}, job.RowKey{}
}

// only makes a hook that gives one fault to one method's calls.
func only(method string, fault sim.Fault) func(sim.Call) sim.Fault {
	return func(call sim.Call) sim.Fault {
		if call.Method == method {
			return fault
		}
		return sim.Fault{}
	}
}

func TestAFaultIsOnEitherSideOfAWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		fault   sim.Fault
		kind    job.Kind
		happens bool
	}{
		{"none", sim.Fault{}, "", true},
		{"refused", sim.Refuse(job.Transient), job.Transient, false},
		{"lost on its way", sim.Refuse(job.Unknown), job.Unknown, false},
		{"throttled", sim.Throttle(), job.Overload, false},
		{"answer lost", sim.LoseAnswer(), job.Unknown, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			change, key := create(t)
			world := sim.New(sim.Options{Faults: only("Apply", test.fault)})
			err := world.Ledger.Apply(ctx, change)
			row, errRow := world.Ledger.Row(ctx, key)
			if job.KindOf(err) != test.kind || errRow != nil || (len(row) > 0) != test.happens {
				t.Errorf("ledger: %v, and %d fields", err, len(row))
			}

			world = sim.New(sim.Options{Faults: only("Put", test.fault)})
			_, err = world.Store.Put(ctx, pipeline.NewObject{Key: "k"}, []byte("x"))
			_, there, errStat := world.Store.Stat(ctx, "k")
			if job.KindOf(err) != test.kind || errStat != nil || there != test.happens {
				t.Errorf("store: %v, and the object is there: %v", err, there)
			}

			world = sim.New(sim.Options{Faults: only("Send", test.fault)})
			err = world.Queue.Send(ctx, job.Line{Lane: job.Bulk}, pointer(), 0)
			if sent := len(world.Queue.Messages()) == 1; job.KindOf(err) != test.kind || sent != test.happens {
				t.Errorf("queue: %v, and the message is under way: %v", err, sent)
			}
		})
	}
}

func TestAReadWhoseAnswerIsLostIsTransient(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{Faults: func(sim.Call) sim.Fault { return sim.LoseAnswer() }})
	_, row := world.Ledger.Row(ctx, job.QuotaKey("a"))
	_, rows := world.Ledger.Rows(ctx, pipeline.Span{PK: "p", Limit: 1})
	_, due := world.Ledger.Due(ctx, pipeline.DueSpan{Bucket: job.DueBucketName(0), At: time.Now(), Limit: 1})
	_, recent := world.Ledger.Recent(ctx, "t", "", 1)
	_, _, stat := world.Store.Stat(ctx, "k")
	_, objects := world.Store.Objects(ctx, "", "", 1)
	_, uploads := world.Store.Uploads(ctx, "", pipeline.StoredUpload{}, 1)
	_, _, sign := world.Store.Sign(ctx, pipeline.Link{Key: "k", Lifetime: time.Minute})
	for i, err := range []error{row, rows, due, recent, stat, objects, uploads, sign} {
		if job.KindOf(err) != job.Transient {
			t.Errorf("read %d: got %v, want Transient", i, err)
		}
	}
}

func TestTheHookSeesEveryCallInOrderAndMayMoveTheWorld(t *testing.T) {
	t.Parallel()
	var calls []string
	var world *sim.World
	world = sim.New(sim.Options{Faults: func(call sim.Call) sim.Fault {
		calls = append(calls, call.String())
		world.Clock.Advance(time.Second)
		return sim.Fault{}
	}})
	start := world.Ledger.Now()
	change, key := create(t)
	if err := world.Ledger.Apply(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if _, err := world.Ledger.Row(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := world.Queue.Send(t.Context(), job.Line{Lane: job.Bulk}, pointer(), 0); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(key.PK, "JOB#")
	want := []string{"1 ledger.Apply(create)", "2 ledger.Row(JOB#" + id + "|JOB)", "3 queue.Send(" + pointer().Job + "|plan)"}
	if diff := cmp.Diff(want, calls); diff != "" || world.Calls() != 3 {
		t.Errorf("calls (-want +have):\n%s", diff)
	}
	if passed := world.Ledger.Now().Sub(start); passed != 3*time.Second {
		t.Errorf("%s passed, want 3s", passed)
	}
	if behind := world.Clock.Now().Sub(world.Ledger.Lagging(time.Minute).Now()); behind != time.Minute {
		t.Errorf("a view that lags a minute is %s behind", behind)
	}
}

func TestACallerThatIsStoppedInTheHookGetsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	world := sim.New(sim.Options{Faults: func(sim.Call) sim.Fault { cancel(); return sim.Fault{} }})
	change, key := create(t)
	if err := world.Ledger.Apply(ctx, change); job.KindOf(err) != job.Cancelled {
		t.Errorf("got %v, want Cancelled", err)
	}
	world.Ledger.Each(func(other job.RowKey, _ job.Fields) { t.Errorf("row %v was written for %v", other, key) })
}

func pointer() job.Pointer { return job.Pointer{Job: job.NewID([16]byte{3}), Unit: job.PlanID} }

func TestMessagesAreDeliveredDuplicatedAndLostByHand(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{})
	q := world.Queue
	for _, delay := range []time.Duration{time.Minute, 0} {
		if err := q.Send(ctx, job.Line{Lane: job.Realtime}, pointer(), delay); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(messages []sim.Message) []int {
		var all []int
		for _, message := range messages {
			all = append(all, message.Number)
		}
		return all
	}
	if have := numbers(q.Ready()); !slices.Equal(have, []int{2}) {
		t.Errorf("ready are %v, want [2]", have)
	}
	if at, ok := q.Next(); !ok || !at.Equal(world.Clock.Now()) {
		t.Errorf("the next is ready at %s, %v", at, ok)
	}
	message, ok := q.Take(2)
	if !ok || message.Lane != job.Realtime || message.Pointer.Unit != job.PlanID {
		t.Errorf("taken is %+v, %v", message, ok)
	}
	if _, ok := q.Take(2); ok {
		t.Error("a message was taken twice")
	}
	q.Return(message, 30*time.Second)
	if !q.Duplicate(1) || q.Duplicate(99) {
		t.Error("a message under way can be duplicated, another can't")
	}
	if have := numbers(q.Messages()); !slices.Equal(have, []int{1, 3, 4}) {
		t.Errorf("under way are %v, want [1 3 4]", have)
	}
	world.Clock.Advance(30 * time.Second)
	if have := numbers(q.Ready()); !slices.Equal(have, []int{3}) {
		t.Errorf("after 30 s ready are %v, want [3]", have)
	}
	world.Clock.Advance(30 * time.Second)
	if have := numbers(q.Ready()); !slices.Equal(have, []int{1, 3, 4}) {
		t.Errorf("after 60 s ready are %v, want [1 3 4]", have)
	}
	for name, bad := range map[string]job.Pointer{
		"forged": {Job: "x", Unit: job.PlanID}, "clean-up": {Job: pointer().Job, Unit: job.CleanID},
	} {
		if err := q.Send(ctx, job.Line{Lane: job.Bulk}, bad, 0); job.KindOf(err) != job.Permanent {
			t.Errorf("a %s pointer: got %v, want Permanent", name, err)
		}
	}
}

func TestTheStoreTellsWhatNobodyMayDo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{PartBytesMin: 3, CredentialsEnd: time.Date(2026, 3, 29, 1, 2, 0, 0, time.UTC)})
	upload := job.Upload{Key: "k"}
	var err error
	if upload.ID, err = world.Store.CreateUpload(ctx, pipeline.NewObject{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	var parts []job.Part
	for n, text := range []string{"abc", "d"} {
		etag, err := world.Store.PutPart(ctx, upload, int64(n+1), []byte(text), uint64(checksum.Sum64([]byte(text))))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, job.Part{Number: int64(n + 1), ETag: etag})
	}
	want := pipeline.Object{Bytes: 4, CRC64: uint64(checksum.Sum64([]byte("abcd")))}
	object, err := world.Store.CompleteUpload(ctx, upload, parts, want)
	if err != nil {
		t.Fatalf("parts of the configured least size: %v", err)
	}
	now := world.Clock.Now()
	link, expires, err := world.Store.Sign(ctx, pipeline.Link{Key: "k", Lifetime: time.Hour, Now: now})
	if err != nil || expires.Sub(now) != 110*time.Second {
		t.Errorf("the link lasts %s, %v; want it to end 10 s before the credentials", expires.Sub(now), err)
	}
	if data, err := world.Store.Fetch(link); err != nil || string(data) != "abcd" {
		t.Errorf("the link gives %q, %v", data, err)
	}
	world.Clock.Advance(110 * time.Second)
	if _, err := world.Store.Fetch(link); job.CodeOf(err) != "link_expired" {
		t.Errorf("after its end the link gives %v", err)
	}
	if err := world.Store.Delete(ctx, "k", object.ETag); err != nil {
		t.Fatal(err)
	}
	if len(world.Violations()) > 0 {
		t.Errorf("violations: %q", world.Violations())
	}
	if _, err := world.Store.Put(ctx, pipeline.NewObject{Key: "k"}, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if found := world.Violations(); len(found) != 1 || !strings.Contains(found[0], "used again") {
		t.Errorf("a key was used again and the violations are %q", found)
	}
	world.Store.Damage("k", []byte("damaged"))
	if have, _, _ := world.Store.Stat(ctx, "k"); have.Bytes != 7 || len(world.Violations()) != 1 {
		t.Errorf("a damaged object has %d bytes and the violations are %q", have.Bytes, world.Violations())
	}
}

func TestDeletingADeliveredFileIsAViolation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{})
	artifact := "artifacts/a.csv"
	if _, err := world.Store.Put(ctx, pipeline.NewObject{Key: artifact}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	pipelinetest.Complete(t, world.Ledger, artifact)
	if err := world.Store.Delete(ctx, artifact, ""); err != nil {
		t.Fatal(err)
	}
	if found := world.Violations(); len(found) != 1 || !strings.Contains(found[0], "delivers it") {
		t.Errorf("a delivered file was deleted and the violations are %q", found)
	}
}

func TestAnIndexThatLagsShowsRowsAsTheyWere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{})
	world.Ledger.LagIndex(2 * time.Second)
	change, key := create(t)
	if err := world.Ledger.Apply(ctx, change); err != nil {
		t.Fatal(err)
	}
	due := func() int {
		rows, err := world.Ledger.Due(ctx, pipeline.DueSpan{Bucket: job.DueBucket(key), At: world.Clock.Now().AddDate(1, 0, 0), Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if _, truth := world.Ledger.NextDue(); due() != 0 || !truth {
		t.Error("an index that lags shows a row at once, or nothing is due")
	}
	world.Clock.Advance(2 * time.Second)
	if due() == 0 {
		t.Error("after its lag the index still does not show the row")
	}
}

func TestAHaltedClockLearnsTheTimeFromTheNextAnswer(t *testing.T) {
	t.Parallel()
	world := sim.New(sim.Options{})
	ledger := world.Caller(sim.Caller{Name: "a"}).Ledger
	read := func() {
		if _, err := ledger.Row(t.Context(), job.QuotaKey("a")); err != nil {
			t.Fatal(err)
		}
	}
	read()
	began := ledger.Now()
	ledger.Halt(time.Minute)
	for _, step := range []struct{ passes, want time.Duration }{
		{30 * time.Second, 0}, {30 * time.Second, 0}, {30 * time.Second, 30 * time.Second},
	} {
		world.Clock.Advance(step.passes)
		if have := ledger.Now().Sub(began); have != step.want {
			t.Errorf("the halted clock says that %s have passed, want %s", have, step.want)
		}
	}
	read()
	if have := ledger.Now().Sub(began); have != 90*time.Second {
		t.Errorf("after an answer the clock says that %s have passed, want 1m30s", have)
	}
}

func TestTheWorldCountsWhatMustAddUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	world := sim.New(sim.Options{})
	change, key := create(t)
	if err := world.Ledger.Apply(ctx, change); err != nil {
		t.Fatal(err)
	}
	if _, err := world.Store.Put(ctx, pipeline.NewObject{Key: "artifacts/a"}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := world.Store.Delete(ctx, "artifacts/a", ""); err != nil {
		t.Fatal(err)
	}
	taken, returned := world.Ledger.Quota()
	if taken != 1 || returned != 0 || world.Store.Made("artifacts/") != 1 || world.Store.Made("staging/") != 0 {
		t.Errorf("quota taken %d and returned %d, files made %d and %d", taken, returned, world.Store.Made("artifacts/"), world.Store.Made("staging/"))
	}
	world.Ledger.Strip(key, "state")
	if _, there := world.Ledger.Peek(key)["state"]; there {
		t.Error("a stripped field is still there")
	}
}
