// Package deploy makes what a template names: tables, queues, buckets, secrets, keys,
// schedule groups, schedules and event rules, through the public AWS APIs. It owns
// no state and can be repeated: what is there and fits stays, what is there and
// does not fit is an error that says so. Start reading at Deployer.Apply. It works
// against the embedded cloud and any LocalStack-compatible endpoint; functions,
// their mappings and the HTTP API are run by the embedded cloud and are not
// deployed. It may import template and the AWS SDK.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sealift/localstack/template"
)

// Deployer makes resources at one endpoint.
type Deployer struct {
	tables    *dynamodb.Client
	queues    *sqs.Client
	buckets   *s3.Client
	schedules *scheduler.Client
	events    *eventbridge.Client
	secrets   *secretsmanager.Client
	keys      *kms.Client
	region    string
}

// New makes a deployer with the configuration's endpoint, region and credentials.
func New(cfg aws.Config) *Deployer {
	return &Deployer{
		tables: dynamodb.NewFromConfig(cfg), queues: sqs.NewFromConfig(cfg), schedules: scheduler.NewFromConfig(cfg),
		buckets: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
		events:  eventbridge.NewFromConfig(cfg), secrets: secretsmanager.NewFromConfig(cfg), keys: kms.NewFromConfig(cfg), region: cfg.Region,
	}
}

// Apply makes everything of the stack that is missing. Queues come before what
// sends to them, groups before their schedules.
func (d *Deployer) Apply(ctx context.Context, stack *template.Stack) error {
	for _, t := range stack.Tables {
		if err := d.table(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := d.allQueues(ctx, stack.Queues); err != nil {
		return err
	}
	for _, b := range stack.Buckets {
		if err := d.bucket(ctx, b); err != nil {
			return fmt.Errorf("bucket %s: %w", b.Name, err)
		}
	}
	for _, s := range stack.Secrets {
		_, err := d.secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &s.Name, Description: optional(s.Description), SecretString: &s.Value})
		if exists := (*smtypes.ResourceExistsException)(nil); err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("secret %s: %w", s.Name, err)
		}
	}
	if err := d.allKeys(ctx, stack); err != nil {
		return err
	}
	return d.timing(ctx, stack)
}

// allQueues makes the queues first and sets their attributes then: a redrive
// policy can only name a queue that is there.
func (d *Deployer) allQueues(ctx context.Context, queues []template.Queue) error {
	urls := make([]*string, len(queues))
	for i, q := range queues {
		got, err := d.queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &q.Name})
		if missing := (*sqstypes.QueueDoesNotExist)(nil); errors.As(err, &missing) {
			made, err := d.queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &q.Name})
			if err != nil {
				return fmt.Errorf("queue %s: %w", q.Name, err)
			}
			urls[i] = made.QueueUrl
			continue
		}
		if err != nil {
			return fmt.Errorf("queue %s: %w", q.Name, err)
		}
		urls[i] = got.QueueUrl
	}
	for i, q := range queues {
		if len(q.Attributes) == 0 {
			continue
		}
		if _, err := d.queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: urls[i], Attributes: q.Attributes}); err != nil {
			return fmt.Errorf("attributes of queue %s: %w", q.Name, err)
		}
	}
	return nil
}

func (d *Deployer) bucket(ctx context.Context, b template.Bucket) error {
	in := &s3.CreateBucketInput{Bucket: &b.Name}
	if d.region != "us-east-1" {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(d.region)}
	}
	_, err := d.buckets.CreateBucket(ctx, in)
	mine, taken := (*s3types.BucketAlreadyOwnedByYou)(nil), (*s3types.BucketAlreadyExists)(nil)
	if errors.As(err, &mine) {
		return nil
	}
	if errors.As(err, &taken) {
		return fmt.Errorf("the name belongs to somebody else; choose another in the template: %w", err)
	}
	return err
}

// functionARN is the ARN of a function of the stack.
func functionARN(stack *template.Stack, name string) (string, error) {
	i := slices.IndexFunc(stack.Functions, func(f template.Function) bool { return f.Name == name })
	if i < 0 {
		return "", fmt.Errorf("function %s is not in the template", name)
	}
	return stack.Functions[i].ARN, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
