// The function that the host's tests run: its events say how it behaves, its environment says how it starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do    string `json:"do"`
	Value string `json:"value"`
	Size  int    `json:"size"`
	Ms    int    `json:"ms"`
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
		signal.Ignore(syscall.SIGTERM)
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
