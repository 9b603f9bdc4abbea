package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	clients       = 8
	pageItems     = 100
	batchItems    = 25
	rounds        = 300
	updatesMin    = 3000
	pageRatioMax  = 2.0
	writeRatioMax = 2.5
	sizeMax       = int64(2) << 30
)

// tables measures DynamoDB.
type tables struct{ client *dynamodb.Client }

// create makes a table like the ledger's: a composite key and an index that most items are in.
func (d *tables) create(ctx context.Context, name string) error {
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	_, err := d.client.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("sk", "S"), attribute("due_bucket", "S"), attribute("due_at_ms", "N")},
		KeySchema:            keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("due"), KeySchema: keys("due_bucket", "due_at_ms"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}},
	})
	if err != nil {
		return fmt.Errorf("make table %s: %w", name, err)
	}
	return nil
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(value)}
}

func item(pk string, n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": text(pk), "sk": text(fmt.Sprintf("unit#%08d", n)), "due_bucket": text(strconv.Itoa(n % 16)), "due_at_ms": number(1_700_000_000_000 + n),
		"state": text("pending"), "generation": number(0), "cursor": text(strings.Repeat("x", 200)),
	}
}

// fill writes items of one partition key with eight clients.
func (d *tables) fill(ctx context.Context, table, pk string, items int) error {
	var next atomic.Int64
	return together(func(int) error {
		for {
			at := int(next.Add(batchItems)) - batchItems
			if at >= items {
				return nil
			}
			var batch []types.WriteRequest
			for n := at; n < min(at+batchItems, items); n++ {
				batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(pk, n)}})
			}
			out, err := d.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: batch}})
			if err != nil {
				return fmt.Errorf("fill table %s: %w", table, err)
			}
			if len(out.UnprocessedItems) > 0 {
				return fmt.Errorf("fill table %s: %d items of a batch were not processed", table, len(out.UnprocessedItems[table]))
			}
		}
	})
}

// together runs the work of eight clients and returns their errors.
func together(work func(client int) error) error {
	var all sync.WaitGroup
	faults := make([]error, clients)
	for client := range clients {
		all.Go(func() { faults[client] = work(client) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// pages compares the time for one page of a small partition with that of a large one, in turns.
func (d *tables) pages(ctx context.Context) ([]figure, error) {
	sizes := map[string]int{"small": 1_000, "large": 100_000}
	for name, items := range sizes {
		if err := d.create(ctx, name); err != nil {
			return nil, err
		}
		if err := d.fill(ctx, name, "job", items); err != nil {
			return nil, err
		}
	}
	took := map[string][]time.Duration{}
	for range rounds {
		for name, items := range sizes {
			begun := time.Now()
			out, err := d.client.Query(ctx, &dynamodb.QueryInput{TableName: &name, Limit: aws.Int32(pageItems), ConsistentRead: aws.Bool(true),
				KeyConditionExpression:    aws.String("pk = :pk AND sk > :sk"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":pk": text("job"), ":sk": text(fmt.Sprintf("unit#%08d", items/2))}})
			if err != nil || out.Count != pageItems {
				return nil, fmt.Errorf("query a page of table %s: %w", name, errors.Join(err, fmt.Errorf("got %d of %d items", out.Count, pageItems)))
			}
			took[name] = append(took[name], time.Since(begun))
		}
	}
	small, large := median(took["small"]), median(took["large"])
	ratio := float64(large) / float64(small)
	return []figure{
		{what: "DynamoDB: page of 100 out of 1,000", got: small.Round(time.Microsecond).String()},
		{what: "DynamoDB: page of 100 out of 100,000", got: large.Round(time.Microsecond).String()},
		{what: "DynamoDB: the one by the other", got: fmt.Sprintf("%.2f", ratio), want: "< 2", met: ratio < pageRatioMax},
	}, nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// writes measures conditional updates and transactions of two of them, in turns, with eight clients.
func (d *tables) writes(ctx context.Context, period time.Duration) ([]figure, error) {
	const table = "writes"
	if err := d.create(ctx, table); err != nil {
		return nil, err
	}
	if err := d.fill(ctx, table, "job", 2*clients); err != nil {
		return nil, err
	}
	condition, change := aws.String("generation >= :zero"), aws.String("SET generation = generation + :one")
	values := map[string]types.AttributeValue{":zero": number(0), ":one": number(1)}
	key := func(n int) map[string]types.AttributeValue {
		it := item("job", n)
		return map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}
	}
	single := func(client int) error {
		_, err := d.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String(table), Key: key(client), UpdateExpression: change,
			ConditionExpression: condition, ExpressionAttributeValues: values})
		return err
	}
	pair := func(client int) error {
		in := &dynamodb.TransactWriteItemsInput{}
		for _, n := range []int{client, client + clients} {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: aws.String(table), Key: key(n),
				UpdateExpression: change, ConditionExpression: condition, ExpressionAttributeValues: values}})
		}
		_, err := d.client.TransactWriteItems(ctx, in)
		return err
	}
	const turns = 4
	var updates, transactions float64
	for range turns {
		for rate, run := range map[*float64]func(int) error{&updates: single, &transactions: pair} {
			perSecond, err := rateOf(period/turns, run)
			if err != nil {
				return nil, err
			}
			*rate += perSecond / turns
		}
	}
	ratio := updates / transactions
	return []figure{
		{what: "DynamoDB: conditional updates of 8 clients", got: fmt.Sprintf("%.0f/s", updates), want: ">= 3000/s on 2 cores", met: updates >= updatesMin},
		{what: "DynamoDB: transactions of two such updates", got: fmt.Sprintf("%.0f/s", transactions)},
		{what: "DynamoDB: time of a transaction by that of an update", got: fmt.Sprintf("%.2f", ratio), want: "< 2.5", met: ratio < writeRatioMax},
	}, nil
}

// rateOf repeats the work of eight clients for a period.
func rateOf(period time.Duration, run func(client int) error) (perSecond float64, err error) {
	var done atomic.Int64
	begun := time.Now()
	err = together(func(client int) error {
		for time.Since(begun) < period {
			if err := run(client); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return float64(done.Load()) / time.Since(begun).Seconds(), err
}

// size fills a table and tells what the cloud needs for it.
func (d *tables) size(ctx context.Context, p *measured, items int) ([]figure, error) {
	const table = "size"
	if err := d.create(ctx, table); err != nil {
		return nil, err
	}
	begun := time.Now()
	const partitionItems = 1000
	for at := 0; at < items; at += partitionItems {
		if err := d.fill(ctx, table, fmt.Sprintf("job-%06d", at/partitionItems), min(partitionItems, items-at)); err != nil {
			return nil, err
		}
	}
	took := time.Since(begun)
	used, err := p.memory()
	if err != nil {
		return nil, err
	}
	var disk int64
	err = filepath.WalkDir(filepath.Join(p.DataDir, "dynamodb"), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			disk += info.Size()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("measure the tables' files: %w", err)
	}
	what := fmt.Sprintf("DynamoDB: %d items: ", items)
	return []figure{
		{what: what + "resident set, with the mapped file", got: fmt.Sprintf("%d MiB", used.resident/mib), want: "< 2 GiB", met: used.resident < sizeMax},
		{what: what + "of it not the file's", got: fmt.Sprintf("%d MiB", used.own/mib)},
		{what: what + "on disk, all tables", got: fmt.Sprintf("%d MiB", disk/mib), want: "< 2 GiB", met: disk < sizeMax},
		{what: what + "written at", got: fmt.Sprintf("%.0f/s", float64(items)/took.Seconds())},
	}, nil
}
