package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sorts returns the sort keys of a whole query, page by page, each of at most limit items.
func (c *cloud) sorts(t testing.TB, in *sdk.QueryInput, limit int32) []string {
	t.Helper()
	in.TableName = aws.String("table")
	if limit > 0 {
		in.Limit = aws.Int32(limit)
	}
	in.ExclusiveStartKey = nil
	sorts := []string{}
	for {
		out, err := c.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && (out.ScannedCount > limit || len(out.LastEvaluatedKey) > 0 && out.ScannedCount != limit) {
			t.Fatalf("a page of %d items with limit %d", out.ScannedCount, limit)
		}
		for _, it := range out.Items {
			sorts = append(sorts, plains(it)["sk"].(string))
		}
		if len(out.LastEvaluatedKey) == 0 {
			return sorts
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func TestKeyConditionsInBothDirectionsAndAllPageSizes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	all := []string{"a", "a\x00", "a\x00b", "aa", "ab", "b", "ba", "c", "é", "\U00020bb7"}
	for _, sk := range all {
		c.put(t, item{"pk": "p", "sk": sk})
		c.put(t, item{"pk": "q", "sk": sk})
	}
	cases := []struct {
		condition string
		values    item
		want      []string
	}{
		{"pk = :p", nil, all},
		{"pk = :p AND sk = :a", item{":a": "ab"}, []string{"ab"}},
		{"pk = :p AND sk < :a", item{":a": "aa"}, []string{"a", "a\x00", "a\x00b"}},
		{"pk = :p AND sk <= :a", item{":a": "aa"}, []string{"a", "a\x00", "a\x00b", "aa"}},
		{"pk = :p AND sk > :a", item{":a": "c"}, []string{"é", "\U00020bb7"}},
		{"pk = :p AND sk >= :a", item{":a": "c"}, []string{"c", "é", "\U00020bb7"}},
		{"pk = :p AND sk BETWEEN :a AND :b", item{":a": "aa", ":b": "ba"}, []string{"aa", "ab", "b", "ba"}},
		{"pk = :p AND begins_with(sk, :a)", item{":a": "a"}, []string{"a", "a\x00", "a\x00b", "aa", "ab"}},
		{"pk = :p AND begins_with(sk, :a)", item{":a": "a\x00"}, []string{"a\x00", "a\x00b"}},
		{":p = pk AND :a < sk", item{":a": "c"}, []string{"é", "\U00020bb7"}},
		{"(sk = :a) AND (pk = :p)", item{":a": "b"}, []string{"b"}},
		{"pk = :p AND sk = :a", item{":a": "zz"}, []string{}},
	}
	for _, tc := range cases {
		t.Run(tc.condition, func(t *testing.T) {
			t.Parallel()
			values := item{":p": "p"}
			for k, v := range tc.values {
				values[k] = v
			}
			for _, limit := range []int32{0, 1, 2, 3, 100} {
				in := &sdk.QueryInput{KeyConditionExpression: aws.String(tc.condition), ExpressionAttributeValues: avs(values), ConsistentRead: aws.Bool(true)}
				same(t, c.sorts(t, in, limit), tc.want)
				in.ScanIndexForward = aws.Bool(false)
				backward := c.sorts(t, in, limit)
				slices.Reverse(backward)
				same(t, backward, tc.want)
			}
		})
	}
}

func TestNumericSortKeysAreInNumericOrder(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	order := []number{"-100", "-10", "-9.5", "-1", "-0.001", "0", "0.001", "1", "2", "9.99", "10", "100", "1000000000000000000000"}
	for i, n := range order {
		c.put(t, item{"pk": asJSON(i * 7 % 13), "sk": "x", "gpk": "g", "gsk": n})
	}
	out, err := c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), IndexName: aws.String("all"), KeyConditionExpression: aws.String("gpk = :g AND gsk BETWEEN :a AND :b"),
		ExpressionAttributeValues: avs(item{":g": "g", ":a": number("-9.50"), ":b": 100}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []number
	for _, it := range out.Items {
		got = append(got, plains(it)["gsk"].(number))
	}
	same(t, got, order[2:12])
}

func TestAnIndexPagesExactlyThroughEqualKeys(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 50 {
		c.put(t, item{"pk": asJSON(i % 10), "sk": fmt.Sprintf("%02d", i), "gpk": "g", "gsk": i / 20})
	}
	for _, limit := range []int32{1, 3, 7, 50} {
		for _, forward := range []bool{true, false} {
			in := &sdk.QueryInput{
				IndexName: aws.String("all"), KeyConditionExpression: aws.String("gpk = :g"), ExpressionAttributeValues: avs(item{":g": "g"}),
				ScanIndexForward: aws.Bool(forward),
			}
			got := c.sorts(t, in, limit)
			slices.Sort(got)
			same(t, len(slices.Compact(got)), 50)
		}
	}
	out, err := c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), IndexName: aws.String("all"), KeyConditionExpression: aws.String("gpk = :g"),
		ExpressionAttributeValues: avs(item{":g": "g"}), Limit: aws.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	first := plains(out.Items[0])
	same(t, plains(out.LastEvaluatedKey), item{"pk": first["pk"], "sk": first["sk"], "gpk": "g", "gsk": number("0")})
}

// indexed returns the items of an index under gpk = g.
func (c *cloud) indexed(t testing.TB, index string) []item {
	t.Helper()
	out, err := c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), IndexName: aws.String(index), KeyConditionExpression: aws.String("gpk = :g"),
		ExpressionAttributeValues: avs(item{":g": "g"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	items := []item{}
	for _, it := range out.Items {
		items = append(items, plains(it))
	}
	return items
}

func TestIndexesAreSparseAndFollowEveryKindOfWrite(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	full := wantItem(item{"pk": "a", "sk": "b", "gpk": "g", "gsk": 1, "extra": "e", "x": "y"})
	c.put(t, full)
	same(t, c.indexed(t, "all"), []item{full})
	same(t, c.indexed(t, "keys"), []item{{"pk": "a", "sk": "b", "gpk": "g"}})
	same(t, c.indexed(t, "some"), []item{{"pk": "a", "sk": "b", "gpk": "g", "extra": "e"}})

	step := func(what string, err error, all, keys int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if len(c.indexed(t, "all")) != all || len(c.indexed(t, "keys")) != keys {
			t.Fatalf("after %s: %d and %d entries, want %d and %d", what, len(c.indexed(t, "all")), len(c.indexed(t, "keys")), all, keys)
		}
	}
	_, err := c.update(t.Context(), "REMOVE gsk", "", nil, nil)
	step("removing one key attribute", err, 0, 1)
	_, err = c.update(t.Context(), "SET gsk = :v", "", nil, item{":v": 5})
	step("setting it again", err, 1, 1)
	_, err = c.update(t.Context(), "SET gpk = :v", "", nil, item{":v": "h"})
	step("moving to another partition", err, 0, 0)
	c.put(t, full)
	step("putting it back", nil, 1, 1)
	_, err = c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: aws.String("table"), Key: key("a", "b")}},
		{Put: &types.Put{TableName: aws.String("table"), Item: avs(item{"pk": "c", "sk": "d", "gpk": "g"})}},
	}})
	step("a transaction", err, 0, 1)
	_, err = c.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": {
		{DeleteRequest: &types.DeleteRequest{Key: key("c", "d")}},
		{PutRequest: &types.PutRequest{Item: avs(item{"pk": "e", "sk": "f", "gpk": "g", "gsk": 1})}},
	}}})
	step("a batch", err, 1, 1)
	_, err = c.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("table"), Key: key("e", "f")})
	step("deleting", err, 0, 0)
}

