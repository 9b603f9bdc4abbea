package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// drainBytesMax is how much of a response that is too large is read before its connection is given up.
const drainBytesMax = 64 << 20

// runtimeAPI is the Lambda Runtime API as one process sees it (version 2018-06-01), with as much of the Extensions API as SIGTERM needs.
func (p *process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", p.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", p.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", p.serveInitError)
	mux.HandleFunc("POST /2020-01-01/extension/register", p.serveRegister)
	mux.HandleFunc("GET /2020-01-01/extension/event/next", p.serveExtensionNext)
	return mux
}

// serveNext hands out the next invocation, however long that takes.
func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.runtimeStarted()
	select {
	case <-r.Context().Done():
	case <-p.exited:
	case inv := <-p.next:
		inv.taken.Store(true)
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		header.Set("Lambda-Runtime-Invoked-Function-Arn", p.fn.ARN)
		header.Set("Lambda-Runtime-Trace-Id", traceID(inv.deadline.Add(-p.fn.Timeout)))
		header.Set("Content-Length", strconv.Itoa(len(inv.payload)))
		_, _ = w.Write(inv.payload) // a broken connection shows as the end of the process or as its timeout
	}
}

// traceID makes an X-Ray header for an invocation that began at the given time.
func traceID(begun time.Time) string {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", begun.Unix(), hex.EncodeToString(random[:12]), hex.EncodeToString(random[12:]))
}

func (p *process) serveResponse(w http.ResponseWriter, r *http.Request) {
	inv, ok := p.inFlight(w, r)
	if !ok {
		return
	}
	payload, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, payloadBytesMax))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		message := fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", payloadBytesMax)
		inv.finish(failed(kindSize, inv.id, message))
		_, _ = io.CopyN(io.Discard, r.Body, drainBytesMax) // so that the runtime can read the refusal
		runtimeError(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", message)
		return
	}
	if err != nil {
		runtimeError(w, http.StatusBadRequest, "TruncatedResponse", "the response could not be read: "+err.Error())
		return
	}
	if !p.checkMemory() {
		inv.finish(p.memoryResult(inv.id))
		return
	}
	inv.finish(result{payload: payload})
	accept(w)
}

func (p *process) serveError(w http.ResponseWriter, r *http.Request) {
	inv, ok := p.inFlight(w, r)
	if !ok {
		return
	}
	p.checkMemory()
	inv.finish(result{kind: kindError, payload: readReport(r)})
	accept(w)
}

func (p *process) serveInitError(w http.ResponseWriter, r *http.Request) {
	select {
	case p.failed <- readReport(r):
	default: // one report is enough
	}
	accept(w)
}

// readReport reads the error object of a runtime and makes one when it is not an object.
func readReport(r *http.Request) []byte {
	report, err := io.ReadAll(io.LimitReader(r.Body, payloadBytesMax))
	if err == nil && json.Valid(report) {
		return report
	}
	errorType := r.Header.Get("Lambda-Runtime-Function-Error-Type")
	if errorType == "" {
		errorType = "Runtime.Unknown"
	}
	return failedText(errorType, "the runtime reported an error without a readable body")
}

func failedText(errorType, message string) []byte {
	out, err := json.Marshal(map[string]string{"errorType": errorType, "errorMessage": message})
	if err != nil {
		panic(err) // texts always marshal
	}
	return out
}

// inFlight finds the invocation that a runtime answers; an answer to another one is refused.
func (p *process) inFlight(w http.ResponseWriter, r *http.Request) (*invocation, bool) {
	p.mu.Lock()
	inv := p.current
	p.mu.Unlock()
	if inv == nil || inv.id != r.PathValue("id") {
		runtimeError(w, http.StatusBadRequest, "InvalidRequestID", "no invocation "+r.PathValue("id")+" is in flight in this process")
		return nil, false
	}
	return inv, true
}

// finish keeps the first outcome of an invocation.
func (inv *invocation) finish(out result) {
	select {
	case inv.done <- out:
	default:
	}
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func runtimeError(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failedText(errorType, message))
}
