package lambda

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
)

// Handler serves the operations of the Lambda API that a developer reaches for: Invoke, ListFunctions and GetFunction. Every other one is refused.
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", h.serveInvoke)
	mux.HandleFunc("GET /2015-03-31/functions/{$}", h.serveList)
	mux.HandleFunc("GET /2015-03-31/functions", h.serveList)
	mux.HandleFunc("GET /2015-03-31/functions/{name}", h.serveGet)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.refuse(w, http.StatusNotFound, "UnknownOperationException",
			"the embedded Lambda knows Invoke, ListFunctions and GetFunction, not "+r.Method+" "+r.URL.Path)
	})
	return mux
}

func (h *Host) serveInvoke(w http.ResponseWriter, r *http.Request) {
	name := plainName(r.PathValue("name"))
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, payloadBytesMax))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			h.refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", "a request is at most 6 MB")
		}
		return // the caller is gone
	}
	switch invocationType := r.Header.Get("X-Amz-Invocation-Type"); invocationType {
	case "", "RequestResponse":
		response, err := h.Invoke(r.Context(), name, payload)
		if err != nil {
			h.refuseInvoke(w, err)
			return
		}
		h.answer(w, r, response)
	case "Event":
		if len(payload) == 0 {
			payload = []byte("{}")
		}
		if err := h.enqueue(r.Context(), name, payload); err != nil {
			h.refuseInvoke(w, err)
			return
		}
		w.Header().Set("X-Amzn-Requestid", h.opt.NewID())
		w.WriteHeader(http.StatusAccepted)
	case "DryRun":
		if _, err := h.admit(name, []byte("{}"), payloadBytesMax); err != nil {
			h.refuseInvoke(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		h.refuse(w, http.StatusBadRequest, "InvalidParameterValueException", "X-Amz-Invocation-Type "+invocationType+" is not RequestResponse, Event or DryRun")
	}
}

func (h *Host) answer(w http.ResponseWriter, r *http.Request, response Response) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Amzn-Requestid", response.RequestID)
	header.Set("X-Amz-Executed-Version", "$LATEST")
	if response.FunctionError != "" {
		header.Set("X-Amz-Function-Error", response.FunctionError)
	}
	if f := h.functions[plainName(r.PathValue("name"))]; r.Header.Get("X-Amz-Log-Type") == "Tail" {
		header.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString([]byte(response.report(f.Function)+"\n")))
	}
	_, _ = w.Write(response.Payload)
}

func (h *Host) refuseInvoke(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		h.refuse(w, http.StatusNotFound, "ResourceNotFoundException", err.Error())
	case errors.Is(err, ErrThrottled):
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", err.Error())
	case errors.Is(err, ErrTooLarge):
		h.refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", err.Error())
	case errors.Is(err, ErrInvalidJSON):
		h.refuse(w, http.StatusBadRequest, "InvalidRequestContentException", err.Error())
	default:
		h.refuse(w, http.StatusInternalServerError, "ServiceException", err.Error())
	}
}

func (h *Host) refuse(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("X-Amzn-Errortype", errorType)
	body := map[string]string{"Type": "User", "Message": message, "message": message}
	if errorType == "TooManyRequestsException" {
		body["Reason"] = "ConcurrentInvocationLimitExceeded"
	}
	h.json(w, status, body)
}

func (h *Host) json(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Requestid", h.opt.NewID())
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		h.opt.Logger.Debug("answer not written", "error", err.Error())
	}
}

// configuration is the part of a function's configuration that is known here.
type configuration struct {
	FunctionName  string
	FunctionArn   string
	Runtime       string
	Role          string
	Handler       string
	CodeSize      int64
	Timeout       int
	MemorySize    int
	Version       string
	State         string
	PackageType   string
	Architectures []string
	Environment   struct{ Variables map[string]string }
}

func (f *function) configuration() configuration {
	out := configuration{
		FunctionName: f.Name, FunctionArn: f.ARN, Runtime: f.Runtime, Role: f.RoleARN, Handler: f.Handler,
		Timeout: int(f.Timeout.Seconds()), MemorySize: f.MemoryMiB, Version: "$LATEST", State: "Active", PackageType: "Zip",
		Architectures: []string{architecture()},
	}
	out.Environment.Variables = f.Env
	return out
}

// architecture is the one of this machine: the functions here were built for it, whatever the template asks of AWS.
func architecture() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

func (h *Host) serveList(w http.ResponseWriter, _ *http.Request) {
	list := []configuration{}
	for _, f := range h.functions {
		list = append(list, f.configuration())
	}
	slices.SortFunc(list, func(a, b configuration) int { return strings.Compare(a.FunctionName, b.FunctionName) })
	h.json(w, http.StatusOK, map[string]any{"Functions": list})
}

func (h *Host) serveGet(w http.ResponseWriter, r *http.Request) {
	f, err := h.admit(plainName(r.PathValue("name")), []byte("{}"), payloadBytesMax)
	if err != nil {
		h.refuseInvoke(w, err)
		return
	}
	answer := map[string]any{"Configuration": f.configuration(), "Code": map[string]string{"RepositoryType": "S3"}}
	if f.ReservedConcurrency != nil {
		answer["Concurrency"] = map[string]int{"ReservedConcurrentExecutions": *f.ReservedConcurrency}
	}
	h.json(w, http.StatusOK, answer)
}

// plainName accepts a function's name, its ARN or its partial ARN, each with or without the qualifier of the only version there is.
func plainName(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, ":$LATEST"), ":")
	return parts[len(parts)-1]
}
