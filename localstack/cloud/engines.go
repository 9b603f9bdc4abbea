package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/localstack/deploy"
	"sealift/localstack/dynamodb"
	"sealift/localstack/endpoint"
	"sealift/localstack/events"
	"sealift/localstack/fault"
	"sealift/localstack/gateway"
	"sealift/localstack/issuer"
	"sealift/localstack/kms"
	"sealift/localstack/lambda"
	"sealift/localstack/mapping"
	"sealift/localstack/role"
	"sealift/localstack/scheduler"
	"sealift/localstack/secrets"
	"sealift/localstack/service"
	"sealift/localstack/sqs"
	"sealift/localstack/storage"
)

// engines are the parts of a cloud.
type engines struct {
	cloud     *Cloud
	tables    *dynamodb.Engine
	queues    *sqs.Engine
	schedules *scheduler.Engine
	events    *events.Engine
	secrets   *secrets.Engine
	keys      *kms.Engine
	storage   *storage.Engine
	host      *lambda.Host
	pollers   *mapping.Pollers
	faults    *fault.Board
	clocks    *fault.Clocks
	endpoint  *endpoint.Endpoint
	gateway   *gateway.Gateway
	deployer  *deploy.Deployer
	sender    *awssqs.Client

	// calling brings work to functions, running works on it; they stop in this
	// order.
	calling, running *part
}

// AWSConfig is the configuration of an operator's clients at an endpoint. The
// pool is large enough for all that poll at a time.
func AWSConfig(endpoint, region string) aws.Config {
	transport := &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second}
	return aws.Config{Region: region, BaseEndpoint: aws.String(endpoint), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(role.OperatorKey, role.SecretKey, "")}
}

// openEngines opens everything that keeps data and puts the endpoint before it.
// What was opened is in the result even when there is an error.
func (c *Cloud) openEngines() (*engines, error) {
	e := &engines{cloud: c, clocks: fault.NewClocks(c.cfg.Now)}
	policies, err := role.NewPolicies(c.stack)
	if err != nil {
		return e, err
	}
	tokens, err := issuer.Open(filepath.Join(c.cfg.DataDir, "issuer"), c.Endpoint()+issuer.Path)
	if err != nil {
		return e, err
	}
	functions, err := ready(c.stack.Functions, c.cfg.BinDir)
	if err != nil {
		return e, err
	}
	e.host, err = lambda.New(functions, lambda.Options{
		BinDir: c.cfg.BinDir, Region: c.stack.Region, AccountID: c.stack.AccountID, Endpoint: c.Endpoint(), Output: c.cfg.Output,
		Logger: c.cfg.Logger, Now: c.cfg.Now, NewID: c.cfg.NewID,
		OnFailure: func(ctx context.Context, arn string, record []byte) error { return e.send(ctx, arn, string(record)) },
	})
	if err != nil {
		return e, err
	}
	if err := e.openStores(c, policies); err != nil {
		return e, err
	}
	cfg := AWSConfig(c.Endpoint(), c.stack.Region)
	e.sender, e.deployer = awssqs.NewFromConfig(cfg), deploy.New(cfg)
	e.pollers, err = mapping.New(c.stack.Mappings, mapping.Options{Endpoint: c.Endpoint(), Region: c.stack.Region, Invoker: e.host, Logger: c.cfg.Logger})
	if err != nil {
		return e, err
	}
	if c.stack.API != nil {
		e.gateway, err = gateway.New(gateway.Options{API: *c.stack.API, AccountID: c.stack.AccountID, Invoke: e.invoke, Keys: &http.Client{},
			Now: c.cfg.Now, NewID: c.cfg.NewID, Logger: c.cfg.Logger})
		if err != nil {
			return e, err
		}
	}
	e.faults = fault.New(fault.Options{Kill: e.kill, NewID: c.cfg.NewID, Clocks: e.clocks})
	e.endpoint = endpoint.New(endpoint.Options{
		Place: role.Place{Region: c.stack.Region, AccountID: c.stack.AccountID}, Policies: policies, Faults: e.faults, Issuer: tokens,
		Engines: map[role.Service]http.Handler{
			role.DynamoDB: e.tables, role.SQS: e.queues, role.S3: e.storage, role.Scheduler: e.schedules, role.Events: e.events,
			role.Secrets: e.secrets, role.KMS: e.keys, role.Lambda: e.host.Handler(),
		},
		Functions: func() any { return e.host.Stats() }, Ready: c.ready.Load, NewID: c.cfg.NewID, Logger: c.cfg.Logger,
	})
	return e, nil
}

