package dynamodb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"sealift/localstack/dynamodb/value"
)

const (
	targetPrefix    = "DynamoDB_20120810."
	requestBytesMax = 16 << 20
	contentType     = "application/x-amz-json-1.0"
)

// operation decodes a request, carries it out and returns what the answer is made of.
type operation func(e *Engine, body []byte) (any, error)

// operations are all that Sealift uses.
func operations() map[string]operation {
	return map[string]operation{
		"CreateTable":               bind((*Engine).createTable),
		"DescribeTable":             bind((*Engine).describeTable),
		"ListTables":                bind((*Engine).listTables),
		"DeleteTable":               bind((*Engine).deleteTable),
		"UpdateTable":               bind((*Engine).updateTable),
		"UpdateTimeToLive":          bind((*Engine).updateTimeToLive),
		"DescribeTimeToLive":        bind((*Engine).describeTimeToLive),
		"UpdateContinuousBackups":   bind((*Engine).updateContinuousBackups),
		"DescribeContinuousBackups": bind((*Engine).describeContinuousBackups),
		"TagResource":               bind((*Engine).tagResource),
		"ListTagsOfResource":        bind((*Engine).listTagsOfResource),
		"GetItem":                   bind((*Engine).getItem),
		"PutItem":                   bind((*Engine).putItem),
		"UpdateItem":                bind((*Engine).updateItem),
		"DeleteItem":                bind((*Engine).deleteItem),
		"BatchGetItem":              bind((*Engine).batchGetItem),
		"BatchWriteItem":            bind((*Engine).batchWriteItem),
		"TransactGetItems":          bind((*Engine).transactGetItems),
		"TransactWriteItems":        bind((*Engine).transactWriteItems),
		"Query":                     bind((*Engine).query),
		"Scan":                      bind((*Engine).scan),
	}
}

// bind makes an operation of a method with a typed request. A member that the request does
// not have is refused: it would otherwise be silently without effect.
func bind[In, Out any](method func(*Engine, *In) (*Out, error)) operation {
	return func(e *Engine, body []byte) (any, error) {
		in := new(In)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(in); err != nil {
			return nil, badRequest(err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, newFault(coralService+"SerializationException", "the request body has something after the JSON object")
		}
		return method(e, in)
	}
}

// badRequest gives an undecodable request its answer. What has no type of its own among the
// errors of encoding/json is an unknown member.
func badRequest(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return newFault(coralService+"SerializationException", "the request body is empty or ends early: it must be one JSON object")
	}
	if f := asFault(err); f.status != http.StatusInternalServerError {
		return f
	}
	return invalidParameter("%v: the embedded DynamoDB has only the request members that Sealift uses; "+
		"use expressions instead of the older parameters, or add the member to localstack/dynamodb", err)
}

// ServeHTTP answers one request of the DynamoDB JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := e.opt.NewID()
	out, err := e.answer(w, r)
	if err == nil {
		e.send(w, id, http.StatusOK, out)
		return
	}
	f := asFault(err)
	if f.status >= http.StatusInternalServerError {
		e.opt.Logger.LogAttrs(r.Context(), slog.LevelError, "dynamodb operation failed",
			slog.String("target", r.Header.Get("X-Amz-Target")), slog.String("request_id", id), slog.Any("error", err))
	}
	e.send(w, id, f.status, f)
}

func (e *Engine) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.Method != http.MethodPost {
		return nil, newFault(coralService+"UnknownOperationException", "DynamoDB is asked with POST and the header X-Amz-Target, not with %s", r.Method)
	}
	target := r.Header.Get("X-Amz-Target")
	name, ok := strings.CutPrefix(target, targetPrefix)
	run := e.operations[name]
	if !ok || run == nil {
		return nil, newFault(coralService+"UnknownOperationException",
			"the embedded DynamoDB has no operation %q: it has only those that Sealift uses, named in X-Amz-Target as %sGetItem, say", target, targetPrefix)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return run(e, body)
}

func (e *Engine) send(w http.ResponseWriter, id string, status int, out any) {
	body, err := json.Marshal(out)
	if err != nil {
		e.opt.Logger.Error("dynamodb answer has no JSON form", slog.String("request_id", id), slog.Any("error", err))
		status, body = http.StatusInternalServerError, []byte(`{"__type":"`+serviceErrors+`InternalServerError"}`)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Date", e.opt.Now().UTC().Format(http.TimeFormat))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	h.Set("X-Amzn-Requestid", id)
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client has gone; there is nobody left to tell.
}

// bindings are expression attribute values; a refusal of one names its key.
type bindings map[string]value.Value

// UnmarshalJSON reads the values one by one.
func (b *bindings) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return err
	}
	*b = make(bindings, len(raw))
	for key, text := range raw {
		var v value.Value
		err := json.Unmarshal(text, &v)
		var broken *value.InvalidError
		if errors.As(err, &broken) {
			return invalid("ExpressionAttributeValues contains invalid value: %s for key %s", broken.Message, key)
		}
		if err != nil {
			return err
		}
		(*b)[key] = v
	}
	return nil
}
