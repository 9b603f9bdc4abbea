package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/shared/job"
)

// writesMax is the service's limit on the actions of one transaction.
const writesMax = 100

// request is a compiled change: one write alone, or the writes of a transaction.
type request struct {
	put    *types.Put
	update *types.Update
	items  []types.TransactWriteItem
	token  *string
}

// compile renders a change. The same change always renders the same request.
func compile(table string, change job.Change) (*request, error) {
	writes := change.Writes()
	if len(writes) == 0 || len(writes) > writesMax {
		return nil, job.Errorf(job.Permanent, "ledger_change_invalid",
			"a change has %d writes; one change holds 1 to %d, so split it: %w", len(writes), writesMax, job.At(change.Name(), nil))
	}
	r := &request{}
	for index, write := range writes {
		item, err := compileWrite(table, write)
		if err != nil {
			return nil, job.Errorf(job.Permanent, "ledger_change_invalid", "a change can't be written down: %w", job.At(fmt.Sprintf("%s, write %d", change.Name(), index), err))
		}
		r.items = append(r.items, item)
	}
	if only := r.items[0]; len(r.items) == 1 && only.ConditionCheck == nil {
		r.put, r.update, r.items = only.Put, only.Update, nil
	}
	return r, nil
}

func compileWrite(table string, write job.Write) (types.TransactWriteItem, error) {
	if len(write.Guards) == 0 {
		return types.TransactWriteItem{}, errors.New("a write without a guard is never made")
	}
	if write.Key.PK == "" || write.Key.SK == "" {
		return types.TransactWriteItem{}, errors.New("the row's key is empty")
	}
	e := &expression{names: map[string]string{}, placeholders: map[string]string{}}
	condition := e.condition(write.Guards)
	const oldRow = types.ReturnValuesOnConditionCheckFailureAllOld
	switch {
	case write.Check:
		if len(write.Set)+len(write.Add)+len(write.Append)+len(write.Remove) > 0 {
			return types.TransactWriteItem{}, errors.New("a check must not write")
		}
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &table, Key: encodeKey(write.Key), ConditionExpression: &condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValuesOnConditionCheckFailure: oldRow,
		}}, e.err
	case write.Insert:
		if len(write.Add)+len(write.Append)+len(write.Remove) > 0 {
			return types.TransactWriteItem{}, errors.New("an insert only sets")
		}
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &table, Item: e.item(write), ConditionExpression: &condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValuesOnConditionCheckFailure: oldRow,
		}}, e.err
	}
	update := e.update(write)
	if update == "" {
		return types.TransactWriteItem{}, errors.New("an update that changes nothing is a check")
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: encodeKey(write.Key), ConditionExpression: &condition, UpdateExpression: &update,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e.err
}

// expression gathers the placeholders of one write. A field has one placeholder, every value its own, both counted in
// the order of their use.
type expression struct {
	names        map[string]string
	placeholders map[string]string
	values       map[string]types.AttributeValue
	err          error
}

func (e *expression) name(field string) string {
	placeholder, ok := e.placeholders[field]
	if !ok {
		placeholder = "#" + strconv.Itoa(len(e.names))
		e.placeholders[field] = placeholder
		e.names[placeholder] = field
	}
	return placeholder
}

func (e *expression) value(field string, value job.Value) string {
	encoded, err := encodeValue(value)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("field %s: %w", field, err)
	}
	if e.values == nil {
		e.values = map[string]types.AttributeValue{}
	}
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = encoded
	return placeholder
}

func (e *expression) condition(guards []job.Guard) string {
	terms := make([]string, 0, len(guards))
	for _, guard := range guards {
		terms = append(terms, e.guard(guard))
	}
	return strings.Join(terms, " AND ")
}

func (e *expression) guard(guard job.Guard) string {
	name := e.name(guard.Field)
	absent := "attribute_not_exists(" + name + ")"
	switch guard.Test {
	case job.IsAbsent:
		return absent
	case job.IsEqual, job.IsOneOf:
		return e.equal(guard, name)
	case job.IsAbsentOrIs:
		return "(" + absent + " OR " + e.equal(guard, name) + ")"
	case job.IsAbsentOrLess:
		if len(guard.Values) == 1 {
			return "(" + absent + " OR " + name + " < " + e.value(guard.Field, guard.Values[0]) + ")"
		}
	}
	if e.err == nil {
		e.err = fmt.Errorf("field %s: the guard %q with %d values is not one this release knows", guard.Field, guard.Test, len(guard.Values))
	}
	return absent
}

func (e *expression) equal(guard job.Guard, name string) string {
	placeholders := make([]string, 0, len(guard.Values))
	for _, value := range guard.Values {
		placeholders = append(placeholders, e.value(guard.Field, value))
	}
	switch len(placeholders) {
	case 0:
		if e.err == nil {
			e.err = fmt.Errorf("field %s: the guard %q compares with nothing", guard.Field, guard.Test)
		}
		return ""
	case 1:
		return name + " = " + placeholders[0]
	}
	return name + " IN (" + strings.Join(placeholders, ", ") + ")"
}

func (e *expression) item(write job.Write) map[string]types.AttributeValue {
	item := encodeKey(write.Key)
	for _, field := range write.Set {
		if _, twice := item[field.Name]; twice && e.err == nil {
			e.err = fmt.Errorf("field %s is set twice", field.Name)
		}
		encoded, err := encodeValue(field.Value)
		if err != nil && e.err == nil {
			e.err = fmt.Errorf("field %s: %w", field.Name, err)
		}
		item[field.Name] = encoded
	}
	return item
}

func (e *expression) update(write job.Write) string {
	var set, add, remove []string
	for _, field := range write.Set {
		set = append(set, e.name(field.Name)+" = "+e.value(field.Name, field.Value))
	}
	for _, field := range write.Append {
		name := e.name(field.Name)
		set = append(set, name+" = list_append("+name+", "+e.value(field.Name, field.Value)+")")
	}
	for _, field := range write.Add {
		add = append(add, e.name(field.Name)+" "+e.value(field.Name, field.Value))
	}
	for _, field := range write.Remove {
		remove = append(remove, e.name(field))
	}
	var clauses []string
	for _, clause := range []struct {
		word  string
		terms []string
	}{{"SET ", set}, {"ADD ", add}, {"REMOVE ", remove}} {
		if len(clause.terms) > 0 {
			clauses = append(clauses, clause.word+strings.Join(clause.terms, ", "))
		}
	}
	return strings.Join(clauses, " ")
}

// send makes the one call that the request is.
func (r *request) send(ctx context.Context, client *dynamodb.Client, perTry func(*dynamodb.Options)) error {
	var err error
	switch {
	case r.put != nil:
		_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: r.put.TableName, Item: r.put.Item, ConditionExpression: r.put.ConditionExpression,
			ExpressionAttributeNames: r.put.ExpressionAttributeNames, ExpressionAttributeValues: r.put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: r.put.ReturnValuesOnConditionCheckFailure,
		}, perTry)
	case r.update != nil:
		_, err = client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: r.update.TableName, Key: r.update.Key, ConditionExpression: r.update.ConditionExpression,
			UpdateExpression:         r.update.UpdateExpression,
			ExpressionAttributeNames: r.update.ExpressionAttributeNames, ExpressionAttributeValues: r.update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: r.update.ReturnValuesOnConditionCheckFailure,
		}, perTry)
	default:
		_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: r.items, ClientRequestToken: r.token,
		}, perTry)
	}
	return err
}
