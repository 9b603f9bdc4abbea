package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestCrashMatrixOfWorkers has one call of each of many exports go wrong: every call that plan-shards, process-shard and
// finalize make in an undisturbed one, in every way. Every export ends with the bytes of an undisturbed one, every equation
// holds, and nothing is left over.
func TestCrashMatrixOfWorkers(t *testing.T) {
	t.Parallel()
	list := wide()
	w := calmly(t)
	m := matrix{world: w, plan: planned(t), source: sqlite(t, list), outcomes: outcomes{}}
	m.definition(t, "wide")
	ana := w.user(t, tenant, "ana")
	made := w.made(t)
	id := ana.create(t, whole("wide", "csv", "none"), "undisturbed")
	ana.completed(t, id)
	at := points(w.callsSince(t, made), id, "plan-shards", "process-shard", "finalize")
	ana.shards(t, id)
	m.want, m.ana = truthOf(t, list, ana.download(t, id)), ana
	strikes := m.strikes(at)
	t.Logf("an undisturbed export makes %d calls; %d strikes, seed %d", len(at), len(strikes), m.seed)
	m.playAll(t, 0, strikes)
	m.playAll(t, len(strikes), m.missing(strikes, at))
	m.print(t)
	linearizable(t, w.balance(t, tenant))
}

// matrix is a crash matrix being played.
type matrix struct {
	*world
	plan
	outcomes

	source string
	want   truth
	ana    user
}

// definition gives the table under another name and connection.
func (m matrix) definition(t *testing.T, name string) {
	t.Helper()
	m.connect(t, name, m.source)
	m.define(t, definition(name, name, map[string]any{"shard_rows": wideShardRows, "active_jobs_max": 1000}))
}

// playAll plays strikes, many at once.
func (m matrix) playAll(t *testing.T, done int, strikes []strike) {
	t.Helper()
	const atOnce = 64
	for some := range slices.Chunk(strikes, atOnce) {
		m.play(t, done, some)
		done += len(some)
		t.Logf("%d struck exports have ended", done)
	}
}

// play has some exports struck at once, waits for their ends and looks at what they have made and left.
func (m matrix) play(t *testing.T, before int, some []strike) {
	t.Helper()
	// Create's own message is refused, so that an export stands still until its fault is set.
	m.faults(t, http.MethodPut, standstill())
	ids := make([]string, len(some))
	for i, s := range some {
		name, key := "wide", itoa(before+i)
		match := rule{"function": stack + "-" + s.function, "service": s.service, "operation": s.operation, "nth": s.nth}
		// A call of the key names no export: the first that comes is struck, whosever it is, and every export is looked at.
		if s.about == own && s.service != keys {
			// So that the call can be told from those for others.
			name = fmt.Sprintf("wide-%04d", before+i)
			m.definition(t, name)
			match["key"] = name
		}
		ids[i] = m.ana.create(t, whole(name, "csv", "none"), "struck "+key)
		if s.about != own {
			match["key"] = ids[i]
		}
		m.faults(t, http.MethodPost, rule{"id": key, "match": match, "action": s.way})
	}
	for _, id := range ids {
		m.send(t, "plan", `{"schema": 1, "job": "`+id+`", "unit": "plan"}`)
	}
	m.over(t, ids)
	struck := map[any]bool{}
	for _, r := range m.faults(t, http.MethodGet, nil) {
		struck[r["id"]] = r["struck"] != 0.0
	}
	m.faults(t, http.MethodDelete, nil)
	stored := m.stored(t)
	for i, s := range some {
		broken := append(m.conserved(t, ids[i], m.want), leavings(m.rows(t, "JOB#"+ids[i]), ids[i], stored)...)
		m.saw(t, s, struck[itoa(before+i)], broken)
		if len(broken) > 0 {
			t.Log(m.story(t, ids[i]))
			continue
		}
		m.drop(t, ids[i]) // so that the disk does not fill
	}
}

// standstill keeps new exports from being planned until they are woken.
func standstill() rule {
	return rule{"id": "standstill", "match": rule{"function": stack + "-create", "service": "sqs"}, "action": "refuse", "code": "AccessDenied", "status": 403}
}

// over waits until exports have ended and are cleaned up after.
func (w *world) over(t *testing.T, ids []string) {
	t.Helper()
	open := slices.Clone(ids)
	w.calm(t, "not every export has ended and is cleaned up after", func() (string, bool) {
		open = slices.DeleteFunc(open, func(id string) bool { return w.item(t, "JOB#"+id, "UNIT#clean")["state"] == "done" })
		seen := ""
		for _, id := range open[:min(len(open), 5)] {
			seen += w.story(t, id) + "\n"
		}
		return seen, len(open) == 0
	})
}

// item is one row of the ledger.
func (w *world) item(t *testing.T, pk, sk string) row {
	t.Helper()
	out, err := dynamodb.NewFromConfig(w.aws).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &w.table, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}})
	ok(t, err)
	return read(out.Item)
}

// drop removes a finished export's artifact behind the cloud's back.
func (w *world) drop(t *testing.T, id string) {
	t.Helper()
	key := w.item(t, "JOB#"+id, "JOB")["artifact_key"]
	_, err := w.s3().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &w.bucket, Key: &key})
	ok(t, err)
}
