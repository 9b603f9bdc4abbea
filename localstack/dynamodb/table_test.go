package dynamodb_test

import (
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
	same(t, aws.ToInt64(d.ItemCount), int64(1))
	same(t, len(d.AttributeDefinitions), 4)
	same(t, len(d.GlobalSecondaryIndexes), 3)
	same(t, aws.ToString(d.GlobalSecondaryIndexes[2].IndexName), "some")
	same(t, d.GlobalSecondaryIndexes[2].Projection.NonKeyAttributes, []string{"extra"})
	same(t, []int64{aws.ToInt64(d.GlobalSecondaryIndexes[0].ItemCount), aws.ToInt64(d.GlobalSecondaryIndexes[1].ItemCount)}, []int64{0, 1})
	if age := time.Since(*d.CreationDateTime); age < 0 || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	base := func(n int) *sdk.CreateTableInput {
		return &sdk.CreateTableInput{TableName: aws.String("new" + asJSON(n)), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: definitions("pk", "S"), KeySchema: schema("pk")}
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
	}
	for n, tc := range cases {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			in := base(n)
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
