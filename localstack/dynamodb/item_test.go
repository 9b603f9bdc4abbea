package dynamodb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestItemsSurviveUnchanged(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	it := item{
		"pk": "a", "sk": "b", "big": number("9007199254740993"), "exact": number("12345678901234567890.123456789"), "small": number("0.00000035"),
		"empty": "", "nothing": nil, "bytes": []byte{0, 255}, "no": false, "text": "𠮷 \"quoted\"\nline\x00", "numbers": numbers{"-1", "0", "2.5"},
		"list": []any{[]any{}, item{}, "x"}, "é": 1,
	}
	c.put(t, it)
	same(t, c.get(t, "a", "b"), wantItem(it))
}

func TestPutReplacesTheWholeItem(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "x": 1})
	out, err := c.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: avs(item{"pk": "a", "sk": "b", "y": 2}), ReturnValues: types.ReturnValueAllOld})
	if err != nil {
		t.Fatal(err)
	}
	same(t, plains(out.Attributes), wantItem(item{"pk": "a", "sk": "b", "x": 1}))
	same(t, c.get(t, "a", "b"), wantItem(item{"pk": "a", "sk": "b", "y": 2}))
}

func TestDeleteReturnsWhatItRemoved(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "x": 1})
	in := &sdk.DeleteItemInput{TableName: aws.String("table"), Key: key("a", "b"), ReturnValues: types.ReturnValueAllOld}
	for _, want := range []item{wantItem(item{"pk": "a", "sk": "b", "x": 1}), nil} {
		out, err := c.DeleteItem(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		same(t, plains(out.Attributes), want)
	}
}

func TestReturnValuesOfUpdate(t *testing.T) {
	t.Parallel()
	cases := map[types.ReturnValue]item{
		types.ReturnValueNone:       nil,
		types.ReturnValueAllOld:     {"pk": "a", "sk": "b", "x": 1, "y": 2, "m": item{"k": 1, "o": 9}},
		types.ReturnValueAllNew:     {"pk": "a", "sk": "b", "x": 5, "z": 6, "m": item{"k": 7, "o": 9}},
		types.ReturnValueUpdatedOld: {"x": 1, "y": 2, "m": item{"k": 1}},
		types.ReturnValueUpdatedNew: {"x": 5, "z": 6, "m": item{"k": 7}},
	}
	for wish, want := range cases {
		t.Run(string(wish), func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			c.put(t, item{"pk": "a", "sk": "b", "x": 1, "y": 2, "m": item{"k": 1, "o": 9}})
			out, err := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{
				TableName: aws.String("table"), Key: key("a", "b"), UpdateExpression: aws.String("SET x = :x, z = :z, m.k = :k REMOVE y"),
				ExpressionAttributeValues: avs(item{":x": 5, ":z": 6, ":k": 7}), ReturnValues: wish,
			})
			if err != nil {
				t.Fatal(err)
			}
			same(t, plains(out.Attributes), wantItem(want))
		})
	}
}

func TestUpdateCreatesAnItem(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if _, err := c.update(t.Context(), "SET x = :x", "attribute_not_exists(pk)", nil, item{":x": 1}); err != nil {
		t.Fatal(err)
	}
	same(t, c.get(t, "a", "b"), wantItem(item{"pk": "a", "sk": "b", "x": 1}))
	if _, err := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: aws.String("table"), Key: key("c", "d")}); err != nil {
		t.Fatal(err)
	}
	same(t, c.get(t, "c", "d"), item{"pk": "c", "sk": "d"})
}

func TestAnUpdateThatOnlyTakesAwayMakesNoItem(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, text := range []string{"REMOVE x", "REMOVE x.y, z[0]", "DELETE x :s", "REMOVE y DELETE x :s"} {
		var values item
		if strings.Contains(text, ":s") {
			values = item{":s": stringSet{"a"}}
		}
		out, err := c.update(t.Context(), text, "", nil, values)
		if err != nil {
			t.Fatal(err)
		}
		same(t, plains(out.Attributes), item(nil))
		same(t, c.get(t, "a", "b"), item(nil))
	}
}

func TestUpdatedNewShowsWhatIsAtThePathAfterwards(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "m": item{"c": []any{1, 2, 3}}})
	cases := []struct {
		text string
		wish types.ReturnValue
		want item
	}{
		{"SET m.x1 = :v", types.ReturnValueUpdatedOld, nil},
		{"SET m.x2 = :v", types.ReturnValueUpdatedNew, item{"m": item{"x2": 9}}},
		{"SET m.c[100] = :v", types.ReturnValueUpdatedNew, nil},
		{"SET m.x2 = :v REMOVE m.c[1]", types.ReturnValueUpdatedNew, item{"m": item{"c": []any{3}, "x2": 9}}},
		{"SET z = :v REMOVE m.c[1], m.c[7]", types.ReturnValueUpdatedOld, item{"m": item{"c": []any{3}}}},
	}
	for _, tc := range cases {
		out, err := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String("table"), Key: key("a", "b"), UpdateExpression: aws.String(tc.text), ExpressionAttributeValues: avs(item{":v": 9}), ReturnValues: tc.wish,
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, plains(out.Attributes), wantItem(tc.want))
	}
}

