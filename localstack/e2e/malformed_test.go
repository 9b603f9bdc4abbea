package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestAMessageOfStrangersIsSetAsideWithinMoments puts what no function can understand on every queue that wakes one, beside
// work that is under way: all of it is among the dead letters long before the queue's visibility timeout is over once, and
// the work is done.
func TestAMessageOfStrangersIsSetAsideWithinMoments(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.connect(t, "lite", sqlite(t, orders(7, 40, awkward)))
	w.define(t, definition("lite", "lite", map[string]any{}))
	const unknown = "exp_00000000000000000000000001"
	for queue, unit := range map[string]string{"plan": "plan", "lane-bulk": "s00001", "lane-realtime": "s00001", "finalize": "finalize"} {
		sent := []string{`no JSON`, `{"order": 7}`, `{"schema": 1, "job": "7", "unit": "` + unit + `"}`, `{"schema": 1, "job": "` + unknown + `", "unit": "` + unit + `"}`}
		for _, body := range sent {
			w.send(t, queue, body)
		}
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			dead := map[string]bool{}
			await(t, patience, "not every message is among the dead letters of "+queue, func() (string, bool) {
				got, err := sqs.NewFromConfig(w.aws).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
					QueueUrl: aws.String(w.queue(t, queue+"-dead-letters")), MaxNumberOfMessages: 10, VisibilityTimeout: 600,
				})
				ok(t, err)
				for _, message := range got.Messages {
					dead[aws.ToString(message.Body)] = true
				}
				return itoa(len(dead)) + " of " + itoa(len(sent)), len(dead) == len(sent)
			})
			slices.Sort(sent)
			if got := slices.Sorted(maps.Keys(dead)); !slices.Equal(got, sent) {
				t.Errorf("the dead letters are %q, want %q", got, sent)
			}
		})
	}
	dee := w.user(t, tenant, "dee")
	dee.completed(t, dee.create(t, whole("lite", "csv", "none"), "beside strangers"))
}
