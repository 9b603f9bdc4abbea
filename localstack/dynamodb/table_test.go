package dynamodb_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestDescribeShowsWhatCreateWasGiven(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "gpk": "g"})
	out, err := c.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
	if err != nil {
		t.Fatal(err)
	}
	d := out.Table
	same(t, *d.TableArn, "arn:aws:dynamodb:us-east-1:000000000000:table/table")
	same(t, d.TableStatus, types.TableStatusActive)
	same(t, d.BillingModeSummary.BillingMode, types.BillingModePayPerRequest)
	same(t, *d.ItemCount, int64(1))
	same(t, len(d.AttributeDefinitions), 4)
	same(t, len(d.GlobalSecondaryIndexes), 3)
	same(t, *d.GlobalSecondaryIndexes[2].IndexName, "some")
	same(t, d.GlobalSecondaryIndexes[2].Projection.NonKeyAttributes, []string{"extra"})
	same(t, []int64{*d.GlobalSecondaryIndexes[0].ItemCount, *d.GlobalSecondaryIndexes[1].ItemCount}, []int64{0, 1})
	if age := time.Since(*d.CreationDateTime); age < 0 || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}

func TestTablesAreListedInPagesAndDeleted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, name := range []string{"a-1", "a.2", "A_3"} {
		c.create(t, name)
	}
	var names []string
	in := &sdk.ListTablesInput{Limit: aws.Int32(3)}
	for {
		out, err := c.ListTables(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, out.TableNames...)
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			break
		}
	}
	same(t, names, []string{"A_3", "a-1", "a.2", "table"})
	if _, err := c.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("table")}); err != nil {
		t.Fatal(err)
	}
	_, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a", "b")})
	refused(t, err, "ResourceNotFoundException", "Requested resource not found")
	_, err = c.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
	refused(t, err, "ResourceNotFoundException", "Requested resource not found: Table: table not found")
	c.create(t, "table")
	same(t, c.get(t, "a", "b"), item(nil))
}

func TestTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	base := func() *sdk.CreateTableInput {
		return &sdk.CreateTableInput{TableName: aws.String("new"), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: definitions("pk", "S"), KeySchema: schema("pk")}
	}
	cases := []struct {
		change func(*sdk.CreateTableInput)
		code   string
		want   string
	}{
		{func(in *sdk.CreateTableInput) {
			in.TableName, in.AttributeDefinitions = aws.String("table"), definitions("pk", "S")
		}, "ResourceInUseException", "Table already exists: table"},
		{func(in *sdk.CreateTableInput) { in.TableName = aws.String("a b c") }, validation, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		{func(in *sdk.CreateTableInput) { in.TableName = aws.String("ab") }, validation, "must be at least 3 characters long and at most 255 characters long"},
		{func(in *sdk.CreateTableInput) { in.AttributeDefinitions = definitions("pk", "S", "x", "S") }, validation, "Some AttributeDefinitions are not used. AttributeDefinitions: [pk, x], keys used: [pk]"},
		{func(in *sdk.CreateTableInput) { in.AttributeDefinitions = definitions("x", "S") }, validation, "Some index key attributes are not defined in AttributeDefinitions. Keys: [pk]"},
		{func(in *sdk.CreateTableInput) { in.AttributeDefinitions = definitions("pk", "M") }, validation, "Member must satisfy enum value set: [B, N, S]"},
		{func(in *sdk.CreateTableInput) { in.BillingMode = types.BillingModeProvisioned }, validation, "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		{func(in *sdk.CreateTableInput) { in.KeySchema = schema("pk", "pk") }, validation, "have the same name"},
		{func(in *sdk.CreateTableInput) {
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{IndexName: aws.String("idx"), KeySchema: schema("pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude}}}
		}, validation, "ProjectionType is INCLUDE, but NonKeyAttributes has 0 elements"},
		{func(in *sdk.CreateTableInput) {
			in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: aws.String("idx"), KeySchema: schema("pk", "x"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}
		}, validation, "LocalSecondaryIndexes"},
		{func(in *sdk.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
		}, validation, "has no streams"},
	}
	for _, tc := range cases {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			in := base()
			tc.change(in)
			_, err := c.CreateTable(t.Context(), in)
			refused(t, err, tc.code, tc.want)
		})
	}
}

func TestAnAddedIndexHoldsTheItemsThatWereThere(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 10 {
		c.put(t, item{"pk": "a", "sk": asJSON(i), "color": []any{"red", "blue"}[i%2], "x": i})
	}
	c.put(t, item{"pk": "b", "sk": "1"})
	add := func(name, attribute string, kind string) error {
		_, err := c.UpdateTable(t.Context(), &sdk.UpdateTableInput{
			TableName: aws.String("table"), AttributeDefinitions: definitions(attribute, kind),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: aws.String(name), KeySchema: schema(attribute, "sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			}}},
		})
		return err
	}
	if err := add("colors", "color", "S"); err != nil {
		t.Fatal(err)
	}
	in := &sdk.QueryInput{IndexName: aws.String("colors"), KeyConditionExpression: aws.String("color = :c"), ExpressionAttributeValues: avs(item{":c": "red"})}
	same(t, c.sorts(t, in, 2), []string{"0", "2", "4", "6", "8"})
	c.put(t, item{"pk": "c", "sk": "3", "color": "red"})
	same(t, c.sorts(t, in, 0), []string{"0", "2", "3", "4", "6", "8"})
	refused(t, add("colors", "color", "S"), validation, "Duplicate index name: colors")
	refused(t, add("other", "color", "N"), validation, "already defined as S")
	if _, err := c.UpdateTable(t.Context(), &sdk.UpdateTableInput{TableName: aws.String("table"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("colors")}},
	}}); err != nil {
		t.Fatal(err)
	}
	in.TableName, in.ExclusiveStartKey = aws.String("table"), nil
	_, err := c.Query(t.Context(), in)
	refused(t, err, validation, "The table does not have the specified index: colors")
}

