package dynamodb

import (
	"slices"
	"strings"

	"sealift/localstack/dynamodb/value"
)

// metrics are the members of a request that ask for side information. Item collection
// metrics exist for local secondary indexes only, so there are never any.
type metrics struct {
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

func (m metrics) check() error {
	if err := checkCapacityWish(m.ReturnConsumedCapacity); err != nil {
		return err
	}
	_, err := oneOf(m.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "NONE", "SIZE")
	return err
}

type changeOutput struct {
	Attributes       value.Item        `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

type putItemInput struct {
	changeInput
	metrics
	Item         value.Item
	ReturnValues string
}

func (e *Engine) putItem(in *putItemInput) (*changeOutput, error) {
	if in.Item == nil {
		return nil, missing("item")
	}
	return e.runChange(putVerb, in.changeInput, in.metrics, in.Item, nil, in.ReturnValues)
}

type updateItemInput struct {
	changeInput
	metrics
	Key              value.Item
	UpdateExpression *string
	ReturnValues     string
}

func (e *Engine) updateItem(in *updateItemInput) (*changeOutput, error) {
	if in.Key == nil {
		return nil, missing("key")
	}
	return e.runChange(updateVerb, in.changeInput, in.metrics, in.Key, in.UpdateExpression, in.ReturnValues)
}

type deleteItemInput struct {
	changeInput
	metrics
	Key          value.Item
	ReturnValues string
}

func (e *Engine) deleteItem(in *deleteItemInput) (*changeOutput, error) {
	if in.Key == nil {
		return nil, missing("key")
	}
	return e.runChange(deleteVerb, in.changeInput, in.metrics, in.Key, nil, in.ReturnValues)
}

// missing is the refusal of a request without a required member.
func missing(member string) *fault {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
}

func (e *Engine) runChange(verb verb, in changeInput, m metrics, item value.Item, updateText *string, returnValues string) (*changeOutput, error) {
	if err := checkReturnValues(verb, returnValues); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	c, err := e.newChange(verb, in, item, updateText)
	if err != nil {
		return nil, err
	}
	d, err := e.apply(c)
	if err != nil {
		return nil, err
	}
	usage := newUsage(m.ReturnConsumedCapacity)
	usage.wrote(d, 1)
	return &changeOutput{Attributes: d.returned(returnValues), ConsumedCapacity: usage.one()}, nil
}

func checkReturnValues(verb verb, given string) error {
	all := []string{"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"}
	switch {
	case given != "" && !slices.Contains(all, given):
		return constraint(given, "returnValues", "Member must satisfy enum value set: ["+strings.Join(all, ", ")+"]")
	case verb != updateVerb && given != "" && given != "NONE" && given != "ALL_OLD":
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	default:
		return nil
	}
}

// returned are the attributes that the request asked for.
func (d decided) returned(wish string) value.Item {
	switch wish {
	case "ALL_OLD":
		return d.old
	case "ALL_NEW":
		return d.next
	case "UPDATED_OLD":
		if d.change.update != nil {
			return d.change.update.Touched(d.old)
		}
	case "UPDATED_NEW":
		if d.change.update != nil {
			return d.change.update.Touched(d.next)
		}
	}
	return nil
}
