package lambda

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sealift/localstack/template"
)

// Response is the outcome of one invocation.
type Response struct {
	RequestID     string
	Payload       []byte // what the function answered, or Lambda's error object when FunctionError is set
	FunctionError string // "Unhandled" when the function failed, else empty
	Duration      time.Duration
	InitDuration  time.Duration // zero when the process was there already
	PeakRSSBytes  int64

	kind kind
}

// TimedOut says that the function was stopped at its time limit.
func (r Response) TimedOut() bool { return r.kind == kindTimeout }

// OutOfMemory says that the function was killed at its memory limit.
func (r Response) OutOfMemory() bool { return r.kind == kindMemory }

// kind is how an invocation ended.
type kind string

const (
	kindDone    kind = ""
	kindError   kind = "error"   // the handler returned an error or panicked
	kindInit    kind = "init"    // the process never became ready
	kindCrash   kind = "crash"   // the process ended during the invocation
	kindTimeout kind = "timeout" // killed at the time limit
	kindMemory  kind = "memory"  // killed at the memory limit
	kindSize    kind = "size"    // the response was too large
)

// result is what the process side knows about an outcome.
type result struct {
	kind    kind
	payload []byte
}

// failed builds the error object that Lambda hands to the caller.
func failed(k kind, requestID, detail string) result {
	var errorType, message string
	switch k {
	case kindTimeout:
		errorType, message = "Sandbox.Timedout", "RequestId: "+requestID+" Error: "+detail
	case kindMemory:
		errorType, message = "Runtime.OutOfMemory", "RequestId: "+requestID+" Error: "+detail
	case kindSize:
		errorType, message = "Function.ResponseSizeTooLarge", detail
	case kindInit:
		errorType, message = "Runtime.InitError", "RequestId: "+requestID+" Error: "+detail
	default:
		errorType, message = "Runtime.ExitError", "RequestId: "+requestID+" Error: "+detail
	}
	payload, err := json.Marshal(map[string]string{"errorType": errorType, "errorMessage": message})
	if err != nil {
		panic(err) // texts always marshal
	}
	return result{kind: k, payload: payload}
}

// report is the line that Lambda writes after every invocation.
func (r Response) report(f template.Function) string {
	const mib = 1 << 20
	var out strings.Builder
	fmt.Fprintf(&out, "REPORT RequestId: %s Duration: %.2f ms Memory Size: %d MB Max Memory Used: %d MB",
		r.RequestID, milliseconds(r.Duration), f.MemoryMiB, (r.PeakRSSBytes+mib-1)/mib)
	if r.InitDuration > 0 {
		fmt.Fprintf(&out, " Init Duration: %.2f ms", milliseconds(r.InitDuration))
	}
	if r.kind != kindDone {
		fmt.Fprintf(&out, " Status: %s", r.kind)
	}
	return out.String()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
