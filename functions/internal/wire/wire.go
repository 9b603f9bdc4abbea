// Package wire builds the adapters that several functions share from their configuration. Everything here is called by
// a main once; nothing is kept. It imports edge, the adapters but the databases' (which would bloat functions that read
// none) and their SDK services.
package wire

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/ledger"
	"sealift/shared/limits"
	"sealift/shared/queue"
)

// Start reads the configuration, builds the handler and serves it until the process is told to end. A fault in the
// configuration or the building is logged whole and ends the process, which Lambda reports as a failed init.
func Start[C any](build func(cfg C, cloud aws.Config, log *slog.Logger) (any, error), level func(C) slog.Level) {
	cfg, err := edge.Read[C]()
	log := edge.Logger(os.Stdout, level(cfg))
	if err != nil {
		log.Error("the configuration has faults", "error", err.Error())
		os.Exit(1)
	}
	// A process that is told to end stops its work, which then gives its lease back at once.
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cloud, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(newClient()))
	if err != nil {
		log.Error("the cloud's configuration can't be read", "error", err.Error())
		os.Exit(1)
	}
	handler, err := build(cfg, cloud, log)
	if err != nil {
		log.Error("the function can't be built", "error", err.Error())
		os.Exit(1)
	}
	lambda.StartWithOptions(handler, lambda.WithContext(ctx), lambda.WithEnableSIGTERM(stop))
}

// Ledger opens the ledger.
func Ledger(cloud aws.Config, table string) *ledger.Ledger {
	return ledger.New(dynamodb.NewFromConfig(cloud), table, ledger.Options{Now: time.Now, Random: rand.Float64, NewToken: edge.NewToken})
}

// Store opens the bucket.
func Store(cloud aws.Config, bucket string) *artifact.Store {
	return artifact.New(s3.NewFromConfig(cloud), bucket, artifact.Options{})
}

// Senders opens the queues of a function that never delays beyond what a queue can.
func Senders(cloud aws.Config, q edge.Queues) (*queue.Queue, error) {
	return Delayers(cloud, edge.Delays{Queues: q})
}

// Delayers opens the queues and the schedules for long delays.
func Delayers(cloud aws.Config, d edge.Delays) (*queue.Queue, error) {
	return queue.New(sqs.NewFromConfig(cloud), scheduler.NewFromConfig(cloud), queue.Config{
		Plan:     queue.Address{URL: d.PlanURL, ARN: d.PlanARN},
		Finalize: queue.Address{URL: d.FinalizeURL, ARN: d.FinalizeARN},
		Lanes: map[job.Lane]queue.Address{
			job.Bulk:     {URL: d.LaneBulkURL, ARN: d.LaneBulkARN},
			job.Realtime: {URL: d.LaneRealtimeURL, ARN: d.LaneRealtimeARN},
		},
		ScheduleGroup: d.ScheduleGroup, ScheduleRoleARN: d.ScheduleRoleARN, Now: time.Now,
	})
}

// Again shows a message of the function's own queue again at once. It is tried once: a message for which it fails comes
// again all the same, only later.
func Again(cloud aws.Config, d edge.Delays) edge.Again {
	client := sqs.NewFromConfig(cloud, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	urls := map[string]string{
		d.PlanARN: d.PlanURL, d.LaneBulkARN: d.LaneBulkURL, d.LaneRealtimeARN: d.LaneRealtimeURL, d.FinalizeARN: d.FinalizeURL,
	}
	return func(ctx context.Context, message events.SQSMessage) error {
		url, known := urls[message.EventSourceARN]
		if !known {
			return job.Errorf(job.Permanent, "queue_unknown",
				"the message came from %s, which is none of the queues of the function's environment in template.yaml", message.EventSourceARN)
		}
		ctx, cancel := context.WithTimeout(ctx, limits.AgainTime)
		defer cancel()
		_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: &message.ReceiptHandle})
		if err != nil {
			return fmt.Errorf("show a message of %s again: %w", url, err)
		}
		return nil
	}
}
