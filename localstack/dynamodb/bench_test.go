//go:build !aws

package dynamodb_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// eight shares b.N operations among eight clients.
func eight(b *testing.B, run func(client, n int)) {
	var done sync.WaitGroup
	for client := range 8 {
		done.Go(func() {
			for n := client; n < b.N; n += 8 {
				run(client, n)
			}
		})
	}
	done.Wait()
}

func BenchmarkConditionalUpdateOfEightClients(b *testing.B) {
	c := newCloud(b)
	for client := range 8 {
		c.put(b, item{"pk": asJSON(client), "sk": "x", "n": 0, "gpk": "g", "gsk": 1, "x": strings.Repeat("x", 300)})
	}
	b.ResetTimer()
	eight(b, func(client, _ int) {
		_, err := c.UpdateItem(b.Context(), &sdk.UpdateItemInput{
			TableName: aws.String("table"), Key: key(asJSON(client), "x"), UpdateExpression: aws.String("SET n = n + :one"),
			ConditionExpression: aws.String("n >= :zero"), ExpressionAttributeValues: avs(item{":one": 1, ":zero": 0}),
		})
		if err != nil {
			b.Error(err)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

func BenchmarkTransactionOfTwoByEightClients(b *testing.B) {
	c := newCloud(b)
	b.ResetTimer()
	eight(b, func(client, n int) {
		_, err := c.TransactWriteItems(b.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			updateAction(key(asJSON(client), "a"), "ADD n :one", item{":one": 1}),
			updateAction(key(asJSON(client), "b"), "ADD n :one", item{":one": 1}),
		}})
		if err != nil {
			b.Error(err)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
}

func BenchmarkQueryPageOf100(b *testing.B) {
	for _, size := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("of %d items", size), func(b *testing.B) {
			c := newCloud(b)
			for at := 0; at < size; at += 25 {
				batch := make([]types.WriteRequest, 25)
				for i := range batch {
					batch[i].PutRequest = &types.PutRequest{Item: avs(item{"pk": asJSON((at + i) / 500), "sk": fmt.Sprintf("%08d", at+i), "x": strings.Repeat("x", 200)})}
				}
				if _, err := c.BatchWriteItem(b.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": batch}}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				out, err := c.Query(b.Context(), &sdk.QueryInput{
					TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :p AND sk > :s"), Limit: aws.Int32(100),
					ExpressionAttributeValues: avs(item{":p": "1", ":s": "00000600"}),
				})
				if err != nil || out.Count != 100 {
					b.Fatal(out, err)
				}
			}
		})
	}
}
