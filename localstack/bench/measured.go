package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sealift/localstack/process"
)

const (
	region = "us-east-1"
	bucket = "bench-files"
	mib    = 1 << 20
)

// stack is the smallest template that has what is measured: a bucket. Tables are made by the measurements.
const stack = `AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  Files: {Type: 'AWS::S3::Bucket', Properties: {BucketName: ` + bucket + `}}
`

// measured is a running embedded cloud.
type measured struct{ *process.Cloud }

// start runs the cloud in a process of its own.
func start(ctx context.Context, binary string) (*measured, error) {
	c, err := process.Start(ctx, binary, stack)
	if err != nil {
		return nil, err
	}
	return &measured{c}, nil
}

func (p *measured) config() aws.Config {
	return aws.Config{Region: region, BaseEndpoint: &p.Endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
}

func (p *measured) tables() *tables { return &tables{client: dynamodb.NewFromConfig(p.config())} }

func (p *measured) files() *s3.Client {
	return s3.NewFromConfig(p.config(), func(o *s3.Options) { o.UsePathStyle = true })
}

// memory is what proc(5) says of a process: its resident set now, the part of it that is no file's, and the highest resident set since forget.
type memory struct{ resident, own, peak int64 }

func (p *measured) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		return memory{}, fmt.Errorf("read the cloud's memory: %w", err)
	}
	var out memory
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err != nil {
			continue // a line that is no size
		}
		switch string(fields[0]) {
		case "VmRSS:":
			out.resident = kib << 10
		case "RssAnon:":
			out.own = kib << 10
		case "VmHWM:":
			out.peak = kib << 10
		}
	}
	if out.resident == 0 {
		return memory{}, errors.New("the cloud's memory is not in /proc; measure on Linux")
	}
	return out, nil
}

// forget lets the highest resident set be counted from now on.
func (p *measured) forget() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the cloud's peak of memory: %w", err)
	}
	return nil
}
