package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	region   = "us-east-1"
	stopWait = 20 * time.Second
	bucket   = "bench-files"
	mib      = 1 << 20
)

// stack is the smallest template that has what is measured: a bucket. Tables are made by the measurements.
const stack = `AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  Files: {Type: 'AWS::S3::Bucket', Properties: {BucketName: ` + bucket + `}}
`

// process is a running embedded cloud.
type process struct {
	cmd      *exec.Cmd
	dir      string
	Endpoint string `json:"endpoint"`
}

// start runs the cloud on free ports with a folder of its own.
func start(ctx context.Context, binary string) (*process, error) {
	dir, err := os.MkdirTemp("", "localstack-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the cloud's data: %w", err)
	}
	p := &process{dir: dir}
	template := filepath.Join(dir, "template.yaml")
	if err := os.WriteFile(template, []byte(stack), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the template: %w", err), os.RemoveAll(dir))
	}
	p.cmd = exec.CommandContext(ctx, binary, "serve", "--template", template, "--bin", dir, "--data", filepath.Join(dir, "data"),
		"--port", "0", "--api-port", "0", "--json", "--log", filepath.Join(dir, "log"))
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = stopWait
	p.cmd.Stderr = os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the cloud's ready line: %w", err), os.RemoveAll(dir))
	}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the cloud %s: %w; run make build first", binary, err), os.RemoveAll(dir))
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the cloud printed no ready line: %w", err), p.stop())
	}
	return p, nil
}

// stop ends the cloud and removes its folder.
func (p *process) stop() error {
	signalled := p.cmd.Process.Signal(os.Interrupt)
	if errors.Is(signalled, os.ErrProcessDone) {
		signalled = nil
	}
	timer := time.AfterFunc(stopWait, func() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }) // it may have ended in this moment
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return errors.Join(signalled, fmt.Errorf("the cloud ended badly: %w; its log and data are kept in %s", err, p.dir))
	}
	return errors.Join(signalled, os.RemoveAll(p.dir))
}

func (p *process) config() aws.Config {
	return aws.Config{Region: region, BaseEndpoint: &p.Endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
}

func (p *process) tables() *tables { return &tables{client: dynamodb.NewFromConfig(p.config())} }

func (p *process) files() *s3.Client {
	return s3.NewFromConfig(p.config(), func(o *s3.Options) { o.UsePathStyle = true })
}

// memory is what proc(5) says of a process: its resident set now, the part of it that is no file's, and the highest resident set since forget.
type memory struct{ resident, own, peak int64 }

func (p *process) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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
func (p *process) forget() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the cloud's peak of memory: %w", err)
	}
	return nil
}
