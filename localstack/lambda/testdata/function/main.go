// The function that the host's tests run: its events say how it behaves, its environment says how it starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do    string `json:"do"`
	Value string `json:"value"`
	Size  int    `json:"size"`
	Ms    int    `json:"ms"`

	Method, Body string            // of the request "http"; its path is Value
	Header       map[string]string // of the request "http"
}

type answer struct {
	Value     string   `json:"value"`
	PID       int      `json:"pid"`
	Env       []string `json:"env,omitempty"`
	Remaining int64    `json:"remaining_ms,omitempty"`
	ARN       string   `json:"arn,omitempty"`
	Trace     string   `json:"trace,omitempty"`
}

func main() {
	switch os.Getenv("START") {
	case "exit":
		fmt.Fprintln(os.Stderr, "configuration is missing")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "deaf":
		ctx, cancel := context.WithCancel(context.Background())
		lambda.StartWithOptions(handle, lambda.WithContext(ctx), lambda.WithEnableSIGTERM(cancel))
	case "warned":
		lambda.StartWithOptions(handle, lambda.WithEnableSIGTERM(func() { fmt.Println("heard SIGTERM"); os.Exit(0) }))
	}
	lambda.Start(handle)
}

func handle(ctx context.Context, e event) (answer, error) {
	out := answer{Value: e.Value, PID: os.Getpid()}
	switch e.Do {
	case "allocate":
		var kept [][]byte
		for range e.Size {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = byte(i)
			}
			kept = append(kept, block)
			time.Sleep(100 * time.Microsecond)
		}
		out.Value = fmt.Sprint(len(kept))
	case "wait":
		<-ctx.Done()
		fmt.Println("stopped:", context.Cause(ctx))
		time.Sleep(time.Hour)
	case "http":
		request, err := http.NewRequestWithContext(ctx, e.Method, "http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+e.Value, strings.NewReader(e.Body))
		if err != nil {
			return out, err
		}
		for name, value := range e.Header {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return out, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		out.Value = fmt.Sprintf("%d %s", response.StatusCode, body)
		return out, err
	case "sleep":
		time.Sleep(time.Duration(e.Ms) * time.Millisecond)
	case "panic":
		panic("the handler's bug")
	case "error":
		return out, errors.New("the handler's error")
	case "exit":
		os.Exit(7)
	case "big":
		out.Value = strings.Repeat("x", e.Size)
	case "print":
		fmt.Println("one line")
		fmt.Fprint(os.Stderr, "no line end")
	case "facts":
		out.Env = os.Environ()
		deadline, _ := ctx.Deadline()
		out.Remaining = time.Until(deadline).Milliseconds()
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			out.ARN = lc.InvokedFunctionArn
		}
		out.Trace, _ = ctx.Value("x-amzn-trace-id").(string)
	}
	return out, nil
}
