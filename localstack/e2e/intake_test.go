package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

// intent is a request as upstream services send it.
func intent(t *testing.T, tenant, key string, asked ask) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"tenant": tenant, "idempotency_key": key, "request": asked})
	ok(t, err)
	return string(text)
}

// found waits for the tenant's export of a purpose and returns its end.
func (u user) found(t *testing.T, purpose string) export {
	t.Helper()
	id := ""
	await(t, patience, "no export for "+purpose, func() (string, bool) {
		body := u.do(t, http.MethodGet, "/v1/exports?limit=100", nil).want(t, http.StatusOK).object(t)
		for _, item := range body["exports"].([]any) {
			if e := item.(map[string]any); e["purpose"] == purpose {
				id = e["id"].(string)
			}
		}
		return "", id != ""
	})
	return u.completed(t, id)
}

func proveIntake(t *testing.T, s *shared) {
	queues := sqs.NewFromConfig(s.aws)
	// A refused message is shown again after the queue's visibility timeout, five times; shorten the wait.
	_, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: aws.String(s.queue(t, "intake")), Attributes: map[string]string{"VisibilityTimeout": "1"},
	})
	ok(t, err)
	boss := s.user(t, "upstream", "boss", "sealift:tenant-exports")
	asked := whole("lite", "jsonl", "gzip")
	for range 2 {
		s.send(t, "intake", intent(t, "upstream", "intake-1", asked.with("purpose", "by message")))
	}
	s.send(t, "intake", intent(t, tenant, "intake-2", asked.with("purpose", "for a tenant of others")))
	s.send(t, "intake", `{"tenant": "upstream", "request": {"definition": "nothing"}}`)
	s.send(t, "intake", `no JSON`)
	put := func(source, purpose string) {
		_, err := eventbridge.NewFromConfig(s.aws).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{
			Source: &source, DetailType: aws.String("sealift.export.requested"), Detail: aws.String(intent(t, "upstream", purpose, asked.with("purpose", purpose))),
		}}})
		ok(t, err)
	}
	put("shop.orders", "by event")
	put("shop.strangers", "by a stranger's event")

	for _, purpose := range []string{"by message", "by event"} {
		e := boss.found(t, purpose)
		equal(t, parse(t, boss.download(t, e.ID), "jsonl", "gzip"), nil)
	}
	dead := map[string]bool{}
	await(t, patience, "not every refused message is among the dead letters", func() (string, bool) {
		got, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(s.queue(t, "intake-dead-letters")),
			MaxNumberOfMessages: 10, VisibilityTimeout: 600, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll}})
		ok(t, err)
		for _, message := range got.Messages {
			dead[aws.ToString(message.Body)] = true
		}
		return itoa(len(dead)) + " of 3", len(dead) == 3
	})
	var purposes []string
	for _, item := range boss.do(t, http.MethodGet, "/v1/exports?limit=100", nil).object(t)["exports"].([]any) {
		purposes = append(purposes, item.(map[string]any)["purpose"].(string))
	}
	if len(purposes) != 2 {
		t.Errorf("the upstream tenant has exports %q, want one by message and one by event", purposes)
	}
}
