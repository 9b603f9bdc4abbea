package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

func (c *cloud) create(t testing.TB, name string) {
	t.Helper()
	_, err := c.CreateTable(t.Context(), &sdk.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: definitions("pk", "S", "sk", "S", "gpk", "S", "gsk", "N"),
		KeySchema:            schema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("all"), KeySchema: schema("gpk", "gsk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("keys"), KeySchema: schema("gpk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
			{IndexName: aws.String("some"), KeySchema: schema("gpk", "sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"extra"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.ready(t, name)
}

func definitions(pairs ...string) []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, types.AttributeDefinition{AttributeName: aws.String(pairs[i]), AttributeType: types.ScalarAttributeType(pairs[i+1])})
	}
	return all
}

func schema(names ...string) []types.KeySchemaElement {
	elements := []types.KeySchemaElement{{AttributeName: aws.String(names[0]), KeyType: types.KeyTypeHash}}
	if len(names) > 1 {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(names[1]), KeyType: types.KeyTypeRange})
	}
	return elements
}

// item is a short way to write an item: strings, ints, bools, nil, lists, maps and sets.
type item map[string]any

type (
	number    string
	stringSet []string
	numbers   []string
)

func av(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case number:
		return &types.AttributeValueMemberN{Value: string(v)}
	case int:
		return &types.AttributeValueMemberN{Value: asJSON(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case stringSet:
		return &types.AttributeValueMemberSS{Value: v}
	case numbers:
		return &types.AttributeValueMemberNS{Value: v}
	case []any:
		list := []types.AttributeValue{}
		for _, elem := range v {
			list = append(list, av(elem))
		}
		return &types.AttributeValueMemberL{Value: list}
	case item:
		return &types.AttributeValueMemberM{Value: avs(v)}
	default:
		panic("no attribute value for this Go type")
	}
}

func avs(it item) map[string]types.AttributeValue {
	if it == nil {
		return nil
	}
	all := map[string]types.AttributeValue{}
	for name, v := range it {
		all[name] = av(v)
	}
	return all
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberNULL:
		return nil
	case *types.AttributeValueMemberSS:
		return stringSet(v.Value)
	case *types.AttributeValueMemberNS:
		return numbers(v.Value)
	case *types.AttributeValueMemberL:
		list := []any{}
		for _, elem := range v.Value {
			list = append(list, plain(elem))
		}
		return list
	case *types.AttributeValueMemberM:
		return plains(v.Value)
	default:
		panic("unknown attribute value")
	}
}

func plains(all map[string]types.AttributeValue) item {
	if all == nil {
		return nil
	}
	it := item{}
	for name, v := range all {
		it[name] = plain(v)
	}
	return it
}

// wantItem normalises ints to numbers, so that expectations can be written with ints.
func wantItem(it item) item { return plains(avs(it)) }

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func key(pk, sk string) map[string]types.AttributeValue { return avs(item{"pk": pk, "sk": sk}) }

func (c *cloud) put(t testing.TB, it item) {
	t.Helper()
	if _, err := c.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: avs(it)}); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) get(t testing.TB, pk, sk string) item {
	t.Helper()
	out, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return plains(out.Item)
}

// update runs an update of the item a, b.
func (c *cloud) update(ctx context.Context, text, condition string, names map[string]string, values item) (*sdk.UpdateItemOutput, error) {
	in := &sdk.UpdateItemInput{
		TableName: aws.String("table"), Key: key("a", "b"), ExpressionAttributeNames: names, ExpressionAttributeValues: avs(values),
		ReturnValues: types.ReturnValueAllNew,
	}
	if text != "" {
		in.UpdateExpression = aws.String(text)
	}
	if condition != "" {
		in.ConditionExpression = aws.String(condition)
	}
	return c.UpdateItem(ctx, in)
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// refused checks that an error has the code and holds the text.
func refused(t testing.TB, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Errorf("got %v; want %s with %q", err, code, text)
		return
	}
	if api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %s: %s\nwant %s: %s", api.ErrorCode(), api.ErrorMessage(), code, text)
	}
}

const validation = "ValidationException"
