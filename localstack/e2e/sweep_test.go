package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestOneSweepReachesEverybody gives the sweeper an orphan that it may not delete and more rows of a newer release than one
// page of each bucket has, all due before anything else. One sweep finds the lost message of an export and removes the other
// orphans all the same, says what it met in few words, and leaves the rows as they are.
func TestOneSweepReachesEverybody(t *testing.T) {
	t.Parallel()
	const newer, rows = "exp_00000000000000000000000009", 8 * 110
	w := calmly(t)
	w.connect(t, "small", sqlite(t, orders(7, 40, awkward)))
	w.define(t, definition("small", "small", nil))
	ana := w.user(t, tenant, "ana")
	w.ofNewerRelease(t, newer, rows)
	before := w.rows(t, "JOB#"+newer)
	orphans := []string{
		"staging/" + tenant + "/exp_00000000000000000000000001/s00001/0000000001",
		"staging/" + tenant + "/exp_00000000000000000000000002/s00001/0000000001",
		"artifacts/globex/exp_00000000000000000000000003/0000000001-abc/x.csv",
	}
	for _, key := range orphans {
		w.put(t, key)
	}
	w.forward(t, "dynamodb", 25*3_600_000)
	w.faults(t, http.MethodPost, rule{"match": rule{"function": stack + "-create", "operation": "SendMessage"}, "action": "drop_request"})
	lost := ana.create(t, whole("small", "csv", "none"), "lost")
	w.faults(t, http.MethodDelete, nil)
	w.faults(t, http.MethodPost, rule{"match": rule{"function": stack + "-sweep-orphans", "operation": "DeleteObject", "key": orphans[0]}, "action": "refuse", "code": "AccessDenied", "status": 403})
	w.forward(t, "dynamodb", leaseMS)

	w.sweep(t)
	ana.completed(t, lost)
	stored := w.stored(t)
	for i, key := range orphans {
		if slices.Contains(stored, key) != (i == 0) {
			t.Errorf("after the sweep %s is stored: %t", key, i != 0)
		}
	}
	said := strings.Join(w.warnings(t), "\n")
	for _, want := range []string{"store_denied: once, at " + orphans[0], fmt.Sprintf("ledger_row_schema: %d times, at JOB#%s ", rows, newer), "finish the deployment of the release that wrote it", fmt.Sprintf(`"unread":%d`, rows)} {
		if !strings.Contains(said, want) {
			t.Errorf("the sweeper does not say %q, but %.4000s", want, said)
		}
	}
	if len(said) > 4_000 {
		t.Errorf("the sweeper says it in %d bytes: %.4000s", len(said), said)
	}
	for sk, r := range w.rows(t, "JOB#"+newer) {
		if fmt.Sprint(r) != fmt.Sprint(before[sk]) {
			t.Errorf("row %s of the newer release was %v and is %v", sk, before[sk], r)
		}
	}
	w.faults(t, http.MethodDelete, nil)
	w.sweep(t)
	if stored := w.stored(t); slices.Contains(stored, orphans[0]) {
		t.Errorf("the orphan that may be deleted again is still there: %v", stored)
	}
}

// ofNewerRelease writes the rows of a job as a newer release might, due long ago.
func (w *world) ofNewerRelease(t *testing.T, id string, units int) {
	t.Helper()
	text := func(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }
	number := func(value string) types.AttributeValue { return &types.AttributeValueMemberN{Value: value} }
	var puts []types.WriteRequest
	for n := range units + 1 {
		item := map[string]types.AttributeValue{"pk": text("JOB#" + id), "sk": text("JOB"), "schema": number("2"), "job": text(id), "state": text("running")}
		if n > 0 {
			item["sk"], item["due_bucket"], item["due_at_ms"] = text(fmt.Sprintf("UNIT#s%05d", n)), text(fmt.Sprintf("due#%02d", n%8)), number("1000")
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	for some := range slices.Chunk(puts, 25) {
		_, err := dynamodb.NewFromConfig(w.aws).BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.table: some}})
		ok(t, err)
	}
}
