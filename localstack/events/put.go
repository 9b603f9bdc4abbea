package events

import (
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

type putEventsInput struct {
	Entries    []entry
	EndpointId string //nolint:revive // The protocol's own spelling.
}

// entry is one event as its sender gives it.
type entry struct {
	Source       string
	DetailType   string
	Detail       string
	Resources    []string
	Time         *float64
	EventBusName string
}

type putEventsOutput struct {
	FailedEntryCount int
	Entries          []entryResult
}

type entryResult struct {
	EventId      string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

// event is what targets get.
type event struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// putEvents accepts what is well formed. All accepted entries are kept for all
// their targets in one transaction, before the answer.
func (e *Engine) putEvents(in *putEventsInput) (*putEventsOutput, error) {
	if len(in.Entries) < 1 || len(in.Entries) > entriesMax {
		return nil, invalid("Entries must have 1 to %d entries, got %d. Send them in several requests.", entriesMax, len(in.Entries))
	}
	if in.EndpointId != "" {
		return nil, invalid("EndpointId is not provided by the embedded event bus. Leave it out.")
	}
	total := 0
	for i := range in.Entries {
		total += in.Entries[i].bytes()
	}
	if total > entriesBytesMax {
		return nil, invalid("Total size of the entries in the request is over the limit: %d bytes, at most %d are allowed. Send fewer, or put the content elsewhere and send its address.", total, entriesBytesMax)
	}
	now := e.opt.Now()
	out := &putEventsOutput{}
	var deliveries []deliveryRecord
	for i := range in.Entries {
		id := e.opt.NewID()
		matched, err := e.accept(&in.Entries[i], id, now)
		if err != nil {
			var failure *service.Error
			if !errors.As(err, &failure) {
				return nil, err
			}
			out.FailedEntryCount++
			out.Entries = append(out.Entries, entryResult{ErrorCode: failure.Kind, ErrorMessage: failure.Text})
			continue
		}
		deliveries = append(deliveries, matched...)
		out.Entries = append(out.Entries, entryResult{EventId: id})
	}
	if len(deliveries) == 0 {
		return out, nil
	}
	err := e.db.Update(func(tx *bolt.Tx) error {
		for i := range deliveries {
			number, err := tx.Bucket([]byte(bucketDelivery)).NextSequence()
			if err != nil {
				return fmt.Errorf("next delivery number: %w", err)
			}
			deliveries[i].Number = number
			if err := service.Put(tx, bucketDelivery, service.NumberKey(number), deliveries[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keep %d deliveries: %w", len(deliveries), err)
	}
	for _, d := range deliveries {
		heap.Push(&e.waiting, d)
	}
	e.nudge()
	return out, nil
}

// bytes is the size that counts against the limit of a request.
func (n *entry) bytes() int {
	size := len(n.Source) + len(n.DetailType) + len(n.Detail)
	if n.Time != nil {
		size += 14
	}
	for _, resource := range n.Resources {
		size += len(resource)
	}
	return size
}

// accept checks an entry and returns a delivery for every target of every rule that matches.
func (e *Engine) accept(n *entry, id string, now time.Time) ([]deliveryRecord, error) {
	if err := e.checkEntry(n); err != nil {
		return nil, err
	}
	at := now
	if n.Time != nil {
		at = time.UnixMilli(int64(*n.Time * 1000))
	}
	resources := n.Resources
	if resources == nil {
		resources = []string{}
	}
	text, err := json.Marshal(event{
		Version: "0", ID: id, DetailType: n.DetailType, Source: n.Source, Account: e.opt.AccountID, Time: at.UTC().Format(time.RFC3339),
		Region: e.opt.Region, Resources: resources, Detail: json.RawMessage(n.Detail),
	})
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	value, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	var out []deliveryRecord
	for _, name := range slices.Sorted(maps.Keys(e.rules)) {
		r := e.rules[name]
		if r.record.State != "ENABLED" || !r.pattern.matches(value) {
			continue
		}
		for _, t := range r.record.Targets {
			input := t.Input
			if input == "" {
				input = string(text)
			}
			out = append(out, deliveryRecord{Rule: name, EventID: id, Target: t, Input: input, AcceptedMS: now.UnixMilli(), RetryMS: now.UnixMilli()})
		}
	}
	return out, nil
}

func (e *Engine) checkEntry(n *entry) error {
	required := func(name string) error {
		return service.Refuse("InvalidArgument", "Parameter %s is not valid. Reason: %s is a required argument.", name, name)
	}
	switch {
	case n.Source == "":
		return required("Source")
	case n.DetailType == "":
		return required("DetailType")
	case n.Detail == "":
		return required("Detail")
	case strings.HasPrefix(n.Source, "aws."):
		return service.Refuse("NotAuthorizedForSourceException", "Not authorized for the source: %q is for AWS services. Use your own name.", n.Source)
	}
	if value, err := decodeJSON([]byte(n.Detail)); err != nil {
		return service.Refuse("MalformedDetail", "Detail is malformed: %v. Give a JSON object.", err)
	} else if _, isObject := value.(map[string]any); !isObject {
		return service.Refuse("MalformedDetail", "Detail is malformed: it is not a JSON object.")
	}
	return e.checkBus(n.EventBusName)
}
