package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// response is a function's answer in format 2.0.
type response struct {
	status  int
	headers map[string]string
	cookies []string
	body    []byte
}

// parseResponse reads an answer: an object with a statusCode is a response, any
// other JSON is the body of one with status 200.
func parseResponse(payload []byte) (response, error) {
	payload = bytes.TrimSpace(payload)
	var object map[string]json.RawMessage
	if len(payload) > 0 && payload[0] == '{' {
		if err := json.Unmarshal(payload, &object); err != nil {
			return response{}, fmt.Errorf("answer is no JSON: %w", err)
		}
	}
	if _, full := object["statusCode"]; full {
		return fullResponse(payload)
	}
	if !json.Valid(payload) {
		return response{}, errors.New("answer is no JSON")
	}
	var text string
	if payload[0] == '"' && json.Unmarshal(payload, &text) == nil {
		payload = []byte(text)
	}
	return response{status: http.StatusOK, headers: map[string]string{"content-type": "application/json"}, body: payload}, nil
}

func fullResponse(payload []byte) (response, error) {
	var in struct {
		StatusCode      json.RawMessage            `json:"statusCode"`
		Headers         map[string]json.RawMessage `json:"headers"`
		Cookies         []string                   `json:"cookies"`
		Body            *string                    `json:"body"`
		IsBase64Encoded bool                       `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return response{}, fmt.Errorf("answer has a field of the wrong type: %w", err)
	}
	status, err := strconv.Atoi(strings.Trim(string(in.StatusCode), `"`))
	if err != nil || status < 100 || status > 599 {
		return response{}, fmt.Errorf("statusCode %s is no HTTP status", in.StatusCode)
	}
	out := response{status: status, headers: map[string]string{}, cookies: in.Cookies}
	for name, raw := range in.Headers {
		value, err := scalar(raw)
		if err != nil {
			return response{}, fmt.Errorf("header %s: %w", name, err)
		}
		out.headers[strings.ToLower(name)] = value
	}
	if out.headers["content-type"] == "" {
		out.headers["content-type"] = "text/plain;charset=utf-8"
	}
	if in.Body != nil {
		out.body = []byte(*in.Body)
	}
	if in.IsBase64Encoded {
		if out.body, err = base64.StdEncoding.DecodeString(string(out.body)); err != nil {
			return response{}, fmt.Errorf("isBase64Encoded is true and body is no base64: %w", err)
		}
	}
	return out, nil
}

// scalar is the text of a header value: a string, a number or a truth value.
func scalar(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	switch raw[0] {
	case '{', '[':
		return "", fmt.Errorf("%s is no single value", raw)
	}
	return string(raw), nil
}

// write sends the response. With CORS configured the gateway's own headers stand
// and the function's are dropped, as on AWS.
func (r response) write(w http.ResponseWriter, cors bool) {
	for name, value := range r.headers {
		if cors && strings.HasPrefix(name, "access-control-") {
			continue
		}
		switch name {
		case "connection", "transfer-encoding", "content-length":
		default:
			w.Header().Set(name, value)
		}
	}
	for _, cookie := range r.cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	if r.status != http.StatusNoContent && r.status != http.StatusNotModified && r.status >= 200 {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	} else {
		r.body = nil
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}
