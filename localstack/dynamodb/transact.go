package dynamodb

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/dynamodb/value"
)

type transactAction struct {
	ConditionCheck *struct {
		changeInput
		Key value.Item
	} `json:",omitempty"`
	Put *struct {
		changeInput
		Item value.Item
	} `json:",omitempty"`
	Update *struct {
		changeInput
		Key              value.Item
		UpdateExpression *string
	} `json:",omitempty"`
	Delete *struct {
		changeInput
		Key value.Item
	} `json:",omitempty"`
}

type transactWriteItemsInput struct {
	metrics
	ClientRequestToken string
	TransactItems      []transactAction
}

type transactWriteItemsOutput struct {
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

func (e *Engine) transactWriteItems(in *transactWriteItemsInput) (*transactWriteItemsOutput, error) {
	if err := in.metrics.check(); err != nil {
		return nil, err
	}
	if err := checkLength(len(in.TransactItems), "transactItems", transactActionsMax); err != nil {
		return nil, err
	}
	if len(in.ClientRequestToken) > tokenBytesMax {
		return nil, constraint(in.ClientRequestToken, "clientRequestToken", "Member must have length less than or equal to "+itoa(tokenBytesMax))
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	changes, err := e.transactChanges(in.TransactItems)
	if err != nil {
		return nil, err
	}
	usage := newUsage(in.ReturnConsumedCapacity)
	err = e.update(func(s *trees) error {
		repeated, err := e.remember(s, in)
		if err != nil {
			return err
		}
		if repeated {
			return reread(s, changes, usage)
		}
		return transact(s, changes, usage)
	})
	if err != nil {
		return nil, err
	}
	return &transactWriteItemsOutput{ConsumedCapacity: usage.all()}, nil
}

// transactChanges parses all actions; two on one item are refused.
func (e *Engine) transactChanges(actions []transactAction) ([]*change, error) {
	changes := make([]*change, len(actions))
	for i, action := range actions {
		c, err := e.transactChange(action)
		if err != nil {
			return nil, err
		}
		for _, earlier := range changes[:i] {
			if earlier.table == c.table && bytes.Equal(earlier.key, c.key) {
				return nil, invalid("Transaction request cannot include multiple operations on one item")
			}
		}
		changes[i] = c
	}
	return changes, nil
}

func (e *Engine) transactChange(a transactAction) (*change, error) {
	given := 0
	for _, present := range []bool{a.ConditionCheck != nil, a.Put != nil, a.Update != nil, a.Delete != nil} {
		if present {
			given++
		}
	}
	if given != 1 {
		return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	switch {
	case a.Put != nil:
		if a.Put.Item == nil {
			return nil, missing("transactItems.member.put.item")
		}
		return e.newChange(putVerb, a.Put.changeInput, a.Put.Item, nil)
	case a.Update != nil:
		if a.Update.UpdateExpression == nil {
			return nil, missing("transactItems.member.update.updateExpression")
		}
		return e.newChange(updateVerb, a.Update.changeInput, a.Update.Key, a.Update.UpdateExpression)
	case a.Delete != nil:
		return e.newChange(deleteVerb, a.Delete.changeInput, a.Delete.Key, nil)
	default:
		if a.ConditionCheck.ConditionExpression == nil {
			return nil, missing("transactItems.member.conditionCheck.conditionExpression")
		}
		return e.newChange(checkVerb, a.ConditionCheck.changeInput, a.ConditionCheck.Key, nil)
	}
}

// transact decides all changes and then writes all of them, or none and says why.
func transact(s *trees, changes []*change, usage *usage) error {
	effects := make([]decided, len(changes))
	reasons := make([]reason, len(changes))
	cancelled := false
	total := 0
	for i, c := range changes {
		var err error
		if effects[i], err = c.decide(s); err != nil {
			why, ok := asReason(err)
			if !ok {
				return err
			}
			reasons[i], cancelled = why, true
			continue
		}
		reasons[i].Code = "None"
		total += max(effects[i].old.Size(), effects[i].next.Size())
	}
	if cancelled {
		return transactionCancelled(reasons)
	}
	if total > transactBytesMax {
		return invalid("Aggregated size of all items in the transaction has exceeded the 4 MB limit")
	}
	for _, d := range effects {
		if err := d.write(s); err != nil {
			return err
		}
		usage.wrote(d, 2)
	}
	return nil
}

// reread accounts for a transaction that was carried out before, as the reads that finding
// this out takes.
func reread(s *trees, changes []*change, usage *usage) error {
	for _, c := range changes {
		item, err := s.item(c.table, c.key)
		if err != nil {
			return err
		}
		usage.read(c.table, nil, item.Size(), 2)
	}
	return nil
}

// asReason makes the refusal of one action a reason; ok is false when the fault is ours.
func asReason(err error) (reason, bool) {
	f := asFault(err)
	switch {
	case f.status >= http.StatusInternalServerError:
		return reason{}, false
	case f.Type == serviceErrors+"ConditionalCheckFailedException":
		return reason{Code: "ConditionalCheckFailed", Message: f.Message, Item: f.Item}, true
	default:
		return reason{Code: "ValidationError", Message: f.Message}, true
	}
}

func transactionCancelled(reasons []reason) error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	f := newFault(serviceErrors+"TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	f.Reasons = reasons
	return f
}

const (
	tokenBytesMax = 36
	// tokenLife is how long the service remembers a transaction's client token.
	tokenLife = 10 * time.Minute
	// tokenPurgeMax bounds how many forgotten tokens one transaction clears away.
	tokenPurgeMax = 16
)

// tokenRecord is what is kept of a transaction under its client token.
type tokenRecord struct {
	Digest  []byte
	Expires time.Time
}

// remember keeps the token of a transaction, together with its changes or not at all. It tells
// whether this very transaction was already carried out, and refuses another under its token.
func (e *Engine) remember(s *trees, in *transactWriteItemsInput) (repeated bool, err error) {
	if in.ClientRequestToken == "" {
		return false, nil
	}
	tokens, err := s.bucket(tokensBucket())
	if err != nil {
		return false, err
	}
	canonical, err := json.Marshal(in.TransactItems)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(canonical)
	now := e.opt.Now()
	key := []byte(in.ClientRequestToken)
	if stored := tokens.Get(key); stored != nil {
		var known tokenRecord
		if err := json.Unmarshal(stored, &known); err != nil {
			return false, errors.Join(errors.New("the record of a client token is damaged"), err)
		}
		if now.Before(known.Expires) {
			if !bytes.Equal(known.Digest, digest[:]) {
				return false, newFault(serviceErrors+"IdempotentParameterMismatchException",
					"DynamoDB rejected the request because you retried a request with a different payload but with an idempotent token that was already used.")
			}
			return true, nil
		}
	}
	record, err := json.Marshal(tokenRecord{Digest: digest[:], Expires: now.Add(tokenLife)})
	if err != nil {
		return false, err
	}
	if err := tokens.Put(key, record); err != nil {
		return false, err
	}
	return false, purgeTokens(s, now, key)
}

// purgeTokens notes the end of a new token's life and clears away some whose life has ended.
func purgeTokens(s *trees, now time.Time, fresh []byte) error {
	tokens, err := s.bucket(tokensBucket())
	if err != nil {
		return err
	}
	times, err := s.bucket(tokenTimesBucket())
	if err != nil {
		return err
	}
	until := []byte(sortableTime(now))
	var ended [][]byte
	cursor := times.Cursor()
	for key, _ := cursor.First(); key != nil && len(ended) < tokenPurgeMax && bytes.Compare(key, until) < 0; key, _ = cursor.Next() {
		ended = append(ended, bytes.Clone(key))
	}
	for _, key := range ended {
		token := key[len(until):]
		if err := times.Delete(key); err != nil {
			return err
		}
		if err := forget(tokens, token, now); err != nil {
			return err
		}
	}
	return times.Put(append([]byte(sortableTime(now.Add(tokenLife))), fresh...), nil)
}

// forget removes a token unless it was used anew since.
func forget(tokens *bolt.Bucket, token []byte, now time.Time) error {
	var known tokenRecord
	if stored := tokens.Get(token); stored == nil || json.Unmarshal(stored, &known) == nil && now.Before(known.Expires) {
		return nil
	}
	return tokens.Delete(token)
}

// sortableTime is a time as text of one length whose order is that of time.
func sortableTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000000Z") }
