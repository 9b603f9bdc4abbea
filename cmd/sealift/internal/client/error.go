package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize/english"
)

// adviceEndpoint is for an answer that neither Sealift nor its gateway gives.
const adviceEndpoint = "check that --endpoint is the API of Sealift"

// Error is a call that failed: refused by the service, or never answered. It holds no token.
type Error struct {
	Method string
	// Path is the resource; Endpoint the deployment, when no answer came.
	Path     string
	Endpoint string
	// Status is the HTTP status, 0 when no answer came.
	Status int
	// Code is the last element of the problem's type, as in column-unknown.
	Code   string
	Detail string
	// Field is the JSON pointer of the field of the request that is at fault, when there is one.
	Field string
	// State is the export's own state, when that is what stood against the wish.
	State string
	// Faults are all that is wrong with a definition, or with a request when it is more than one thing.
	Faults []Fault
	// Advice says what to do, when the detail does not.
	Advice string
	// Document is the problem document as it came; nil when the service sent none.
	Document json.RawMessage
	Tries    int
	Err      error
}

// Fault is one thing that is wrong with a definition or a request, at a JSON pointer or in the header of that name.
type Fault struct {
	// Type is that of the problem, of a fault of a request.
	Type    string `json:"type"`
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error renders one to three lines: what, where, what to do.
func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = http.StatusText(e.Status)
	}
	where := e.Method + " " + e.Path
	switch {
	case e.Status != 0 && e.Code != "":
		text += fmt.Sprintf("\n(%d %s, %s)", e.Status, e.Code, where)
	case e.Status != 0:
		text += fmt.Sprintf("\n(%d, %s)", e.Status, where)
	default:
		text += fmt.Sprintf("\n(%s at %s, after %s)", where, e.Endpoint, english.Plural(max(e.Tries, 1), "try", ""))
	}
	if e.Advice != "" {
		text += "\n" + e.Advice
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Problem renders the error as a problem document (RFC 9457), the service's own where there is one.
func (e *Error) Problem() json.RawMessage {
	if e.Document != nil {
		return e.Document
	}
	code := e.Code
	if code == "" {
		code = "unavailable"
	}
	document := struct {
		Type     string `json:"type"`
		Title    string `json:"title"`
		Status   int    `json:"status,omitempty"`
		Detail   string `json:"detail,omitempty"`
		Instance string `json:"instance,omitempty"`
		Advice   string `json:"advice,omitempty"`
	}{"/problems/" + code, strings.ReplaceAll(code, "-", " "), e.Status, e.Detail, e.Path, e.Advice}
	// Text and numbers always marshal.
	text, _ := json.Marshal(document)
	return text
}

// Unasked is a call that was given up while it waited to be made again, and of which no try has had an effect: each was
// refused for now, or never sent.
type Unasked struct {
	// Last is how the last try failed.
	Last *Error
	Err  error
}

// Error says what was waited for.
func (u *Unasked) Error() string {
	return fmt.Sprintf("stopped waiting (%s): %s", u.Err, cmp.Or(u.Last.Detail, http.StatusText(u.Last.Status)))
}

// Unwrap returns why it was given up.
func (u *Unasked) Unwrap() error { return u.Err }

// document is what the API answers when it refuses, and, by its message, what the gateway answers by itself.
type document struct {
	Type    string  `json:"type"`
	Title   string  `json:"title"`
	Detail  string  `json:"detail"`
	Field   string  `json:"field"`
	State   string  `json:"state"`
	Faults  []Fault `json:"faults"`
	Message string  `json:"message"`
}

func problemCode(got answer) string {
	var d document
	if json.Unmarshal(got.body, &d) != nil {
		return ""
	}
	return code(d)
}

func code(d document) string { return lastElement(d.Type) }

// Code is the last element of the fault's type.
func (f Fault) Code() string { return lastElement(f.Type) }

func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// failure describes a try that did not succeed.
func (c *Client) failure(k call, got answer, err error) *Error {
	e := &Error{Method: k.method, Path: k.path, Endpoint: c.base.String(), Status: got.status}
	if err != nil {
		e.unanswered(err)
		return e
	}
	var d document
	if json.Unmarshal(got.body, &d) == nil {
		e.Code, e.Detail, e.Field, e.State, e.Faults = code(d), d.Detail, d.Field, d.State, d.Faults
		if e.Detail == "" {
			e.Detail = d.Title
		}
		if d.Type != "" {
			e.Document = got.body
		}
	}
	e.advise(got.header, d)
	return e
}

func (e *Error) unanswered(err error) {
	// The error of net/http repeats the address, which may hold more than is fit to print.
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	e.Err = err
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Code, e.Detail = "connection-refused", "nobody answers at "+e.Endpoint
		e.Advice = "start the embedded cloud with `make up`, or name your deployment with --endpoint or SEALIFT_ENDPOINT"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		e.Code, e.Detail = "timeout", e.Endpoint+" did not answer in time"
		e.Advice = "try again later; a repeated request does not start a second export when it has the same --idempotency-key"
	default:
		e.Code, e.Detail = "unavailable", "no answer from "+e.Endpoint+": "+err.Error()
		e.Advice = "check the address (--endpoint) and the network, then try again"
	}
}

