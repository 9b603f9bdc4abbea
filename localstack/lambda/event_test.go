package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"sealift/localstack/lambda"
	"sealift/localstack/template"
)

func testEventFails(t *testing.T, bin string) {
	const destination = "arn:aws:sqs:us-east-1:000000000000:dead"
	var mu sync.Mutex
	var records [][]byte
	h, _ := start(t, bin, probe(func(f *template.Function) { f.Async.OnFailureARN = destination }), func(o *lambda.Options) {
		o.OnFailure = func(_ context.Context, arn string, record []byte) error {
			mu.Lock()
			defer mu.Unlock()
			if arn != destination {
				t.Errorf("destination %s", arn)
			}
			records = append(records, record)
			return nil
		}
	})
	if err := h.InvokeEvent(t.Context(), "stack-probe", []byte(`{"do":"error","value":"kept"}`)); err != nil {
		t.Fatal(err)
	}
	if stats := h.Stats()[0]; stats.Invocations != 3 || stats.Errors != 3 {
		t.Errorf("stats %+v, want one try and two repetitions", stats)
	}
	if len(records) != 1 {
		t.Fatalf("%d failure records, want 1", len(records))
	}
	var got struct {
		RequestContext struct {
			Condition              string
			FunctionArn            string
			ApproximateInvokeCount int
		}
		RequestPayload  struct{ Value string }
		ResponsePayload failure
	}
	if err := json.Unmarshal(records[0], &got); err != nil {
		t.Fatal(err)
	}
	if c := got.RequestContext; c.Condition != "RetriesExhausted" || c.ApproximateInvokeCount != 3 || c.FunctionArn != probe().ARN+":$LATEST" {
		t.Errorf("request context %+v", c)
	}
	if got.RequestPayload.Value != "kept" || got.ResponsePayload.Message != "the handler's error" {
		t.Errorf("record %s", records[0])
	}
}

func testEventThrottled(t *testing.T, bin string) {
	one := 1
	h, _ := start(t, bin, probe(func(f *template.Function) { f.ReservedConcurrency, f.Async.RetriesMax = &one, 0 }))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := h.InvokeEvent(t.Context(), "stack-probe", []byte(`{"do":"sleep","ms":300}`)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if stats := h.Stats()[0]; stats.Invocations != 2 || stats.Errors != 0 || stats.Throttles == 0 {
		t.Errorf("stats %+v, want two invocations and a throttle", stats)
	}
}

func testAPI(t *testing.T, bin string) {
	one := 1
	h, _ := start(t, bin, probe(func(f *template.Function) { f.ReservedConcurrency = &one }))
	server := httptest.NewServer(h.Handler())
	t.Cleanup(server.Close)
	client := awslambda.New(awslambda.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), RetryMaxAttempts: 1,
	})
	out, err := client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String(probe().ARN), Payload: []byte(`{"value":"over HTTP"}`)})
	if err != nil {
		t.Fatal(err)
	}
	var got answer
	if err := json.Unmarshal(out.Payload, &got); err != nil || got.Value != "over HTTP" || out.StatusCode != http.StatusOK || aws.ToString(out.ExecutedVersion) != "$LATEST" {
		t.Errorf("invoke answered %s (%v), status %d", out.Payload, err, out.StatusCode)
	}
	out, err = client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("stack-probe"), Payload: []byte(`{"do":"error"}`)})
	if err != nil || aws.ToString(out.FunctionError) != "Unhandled" {
		t.Errorf("a failing function: %v, %+v", err, out)
	}
	_, err = client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("stack-absent")})
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
		t.Errorf("unknown function: %v, want ResourceNotFoundException", err)
	}
	out, err = client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("stack-probe"), InvocationType: types.InvocationTypeEvent, Payload: []byte(`{"do":"sleep","ms":1500}`)})
	if err != nil || out.StatusCode != http.StatusAccepted {
		t.Fatalf("event: %v, %+v", err, out)
	}
	throttled := false
	for deadline := time.Now().Add(10 * time.Second); !throttled && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, err = client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("stack-probe")})
		_, throttled = errors.AsType[*types.TooManyRequestsException](err)
	}
	if !throttled {
		t.Errorf("never throttled while an event used the reserved concurrency; last: %v", err)
	}
	list, err := client.ListFunctions(t.Context(), &awslambda.ListFunctionsInput{})
	if err != nil || len(list.Functions) != 1 || aws.ToString(list.Functions[0].FunctionName) != "stack-probe" {
		t.Errorf("list: %v, %+v", err, list)
	}
	get, err := client.GetFunction(t.Context(), &awslambda.GetFunctionInput{FunctionName: aws.String("stack-probe")})
	if err != nil || aws.ToInt32(get.Configuration.MemorySize) != 128 || aws.ToInt32(get.Concurrency.ReservedConcurrentExecutions) != 1 {
		t.Errorf("get: %v, %+v", err, get)
	}
}
