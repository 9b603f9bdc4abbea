package awstest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sealift/localstack/process"
)

const (
	endpointVariable = "SEALIFT_AWS_ENDPOINT"
	accountVariable  = "SEALIFT_AWS_ACCOUNT"
	roleVariable     = "SEALIFT_AWS_ROLE" // the ARN of a role with which schedules may send to queues
	defaultRegion    = "us-east-1"
	testAccount      = "000000000000" // what tests write; at the endpoint it is the value of SEALIFT_AWS_ACCOUNT
	binary           = "../../bin/localstack"
)

// emptyStack is what the embedded cloud runs for the tests: services only. A template has at least one resource.
const emptyStack = `AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  Unused: {Type: 'AWS::SQS::Queue'}
`

// suite is the running of one package's tests.
type suite struct {
	cfg     aws.Config
	account string
	role    string
	prefix  string
	last    atomic.Int64
}

// current holds the suite that Main runs; there is one per test binary.
var current atomic.Pointer[suite]

// Main runs a package's tests against the endpoint and returns the exit status.
func Main(m *testing.M) int {
	ctx := context.Background()
	s, stop, err := open(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "awstest:", err)
		return 1
	}
	current.Store(s)
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "awstest:", err)
		code = max(code, 1)
	}
	return code
}

// open finds or starts the endpoint.
func open(ctx context.Context) (*suite, func() error, error) {
	endpoint, stop := os.Getenv(endpointVariable), func() error { return nil }
	if endpoint == "" {
		cloud, err := process.Start(ctx, binary, emptyStack)
		if err != nil {
			return nil, nil, err
		}
		endpoint, stop = cloud.Endpoint, cloud.Stop
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the AWS configuration of the environment: %w", err)
	}
	cfg.Region = cmp.Or(cfg.Region, defaultRegion)
	if endpoint != "aws" {
		cfg.BaseEndpoint = &endpoint
		if os.Getenv("AWS_ACCESS_KEY_ID") == "" {
			cfg.Credentials = credentials.NewStaticCredentialsProvider("test", "test", "")
		}
	}
	prefix := fmt.Sprintf("sealift%d", os.Getpid())
	return &suite{cfg: cfg, account: cmp.Or(os.Getenv(accountVariable), testAccount), role: os.Getenv(roleVariable), prefix: prefix}, stop, nil
}

// Begin returns a configuration for the clients of one test, whose names are the test's own. The clients retry and check sums as they do by default.
func Begin(t testing.TB) aws.Config {
	t.Helper()
	s := current.Load()
	if s == nil {
		t.Fatal("awstest.Begin needs awstest.Main in TestMain")
	}
	n := names{prefix: fmt.Sprintf("%sx%dx", s.prefix, s.last.Add(1)), region: s.cfg.Region, account: s.account, role: s.role}
	cfg := s.cfg.Copy()
	// Retries are the default ones, but for the quota that the cases of a test would share: a fault of one must not show in another.
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = ratelimit.None })
	}
	cfg.APIOptions = append(cfg.APIOptions, n.install)
	return cfg
}

// Prefix is the prefix of names that a test makes without the help of its client, such as those of buckets.
func Prefix(t testing.TB) string {
	t.Helper()
	s := current.Load()
	return strings.ToLower(fmt.Sprintf("%sx%dx", s.prefix, s.last.Add(1)))
}
