package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/localstack/template"
)

// activeWait bounds how long a table or index may take to become usable.
const activeWait = 2 * time.Minute

// table makes a table with its indexes, time to live and point-in-time recovery.
// To a table that is there, missing indexes are added; other keys are an error.
func (d *Deployer) table(ctx context.Context, t template.Table) error {
	found, err := d.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	missing := (*types.ResourceNotFoundException)(nil)
	switch {
	case errors.As(err, &missing):
		if err := d.createTable(ctx, t); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := d.adaptTable(ctx, t, found.Table); err != nil {
			return err
		}
	}
	if err := dynamodb.NewTableExistsWaiter(d.tables, prompt).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, activeWait); err != nil {
		return fmt.Errorf("wait until it is active: %w", err)
	}
	if err := d.timeToLive(ctx, t); err != nil {
		return fmt.Errorf("time to live: %w", err)
	}
	if t.PITR {
		_, err := d.tables.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &t.Name,
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}})
		if err != nil {
			return fmt.Errorf("point-in-time recovery: %w", err)
		}
	}
	return nil
}

// prompt makes a waiter look often: local tables are active at once.
func prompt(o *dynamodb.TableExistsWaiterOptions) {
	o.MinDelay, o.MaxDelay = 50*time.Millisecond, 5*time.Second
}

func (d *Deployer) createTable(ctx context.Context, t template.Table) error {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: attributes(t), KeySchema: schema(t.Keys)}
	for _, i := range t.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(i.Name), KeySchema: schema(i.Keys), Projection: projection(i)})
	}
	_, err := d.tables.CreateTable(ctx, in)
	// Another deployment may have been quicker.
	if inUse := (*types.ResourceInUseException)(nil); errors.As(err, &inUse) {
		return nil
	}
	return err
}

func (d *Deployer) adaptTable(ctx context.Context, t template.Table, found *types.TableDescription) error {
	if got, want := spell(found.KeySchema), spell(schema(t.Keys)); got != want {
		return fmt.Errorf("it exists with keys %s and the template wants %s; delete the table, or remove the data folder to start afresh", got, want)
	}
	present := map[string]string{}
	for _, i := range found.GlobalSecondaryIndexes {
		present[aws.ToString(i.IndexName)] = spell(i.KeySchema)
	}
	for _, i := range t.Indexes {
		got, exists := present[i.Name]
		if want := spell(schema(i.Keys)); exists && got != want {
			return fmt.Errorf("its index %s exists with keys %s and the template wants %s; give the new index another name", i.Name, got, want)
		}
		if exists {
			continue
		}
		_, err := d.tables.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &t.Name, AttributeDefinitions: attributes(t),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: aws.String(i.Name), KeySchema: schema(i.Keys), Projection: projection(i)}}}})
		if err != nil {
			return fmt.Errorf("add index %s: %w", i.Name, err)
		}
		if err := dynamodb.NewTableExistsWaiter(d.tables, prompt).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, activeWait); err != nil {
			return fmt.Errorf("wait for index %s: %w", i.Name, err)
		}
	}
	return nil
}

func (d *Deployer) timeToLive(ctx context.Context, t template.Table) error {
	if t.TTLAttribute == "" {
		return nil
	}
	now, err := d.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return err
	}
	if live := now.TimeToLiveDescription; live != nil && aws.ToString(live.AttributeName) == t.TTLAttribute &&
		(live.TimeToLiveStatus == types.TimeToLiveStatusEnabled || live.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil
	}
	_, err = d.tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &t.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTLAttribute, Enabled: aws.Bool(true)}})
	return err
}

func attributes(t template.Table) []types.AttributeDefinition {
	out := make([]types.AttributeDefinition, len(t.Attributes))
	for i, a := range t.Attributes {
		out[i] = types.AttributeDefinition{AttributeName: aws.String(a.Name), AttributeType: types.ScalarAttributeType(a.Type)}
	}
	return out
}

func schema(keys []template.Key) []types.KeySchemaElement {
	out := make([]types.KeySchemaElement, len(keys))
	for i, k := range keys {
		out[i] = types.KeySchemaElement{AttributeName: aws.String(k.Name), KeyType: types.KeyType(k.Kind)}
	}
	return out
}

func projection(i template.Index) *types.Projection {
	return &types.Projection{ProjectionType: types.ProjectionType(i.Projection), NonKeyAttributes: i.NonKey}
}

// spell writes a key schema for comparison and for people.
func spell(keys []types.KeySchemaElement) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = aws.ToString(k.AttributeName) + " " + string(k.KeyType)
	}
	return strings.Join(parts, ", ")
}
