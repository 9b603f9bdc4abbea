package sqs

import (
	"context"
	"maps"
)

type tagQueueInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
	Tags     map[string]string
}

func (e *Engine) tagQueue(_ context.Context, _ call, in *tagQueueInput) (*empty, error) {
	return e.change(in.QueueUrl, func(_ *queue, record *queueRecord) error {
		tags := maps.Clone(record.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		maps.Copy(tags, in.Tags)
		if len(tags) > tagsMax {
			return invalidValue("Tags", len(tags), "A queue has at most %d tags.", tagsMax)
		}
		record.Tags = tags
		return nil
	})
}

type untagQueueInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
	TagKeys  []string
}

func (e *Engine) untagQueue(_ context.Context, _ call, in *untagQueueInput) (*empty, error) {
	return e.change(in.QueueUrl, func(_ *queue, record *queueRecord) error {
		record.Tags = maps.Clone(record.Tags)
		for _, key := range in.TagKeys {
			delete(record.Tags, key)
		}
		return nil
	})
}

type listQueueTagsOutput struct {
	Tags map[string]string `json:",omitempty"`
}

func (e *Engine) listQueueTags(_ context.Context, _ call, in *queueInput) (*listQueueTagsOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &listQueueTagsOutput{Tags: q.record.Tags}, nil
}

type listSourcesInput struct {
	QueueUrl   string //nolint:revive // The protocol's own spelling.
	MaxResults *int
	NextToken  string
}

type listSourcesOutput struct {
	QueueURLs []string `json:"queueUrls"`
	NextToken string   `json:",omitempty"`
}

func (e *Engine) listDeadLetterSourceQueues(_ context.Context, c call, in *listSourcesInput) (*listSourcesOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	urls, next, err := e.page(c, e.sourcesOf(q), in.MaxResults, in.NextToken)
	if urls == nil {
		urls = []string{}
	}
	return &listSourcesOutput{QueueURLs: urls, NextToken: next}, err
}

// sourcesOf names the queues whose dead letters go to q; e.mu must be held.
func (e *Engine) sourcesOf(q *queue) []string {
	var names []string
	arn := e.arn(q.record.Name)
	for name, other := range e.queues {
		if p := other.settings.redrive; p != nil && p.target == arn {
			names = append(names, name)
		}
	}
	return names
}
