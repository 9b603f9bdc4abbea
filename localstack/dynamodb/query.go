package dynamodb

import (
	"encoding/binary"
	"math/bits"

	"sealift/localstack/dynamodb/expression"
)

type queryInput struct {
	readInput
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

func (e *Engine) query(in *queryInput) (*readOutput, error) {
	if in.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	scope, filter, projection, err := in.parse("FilterExpression and KeyConditionExpression are null", in.KeyConditionExpression)
	if err != nil {
		return nil, err
	}
	terms, err := scope.KeyCondition(*in.KeyConditionExpression)
	if err != nil {
		return nil, err
	}
	if err := scope.Unused(); err != nil {
		return nil, err
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	p, err := e.newPage(&in.readInput, filter, projection)
	if err != nil {
		return nil, err
	}
	for _, a := range p.key.attributes() {
		if filter != nil && filter.Names(a.Name) {
			return nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", a.Name)
		}
	}
	if p.low, p.high, err = p.key.bounds(terms); err != nil {
		return nil, err
	}
	p.reverse = in.ScanIndexForward != nil && !*in.ScanIndexForward
	if err := p.startAfter(in.ExclusiveStartKey); err != nil {
		return nil, err
	}
	return p.run(e, in.ReturnConsumedCapacity)
}

// parse parses the filter and the projection; further are the request's other expressions.
func (in *readInput) parse(clauses string, further ...*string) (*expression.Scope, *expression.Condition, *expression.Projection, error) {
	scope, err := in.scope(clauses, append(further, in.FilterExpression, in.ProjectionExpression)...)
	if err != nil {
		return nil, nil, nil, err
	}
	var filter *expression.Condition
	if in.FilterExpression != nil {
		if filter, err = scope.Condition("FilterExpression", *in.FilterExpression); err != nil {
			return nil, nil, nil, err
		}
	}
	var projection *expression.Projection
	if in.ProjectionExpression != nil {
		if projection, err = scope.Projection(*in.ProjectionExpression); err != nil {
			return nil, nil, nil, err
		}
	}
	return scope, filter, projection, nil
}

// bounds turns a key condition into the range of stored keys that meet it.
func (k keySchema) bounds(terms []expression.KeyTerm) (low, high []byte, err error) {
	if len(terms) > 2 {
		return nil, nil, invalid("Conditions can be of length 1 or 2 only")
	}
	var hash, sort *expression.KeyTerm
	for i, t := range terms {
		switch {
		case t.Name == k.Hash.Name:
			hash = &terms[i]
		case k.Range.Name != "" && t.Name == k.Range.Name:
			sort = &terms[i]
		}
	}
	switch {
	case hash == nil:
		return nil, nil, invalid("Query condition missed key schema element: %s", k.Hash.Name)
	case len(terms) == 2 && k.Range.Name == "", hash.Op != "=":
		return nil, nil, invalid("Query key condition not supported")
	case len(terms) == 2 && sort == nil:
		return nil, nil, invalid("Query condition missed key schema element: %s", k.Range.Name)
	}
	if err := checkTerm(k.Hash, hash); err != nil {
		return nil, nil, err
	}
	partition := k.appendPartition(nil, hash.Values[0])
	if sort == nil {
		return partition, after(partition), nil
	}
	if err := checkTerm(k.Range, sort); err != nil {
		return nil, nil, err
	}
	low, high = sortBounds(partition, sort)
	return low, high, nil
}

func checkTerm(a attribute, t *expression.KeyTerm) error {
	for _, v := range t.Values {
		if v.Kind() != a.Kind {
			return invalidParameter("Condition parameter type does not match schema type")
		}
		if err := checkKeyValue(a, v); err != nil {
			return err
		}
	}
	return nil
}

func sortBounds(partition []byte, t *expression.KeyTerm) (low, high []byte) {
	clone := func() []byte { return append([]byte(nil), partition...) }
	first := t.Values[0].AppendOrdered(clone())
	switch t.Op {
	case "=":
		return first, after(first)
	case "<":
		return partition, first
	case "<=":
		return partition, after(first)
	case ">":
		return after(first), after(partition)
	case ">=":
		return first, after(partition)
	case "BETWEEN":
		return first, after(t.Values[1].AppendOrdered(clone()))
	default: // begins_with
		prefix := t.Values[0].AppendOrderedPrefix(clone())
		return prefix, after(prefix)
	}
}

type scanInput struct {
	readInput
	Segment       *int
	TotalSegments *int
}

const segmentsMax = 1_000_000

func (e *Engine) scan(in *scanInput) (*readOutput, error) {
	scope, filter, projection, err := in.parse("FilterExpression is null")
	if err != nil {
		return nil, err
	}
	if err := scope.Unused(); err != nil {
		return nil, err
	}
	if err := in.checkSegments(); err != nil {
		return nil, err
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	p, err := e.newPage(&in.readInput, filter, projection)
	if err != nil {
		return nil, err
	}
	if in.TotalSegments != nil {
		p.low, p.high = segmentBounds(*in.Segment, *in.TotalSegments)
	}
	if err := p.startAfter(in.ExclusiveStartKey); err != nil {
		return nil, err
	}
	return p.run(e, in.ReturnConsumedCapacity)
}

func (in *scanInput) checkSegments() error {
	segment, total := in.Segment, in.TotalSegments
	switch {
	case segment == nil && total == nil:
		return nil
	case total == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *total < 1 || *total > segmentsMax:
		return constraint(itoa(*total), "totalSegments", "Member must have value between 1 and "+itoa(segmentsMax))
	case *segment < 0:
		return constraint(itoa(*segment), "segment", "Member must have value greater than or equal to 0")
	case *segment >= *total:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *segment, *total)
	}
	return nil
}

// segmentBounds cuts the space of hashes, and so of stored keys, into equal ranges.
func segmentBounds(segment, total int) (low, high []byte) {
	bound := func(n int) []byte {
		at, _ := bits.Div64(uint64(n), 0, uint64(total))
		return binary.BigEndian.AppendUint64(nil, at)
	}
	if segment+1 < total {
		high = bound(segment + 1)
	}
	return bound(segment), high
}