func TestItemsAreRemovedWhenTheirTimeHasCome(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(t, t.TempDir(), func() time.Time { return now })
	c.create(t, "table")
	at := func(d time.Duration) int { return int(now.Add(d).Unix()) }
	c.put(t, item{"pk": "before", "sk": "x", "ttl": at(-time.Hour), "gpk": "g"})
	ttl := func(name string, enabled bool) error {
		_, err := c.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{TableName: aws.String("table"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(name), Enabled: aws.Bool(enabled)}})
		return err
	}
	if err := ttl("ttl", true); err != nil {
		t.Fatal(err)
	}
	refused(t, ttl("ttl", true), validation, "TimeToLive is already enabled")
	refused(t, ttl("x", true), validation, "TimeToLive is active on a different AttributeName: current AttributeName is ttl")
	c.put(t, item{"pk": "past", "sk": "x", "ttl": at(-time.Second)})
	c.put(t, item{"pk": "future", "sk": "x", "ttl": at(time.Minute)})
	c.put(t, item{"pk": "ancient", "sk": "x", "ttl": at(-6 * 365 * 24 * time.Hour)})
	c.put(t, item{"pk": "text", "sk": "x", "ttl": "1"})
	c.put(t, item{"pk": "none", "sk": "x"})
	c.put(t, item{"pk": "a", "sk": "b", "ttl": at(-time.Second)})
	if _, err := c.update(t.Context(), "SET #t = :t", "", map[string]string{"#t": "ttl"}, item{":t": at(2 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	sweep := func(want int) {
		t.Helper()
		if n, err := c.engine.Sweep(t.Context()); err != nil || n != want {
			t.Fatalf("removed %d, %v; want %d", n, err, want)
		}
	}
	sweep(2)
	same(t, c.get(t, "before", "x"), item(nil))
	same(t, len(c.indexed(t, "keys")), 0)
	sweep(0)
	now = now.Add(90 * time.Second)
	sweep(1)
	now = now.Add(time.Minute)
	sweep(1)
	for _, pk := range []string{"ancient", "text", "none"} {
		if c.get(t, pk, "x") == nil {
			t.Errorf("%s is gone", pk)
		}
	}
	out, err := c.DescribeTimeToLive(t.Context(), &sdk.DescribeTimeToLiveInput{TableName: aws.String("table")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, out.TimeToLiveDescription.TimeToLiveStatus, types.TimeToLiveStatusEnabled)
	if err := ttl("ttl", false); err != nil {
		t.Fatal(err)
	}
	refused(t, ttl("ttl", false), validation, "TimeToLive is already disabled")
}

func TestBackupsAndTagsAreKept(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	name, arn := aws.String("table"), aws.String("arn:aws:dynamodb:us-east-1:000000000000:table/table")
	if _, err := c.UpdateContinuousBackups(t.Context(), &sdk.UpdateContinuousBackupsInput{TableName: name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
	backups, err := c.DescribeContinuousBackups(t.Context(), &sdk.DescribeContinuousBackupsInput{TableName: name})
	if err != nil {
		t.Fatal(err)
	}
	same(t, backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, types.PointInTimeRecoveryStatusEnabled)
	for _, v := range []string{"old", "new"} {
		if _, err := c.TagResource(t.Context(), &sdk.TagResourceInput{ResourceArn: arn, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String(v)}}}); err != nil {
			t.Fatal(err)
		}
	}
	tags, err := c.ListTagsOfResource(t.Context(), &sdk.ListTagsOfResourceInput{ResourceArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	same(t, len(tags.Tags), 1)
	same(t, *tags.Tags[0].Value, "new")
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(t, t.TempDir(), func() time.Time { return now })
	cases := []struct {
		name, target, body string
		status             int
		want               string
	}{
		{"success", "DynamoDB_20120810.ListTables", `{}`, 200, `{"TableNames":[]}`},
		{"an unknown operation", "DynamoDB_20120810.ExecuteStatement", `{}`, 400, "UnknownOperationException"},
		{"no target", "", `{}`, 400, "UnknownOperationException"},
		{"no body", "DynamoDB_20120810.ListTables", ``, 400, "SerializationException"},
		{"no JSON", "DynamoDB_20120810.ListTables", `{"Limit"`, 400, "SerializationException"},
		{"two values", "DynamoDB_20120810.ListTables", `{} {}`, 400, "SerializationException"},
		{"another type", "DynamoDB_20120810.ListTables", `{"Limit":"x"}`, 400, "SerializationException"},
		{"an unsupported member", "DynamoDB_20120810.GetItem", `{"AttributesToGet":["a"]}`, 400, `unknown field \"AttributesToGet\"`},
		{"a value of another shape", "DynamoDB_20120810.GetItem", `{"Key":{"a":{"N":1}}}`, 400, "NUMBER_VALUE can not be converted to String"},
		{"a body over 16 MB", "DynamoDB_20120810.PutItem", strings.Repeat(" ", 16<<20+1), 413, "exceeds the maximum"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Amz-Target", tc.target)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
				t.Errorf("%d %s; want %d with %s", response.StatusCode, body, tc.status, tc.want)
			}
			same(t, response.Header.Get("X-Amz-Crc32"), strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
			same(t, response.Header.Get("Date"), "Fri, 02 Jan 2026 03:04:05 GMT")
			same(t, response.Header.Get("Content-Type"), "application/x-amz-json-1.0")
			same(t, len(response.Header.Get("X-Amzn-Requestid")) > 10, true)
		})
	}
}
