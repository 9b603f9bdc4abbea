//go:build aws

package sqs_test

import (
	"context"
	"os"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/localstack/awstest"
)

func TestMain(m *testing.M) { os.Exit(awstest.Main(m)) }

// bench is the endpoint, seen by one test.
type bench struct {
	*awssqs.Client
	t *testing.T
}

func start(t *testing.T) *bench {
	t.Helper()
	return &bench{Client: awssqs.NewFromConfig(awstest.Begin(t)), t: t}
}

// runs has nothing to do: an endpoint does its background work by itself.
func (b *bench) runs() {}

// made removes a queue after the test.
func (b *bench) made(url string) {
	b.t.Cleanup(func() {
		if _, err := b.DeleteQueue(context.WithoutCancel(b.t.Context()), &awssqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
			b.t.Log(err) // the test may have deleted it
		}
	})
}
