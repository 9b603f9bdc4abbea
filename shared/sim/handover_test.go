package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/snapshot"
)

// TestHandOversThatBringFilesOnAreNoFaults lets the function's time end every attempt to publish after one file, more often
// than a unit may fail.
func TestHandOversThatBringFilesOnAreNoFaults(t *testing.T) {
	t.Parallel()
	many := shape{name: "more files than faults", format: snapshot.FormatRequest{Type: "csv", Compression: "none"}, layout: "files", applied: applied()}
	for range limits.FaultsMax + 2 {
		many.shards = append(many.shards, 2)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLife(many, 0)
		defer l.close()
		brought, stops := map[*actor]bool{}, 0
		l.disturb = func(p *parked) deed {
			if p.actor.doing.on.Unit != job.FinalizeID || !strings.Contains(p.call.Subject, "/file-") {
				return letItBe
			}
			if p.call.Method != "Stat" {
				brought[p.actor] = true
				return letItBe
			}
			if !brought[p.actor] {
				return letItBe
			}
			delete(brought, p.actor)
			stops++
			p.until = p.actor.deadline
			return stall
		}
		l.ask()
		l.play(nil)
		l.checkState(job.StateCompleted)
		if stops <= limits.FaultsMax {
			l.breaks("only %d attempts were ended, want more than %d", stops, limits.FaultsMax)
		}
		if len(l.broken) > 0 {
			t.Fatalf("%s\n\n%s", strings.Join(l.broken, "\n"), l.story())
		}
	})
}
