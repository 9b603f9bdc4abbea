package sim_test

import (
	"testing"

	"sealift/shared/pipeline"
	"sealift/shared/pipeline/pipelinetest"
	"sealift/shared/sim"
)

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	pipelinetest.Ledger(t, func(t *testing.T) pipeline.Ledger {
		world := sim.New(sim.Options{})
		t.Cleanup(func() {
			for _, violation := range world.Violations() {
				t.Errorf("violation: %s", violation)
			}
		})
		return world.Ledger
	})
}

func TestStoreConforms(t *testing.T) {
	t.Parallel()
	pipelinetest.Store(t, func(t *testing.T) pipeline.Store {
		world := sim.New(sim.Options{})
		t.Cleanup(func() {
			for _, violation := range world.Violations() {
				t.Errorf("violation: %s", violation)
			}
		})
		return world.Store
	})
}