func TestTheFilterComesAfterTheLimit(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 10 {
		c.put(t, item{"pk": "p", "sk": asJSON(i), "odd": i % 2})
	}
	out, err := c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :p"), FilterExpression: aws.String("odd = :o"),
		ExpressionAttributeValues: avs(item{":p": "p", ":o": 1}), Limit: aws.Int32(5), ProjectionExpression: aws.String("sk"),
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, []int32{out.Count, out.ScannedCount}, []int32{2, 5})
	same(t, plains(out.Items[1]), item{"sk": "3"})
	same(t, plains(out.LastEvaluatedKey), item{"pk": "p", "sk": "4"})
	out, err = c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :p"), FilterExpression: aws.String("odd = :o"),
		ExpressionAttributeValues: avs(item{":p": "p", ":o": 1}), Select: types.SelectCount,
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, []int32{out.Count, out.ScannedCount, int32(len(out.Items))}, []int32{5, 10, 0})
}

func TestAPageHasAtMostAMegabyte(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 12 {
		c.put(t, item{"pk": "p", "sk": fmt.Sprintf("%02d", i), "x": strings.Repeat("x", 200<<10), "gpk": "g", "gsk": i})
	}
	for _, index := range []*string{nil, aws.String("all")} {
		in := &sdk.QueryInput{TableName: aws.String("table"), IndexName: index, KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: avs(item{":p": "p"})}
		if index != nil {
			in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("gpk = :p"), avs(item{":p": "g"})
		}
		var counts []int32
		for {
			out, err := c.Query(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			counts = append(counts, out.Count)
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
		same(t, counts, []int32{5, 5, 2})
	}
	out, err := c.Query(t.Context(), &sdk.QueryInput{
		TableName: aws.String("table"), IndexName: aws.String("keys"), KeyConditionExpression: aws.String("gpk = :p"), ExpressionAttributeValues: avs(item{":p": "g"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, out.Count, int32(12))
}

func TestQueriesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	base := func(condition string, values item) *sdk.QueryInput {
		return &sdk.QueryInput{TableName: aws.String("table"), KeyConditionExpression: aws.String(condition), ExpressionAttributeValues: avs(values)}
	}
	with := func(in *sdk.QueryInput, change func(*sdk.QueryInput)) *sdk.QueryInput { change(in); return in }
	cases := []struct {
		in   *sdk.QueryInput
		want string
	}{
		{base("sk = :v", item{":v": "x"}), "Query condition missed key schema element: pk"},
		{base("pk = :v AND x = :v", item{":v": "x"}), "Query condition missed key schema element: sk"},
		{base("pk > :v", item{":v": "x"}), "Query key condition not supported"},
		{base("pk = :v OR sk = :v", item{":v": "x"}), "Invalid operator used in KeyConditionExpression: OR"},
		{base("pk <> :v", item{":v": "x"}), "Invalid operator used in KeyConditionExpression: <>"},
		{base("NOT pk = :v", item{":v": "x"}), "Invalid operator used in KeyConditionExpression: NOT"},
		{base("pk IN (:v)", item{":v": "x"}), "Invalid operator used in KeyConditionExpression: IN"},
		{base("pk = :v AND contains(sk, :v)", item{":v": "x"}), "Invalid operator used in KeyConditionExpression: contains"},
		{base("pk = :v AND size(sk) = :n", item{":v": "x", ":n": 1}), "KeyConditionExpressions cannot contain nested operations"},
		{base("pk = :v AND sk.x = :v", item{":v": "x"}), "KeyConditionExpressions cannot have conditions on nested attributes"},
		{base("pk = :v AND sk > :v AND sk < :w", item{":v": "x", ":w": "y"}), "KeyConditionExpressions must only contain one condition per key"},
		{base("pk = sk", nil), "Multiple attribute names used in one condition"},
		{base("pk = :v", item{":v": 1}), "Condition parameter type does not match schema type"},
		{base("pk = :v", item{":v": ""}), "cannot contain an empty string value. Key: pk"},
		{base("pk = :v AND sk BETWEEN :b AND :a", item{":v": "x", ":a": "a", ":b": "b"}), "requires upper bound to be greater than or equal to lower bound"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.FilterExpression = aws.String("sk = :v") }), "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{with(base("gpk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.IndexName = aws.String("gone") }), "The table does not have the specified index: gone"},
		{with(base("gpk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.IndexName, in.ConsistentRead = aws.String("all"), aws.Bool(true) }), "Consistent reads are not supported on global secondary indexes"},
		{with(base("gpk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.IndexName, in.Select = aws.String("keys"), types.SelectAllAttributes }), "Select type ALL_ATTRIBUTES is not supported for global secondary index keys because its projection type is not ALL"},
		{with(base("gpk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.IndexName, in.ProjectionExpression = aws.String("keys"), aws.String("x") }), "Global secondary index keys does not project [x]"},
		{with(base("gpk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.IndexName, in.FilterExpression = aws.String("some"), aws.String("x = :v") }), "does not project one or more filter attributes: [x]"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.Select = types.SelectSpecificAttributes }), "Must specify the AttributesToGet or ProjectionExpression"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.Select = types.SelectAllProjectedAttributes }), "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.Limit = aws.Int32(0) }), "Member must have value greater than or equal to 1"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.ExclusiveStartKey = avs(item{"pk": "x"}) }), "The provided starting key is invalid"},
		{with(base("pk = :v", item{":v": "x"}), func(in *sdk.QueryInput) { in.ExclusiveStartKey = key("y", "z") }), "The provided starting key is outside query boundaries based on provided conditions"},
	}
	for _, tc := range cases {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			_, err := c.Query(t.Context(), tc.in)
			refused(t, err, validation, tc.want)
		})
	}
}

func TestScanSegmentsTileTheTable(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 200 {
		c.put(t, item{"pk": asJSON(i), "sk": "x", "even": i%2 == 0})
	}
	for _, total := range []int32{1, 3, 16} {
		seen := map[string]int{}
		for segment := range total {
			in := &sdk.ScanInput{TableName: aws.String("table"), Segment: aws.Int32(segment), TotalSegments: aws.Int32(total), Limit: aws.Int32(7)}
			for {
				out, err := c.Scan(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range out.Items {
					seen[plains(it)["pk"].(string)]++
				}
				if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
					break
				}
			}
		}
		same(t, len(seen), 200)
		for pk, n := range seen {
			if n != 1 {
				t.Fatalf("item %s was seen %d times in %d segments", pk, n, total)
			}
		}
	}
	out, err := c.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("table"), FilterExpression: aws.String("even = :t AND pk <> :p"), ExpressionAttributeValues: avs(item{":t": true, ":p": "0"}), Select: types.SelectCount})
	if err != nil {
		t.Fatal(err)
	}
	same(t, []int32{out.Count, out.ScannedCount}, []int32{99, 200})
	_, err = c.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("table"), Segment: aws.Int32(2), TotalSegments: aws.Int32(2)})
	refused(t, err, validation, "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less than TotalSegments: 2")
	_, err = c.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("table"), IndexName: aws.String("all"), ConsistentRead: aws.Bool(true)})
	refused(t, err, validation, "Consistent reads are not supported on global secondary indexes")
}