// openStores opens the engines that keep data. The object store comes last: it
// changes the working directory.
func (e *engines) openStores(c *Cloud, policies *role.Policies) error {
	dir := c.cfg.DataDir
	common := service.Options{Region: c.stack.Region, AccountID: c.stack.AccountID, Now: c.cfg.Now, NewID: c.cfg.NewID, Logger: c.cfg.Logger}
	queued := common
	queued.Now = e.clocks.Of(role.SQS)
	var err error
	e.tables, err = dynamodb.Open(filepath.Join(dir, "dynamodb"), dynamodb.Options{Region: common.Region, AccountID: common.AccountID, Now: e.clocks.Of(role.DynamoDB), NewID: c.cfg.NewID, Logger: c.cfg.Logger})
	if err != nil {
		return err
	}
	e.queues, err = sqs.Open(filepath.Join(dir, "sqs"), sqs.Options{Options: queued, Caller: senderOf})
	if err != nil {
		return err
	}
	e.schedules, err = scheduler.Open(filepath.Join(dir, "scheduler"), scheduler.Options{Options: common, Deliver: e.deliver})
	if err != nil {
		return err
	}
	e.events, err = events.Open(filepath.Join(dir, "events"), events.Options{Options: common, Deliver: e.deliver})
	if err != nil {
		return err
	}
	e.secrets, err = secrets.Open(filepath.Join(dir, "secrets"), common)
	if err != nil {
		return err
	}
	e.keys, err = kms.Open(filepath.Join(dir, "kms"), common)
	if err != nil {
		return err
	}
	e.storage, err = storage.Open(filepath.Join(dir, "s3"), storage.Options{
		Region: common.Region, AccessKey: role.OperatorKey, SessionKey: role.FunctionKey, SecretKey: role.SecretKey, AcceptToken: policies.Knows,
		Now: c.cfg.Now, Logger: c.cfg.Logger,
	})
	return err
}

// runStores starts what the engines do by themselves.
func (e *engines) runStores(g *group) {
	g.run("object store", e.storage.Run)
	g.run("tables", e.tables.Run)
	g.run("queues", e.queues.Run)
	e.calling, e.running = g.sub(), g.sub()
}

// runFunctions starts the functions and what calls them.
func (e *engines) runFunctions(*group) error {
	if e.calling == nil {
		return errors.New("start functions: the stores are not running")
	}
	e.running.run("functions", e.host.Run)
	e.calling.run("schedules", e.schedules.Run)
	e.calling.run("event rules", e.events.Run)
	e.calling.run("queue pollers", e.pollers.Run)
	return nil
}

// stopFunctions ends what calls functions and then the functions.
func (e *engines) stopFunctions() {
	if e.calling == nil {
		return
	}
	// A poller waits for the batch it has given to a function, and that may take
	// minutes; functions that are stopped end it, and its messages come back.
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.calling.stop()
	}()
	select {
	case <-stopped:
	case <-time.After(stopWait):
	}
	e.running.stop()
	<-stopped
}

// close closes what was opened.
func (e *engines) close() error {
	var faults []error
	if e.tables != nil {
		faults = append(faults, e.tables.Close())
	}
	if e.queues != nil {
		faults = append(faults, e.queues.Close())
	}
	if e.schedules != nil {
		faults = append(faults, e.schedules.Close())
	}
	if e.events != nil {
		faults = append(faults, e.events.Close())
	}
	if e.secrets != nil {
		faults = append(faults, e.secrets.Close())
	}
	if e.keys != nil {
		faults = append(faults, e.keys.Close())
	}
	if e.storage != nil {
		faults = append(faults, e.storage.Close())
	}
	return errors.Join(faults...)
}

// deliver hands an input to a queue or a function.
func (e *engines) deliver(ctx context.Context, targetARN, input string) error {
	switch {
	case strings.HasPrefix(targetARN, "arn:aws:sqs:"):
		return e.send(ctx, targetARN, input)
	case strings.HasPrefix(targetARN, "arn:aws:lambda:"):
		return e.host.InvokeEvent(ctx, localName(targetARN), []byte(input))
	default:
		return fmt.Errorf("deliver to %s: only queues and functions can be targets", targetARN)
	}
}

// send puts a message into a queue by its ARN.
func (e *engines) send(ctx context.Context, queueARN, body string) error {
	url := e.cloud.Endpoint() + "/" + e.cloud.stack.AccountID + "/" + localName(queueARN)
	if _, err := e.sender.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
		return fmt.Errorf("send to queue %s: %w", queueARN, err)
	}
	return nil
}

// invoke runs a function for the HTTP API.
func (e *engines) invoke(ctx context.Context, function string, payload []byte) (gateway.Answer, error) {
	response, err := e.host.Invoke(ctx, function, payload)
	if errors.Is(err, lambda.ErrThrottled) {
		return gateway.Answer{}, gateway.ErrThrottled
	}
	return gateway.Answer{Payload: response.Payload, Failed: response.FunctionError != ""}, err
}

// kill ends the process that made a call, or all of its function's when the call
// does not say which.
func (e *engines) kill(function, process string) bool {
	if process != "" {
		return e.host.KillProcess(process)
	}
	return function != "" && e.host.Kill(function) > 0
}

// senderOf is the SenderId of a message: the role session of a function, as on
// AWS, or the account.
func senderOf(r *http.Request) string {
	caller := role.CallerOf(r)
	if caller.Function == "" {
		return "000000000000"
	}
	return "AROASEALIFTLOCAL00000:" + caller.Function
}
