package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// TestStalledWorker stops a worker's process in the middle of an upload until its lease has ended and another attempt has
// done its work, and lets it go on then: what it still writes lands nowhere.
func TestStalledWorker(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.record(t)
	w.connect(t, "wide", sqlite(t, wide()))
	w.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows}))
	ana := w.user(t, tenant, "ana")
	asked := whole("wide", "csv", "none")
	want := ana.undisturbed(t, asked)
	const unit = "s00001"
	w.faults(t, http.MethodPut, rule{"id": "slow", "match": rule{"function": stack + "-process-shard", "operation": "UploadPart"}, "action": "delay", "delay_ms": 5_000})
	// Another worker is slow and lives, for long enough to renew its lease.
	slower := rule{"id": "slower", "match": rule{"function": stack + "-process-shard", "operation": "PutObject", "key": "/s00003/"}, "action": "delay", "delay_ms": 25_000}
	w.faults(t, http.MethodPost, slower)
	made := w.made(t)
	id := ana.create(t, asked, "stalled")
	process := ""
	await(t, patience, "no part is being uploaded", func() (string, bool) {
		for _, c := range w.callsSince(t, made) {
			if c.Operation == "UploadPart" && strings.Contains(c.Subject, id+"/"+unit) {
				process = c.Process
			}
		}
		return "", process != ""
	})
	stalled := pidOf(t, process)
	ok(t, syscall.Kill(stalled, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(stalled, syscall.SIGCONT) })
	w.faults(t, http.MethodPut, slower)
	await(t, slowWait, "nobody takes over from the stalled worker", func() (string, bool) {
		w.sweep(t)
		r := w.unit(t, id, unit)
		return w.story(t, id), r["generation"] == "2" && r["state"] == "done"
	})
	ok(t, syscall.Kill(stalled, syscall.SIGCONT))
	ana.completed(t, id)
	ana.same(t, id, want)
	if history := w.unit(t, id, unit)["history"]; strings.Count(history, `"crashed"`) != 1 {
		t.Errorf("the unit's history does not tell of one dead lease: %s", history)
	}
	// The one that was stalled says what it still has to say, to nobody.
	await(t, patience, "the worker that was stalled has not ended", func() (string, bool) {
		lane, err := sqs.NewFromConfig(w.aws).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: aws.String(w.queue(t, "lane-bulk")), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
		})
		ok(t, err)
		hidden := lane.Attributes["ApproximateNumberOfMessagesNotVisible"]
		return hidden + " messages are in flight", hidden == "0" && lane.Attributes["ApproximateNumberOfMessages"] == "0"
	})
	ana.same(t, id, want)
	w.settle(t, []string{id})
	entries := w.journal(t)
	linearizable(t, entries)
	if renewals(historiesOf(t, entries)[id]) == 0 {
		t.Error("nobody has renewed a lease")
	}
}

// renewals counts those that were accepted in a history.
func renewals(history []porcupine.Operation) (n int) {
	for _, op := range history {
		for _, w := range op.Input.(move).writes {
			if op.Output.(verdict).accepted && w.value("lease_until_ms") != "" && w.value("owner") == "" {
				n++
			}
		}
	}
	return n
}

// pidOf finds a function's process by the id that the cloud has given it in its environment.
func pidOf(t *testing.T, process string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	ok(t, err)
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environment), process) {
			continue // another's, or gone meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		ok(t, err)
		return pid
	}
	t.Fatalf("no process has the id %s", process)
	return 0
}
