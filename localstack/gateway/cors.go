package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// preflight answers a browser's question whether it may send a request. It does
// so for every path, whether a route takes it or not, as API Gateway does.
func (g *Gateway) preflight(w http.ResponseWriter, r *http.Request) bool {
	rules := g.opt.API.CORS
	if rules == nil || r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header := w.Header()
	if g.allowOrigin(header, r.Header.Get("Origin")) {
		if len(rules.AllowMethods) > 0 {
			header.Set("Access-Control-Allow-Methods", strings.Join(rules.AllowMethods, ","))
		}
		if len(rules.AllowHeaders) > 0 {
			header.Set("Access-Control-Allow-Headers", strings.Join(rules.AllowHeaders, ","))
		}
		if rules.MaxAge > 0 {
			header.Set("Access-Control-Max-Age", strconv.Itoa(int(rules.MaxAge.Seconds())))
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allowOrigin tells a browser that a page of that origin may read the answer.
func (g *Gateway) allowOrigin(header http.Header, origin string) bool {
	rules := g.opt.API.CORS
	if rules == nil || origin == "" {
		return false
	}
	switch {
	case slices.Contains(rules.AllowOrigins, "*"):
		header.Set("Access-Control-Allow-Origin", "*")
	case slices.ContainsFunc(rules.AllowOrigins, func(allowed string) bool { return originFits(allowed, origin) }):
		header.Set("Access-Control-Allow-Origin", origin)
		header.Add("Vary", "Origin")
	default:
		return false
	}
	if rules.AllowCredentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if len(rules.ExposeHeaders) > 0 {
		header.Set("Access-Control-Expose-Headers", strings.Join(rules.ExposeHeaders, ","))
	}
	return true
}

// originFits compares origins; http://* and https://* allow a whole scheme.
func originFits(allowed, origin string) bool {
	if scheme, all := strings.CutSuffix(allowed, "*"); all {
		return strings.HasPrefix(strings.ToLower(origin), strings.ToLower(scheme))
	}
	return strings.EqualFold(allowed, origin)
}
