package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCrashUnderLoad kills processes at random times while four workers write the shards of several exports at once, the
// planner's, the publisher's and the sweeper's among them, until so many attempts have died. All exports end with the
// bytes of an undisturbed one.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	const atOnce = 8
	p := planned(t)
	deaths := map[bool]int{false: 12, true: 100}[p.all || p.most > 0]
	list := wide()
	w := calmly(t, "--param", "BulkConcurrency=4")
	w.connect(t, "wide", sqlite(t, list))
	w.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows, "active_jobs_max": 1000}))
	ana := w.user(t, tenant, "ana")
	first := ana.create(t, whole("wide", "csv", "none"), "undisturbed")
	ana.completed(t, first)
	want := truthOf(t, list, ana.download(t, first))
	random := rand.New(rand.NewPCG(p.seed, 4))
	ids, open, kills := []string{first}, []string{}, 0
	var sweeps sync.WaitGroup
	for died := 0; died < deaths; died = w.died(t) {
		for len(open) < atOnce {
			id := ana.create(t, whole("wide", "csv", "none"), "load "+itoa(len(ids)))
			ids, open = append(ids, id), append(open, id)
		}
		if w.worn(t, open) {
			// One more death would be one too many, which is another proof's business.
			w.over(t, open)
		}
		sweeps.Go(func() { w.sweep(t) })
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if w.killed(t, random) {
			kills++
		}
		if !w.moving(t) {
			w.forward(t, "dynamodb", leaseMS)
		}
		open = slices.DeleteFunc(open, func(id string) bool { return w.item(t, "JOB#"+id, "UNIT#clean")["state"] != "" })
		if kills > 20*deaths {
			t.Fatalf("%d kills have ended %d attempts only, want %d", kills, died, deaths)
		}
	}
	sweeps.Wait()
	t.Logf("%d kills, seed %d, have ended %d attempts of: %v", kills, p.seed, w.died(t), w.figures(t))
	w.over(t, ids)
	stored := w.stored(t)
	for _, id := range ids {
		if broken := append(w.conserved(t, id, want), leavings(w.rows(t, "JOB#"+id), id, stored)...); len(broken) > 0 {
			t.Errorf("%s: %s", strings.Join(broken, "; "), w.story(t, id))
		}
	}
	t.Logf("%d exports have ended alike", len(ids))
	linearizable(t, w.balance(t, tenant))
}

// worn reports whether a unit of the exports has nearly used up how often its worker may die.
func (w *world) worn(t *testing.T, ids []string) bool {
	t.Helper()
	const nearly = 4
	for _, id := range ids {
		for _, r := range w.rows(t, "JOB#"+id) {
			if number(t, r["crashes"]) >= nearly {
				return true
			}
		}
	}
	return false
}

// died is how many invocations of the functions that work for exports have failed.
func (w *world) died(t *testing.T) (n int) {
	t.Helper()
	figures := w.figures(t)
	for _, name := range workers() {
		n += figures[name].Errors
	}
	return n
}

func workers() []string {
	return []string{"plan-shards", "process-shard", "finalize", "sweep-orphans"}
}

// killed kills a random process of this cloud's workers.
func (w *world) killed(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	ok(t, err)
	var pids []int
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environment), "AWS_ENDPOINT_URL="+w.Endpoint+"\x00") {
			continue // another's, or gone meanwhile
		}
		for _, name := range workers() {
			if strings.Contains(string(environment), "AWS_LAMBDA_FUNCTION_NAME="+stack+"-"+name+"\x00") {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				ok(t, err)
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) == 0 {
		return false
	}
	return syscall.Kill(pids[random.IntN(len(pids))], syscall.SIGKILL) == nil
}

// TestSameBytesForAnyNumberOfWorkers runs the same exports with one, two and eight shards at a time.
func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	plain := "plain"
	list := orders(37, 8_000, func(int) *string { return &plain })
	address := sqlite(t, list)
	asked := []ask{whole("many", "csv", "none"), whole("many", "csv", "gzip"), whole("many", "jsonl", "zstd")}
	template, err := os.ReadFile(filepath.Join(checkout(t), "template.yaml"))
	ok(t, err)
	first := make([][]byte, len(asked))
	for _, workers := range []int{1, 2, 8} {
		// A queue lets no fewer than two at a time; a function's own limit does.
		const place = "      MemorySize: 512\n"
		text := string(template)
		if strings.Count(text, place) != 1 {
			t.Fatalf("template.yaml has %q %d times; this test puts process-shard's concurrency there", place, strings.Count(text, place))
		}
		text = strings.Replace(text, place, fmt.Sprintf("%s      ReservedConcurrentExecutions: %d\n", place, workers), 1)
		path := filepath.Join(t.TempDir(), "template.yaml")
		ok(t, os.WriteFile(path, []byte(text), 0o600))
		w := calmly(t, "--template", path, "--param", "BulkConcurrency="+itoa(max(workers, 2)))
		w.connect(t, "many", address)
		w.define(t, definition("many", "many", map[string]any{"shard_rows": 1_000}))
		ana := w.user(t, tenant, "ana")
		var ids []string
		for i, a := range asked {
			id := ana.create(t, a, itoa(i))
			e := ana.completed(t, id)
			file := ana.download(t, id)
			if first[i] == nil {
				first[i] = file
			}
			if e.Shards != 8 || string(file) != string(first[i]) {
				t.Errorf("%d workers: %d shards of %v gave other bytes than one worker", workers, e.Shards, a["format"])
			}
			ids = append(ids, id)
		}
		w.over(t, ids)
		for _, broken := range w.conserved(t, ids[0], truthOf(t, list, first[0])) {
			t.Errorf("%d workers: %s", workers, broken)
		}
		t.Logf("%d workers at a time: %d processes", workers, w.figures(t)["process-shard"].ColdStarts)
		if n := w.figures(t)["process-shard"].ColdStarts; n > workers || workers > 1 && n < 2 {
			t.Errorf("%d processes have written shards, want at most %d and several if possible", n, workers)
		}
		linearizable(t, w.balance(t, tenant))
		if warned := w.warnings(t); len(warned) > 0 {
			t.Errorf("%d workers: undisturbed exports have warned: %s", workers, strings.Join(warned, "\n"))
		}
	}
}