func TestARefusedConditionReturnsTheItemWhenAsked(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "x": 1})
	for _, wish := range []types.ReturnValuesOnConditionCheckFailure{types.ReturnValuesOnConditionCheckFailureAllOld, types.ReturnValuesOnConditionCheckFailureNone} {
		_, put := c.PutItem(t.Context(), &sdk.PutItemInput{
			TableName: aws.String("table"), Item: avs(item{"pk": "a", "sk": "b"}), ConditionExpression: aws.String("attribute_not_exists(pk)"), ReturnValuesOnConditionCheckFailure: wish,
		})
		_, del := c.DeleteItem(t.Context(), &sdk.DeleteItemInput{
			TableName: aws.String("table"), Key: key("a", "b"), ConditionExpression: aws.String("attribute_not_exists(pk)"), ReturnValuesOnConditionCheckFailure: wish,
		})
		_, update := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String("table"), Key: key("a", "b"), ConditionExpression: aws.String("attribute_not_exists(pk)"), ReturnValuesOnConditionCheckFailure: wish,
			UpdateExpression: aws.String("REMOVE x"),
		})
		for _, err := range []error{put, del, update} {
			var failed *types.ConditionalCheckFailedException
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			want := wantItem(item{"pk": "a", "sk": "b", "x": 1})
			if wish == types.ReturnValuesOnConditionCheckFailureNone {
				want = nil
			}
			same(t, plains(failed.Item), want)
		}
	}
	same(t, c.get(t, "a", "b"), wantItem(item{"pk": "a", "sk": "b", "x": 1}))
}

func TestItemsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	deep := any("x")
	for range 33 {
		deep = []any{deep}
	}
	cases := []struct {
		name string
		item item
		want string
	}{
		{"no sort key", item{"pk": "a"}, "One or more parameter values were invalid: Missing the key sk in the item"},
		{"key of another type", item{"pk": "a", "sk": 1}, "Type mismatch for key sk expected: S actual: N"},
		{"empty key", item{"pk": "", "sk": "b"}, "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		{"partition key over 2048 bytes", item{"pk": strings.Repeat("é", 1025), "sk": "b"}, "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{"sort key over 1024 bytes", item{"pk": "a", "sk": strings.Repeat("x", 1025)}, "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
		{"over 400 KB", item{"pk": "a", "sk": "b", "x": strings.Repeat("x", 400<<10-5)}, "Item size has exceeded the maximum allowed size"},
		{"index key of another type", item{"pk": "a", "sk": "b", "gsk": "x"}, "Type mismatch for Index Key gsk Expected: N Actual: S IndexName: all"},
		{"empty index key", item{"pk": "a", "sk": "b", "gpk": ""}, "A value specified for a secondary index key is not supported"},
		{"empty set", item{"pk": "a", "sk": "b", "x": stringSet{}}, "An string set  may not be empty"},
		{"duplicates in a set", item{"pk": "a", "sk": "b", "x": numbers{"1", "1.0"}}, "contains duplicates"},
		{"39 digits", item{"pk": "a", "sk": "b", "x": number("1.23456789012345678901234567890123456789")}, "Attempting to store more than 38 significant digits in a Number"},
		{"overflow", item{"pk": "a", "sk": "b", "x": number("1e126")}, "Number overflow"},
		{"no number", item{"pk": "a", "sk": "b", "x": number("1,5")}, "The parameter cannot be converted to a numeric value: 1,5"},
		{"33 levels", item{"pk": "a", "sk": "b", "x": deep}, "Nesting Levels have exceeded supported limits"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := c.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: avs(tc.item)})
			refused(t, err, validation, tc.want)
		})
	}
}

func TestLimitsAreReachable(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	deep := any("x")
	for range 31 {
		deep = []any{deep}
	}
	pk, sk := strings.Repeat("p", 2048), strings.Repeat("s", 1024)
	it := item{"pk": pk, "sk": sk, "deep": deep}
	c.put(t, it)
	same(t, asJSON(c.get(t, pk, sk)), asJSON(it))
	full := item{"pk": "a", "sk": "b", "x": strings.Repeat("x", 400<<10-7)}
	c.put(t, full)
	same(t, len(c.get(t, "a", "b")["x"].(string)), 400<<10-7)
	_, err := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: aws.String("table"), Key: key(pk, sk), UpdateExpression: aws.String("SET deep[1] = :d"), ExpressionAttributeValues: avs(item{":d": []any{deep}})})
	refused(t, err, validation, "Nesting Levels have exceeded supported limits")
	_, err = c.update(t.Context(), "SET y = :y", "", nil, item{":y": 1})
	refused(t, err, validation, "Item size to update has exceeded the maximum allowed size")
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	cases := []struct {
		name string
		key  item
		want string
	}{
		{"too few", item{"pk": "a"}, "The provided key element does not match the schema"},
		{"too many", item{"pk": "a", "sk": "b", "x": "c"}, "The provided key element does not match the schema"},
		{"another name", item{"pk": "a", "x": "b"}, "The provided key element does not match the schema"},
		{"another type", item{"pk": "a", "sk": 1}, "The provided key element does not match the schema"},
		{"empty", item{"pk": "a", "sk": ""}, "cannot contain an empty string value. Key: sk"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			k := avs(tc.key)
			_, get := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: k})
			_, update := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: aws.String("table"), Key: k})
			_, del := c.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("table"), Key: k})
			for _, err := range []error{get, update, del} {
				refused(t, err, validation, tc.want)
			}
		})
	}
}

