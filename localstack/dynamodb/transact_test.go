package dynamodb_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func putAction(it item, condition string) types.TransactWriteItem {
	put := &types.Put{TableName: aws.String("table"), Item: avs(it), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if condition != "" {
		put.ConditionExpression = aws.String(condition)
	}
	return types.TransactWriteItem{Put: put}
}

func updateAction(k map[string]types.AttributeValue, text string, values item) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: aws.String("table"), Key: k, UpdateExpression: aws.String(text), ExpressionAttributeValues: avs(values)}}
}

func checkAction(k map[string]types.AttributeValue, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: aws.String("table"), Key: k, ConditionExpression: aws.String(condition)}}
}

func TestATransactionOfAllActionsAcrossTables(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.create(t, "other")
	c.put(t, item{"pk": "u", "sk": "1", "n": 1})
	c.put(t, item{"pk": "d", "sk": "1"})
	out, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		TransactItems: []types.TransactWriteItem{
			putAction(item{"pk": "p", "sk": "1"}, "attribute_not_exists(pk)"),
			updateAction(key("u", "1"), "SET n = n + :v", item{":v": 5}),
			{Delete: &types.Delete{TableName: aws.String("table"), Key: key("d", "1")}},
			checkAction(key("c", "1"), "attribute_not_exists(pk)"),
			{Put: &types.Put{TableName: aws.String("other"), Item: key("p", "1")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, len(out.ConsumedCapacity), 2)
	got, err := c.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String("table"), Key: key("u", "1"), ProjectionExpression: aws.String("n")}},
		{Get: &types.Get{TableName: aws.String("table"), Key: key("d", "1")}},
		{Get: &types.Get{TableName: aws.String("other"), Key: key("p", "1")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var items []item
	for _, r := range got.Responses {
		items = append(items, plains(r.Item))
	}
	same(t, items, []item{{"n": number("6")}, nil, {"pk": "p", "sk": "1"}})
}

func TestACancelledTransactionSaysWhyInOrderAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "1", "s": "text"})
	_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		putAction(item{"pk": "new", "sk": "1"}, ""),
		putAction(item{"pk": "a", "sk": "1"}, "attribute_not_exists(pk)"),
		updateAction(key("b", "1"), "SET n = n + :v", item{":v": 1}),
		checkAction(key("c", "1"), "attribute_exists(pk)"),
	}})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		t.Fatalf("got %v", err)
	}
	same(t, *cancelled.Message, "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ValidationError, ConditionalCheckFailed]")
	var reasons []string
	for _, r := range cancelled.CancellationReasons {
		reasons = append(reasons, aws.ToString(r.Code)+": "+aws.ToString(r.Message))
	}
	same(t, reasons, []string{
		"None: ", "ConditionalCheckFailed: The conditional request failed",
		"ValidationError: The provided expression refers to an attribute that does not exist in the item",
		"ConditionalCheckFailed: The conditional request failed",
	})
	same(t, plains(cancelled.CancellationReasons[1].Item), item{"pk": "a", "sk": "1", "s": "text"})
	same(t, len(cancelled.CancellationReasons[3].Item), 0)
	same(t, c.get(t, "new", "1"), item(nil))
	same(t, c.get(t, "a", "1"), item{"pk": "a", "sk": "1", "s": "text"})
}

func TestTransactionsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	many := make([]types.TransactWriteItem, 101)
	for i := range many {
		many[i] = putAction(item{"pk": "m", "sk": asJSON(i)}, "")
	}
	cases := []struct {
		name  string
		items []types.TransactWriteItem
		code  string
		want  string
	}{
		{"101 actions", many, validation, "Member must have length less than or equal to 100"},
		{"two on one item", []types.TransactWriteItem{putAction(item{"pk": "a", "sk": "1"}, ""), checkAction(key("a", "1"), "attribute_exists(pk)")}, validation, "Transaction request cannot include multiple operations on one item"},
		{"an empty action", []types.TransactWriteItem{{}}, validation, "TransactItems can only contain one of Check, Put, Update or Delete"},
		{"a bad expression", []types.TransactWriteItem{updateAction(key("a", "1"), "SET pk = :v", item{":v": "x"})}, validation, "Cannot update attribute pk"},
		{"a bad key", []types.TransactWriteItem{checkAction(avs(item{"pk": "a"}), "attribute_exists(pk)")}, validation, "The provided key element does not match the schema"},
		{"no such table", []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String("gone"), Key: key("a", "1")}}}, "ResourceNotFoundException", "Requested resource not found"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: tc.items})
			refused(t, err, tc.code, tc.want)
		})
	}
	t.Run("100 actions are the most", func(t *testing.T) {
		t.Parallel()
		if _, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: many[:100]}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestARefusedTransactionDoesNotUseItsToken(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	in := &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{checkAction(key("a", "1"), "attribute_exists(pk)")}}
	_, err := c.TransactWriteItems(t.Context(), in)
	refused(t, err, "TransactionCanceledException", "ConditionalCheckFailed")
	c.put(t, item{"pk": "a", "sk": "1"})
	if _, err := c.TransactWriteItems(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func TestARepeatedTokenIsOneTransaction(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	run := func(by int) error {
		_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{
			updateAction(key("a", "1"), "ADD n :v", item{":v": by}),
		}})
		return err
	}
	for range 3 {
		if err := run(1); err != nil {
			t.Fatal(err)
		}
	}
	same(t, c.get(t, "a", "1")["n"].(number), number("1"))
	refused(t, run(2), "IdempotentParameterMismatchException", "")
}
