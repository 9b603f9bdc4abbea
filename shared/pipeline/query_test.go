package pipeline

import (
	"testing"
	"time"

	"sealift/shared/job"
)

func TestOfSeveralWaitsTheOneThatEndsFirstIsTold(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	unit := func(id string, state job.UnitState, code string, after time.Duration) job.Unit {
		return job.Unit{ID: id, State: state, DueAt: noon.Add(after), Failure: job.Failure{Code: code, Detail: "why"}}
	}
	var w *Waiting
	w = waitingFor(unit("s00001", job.UnitLeased, "source_timeout", 0), w)
	if w != nil {
		t.Fatalf("a unit at work waits: %+v", w)
	}
	w = waitingFor(unit("s00002", job.UnitWaiting, "source_timeout", 40*time.Second), w)
	w = waitingFor(unit("s00003", job.UnitWaiting, "source_unavailable", 10*time.Second), w)
	w = waitingFor(unit("s00004", job.UnitWaiting, "source_denied", 20*time.Second), w)
	if w == nil || w.Unit != "s00003" || w.Code != "source_unavailable" || !w.Until.Equal(noon.Add(10*time.Second)) {
		t.Errorf("told is %+v, want s00003 at ten seconds", w)
	}
}
