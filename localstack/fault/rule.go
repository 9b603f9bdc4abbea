package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sealift/localstack/role"
)

// Action is what a rule does to a call that it strikes.
type Action string

// The actions.
const (
	// Refuse answers with Code and Status instead of doing the call.
	Refuse Action = "refuse"
	// Throttle answers as the service does when it is asked too often.
	Throttle Action = "throttle"
	// DropRequest closes the connection without doing the call.
	DropRequest Action = "drop_request"
	// DropAnswer does the call and closes the connection without an answer.
	DropAnswer Action = "drop_answer"
	// Delay waits DelayMS before the call is done.
	Delay Action = "delay"
	// KillBefore kills the calling function's process and does not do the call.
	KillBefore Action = "kill_before"
	// KillAfter does the call and kills the calling function's process before it
	// gets the answer.
	KillAfter Action = "kill_after"
	// Duplicate answers the queue's next ReceiveMessage with the same messages
	// once more.
	Duplicate Action = "duplicate"
)

// delayMSMax bounds a delay to an hour.
const delayMSMax = 3_600_000

// Match says which calls a rule strikes. Empty fields fit everything.
type Match struct {
	// Function is the caller: a function's name for calls of its processes, with
	// "/outside" for calls in its name that the poller of its queue or the holder
	// of a link makes, "operator" for all others.
	Function string `json:"function,omitempty"`
	Service  string `json:"service,omitempty"`
	// Operation is the API's name, such as UpdateItem or UploadPart.
	Operation string `json:"operation,omitempty"`
	// Key is part of what the call is about: an object key, a bucket and prefix, a
	// table and item key, a queue's name and message.
	Key string `json:"key,omitempty"`
	// Subject is all of what the call is about.
	Subject string `json:"subject,omitempty"`
	// Nth strikes the n-th fitting call only, counted from 1; 0 strikes all.
	Nth int `json:"nth,omitempty"`
}

// Rule is one ordered misbehaviour.
type Rule struct {
	ID     string `json:"id,omitempty"`
	Match  Match  `json:"match"`
	Action Action `json:"action"`
	// Times ends the rule after so many strikes; 0 never does.
	Times   int    `json:"times,omitempty"`
	DelayMS int    `json:"delay_ms,omitempty"`
	Code    string `json:"code,omitempty"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`

	// Fitted and Struck count calls that fit and calls that were struck.
	Fitted int `json:"fitted"`
	Struck int `json:"struck"`
}

// check says what is wrong with a rule.
func (r *Rule) check() error {
	switch r.Action {
	case Throttle, DropRequest, DropAnswer, KillBefore, KillAfter:
	case Refuse:
		if r.Code == "" || r.Status != 0 && (r.Status < 400 || r.Status > 599) {
			return errors.New(`action "refuse" needs "code", the service's error code, and takes "status" between 400 and 599`)
		}
	case Delay:
		if r.DelayMS < 1 || r.DelayMS > delayMSMax {
			return fmt.Errorf(`action "delay" needs "delay_ms" between 1 and %d`, delayMSMax)
		}
	case Duplicate:
		if r.Match.Service != string(role.SQS) || r.Match.Operation != "ReceiveMessage" {
			return errors.New(`action "duplicate" needs "service": "sqs" and "operation": "ReceiveMessage" in "match"`)
		}
	default:
		known := []string{string(Refuse), string(Throttle), string(DropRequest), string(DropAnswer), string(Delay), string(KillBefore), string(KillAfter), string(Duplicate)}
		return fmt.Errorf("action %q is none of %s", r.Action, strings.Join(known, ", "))
	}
	if r.Match.Nth < 0 || r.Times < 0 {
		return errors.New(`"nth" and "times" are counts from 0`)
	}
	services := []role.Service{"", role.DynamoDB, role.SQS, role.S3, role.Scheduler, role.Events, role.Secrets, role.KMS, role.Lambda}
	if !slices.Contains(services, role.Service(r.Match.Service)) {
		return fmt.Errorf("service %q is none of dynamodb, sqs, s3, scheduler, events, secretsmanager, kms, lambda", r.Match.Service)
	}
	return nil
}

// fits reports whether a rule is about a call, its count aside.
func (r *Rule) fits(c role.Call) bool {
	m := r.Match
	return (m.Function == "" || m.Function == c.Caller.Name()) &&
		(m.Service == "" || m.Service == string(c.Service)) &&
		(m.Operation == "" || m.Operation == c.Operation) &&
		(m.Key == "" || strings.Contains(c.Subject, m.Key)) &&
		(m.Subject == "" || m.Subject == c.Subject)
}

// strikes counts a fitting call and reports whether the rule strikes it.
func (r *Rule) strikes() bool {
	r.Fitted++
	if r.Match.Nth > 0 && r.Fitted != r.Match.Nth || r.Times > 0 && r.Struck >= r.Times {
		return false
	}
	r.Struck++
	return true
}
