package pipeline_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// between is a store in which somebody writes an object anew right after it was listed.
type between struct {
	*sim.Store

	key  string
	data []byte
}

func (b between) Objects(ctx context.Context, prefix, after string, limit int) ([]pipeline.StoredObject, error) {
	page, err := b.Store.Objects(ctx, prefix, after, limit)
	for _, object := range page {
		if object.Key == b.key {
			b.Damage(b.key, b.data)
		}
	}
	return page, err
}

// TestACleanUpDeletesOnlyWhatItHasSeen has an object of each place written anew between the listing and the deletion: the
// clean-up stops for a person, and the bytes that nobody has looked at are still there.
func TestACleanUpDeletesOnlyWhatItHasSeen(t *testing.T) {
	t.Parallel()
	keys := artifact.Keys{}
	for name, of := range map[string]func(j job.Job) string{
		"a staging object": func(j job.Job) string { return keys.Staging(j.Tenant, j.ID, job.ShardID(1), 1) },
		"one of many files": func(j job.Job) string {
			return keys.File(keys.Artifact(j.Tenant, j.ID, 1, "0123456789abcdef0123456789abcdef", "manifest.json"), 2, "csv")
		},
		"a receipt": func(j job.Job) string { return keys.Receipt(j.Tenant, j.ID, 1, "0123456789abcdef0123456789abcdef") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := claimed(t)
			key, written := of(w.job), []byte("written in between")
			w.put(key, []byte("as listed"))
			w.cancel()
			w.sweeper.Store = between{w.Store, key, written}
			w.sweepUntilClean()
			if state := w.unit(job.CleanID).State; state != job.UnitFailed {
				t.Errorf("the clean-up is %s, want one that waits for a person", state)
			}
			object, ok, err := w.Store.Stat(t.Context(), key)
			if err != nil || !ok || object.Bytes != int64(len(written)) {
				t.Errorf("the object that was written in between: there is %t, %d bytes, %v; want its %d bytes", ok, object.Bytes, err, len(written))
			}
			if attempts := w.unit(job.CleanID).History; len(attempts) == 0 || attempts[len(attempts)-1].Code != "object_changed" {
				t.Errorf("the person is shown the attempts %+v, want the last to end with object_changed", attempts)
			}
			// Without anybody in between all of it goes.
			calm := claimed(t)
			calm.put(of(calm.job), []byte("as listed"))
			calm.cancel()
			calm.sweepUntilClean()
			if _, ok, err := calm.Store.Stat(t.Context(), of(calm.job)); ok || err != nil || calm.unit(job.CleanID).State != job.UnitDone {
				t.Errorf("left alone: there is %t, %v, and the clean-up is %s", ok, err, calm.unit(job.CleanID).State)
			}
		})
	}
}

// TestOneThingInTroubleKeepsNoOtherFromACleanUp has one object or upload of a job that has ended be in trouble for good. All
// others of it are removed at the first attempt, and a person is shown what the trouble is.
func TestOneThingInTroubleKeepsNoOtherFromACleanUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method string
		fault        sim.Fault
		// first is what is left after one attempt, code how the clean-up ends: none when it is done.
		first map[string]int
		code  string
	}{
		{"an object that can't be deleted", "Delete", sim.Refuse(job.Permanent), map[string]int{"staging": 1}, "store_refused"},
		{"an object that the store is always too busy for", "Delete", sim.Throttle(), map[string]int{"staging": 1}, "store_busy"},
		{"an object whose deletion gets lost", "Delete", sim.Refuse(job.Unknown), map[string]int{"staging": 1}, "store_unknown"},
		{"an object whose deletion is never answered", "Delete", sim.LoseAnswer(), map[string]int{}, ""},
		{"an upload that can't be ended", "AbortUpload", sim.Refuse(job.Permanent), map[string]int{"upload of staging": 1}, "store_refused"},
		{"an upload whose end is never answered", "AbortUpload", sim.LoseAnswer(), map[string]int{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			keys := artifact.Keys{}
			var poison string
			w := claimedIn(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
				if call.Method == c.method && call.Subject == poison {
					return c.fault
				}
				return sim.Fault{}
			}})
			var log bytes.Buffer
			w.sweeper.Log = slog.New(slog.NewJSONHandler(&log, nil))
			poison = keys.Staging("acme", w.job.ID, job.ShardID(1), 1)
			if c.method == "AbortUpload" {
				poison = keys.Staging("acme", w.job.ID, job.ShardID(7), 1)
			}
			for n := 1; n <= 3; n++ {
				w.put(keys.Staging("acme", w.job.ID, job.ShardID(n), 1), []byte("x"))
				if _, err := w.Store.CreateUpload(t.Context(), pipeline.NewObject{Key: keys.Staging("acme", w.job.ID, job.ShardID(n+6), 1)}); err != nil {
					t.Fatal(err)
				}
			}
			w.put(keys.Artifact("acme", w.job.ID, 1, "0123456789abcdef0123456789abcdef", "a.csv"), []byte("x"))
			w.cancel()
			for n := 0; len(w.unit(job.CleanID).History) == 0 || w.unit(job.CleanID).State == job.UnitWaiting && w.unit(job.CleanID).Faults == 0; n++ {
				if n == 3 {
					t.Fatalf("no attempt after %d sweeps", n)
				}
				w.Clock.Advance(limits.Lease + time.Minute)
				w.sweep()
			}
			if diff := cmp.Diff(c.first, w.stored()); diff != "" {
				t.Errorf("after one attempt there is (-want +got):\n%s", diff)
			}
			if !w.unit(job.CleanID).State.Over() {
				w.sweepUntilClean()
			}
			clean := w.unit(job.CleanID)
			last := clean.History[len(clean.History)-1]
			want := job.UnitDone
			if c.code != "" {
				want = job.UnitFailed
			}
			if clean.State != want || last.Code != c.code {
				t.Errorf("the clean-up is %s with %+v, want %s with %q", clean.State, last, want, c.code)
			}
			if where := `"where":"` + poison + `"`; c.code != "" && !strings.Contains(log.String(), where) {
				t.Errorf("the log doesn't say %s:\n%s", where, &log)
			}
		})
	}
}

func (w table) put(key string, data []byte) {
	w.t.Helper()
	if _, err := w.Store.Put(w.t.Context(), pipeline.NewObject{Key: key}, data); err != nil {
		w.t.Fatal(err)
	}
}

func (w table) cancel() {
	w.t.Helper()
	j, err := job.DecodeJob(w.Ledger.Peek(job.JobKey(w.job.ID)))
	if err != nil {
		w.t.Fatal(err)
	}
	change, err := j.Cancel(job.Act{Actor: "ana", Reason: "not wanted", Now: w.Ledger.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(change)
}

// sweepUntilClean sweeps until the clean-up is over, past the end of every lease.
func (w table) sweepUntilClean() {
	w.t.Helper()
	const most = 10
	for range most {
		w.Clock.Advance(limits.Lease + time.Minute)
		w.sweep()
		if w.unit(job.CleanID).State.Over() {
			return
		}
	}
	w.t.Fatalf("the clean-up is %s after %d sweeps", w.unit(job.CleanID).State, most)
}
