package sim_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// seedsVariable asks for more runs than the normal ones, or with first-last for exactly those seeds.
const seedsVariable = "SEALIFT_SEEDS"

const (
	orphanAge = 10 * time.Minute
	// depthMax is how many workers may be held up inside a call at once.
	depthMax = 3
)

// TestEveryDisturbedRunEndsWithTheUndisturbedFile plays whole exports while calls fail on either side, workers die or
// wake late, messages are lost, doubled and delayed, and somebody cancels. Every run must end with the bytes of an
// undisturbed one, or cancelled with nothing left, without breaking a rule on the way.
func TestEveryDisturbedRunEndsWithTheUndisturbedFile(t *testing.T) {
	t.Parallel()
	calm := map[bool][]byte{}
	for _, wide := range []bool{false, true} {
		r := newRun(t, 0, wide)
		r.budget, r.stalls, r.cancels = 0, 0, 0
		r.export()
		calm[wide] = r.file()
		r.check(calm[wide])
	}
	first, last := seeds(t)
	for seed := first; seed <= last; seed++ {
		// Shards of several parts cost bytes, so fewer runs have them.
		wide := seed%50 == 0
		r := newRun(t, seed, wide)
		r.export()
		r.check(calm[wide])
		if t.Failed() {
			t.Fatalf("seed %d; again alone: %s=%d-%d go test ./shared/sim -run Disturbed\n%s", seed, seedsVariable, seed, seed, strings.Join(r.log, "\n"))
		}
	}
}

func seeds(t *testing.T) (first, last uint64) {
	t.Helper()
	text := os.Getenv(seedsVariable)
	if text == "" {
		return 1, 400
	}
	from, to, span := strings.Cut(text, "-")
	if !span {
		from, to = "1", text
	}
	first, errFirst := strconv.ParseUint(from, 10, 64)
	last, errLast := strconv.ParseUint(to, 10, 64)
	if errFirst != nil || errLast != nil {
		t.Fatalf("%s is %q, want a number of seeds or first-last", seedsVariable, text)
	}
	return first, last
}

func (r *run) file() []byte {
	r.t.Helper()
	j := r.job()
	data, err := r.world.Store.Read(context.Background(), pipeline.Slice{Key: j.Artifact.Key, ETag: j.Artifact.ETag, To: j.Artifact.Bytes})
	if err != nil {
		r.t.Errorf("the artifact of a job that is %s: %v", j.State, err)
	}
	return data
}

// check holds what must be true of every end.
func (r *run) check(want []byte) {
	r.t.Helper()
	for _, violation := range r.world.Violations() {
		r.t.Errorf("violation: %s", violation)
	}
	ctx := context.Background()
	objects, errObjects := r.world.Store.Objects(ctx, "", "", 1000)
	uploads, errUploads := r.world.Store.Uploads(ctx, "", pipeline.StoredUpload{}, 1000)
	quota, errQuota := r.world.Ledger.Row(ctx, job.QuotaKey(r.who.Tenant))
	if errObjects != nil || errUploads != nil || errQuota != nil {
		r.t.Fatal(errObjects, errUploads, errQuota)
	}
	var left, expected []string
	for _, object := range objects {
		left = append(left, object.Key)
	}
	j := r.job()
	switch j.State {
	case job.StateCompleted:
		expected = []string{j.Artifact.Key, j.Artifact.ReceiptKey}
		if have := r.file(); !slices.Equal(have, want) {
			r.t.Errorf("the file has %d bytes that are not the %d of an undisturbed run", len(have), len(want))
		}
		if int(j.Rows) != r.table.rows() || j.Artifact.Rows != j.Rows {
			r.t.Errorf("the job counts %d rows and its artifact %d, the table has %d", j.Rows, j.Artifact.Rows, r.table.rows())
		}
	case job.StateCancelled:
	default:
		r.t.Errorf("the job ended %s: %+v", j.State, j.Failure)
	}
	slices.Sort(expected)
	if !slices.Equal(left, expected) {
		r.t.Errorf("after a job that is %s the store holds %q, want %q", j.State, left, expected)
	}
	if len(uploads) > 0 {
		r.t.Errorf("uploads are left: %+v", uploads)
	}
	if active := quota["active_jobs"]; active != int64(0) {
		r.t.Errorf("the tenant has %v active jobs", active)
	}
}
