package pipeline_test

import (
	"slices"
	"testing"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// TestAShardThatCanNotBeReadKeepsNoOtherAsleep has the message of a plan come again, as after its sender died before it had
// woken the shards.
func TestAShardThatCanNotBeReadKeepsNoOtherAsleep(t *testing.T) {
	t.Parallel()
	w, crowd := crowded(t, 3, sim.Options{})
	w.newer(job.UnitKey(crowd.ID, job.ShardID(2)))
	err := pipeline.Planner{Worker: w.sweeper.Worker}.Plan(t.Context(), job.Pointer{Job: crowd.ID, Unit: job.PlanID})
	if job.CodeOf(err) != "ledger_row_schema" {
		t.Errorf("the error is %v", err)
	}
	var woken []string
	for _, message := range w.Queue.Messages() {
		if message.Pointer.Job == crowd.ID {
			woken = append(woken, message.Pointer.Unit)
		}
	}
	if want := []string{"s00001", "s00003"}; !slices.Equal(woken, want) {
		t.Errorf("woken are %v, want %v", woken, want)
	}
}