func (e *Error) advise(header http.Header, d document) {
	switch {
	case e.Status == http.StatusUnauthorized:
		e.Code, e.Detail = "unauthorized", "the API does not accept the token"
		why := challenge(header.Get("Www-Authenticate"))
		if why == "" {
			e.Detail = "the request has no token"
		} else {
			e.Detail += ": " + why
		}
		e.Advice = "give a valid one with SEALIFT_TOKEN, SEALIFT_TOKEN_FILE or --token-file; for the embedded cloud make one with `sealift token`"
	case e.Status == http.StatusForbidden && e.Code == "":
		e.Code, e.Detail = "forbidden", "the token does not allow this"
		if why := challenge(header.Get("Www-Authenticate")); why != "" {
			e.Detail += ": " + why
		}
		e.Advice = "ask for a token with the role that it needs"
	case e.Status == http.StatusNotFound && e.Code == "":
		e.Code, e.Detail = "not-found", "there is no such resource"
		e.Advice = adviceEndpoint
	case e.Code == "export-revoked":
		e.Advice = "see what happened with `sealift export events " + strings.Split(strings.TrimPrefix(e.Path, path("")), "/")[0] + "`"
	case e.Status == http.StatusTooManyRequests && e.Code != codeDownloadsExceeded:
		e.Advice = "wait a while, then try again"
	case e.Status >= http.StatusInternalServerError && e.Code == "":
		e.Code, e.Detail = "unavailable", "the service failed to answer"
		e.Advice = "try again later; if it stays so, an operator finds the cause in the logs"
		if d.Message != "" {
			e.Detail += ": " + d.Message
		} else {
			e.Advice += ", or " + adviceEndpoint
		}
	case e.Status >= http.StatusMultipleChoices && e.Status < http.StatusBadRequest:
		e.Code, e.Detail = "redirected", "the address redirects, which the API never does"
		e.Advice = adviceEndpoint
	case e.Code == "":
		e.Code, e.Detail = "refused", "the request was refused"
		if d.Message != "" {
			e.Detail += ": " + d.Message
		} else {
			e.Advice = adviceEndpoint
		}
	}
}

// challenge reads the reason in a WWW-Authenticate header (RFC 6750, section 3).
func challenge(header string) string {
	for _, name := range []string{"error_description", "error"} {
		_, rest, found := strings.Cut(header, name+`="`)
		if !found {
			continue
		}
		if text, _, closed := strings.Cut(rest, `"`); closed && text != "" {
			return text
		}
	}
	return ""
}
