package sqs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

type empty struct{}

type queueInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
}

type createQueueInput struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}

type queueURLOutput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) createQueue(_ context.Context, c call, in *createQueueInput) (*queueURLOutput, error) {
	if err := checkQueueName(in.QueueName); err != nil {
		return nil, err
	}
	attributes, err := normalise(in.Attributes)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) > tagsMax {
		return nil, invalidValue("Tags", len(in.Tags), "A queue has at most %d tags.", tagsMax)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	if q := e.queues[in.QueueName]; q != nil {
		return e.adopt(c, q, attributes)
	}
	maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
	s, err := parseSettings(attributes)
	if err != nil {
		return nil, err
	}
	if err := e.checkRedrive(in.QueueName, s.redrive); err != nil {
		return nil, err
	}
	now := e.opt.Now()
	if since := now.Sub(e.deleted[in.QueueName]); since < recreateInterval {
		return nil, refuse("QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently",
			"You must wait %d seconds after deleting a queue before you can create another with the same name; queue %q was deleted %d seconds ago.",
			int(recreateInterval/time.Second), in.QueueName, int(since/time.Second))
	}
	record := queueRecord{Name: in.QueueName, Attributes: attributes, Tags: in.Tags, CreatedMS: toMS(now), ModifiedMS: toMS(now)}
	err = e.db.Update(func(tx *bolt.Tx) error {
		if record.Number, err = tx.Bucket([]byte(bucketQueue)).NextSequence(); err != nil {
			return fmt.Errorf("next queue number: %w", err)
		}
		if err := tx.Bucket([]byte(bucketDeleted)).Delete([]byte(in.QueueName)); err != nil {
			return fmt.Errorf("forget deletion: %w", err)
		}
		return service.Put(tx, bucketQueue, []byte(record.Name), record)
	})
	if err != nil {
		return nil, fmt.Errorf("create queue %s: %w", in.QueueName, err)
	}
	delete(e.deleted, in.QueueName)
	e.queues[in.QueueName] = newQueue(record, s)
	return &queueURLOutput{QueueUrl: e.url(c, in.QueueName)}, nil
}

// adopt answers the creation of a queue that exists already: it is the same
// queue if no given attribute differs.
func (e *Engine) adopt(c call, q *queue, attributes map[string]string) (*queueURLOutput, error) {
	have := e.describe(q)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if attributes[name] != have[name] {
			return nil, refuse("QueueNameExists", "QueueAlreadyExists",
				"A queue already exists with the same name and a different value for attribute %s: it has %q, the request %q. Use SetQueueAttributes to change it.",
				name, have[name], attributes[name])
		}
	}
	return &queueURLOutput{QueueUrl: e.url(c, q.record.Name)}, nil
}

func checkQueueName(name string) error {
	if name == "" {
		return missingParameter("QueueName")
	}
	if strings.HasSuffix(name, ".fifo") {
		return invalidValue("QueueName", name, "FIFO queues are not provided by the embedded queues. Choose a name without .fifo and use MessageGroupId for fairness.")
	}
	if len(name) > nameCharsMax || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) {
		return invalidValue("QueueName", name, "Can only include alphanumeric characters, hyphens, or underscores. 1 to %d in length.", nameCharsMax)
	}
	return nil
}

// checkRedrive makes sure that a redrive policy leads to a queue that takes it.
func (e *Engine) checkRedrive(name string, p *redrivePolicy) error {
	if p == nil {
		return nil
	}
	target := e.byARN(p.target)
	switch {
	case target == nil:
		return invalidValue(attrRedrive, p.target, "Dead letter target does not exist. Create that queue first, or correct deadLetterTargetArn.")
	case target.record.Name == name:
		return invalidValue(attrRedrive, p.target, "A queue cannot be its own dead letter target.")
	case !target.settings.allow.admits(e.arn(name)):
		return invalidValue(attrRedrive, p.target, "The dead letter target's RedriveAllowPolicy does not admit %s. Change that policy first.", e.arn(name))
	}
	return nil
}

// byARN returns the queue with that ARN, or nil; e.mu must be held.
func (e *Engine) byARN(arn string) *queue {
	name, ours := strings.CutPrefix(arn, e.arn(""))
	if !ours {
		return nil
	}
	return e.queues[name]
}

func (e *Engine) deleteQueue(_ context.Context, _ call, in *queueInput) (*empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	name, now := q.record.Name, e.opt.Now()
	var free []string // deleted long enough ago to be forgotten
	for other, at := range e.deleted {
		if now.Sub(at) >= recreateInterval {
			free = append(free, other)
		}
	}
	err = e.db.Update(func(tx *bolt.Tx) error {
		for _, other := range free {
			if err := tx.Bucket([]byte(bucketDeleted)).Delete([]byte(other)); err != nil {
				return fmt.Errorf("forget deletion: %w", err)
			}
		}
		if err := deleteAllMessages(tx, q.record.Number); err != nil {
			return err
		}
		if err := tx.Bucket([]byte(bucketQueue)).Delete([]byte(name)); err != nil {
			return fmt.Errorf("delete queue record: %w", err)
		}
		return service.Put(tx, bucketDeleted, []byte(name), toMS(now))
	})
	if err != nil {
		return nil, fmt.Errorf("delete queue %s: %w", name, err)
	}
	for _, other := range free {
		delete(e.deleted, other)
	}
	delete(e.queues, name)
	e.deleted[name] = now
	q.notify()
	return &empty{}, nil
}

