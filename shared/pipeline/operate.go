package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
)

// Operator applies and shows definitions.
type Operator struct {
	Ledger Ledger
	// Jitter returns a random duration in [0, most), for full jitter between tries; without one there is no pause.
	Jitter func(most time.Duration) time.Duration
}

// Applied says what applying a definition led to; Changed is false when the newest version says the same already.
type Applied struct {
	Record  job.DefinitionRecord
	Changed bool
}

// Apply makes a definition the newest version of its name. The same contract again is no new version; jobs keep the
// version they were created with.
func (o Operator) Apply(ctx context.Context, who policy.Principal, name string, body []byte) (Applied, error) {
	if err := o.allowed(who); err != nil {
		return Applied{}, err
	}
	if len(body) > limits.RequestBytesMax {
		return Applied{}, tooLarge(len(body))
	}
	d, err := definition.Decode(body)
	if err != nil {
		return Applied{}, err
	}
	if d.Name != name {
		return Applied{}, &job.Error{Kind: job.Invalid, Code: "definition_invalid", Field: "/name",
			Detail: "/name is " + d.Name + ", but the definition is applied as " + name}
	}
	text := d.Encode()
	if len(text) > limits.RequestBytesMax {
		// The canonical form escapes more than its author did; the ledger's rows are bounded.
		return Applied{}, tooLarge(len(text))
	}
	sum := sha256.Sum256([]byte(text))
	next := job.DefinitionRecord{Name: name, Digest: hex.EncodeToString(sum[:]), Body: text, Actor: who.Subject}
	for try := range limits.ConflictTries {
		if !pause(ctx, o.Jitter, try) {
			break
		}
		head, err := o.head(ctx, name)
		if err != nil {
			return Applied{}, err
		}
		if head.Digest == next.Digest {
			return Applied{Record: head}, nil
		}
		next.Version, next.Applied = head.Version+1, o.Ledger.Now()
		err = o.Ledger.Apply(ctx, job.ApplyDefinition(head, next))
		if err == nil {
			return Applied{Record: next, Changed: true}, nil
		}
		if job.KindOf(err) != job.Fenced {
			return Applied{}, err
		}
	}
	return Applied{}, contended("definition "+name, "this version was not applied")
}

func tooLarge(size int) error {
	return job.Errorf(job.Invalid, "request_too_large", "the definition has %d bytes; at most %d are allowed: shorten titles, or split it", size, limits.RequestBytesMax)
}

func (o Operator) allowed(who policy.Principal) error {
	if policy.MayOperate(who) {
		return nil
	}
	return &job.Error{Kind: job.NotFound, Code: "not_found", Detail: "there is no such resource"}
}

func (o Operator) head(ctx context.Context, name string) (job.DefinitionRecord, error) {
	fields, err := o.Ledger.Row(ctx, job.DefinitionHeadKey(name))
	if err != nil || len(fields) == 0 {
		return job.DefinitionRecord{}, err
	}
	return job.DecodeDefinitionRecord(fields)
}

// Show reads one version of a definition; 0 is the newest. An operator gets it whole; whoever may ask for its exports gets
// the newest as far as it concerns them; for everybody else it does not exist.
func (o Operator) Show(ctx context.Context, who policy.Principal, name string, version int64) (job.DefinitionRecord, error) {
	if policy.MayOperate(who) {
		record, _, err := readDefinition(ctx, o.Ledger, name, version)
		return record, err
	}
	newest, d, err := readDefinition(ctx, o.Ledger, name, 0)
	switch {
	case err != nil:
		return job.DefinitionRecord{}, err
	case !policy.MayRequest(who, d):
		return job.DefinitionRecord{}, errNoDefinition(name)
	case version != 0 && version != newest.Version:
		return job.DefinitionRecord{}, job.Errorf(job.NotFound, "definition_not_found", "version %d of definition %q is for operators, if there is one; "+
			"the newest is %d: leave the version out", version, name, newest.Version)
	}
	return viewed(who, newest, d), nil
}

// ListedDefinition is one entry of a listing: a definition, or one that can't be read.
type ListedDefinition struct {
	Record job.DefinitionRecord
	// Unread is nil for a definition that could be read.
	Unread *Unread
}

// List reads a page of the newest version of every definition that the principal may know, in the order of names, after
// the given one. The next name is empty on the last page. One that this release can't read hides no other, and an operator
// is told of it.
func (o Operator) List(ctx context.Context, who policy.Principal, after string) (listed []ListedDefinition, next string, err error) {
	rows, err := o.Ledger.Rows(ctx, Span{PK: job.DefinitionsPK, From: " ", To: "~", After: after, Limit: limits.JobsPage})
	if err != nil {
		return nil, "", err
	}
	for _, fields := range rows {
		name := keyOf(fields).SK
		if len(rows) == limits.JobsPage {
			next = name
		}
		record, d, err := decodeDefinition(fields)
		switch {
		case err != nil && policy.MayOperate(who):
			listed = append(listed, ListedDefinition{Unread: &Unread{Record: name, Err: err}})
		case err != nil:
			// Not theirs to know, who can't be told whether it is for them.
		case policy.MayOperate(who):
			listed = append(listed, ListedDefinition{Record: record})
		case policy.MayRequest(who, d):
			listed = append(listed, ListedDefinition{Record: viewed(who, record, d)})
		}
	}
	return listed, next, nil
}

// viewed is a definition as one who may ask for its exports sees it: nothing of the source, of who applied it, or of
// columns that they may not see.
func viewed(who policy.Principal, record job.DefinitionRecord, d definition.Definition) job.DefinitionRecord {
	return job.DefinitionRecord{
		Name: record.Name, Version: record.Version, Applied: record.Applied, Body: policy.ViewOf(who, d).Encode(),
	}
}
