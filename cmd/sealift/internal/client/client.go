// Package client owns the command line's side of the HTTP API: requests that are repeated only when a repetition is
// safe, bounded in number and time, and answers as values or as one error type that says what to do. Start reading at
// New and Error. It imports job and snapshot for their words and nothing of the cloud.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The bounds of one call.
const (
	// Tries is how often a call is made before its failure is reported.
	Tries = 5
	// TryTime bounds each, a little more than the gateway gives its functions.
	TryTime = 35 * time.Second
	// WaitMax bounds all pauses between the tries of one call together.
	WaitMax = 60 * time.Second

	backoffBase = 250 * time.Millisecond
	backoffMax  = 8 * time.Second
	// answerBytesMax bounds what is read of an answer; receipts of ten thousand shards are the largest.
	answerBytesMax = 64 << 20
)

// Options are what a Client needs besides the address.
type Options struct {
	// Token is the bearer token; it is sent to the endpoint only and never printed.
	Token string
	// Renewed returns the token as it is now where it may have become another; nil where it can't. A call that is refused
	// for its token is made again with another one.
	Renewed func() string
	// AllowHTTP permits a plain http endpoint beyond this machine.
	AllowHTTP bool
	UserAgent string
	// Wait pauses between tries until the time is over or the context is done.
	Wait func(ctx context.Context, pause time.Duration) error
	// Retry is told of every refusal after which the same call is made again, and of the pause before; nil is not told.
	Retry func(refusal *Error, pause time.Duration)
	// Jitter is uniform in [0, most); nil takes the process's random source.
	Jitter func(most time.Duration) time.Duration
}

// Client calls one deployment's API as one user. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	opt    Options
	client *http.Client
	token  atomic.Pointer[string]
}

// New checks the endpoint. Nothing is sent yet.
func New(endpoint string, opt Options) (*Client, error) {
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, notEndpoint(endpoint)
	}
	if base.Scheme == "http" && !opt.AllowHTTP && opt.Token != "" && !loopback(base.Hostname()) {
		return nil, fmt.Errorf("the endpoint %s would carry the token unencrypted to another machine; use https://, or --allow-http on a network that you trust", endpoint)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	if opt.Jitter == nil {
		opt.Jitter = jitter
	}
	c := &Client{base: base, opt: opt, client: &http.Client{
		Transport: transport(),
		// The API never redirects; following one would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.token.Store(&opt.Token)
	return c, nil
}

// notEndpoint says what an endpoint looks like, and what may have been meant.
func notEndpoint(given string) error {
	text := fmt.Sprintf("the endpoint %q is not an address of the API; an endpoint is scheme, host and port, as in http://127.0.0.1:4000 or https://exports.example.com", given)
	host, port, err := net.SplitHostPort(given)
	switch {
	case err != nil || strings.Contains(given, "/") || port == "":
		return errors.New(text + "; give it with --endpoint, SEALIFT_ENDPOINT or the config file")
	case host == "" || loopback(host):
		return fmt.Errorf("%s; did you mean http://%s?", text, net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	}
	return fmt.Errorf("%s; did you mean https://%s?", text, given)
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: TryTime,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}

// call is one request of the API.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
	// repeatable says that the request may be sent again when it is not known whether it arrived.
	repeatable bool
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
	// token is the one that the call was made with.
	token string
}

// do makes a call until it is answered or may not be tried again. Its error is an *Error, or the context's cause, which is
// in an *Unasked where no try can have had an effect.
func (c *Client) do(ctx context.Context, k call) (answer, error) {
	waited, unasked := time.Duration(0), true
	for try := 1; ; try++ {
		got, err := c.once(ctx, k)
		if ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		if err == nil && got.status < http.StatusMultipleChoices || err == nil && got.status == http.StatusNotModified {
			return got, nil
		}
		if got.status == http.StatusUnauthorized && try < Tries && c.renew(got.token) {
			continue
		}
		failure := c.failure(k, got, err)
		failure.Tries = try
		unasked = unasked && (notSent(err) || got.status == http.StatusTooManyRequests)
		wait, again := c.again(k, got, err, try)
		if !again || waited+wait > WaitMax {
			return answer{}, failure
		}
		waited += wait
		if c.opt.Retry != nil && failure.Status != 0 {
			c.opt.Retry(failure, wait)
		}
		if err := c.opt.Wait(ctx, wait); err != nil {
			if unasked {
				err = &Unasked{Last: failure, Err: err}
			}
			return answer{}, err
		}
	}
}

// renew reports whether there is another token than the one that was refused, which the next tries take.
func (c *Client) renew(refused string) bool {
	if c.opt.Renewed == nil {
		return false
	}
	token := c.opt.Renewed()
	if token == "" || token == refused {
		return false
	}
	c.token.Store(&token)
	return true
}

// again says whether a failed try may be repeated, and after what pause: what the service asks for, else full jitter
// over a bound that doubles.
func (c *Client) again(k call, got answer, err error, try int) (time.Duration, bool) {
	if try >= Tries {
		return 0, false
	}
	backoff := c.opt.Jitter(min(backoffBase<<(try-1), backoffMax)) + 10*time.Millisecond
	if err != nil {
		return backoff, notSent(err) || k.repeatable
	}
	switch got.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		if !k.repeatable {
			return 0, false
		}
	case http.StatusConflict:
		if problemCode(got) != codeKeyInUse {
			return 0, false
		}
	default:
		return 0, false
	}
	if problemCode(got) == codeDownloadsExceeded {
		return 0, false
	}
	if asked, ok := retryAfter(got.header); ok {
		return asked + c.opt.Jitter(asked/4+time.Millisecond), true
	}
	return backoff, true
}

// notSent reports whether a try failed before anything was sent: who was never connected has sent nothing.
func notSent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// The codes that decide about a repetition, as the types of problems spell them.
const (
	codeKeyInUse          = "idempotency-key-in-use"
	codeDownloadsExceeded = "downloads-exceeded"
)

// retryAfter reads the delay-seconds form, the only one that the API sends.
func retryAfter(header http.Header) (time.Duration, bool) {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 24*60*60 {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

func (c *Client) once(ctx context.Context, k call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, TryTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, k.method, c.address(k), bytes.NewReader(k.body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range k.header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", c.opt.UserAgent)
	request.Header.Set("Accept", "application/json, application/problem+json")
	if k.body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	token := *c.token.Load()
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > answerBytesMax {
		return answer{}, fmt.Errorf("the answer has more than %d bytes", answerBytesMax)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body, token: token}, nil
}

func (c *Client) address(k call) string {
	address := *c.base
	escaped := address.EscapedPath() + k.path
	// The elements of the call's path are escaped already and stay as they are.
	if path, err := url.PathUnescape(escaped); err == nil {
		address.Path, address.RawPath = path, escaped
	}
	address.RawQuery = k.query.Encode()
	return address.String()
}

// decode reads an answer's JSON into a value.
func decode[T any](k call, got answer) (T, error) {
	var value T
	if err := json.Unmarshal(got.body, &value); err != nil {
		return value, &Error{
			Method: k.method, Path: k.path, Status: got.status, Code: "answer-malformed",
			Detail: "the answer is not what this release of the command line reads: " + err.Error(),
			Advice: "check that --endpoint is the API of Sealift and that both are of the same release",
		}
	}
	return value, nil
}