type getQueueURLInput struct {
	QueueName              string
	QueueOwnerAWSAccountId string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) getQueueURL(_ context.Context, c call, in *getQueueURLInput) (*queueURLOutput, error) {
	if in.QueueName == "" {
		return nil, missingParameter("QueueName")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if owner := in.QueueOwnerAWSAccountId; owner != "" && owner != e.opt.AccountID {
		return nil, refuse("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
			"The specified queue does not exist: this endpoint has no account %s. Use %s.", owner, e.opt.AccountID)
	}
	q, err := e.find(in.QueueName)
	if err != nil {
		return nil, err
	}
	return &queueURLOutput{QueueUrl: e.url(c, q.record.Name)}, nil
}

type listQueuesInput struct {
	QueueNamePrefix string
	MaxResults      *int
	NextToken       string
}

type listQueuesOutput struct {
	QueueUrls []string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	NextToken string   `json:",omitempty"`
}

func (e *Engine) listQueues(_ context.Context, c call, in *listQueuesInput) (*listQueuesOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	var names []string
	for name := range e.queues {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			names = append(names, name)
		}
	}
	urls, next, err := e.page(c, names, in.MaxResults, in.NextToken)
	return &listQueuesOutput{QueueUrls: urls, NextToken: next}, err
}

// page cuts the sorted names into pages; a token is the last name of the page before.
func (e *Engine) page(c call, names []string, sizeMax *int, token string) (urls []string, next string, err error) {
	limit := listMax
	if sizeMax != nil {
		if limit = *sizeMax; limit < 1 || limit > listMax {
			return nil, "", invalidValue("MaxResults", limit, "Must be between 1 and %d.", listMax)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if name <= token {
			continue
		}
		if len(urls) == limit {
			if sizeMax != nil {
				next = urls[limit-1][strings.LastIndexByte(urls[limit-1], '/')+1:]
			}
			break
		}
		urls = append(urls, e.url(c, name))
	}
	return urls, next, nil
}

type getQueueAttributesInput struct {
	QueueUrl       string //nolint:revive // The protocol's own spelling.
	AttributeNames []string
}

type queueAttributes struct {
	Attributes map[string]string `json:",omitempty"`
}

func (e *Engine) getQueueAttributes(_ context.Context, _ call, in *getQueueAttributesInput) (*queueAttributes, error) {
	for _, name := range in.AttributeNames {
		if !isAttributeName(name) {
			return nil, invalidAttributeName(name, "Ask for All, or for names of the SQS API reference for standard queues.")
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	now := e.opt.Now()
	if _, err := e.expire(q, now); err != nil {
		return nil, err
	}
	q.promote(now)
	attributes := e.describe(q)
	if !slices.Contains(in.AttributeNames, "All") {
		maps.DeleteFunc(attributes, func(name, _ string) bool { return !slices.Contains(in.AttributeNames, name) })
	}
	return &queueAttributes{Attributes: attributes}, nil
}

type setQueueAttributesInput struct {
	QueueUrl   string //nolint:revive // The protocol's own spelling.
	Attributes map[string]string
}

func (e *Engine) setQueueAttributes(_ context.Context, _ call, in *setQueueAttributesInput) (*empty, error) {
	if len(in.Attributes) == 0 {
		return nil, missingParameter("Attributes")
	}
	given, err := normalise(in.Attributes)
	if err != nil {
		return nil, err
	}
	return e.change(in.QueueUrl, func(q *queue, record *queueRecord) error {
		record.Attributes = maps.Clone(record.Attributes)
		if record.Attributes == nil {
			record.Attributes = map[string]string{}
		}
		maps.Copy(record.Attributes, given)
		maps.DeleteFunc(record.Attributes, func(_, value string) bool { return value == "" })
		record.ModifiedMS = toMS(e.opt.Now())
		if given[attrRedrive] == "" {
			return nil
		}
		p, err := parseRedrive(given[attrRedrive])
		if err != nil {
			return err
		}
		return e.checkRedrive(q.record.Name, p)
	})
}

// change rewrites the record of a queue and wakes its waiting receives.
func (e *Engine) change(queueURL string, edit func(*queue, *queueRecord) error) (*empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(queueURL)
	if err != nil {
		return nil, err
	}
	record := q.record
	if err := edit(q, &record); err != nil {
		return nil, err
	}
	s, err := parseSettings(record.Attributes)
	if err != nil {
		return nil, err
	}
	err = e.db.Update(func(tx *bolt.Tx) error { return service.Put(tx, bucketQueue, []byte(record.Name), record) })
	if err != nil {
		return nil, fmt.Errorf("change queue %s: %w", record.Name, err)
	}
	q.record, q.settings = record, s
	q.notify()
	return &empty{}, nil
}

func (e *Engine) purgeQueue(_ context.Context, _ call, in *queueInput) (*empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	now := e.opt.Now()
	if now.Sub(fromMS(q.record.PurgedMS)) < purgeInterval {
		return nil, refuse("PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress",
			"Only one PurgeQueue operation on %s is allowed every %d seconds. Wait, then repeat it.", q.record.Name, int(purgeInterval/time.Second))
	}
	record := q.record
	record.PurgedMS = toMS(now)
	err = e.db.Update(func(tx *bolt.Tx) error {
		if err := deleteAllMessages(tx, record.Number); err != nil {
			return err
		}
		return service.Put(tx, bucketQueue, []byte(record.Name), record)
	})
	if err != nil {
		return nil, fmt.Errorf("purge queue %s: %w", record.Name, err)
	}
	q.record = record
	q.clear()
	return &empty{}, nil
}
