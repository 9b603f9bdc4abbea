package dynamodb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sealift/localstack/dynamodb/value"
)

const (
	batchGetKeysMax   = 100
	batchGetBytesMax  = 16 << 20
	batchWriteMax     = 25
	batchWriteByteMax = 16 << 20
)

func itoa(n int) string { return strconv.Itoa(n) }

// checkLength checks the length of a list that must have at least one element.
func checkLength(length int, member string, most int) error {
	switch {
	case length < 1:
		return constraint("[]", member, "Member must have length greater than or equal to 1")
	case length > most:
		return constraint(fmt.Sprintf("[%d elements]", length), member, "Member must have length less than or equal to "+itoa(most))
	default:
		return nil
	}
}

// keysAndAttributes are the items to read of one table.
type keysAndAttributes struct {
	Keys                     []value.Item      `json:",omitempty"`
	ConsistentRead           bool              `json:",omitempty"`
	ProjectionExpression     *string           `json:",omitempty"`
	ExpressionAttributeNames map[string]string `json:",omitempty"`
}

type batchGetItemInput struct {
	RequestItems           map[string]*keysAndAttributes
	ReturnConsumedCapacity string
}

type batchGetItemOutput struct {
	Responses        map[string][]value.Item
	UnprocessedKeys  map[string]*keysAndAttributes
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

func (e *Engine) batchGetItem(in *batchGetItemInput) (*batchGetItemOutput, error) {
	if err := checkCapacityWish(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, constraint("{}", "requestItems", "Member must have length greater than or equal to 1")
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	lookups := map[string][]lookup{}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		wanted := in.RequestItems[name]
		if wanted == nil {
			return nil, missing("requestItems." + name + ".member")
		}
		if err := checkLength(len(wanted.Keys), "requestItems."+name+".member.keys", batchGetKeysMax); err != nil {
			return nil, err
		}
		if total += len(wanted.Keys); total > batchGetKeysMax {
			return nil, invalid("Too many items requested for the BatchGetItem call")
		}
		var err error
		if lookups[name], err = e.batchLookups(name, wanted); err != nil {
			return nil, err
		}
	}
	out := &batchGetItemOutput{Responses: map[string][]value.Item{}, UnprocessedKeys: map[string]*keysAndAttributes{}}
	usage := newUsage(in.ReturnConsumedCapacity)
	err := e.view(func(s *trees) error { return out.fill(s, in, lookups, usage) })
	out.ConsumedCapacity = usage.all()
	return out, err
}

func (e *Engine) batchLookups(table string, wanted *keysAndAttributes) ([]lookup, error) {
	lookups := make([]lookup, len(wanted.Keys))
	seen := map[string]bool{}
	for i, key := range wanted.Keys {
		var err error
		lookups[i], err = e.newLookup(getInput{table, key, wanted.ProjectionExpression, wanted.ExpressionAttributeNames})
		if err != nil {
			return nil, err
		}
		if seen[string(lookups[i].key)] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[string(lookups[i].key)] = true
	}
	return lookups, nil
}

// fill reads items until the answer is full; the keys of the rest are returned unprocessed.
func (out *batchGetItemOutput) fill(s *trees, in *batchGetItemInput, lookups map[string][]lookup, usage *usage) error {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(lookups)) {
		wanted := in.RequestItems[name]
		out.Responses[name] = []value.Item{}
		for i, l := range lookups[name] {
			item, err := s.item(l.table, l.key)
			if err != nil {
				return err
			}
			if size += item.Size(); size > batchGetBytesMax {
				rest := *wanted
				rest.Keys = wanted.Keys[i:]
				out.UnprocessedKeys[name] = &rest
				break
			}
			usage.read(l.table, nil, item.Size(), readFactor(wanted.ConsistentRead))
			if item != nil {
				out.Responses[name] = append(out.Responses[name], l.projection.Of(item))
			}
		}
	}
	return nil
}

type writeRequest struct {
	PutRequest    *struct{ Item value.Item }
	DeleteRequest *struct{ Key value.Item }
}

type batchWriteItemInput struct {
	metrics
	RequestItems map[string][]writeRequest
}

type batchWriteItemOutput struct {
	UnprocessedItems map[string][]writeRequest
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

func (e *Engine) batchWriteItem(in *batchWriteItemInput) (*batchWriteItemOutput, error) {
	if err := in.metrics.check(); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, constraint("{}", "requestItems", "Member must have length greater than or equal to 1")
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	changes, err := e.batchChanges(in.RequestItems)
	if err != nil {
		return nil, err
	}
	usage := newUsage(in.ReturnConsumedCapacity)
	err = e.update(func(s *trees) error {
		for _, c := range changes {
			d, err := c.decide(s)
			if err != nil {
				return err
			}
			if err := d.write(s); err != nil {
				return err
			}
			usage.wrote(d, 1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &batchWriteItemOutput{UnprocessedItems: map[string][]writeRequest{}, ConsumedCapacity: usage.all()}, nil
}

func (e *Engine) batchChanges(requests map[string][]writeRequest) ([]*change, error) {
	var changes []*change
	size := 0
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if err := checkLength(len(requests[name]), "requestItems."+name+".member", batchWriteMax); err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, request := range requests[name] {
			c, err := e.batchChange(name, request)
			if err != nil {
				return nil, err
			}
			if seen[string(c.key)] {
				return nil, invalid("Provided list of item keys contains duplicates")
			}
			seen[string(c.key)] = true
			if size += c.item.Size(); size > batchWriteByteMax {
				return nil, invalid("The items of a BatchWriteItem call have more than 16 MB together")
			}
			changes = append(changes, c)
		}
	}
	if len(changes) > batchWriteMax {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}
	return changes, nil
}

func (e *Engine) batchChange(table string, request writeRequest) (*change, error) {
	in := changeInput{TableName: table}
	put, del := request.PutRequest, request.DeleteRequest
	switch {
	case put != nil && del == nil && put.Item != nil:
		return e.newChange(putVerb, in, put.Item, nil)
	case del != nil && put == nil && del.Key != nil:
		return e.newChange(deleteVerb, in, del.Key, nil)
	default:
		return nil, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes: " +
			"each element of a BatchWriteItem call needs either a PutRequest with an Item or a DeleteRequest with a Key")
	}
}
