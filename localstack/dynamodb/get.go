package dynamodb

import (
	"bytes"

	"sealift/localstack/dynamodb/expression"
	"sealift/localstack/dynamodb/value"
)

// getInput is what names one item and the part of it to return.
type getInput struct {
	TableName                string
	Key                      value.Item
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

type getItemInput struct {
	getInput
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

type getItemOutput struct {
	Item             value.Item        `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

func (e *Engine) getItem(in *getItemInput) (*getItemOutput, error) {
	if err := checkCapacityWish(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	l, err := e.newLookup(in.getInput)
	if err != nil {
		return nil, err
	}
	var item value.Item
	err = e.view(func(s *trees) error {
		item, err = s.item(l.table, l.key)
		return err
	})
	if err != nil {
		return nil, err
	}
	usage := newUsage(in.ReturnConsumedCapacity)
	usage.read(l.table, nil, item.Size(), readFactor(in.ConsistentRead))
	return &getItemOutput{Item: l.projection.Of(item), ConsumedCapacity: usage.one()}, nil
}

// lookup is one item to read.
type lookup struct {
	table      *table
	key        []byte
	projection *expression.Projection
}

// newLookup parses the projection and checks the key. The caller holds schema.
func (e *Engine) newLookup(in getInput) (lookup, error) {
	if in.Key == nil {
		return lookup{}, missing("key")
	}
	projection, err := parseProjection(in.ExpressionAttributeNames, in.ProjectionExpression)
	if err != nil {
		return lookup{}, err
	}
	t, err := e.table(in.TableName)
	if err != nil {
		return lookup{}, err
	}
	if err := t.checkKey(in.Key); err != nil {
		return lookup{}, err
	}
	return lookup{table: t, key: t.itemKey(in.Key), projection: projection}, nil
}

// parseProjection parses a projection that is the only expression of its request.
func parseProjection(names map[string]string, text *string) (*expression.Projection, error) {
	scope, err := expressions{ExpressionAttributeNames: names}.scope("", text)
	if err != nil || text == nil {
		return nil, err
	}
	projection, err := scope.Projection(*text)
	if err != nil {
		return nil, err
	}
	return projection, scope.Unused()
}

const (
	transactActionsMax = 100
	transactBytesMax   = 4 << 20
)

type transactGetItemsInput struct {
	TransactItems []struct {
		Get *getInput
	}
	ReturnConsumedCapacity string
}

type transactGetItemsOutput struct {
	Responses        []itemResponse
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

type itemResponse struct {
	Item value.Item `json:",omitempty"`
}

func (e *Engine) transactGetItems(in *transactGetItemsInput) (*transactGetItemsOutput, error) {
	if err := checkCapacityWish(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if err := checkLength(len(in.TransactItems), "transactItems", transactActionsMax); err != nil {
		return nil, err
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	lookups := make([]lookup, len(in.TransactItems))
	for i, item := range in.TransactItems {
		if item.Get == nil {
			return nil, missing("transactItems." + itoa(i+1) + ".member.get")
		}
		var err error
		if lookups[i], err = e.newLookup(*item.Get); err != nil {
			return nil, err
		}
		for _, earlier := range lookups[:i] {
			if earlier.table == lookups[i].table && bytes.Equal(earlier.key, lookups[i].key) {
				return nil, invalid("Transaction request cannot include multiple operations on one item")
			}
		}
	}
	out := &transactGetItemsOutput{Responses: make([]itemResponse, len(lookups))}
	usage := newUsage(in.ReturnConsumedCapacity)
	total := 0
	err := e.view(func(s *trees) error {
		for i, l := range lookups {
			item, err := s.item(l.table, l.key)
			if err != nil {
				return err
			}
			total += item.Size()
			usage.read(l.table, nil, item.Size(), 2)
			out.Responses[i].Item = l.projection.Of(item)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if total > transactBytesMax {
		return nil, invalid("Aggregated size of all items in the transaction has exceeded the 4 MB limit")
	}
	out.ConsumedCapacity = usage.all()
	return out, nil
}