func TestNumericallyEqualKeysAreOneKey(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if _, err := c.CreateTable(t.Context(), &sdk.CreateTableInput{
		TableName: aws.String("numbers"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: definitions("n", "N"), KeySchema: schema("n"),
	}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []number{"1", "1.0", "10e-1", "+1"} {
		if _, err := c.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("numbers"), Item: avs(item{"n": n, "spelled": string(n)})}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("numbers")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, len(out.Items), 1)
	same(t, plains(out.Items[0]), wantItem(item{"n": 1, "spelled": "+1"}))
}

func TestConsumedCapacityIsCountedWhenAsked(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	put := func(it item, wish types.ReturnConsumedCapacity) *types.ConsumedCapacity {
		out, err := c.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: avs(it), ReturnConsumedCapacity: wish})
		if err != nil {
			t.Fatal(err)
		}
		return out.ConsumedCapacity
	}
	big := item{"pk": "a", "sk": "b", "x": strings.Repeat("x", 5000)}
	same(t, put(big, types.ReturnConsumedCapacityNone) == nil, true)
	same(t, *put(big, types.ReturnConsumedCapacityTotal).CapacityUnits, 5.0)
	indexed := put(item{"pk": "c", "sk": "d", "gpk": "g", "gsk": 1}, types.ReturnConsumedCapacityIndexes)
	same(t, *indexed.CapacityUnits, 4.0)
	same(t, *indexed.Table.CapacityUnits, 1.0)
	same(t, len(indexed.GlobalSecondaryIndexes), 3)
	out, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a", "b"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil {
		t.Fatal(err)
	}
	same(t, *out.ConsumedCapacity.CapacityUnits, 1.0)
}

func TestBatchWriteAndGet(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.create(t, "other")
	c.put(t, item{"pk": "old", "sk": "x"})
	put := func(pk, sk string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: key(pk, sk)}}
	}
	out, err := c.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
		"table": {put("a", "1"), put("a", "2"), {DeleteRequest: &types.DeleteRequest{Key: key("old", "x")}}},
		"other": {put("a", "1")},
	}})
	if err != nil || len(out.UnprocessedItems) != 0 {
		t.Fatal(out, err)
	}
	got, err := c.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"table": {Keys: []map[string]types.AttributeValue{key("a", "1"), key("a", "2"), key("old", "x")}},
		"other": {Keys: []map[string]types.AttributeValue{key("a", "1")}, ProjectionExpression: aws.String("sk")},
	}})
	if err != nil || len(got.UnprocessedKeys) != 0 {
		t.Fatal(got, err)
	}
	same(t, len(got.Responses["table"]), 2)
	same(t, plains(got.Responses["other"][0]), item{"sk": "1"})

	many := make([]types.WriteRequest, 26)
	keys := make([]map[string]types.AttributeValue, 101)
	for i := range many {
		many[i] = put("m", asJSON(i))
	}
	for i := range keys {
		keys[i] = key("m", asJSON(i))
	}
	_, err = c.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": many}})
	refused(t, err, validation, "Member must have length less than or equal to 25")
	_, err = c.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": {put("d", "1"), put("d", "1")}}})
	refused(t, err, validation, "Provided list of item keys contains duplicates")
	_, err = c.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"table": {Keys: keys}}})
	refused(t, err, validation, "Member must have length less than or equal to 100")
	_, err = c.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"table": {Keys: append(keys[:1:1], keys[0])}}})
	refused(t, err, validation, "Provided list of item keys contains duplicates")
}

func TestABatchGetBeyond16MBReturnsTheRestUnprocessed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var keys []map[string]types.AttributeValue
	for i := range 45 {
		c.put(t, item{"pk": "a", "sk": asJSON(i), "x": strings.Repeat("x", 390<<10)})
		keys = append(keys, key("a", asJSON(i)))
	}
	seen := 0
	wanted := map[string]types.KeysAndAttributes{"table": {Keys: keys}}
	calls := 0
	for len(wanted) > 0 {
		out, err := c.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: wanted})
		if err != nil {
			t.Fatal(err)
		}
		seen += len(out.Responses["table"])
		wanted = out.UnprocessedKeys
		calls++
	}
	same(t, seen, 45)
	same(t, calls, 2)
}
