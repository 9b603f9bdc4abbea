package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sealift/localstack/template"
)

// route is a route of the template with its path taken apart.
type route struct {
	template.Route
	segments []segment
}

// segment is one part of a path between slashes: literal text, a variable for one
// part, or a greedy variable for all that are left.
type segment struct {
	literal  string
	variable string
	greedy   bool
}

func parseRoute(r template.Route) (route, error) {
	out := route{Route: r}
	if r.Path == "$default" {
		return out, nil
	}
	if !strings.HasPrefix(r.Path, "/") {
		return out, fmt.Errorf("route %s %s: a path begins with /", r.Method, r.Path)
	}
	parts := strings.Split(r.Path[1:], "/")
	for i, part := range parts {
		name, isVariable := strings.CutPrefix(part, "{")
		name, closed := strings.CutSuffix(name, "}")
		switch {
		case isVariable && closed:
			name, greedy := strings.CutSuffix(name, "+")
			if greedy && i != len(parts)-1 {
				return out, fmt.Errorf("route %s %s: {%s+} must come last", r.Method, r.Path, name)
			}
			out.segments = append(out.segments, segment{variable: name, greedy: greedy})
		case strings.ContainsAny(part, "{}"):
			return out, fmt.Errorf("route %s %s: a variable must be a whole part of the path, %q is not", r.Method, r.Path, part)
		default:
			out.segments = append(out.segments, segment{literal: part})
		}
	}
	return out, nil
}

// key is the route key as events carry it.
func (r *route) key() string {
	if r.Path == "$default" {
		return "$default"
	}
	return methodOf(r) + " " + r.Path
}

func methodOf(r *route) string {
	if m := strings.ToUpper(r.Method); m != "" && m != "*" && m != "X-AMAZON-APIGATEWAY-ANY-METHOD" {
		return m
	}
	return "ANY"
}

// match finds the most specific route of a request: literal parts before
// variables before greedy ones, a named method before ANY, $default last.
func match(routes []route, r *http.Request) (*route, map[string]string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			return nil, nil
		}
		parts[i] = decoded
	}
	var best *route
	var bestRank string
	var bestVariables map[string]string
	for i := range routes {
		rank, variables, ok := routes[i].fits(r.Method, parts)
		if ok && (best == nil || rank < bestRank) {
			best, bestRank, bestVariables = &routes[i], rank, variables
		}
	}
	return best, bestVariables
}

// fits reports whether a route takes a request, its variables, and its rank: the
// lower in the order of strings, the more specific.
func (r *route) fits(method string, parts []string) (rank string, variables map[string]string, ok bool) {
	order := "0"
	if methodOf(r) == "ANY" {
		order = "1"
	} else if methodOf(r) != method {
		return "", nil, false
	}
	if r.Path == "$default" {
		return "9", nil, true
	}
	var path strings.Builder
	for i, s := range r.segments {
		switch {
		case s.greedy && i < len(parts) && strings.Join(parts[i:], "/") != "":
			variables = with(variables, s.variable, strings.Join(parts[i:], "/"))
			return path.String() + "2" + order, variables, true
		case i >= len(parts) || s.greedy:
			return "", nil, false
		case s.variable != "" && parts[i] != "":
			variables = with(variables, s.variable, parts[i])
			path.WriteByte('1')
		case s.variable == "" && s.literal == parts[i]:
			path.WriteByte('0')
		default:
			return "", nil, false
		}
	}
	return path.String() + order, variables, len(parts) == len(r.segments)
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
