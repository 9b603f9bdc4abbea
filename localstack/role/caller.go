package role

import (
	"net/http"
	"strings"
)

// Credentials that the embedded cloud gives out and accepts. A function's session
// token is TokenPrefix followed by its name.
const (
	OperatorKey = "test"
	FunctionKey = "ASIASEALIFTLOCAL0000"
	SecretKey   = "test"
	TokenPrefix = "function/"
)

// Caller is who makes a request.
type Caller struct {
	// Function is the name of the calling function, empty for an operator.
	Function string
	// Process is the id of the function's process where it is known.
	Process string
}

// CallerOf reads the caller from a request's credentials, in its headers or, for
// a presigned link, in its query.
func CallerOf(r *http.Request) Caller {
	token := r.Header.Get("X-Amz-Security-Token")
	if token == "" && strings.Contains(r.URL.RawQuery, "X-Amz-Security-Token") {
		token = r.URL.Query().Get("X-Amz-Security-Token")
	}
	name, isFunction := strings.CutPrefix(token, TokenPrefix)
	if !isFunction {
		return Caller{}
	}
	return Caller{Function: name, Process: processOf(r.UserAgent())}
}

// Name is what counters and rules call the caller: a function's name for calls of
// its processes, with "/outside" for calls in its name that come from elsewhere,
// such as the poller of its queue and the holders of its links.
func (c Caller) Name() string {
	switch {
	case c.Function == "":
		return "operator"
	case c.Process == "":
		return c.Function + "/outside"
	default:
		return c.Function
	}
}

// processOf finds the application id that functions put into their user agent.
func processOf(userAgent string) string {
	for _, part := range strings.Fields(userAgent) {
		if id, found := strings.CutPrefix(part, "app/"); found {
			return id
		}
	}
	return ""
}

// scope is the credential scope of a request: region and service it is signed for.
func scope(r *http.Request) (region, service string) {
	credential := ""
	if _, after, found := strings.Cut(r.Header.Get("Authorization"), "Credential="); found {
		credential, _, _ = strings.Cut(after, ",")
	} else if strings.Contains(r.URL.RawQuery, "X-Amz-Credential") {
		credential = r.URL.Query().Get("X-Amz-Credential")
	}
	parts := strings.Split(strings.TrimSpace(credential), "/")
	if len(parts) < 5 {
		return "", ""
	}
	return parts[len(parts)-3], parts[len(parts)-2]
}
