package gateway

import (
	"encoding/base64"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// event is the payload of format 2.0, the fields in AWS's order.
type event struct {
	Version               string            `json:"version"`
	RouteKey              string            `json:"routeKey"`
	RawPath               string            `json:"rawPath"`
	RawQueryString        string            `json:"rawQueryString"`
	Cookies               []string          `json:"cookies,omitempty"`
	Headers               map[string]string `json:"headers"`
	QueryStringParameters map[string]string `json:"queryStringParameters,omitempty"`
	RequestContext        requestContext    `json:"requestContext"`
	PathParameters        map[string]string `json:"pathParameters,omitempty"`
	Body                  string            `json:"body,omitempty"`
	IsBase64Encoded       bool              `json:"isBase64Encoded"`
}

type requestContext struct {
	AccountID    string      `json:"accountId"`
	APIID        string      `json:"apiId"`
	Authorizer   *authorizer `json:"authorizer,omitempty"`
	DomainName   string      `json:"domainName"`
	DomainPrefix string      `json:"domainPrefix"`
	HTTP         httpContext `json:"http"`
	RequestID    string      `json:"requestId"`
	RouteKey     string      `json:"routeKey"`
	Stage        string      `json:"stage"`
	Time         string      `json:"time"`
	TimeEpoch    int64       `json:"timeEpoch"`
}

type httpContext struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Protocol  string `json:"protocol"`
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

type authorizer struct {
	JWT jwtContext `json:"jwt"`
}

type jwtContext struct {
	Claims map[string]string `json:"claims"`
	Scopes []string          `json:"scopes"`
}

// apiID names the API in events; it has the shape of one on AWS.
const apiID = "sealiftloc"

// timeFormat is the common log format's.
const timeFormat = "02/Jan/2006:15:04:05 -0700"

func (g *Gateway) event(r *http.Request, found *route, parameters map[string]string, who *authorizer, id string, body []byte) event {
	now := g.opt.Now().UTC()
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr
	}
	prefix, _, _ := strings.Cut(hostOf(r), ".")
	e := event{
		Version: "2.0", RouteKey: found.key(), RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Headers: headersOf(r, source, id, now, len(body)), QueryStringParameters: queryOf(r.URL.RawQuery), PathParameters: parameters,
		RequestContext: requestContext{
			AccountID: g.opt.AccountID, APIID: apiID, Authorizer: who, DomainName: hostOf(r), DomainPrefix: prefix,
			HTTP:      httpContext{Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: source, UserAgent: r.UserAgent()},
			RequestID: id, RouteKey: found.key(), Stage: "$default", Time: now.Format(timeFormat), TimeEpoch: now.UnixMilli(),
		},
	}
	for _, line := range r.Header.Values("Cookie") {
		for _, cookie := range strings.Split(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				e.Cookies = append(e.Cookies, cookie)
			}
		}
	}
	e.Body, e.IsBase64Encoded = string(body), len(body) > 0 && isBinary(r.Header, body)
	if e.IsBase64Encoded {
		e.Body = base64.StdEncoding.EncodeToString(body)
	}
	return e
}

func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		return r.Host
	}
	return host
}

// headersOf lower-cases names and joins repeated values with commas. Cookies have
// a field of their own.
func headersOf(r *http.Request, source, id string, now time.Time, length int) map[string]string {
	out := map[string]string{"host": r.Host, "x-forwarded-proto": "http"}
	for name, values := range r.Header {
		if name = strings.ToLower(name); name != "cookie" && name != "connection" {
			out[name] = strings.Join(values, ",")
		}
	}
	if length > 0 || r.ContentLength >= 0 && r.Method != http.MethodGet {
		out["content-length"] = strconv.Itoa(length)
	}
	if before := out["x-forwarded-for"]; before != "" {
		source = before + ", " + source
	}
	out["x-forwarded-for"] = source
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		out["x-forwarded-port"] = port
	}
	if out["x-amzn-trace-id"] == "" {
		hex := strings.ReplaceAll(id, "-", "")
		out["x-amzn-trace-id"] = "Root=1-" + strconv.FormatInt(now.Unix(), 16) + "-" + hex[:min(24, len(hex))]
	}
	return out
}

// queryOf decodes a query and joins repeated values with commas. A pair that
// cannot be decoded is taken as it is written.
func queryOf(raw string) map[string]string {
	var out map[string]string
	for _, pair := range strings.Split(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		if before, repeated := out[name]; repeated {
			value = before + "," + value
		}
		out = with(out, name, value)
	}
	return out
}

func unescape(s string) string {
	decoded, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return decoded
}

// isBinary reports whether API Gateway hands a body over in base64: everything
// but plain text, JSON, XML and JavaScript, and whatever is compressed.
func isBinary(header http.Header, body []byte) bool {
	if !utf8.Valid(body) || header.Get("Content-Encoding") != "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return false
	}
	text := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	switch kind {
	case "application/json", "application/xml", "application/javascript":
		text = true
	}
	return !text
}
