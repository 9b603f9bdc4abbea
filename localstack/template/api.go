package template

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// readAPI reads the HTTP API itself; its routes are events of functions.
func (b *builder) readAPI(f *fields) {
	if b.stack.API != nil {
		f.fault(nil, "is the second HTTP API; the embedded cloud serves one, beside %s", b.stack.API.LogicalID)
		return
	}
	api := &API{LogicalID: f.subject, Authorizers: map[string]JWT{}}
	f.ignore("Description", "Name", "AccessLogSettings", "FailOnWarnings", "Tags", "DisableExecuteApiEndpoint", "PropagateTags")
	f.oneOf("StageName", "$default")
	auth := f.inner("Auth")
	missing := auth.text("DefaultAuthorizer")
	for _, e := range auth.inner("Authorizers").entries() {
		a := b.r.fields(e.value, f.subject)
		a.path = "Auth.Authorizers." + e.key.Value
		jwt := a.inner("JwtConfiguration")
		api.Authorizers[e.key.Value] = JWT{
			Issuer:         jwt.must("issuer"),
			Audience:       jwt.texts("audience"),
			IdentitySource: a.oneOf("IdentitySource", "$request.header.Authorization"),
		}
		jwt.done()
		a.done()
	}
	if _, known := api.Authorizers[missing]; missing != "" && !known {
		auth.fault(nil, "DefaultAuthorizer %s is not in Authorizers", missing)
	}
	auth.done()
	settings := f.inner("DefaultRouteSettings")
	api.BurstLimit = settings.number("ThrottlingBurstLimit", 0, 1, 1_000_000)
	api.RateLimit = float64(settings.number("ThrottlingRateLimit", 0, 1, 1_000_000))
	settings.ignore("DetailedMetricsEnabled")
	settings.done()
	if node := f.take("CorsConfiguration"); node != nil {
		api.CORS = b.readCORS(f.inner("CorsConfiguration"))
	}
	b.stack.API, b.authorizer = api, missing
}

func (b *builder) readCORS(f *fields) *CORS {
	cors := &CORS{
		AllowOrigins:     f.texts("AllowOrigins"),
		AllowMethods:     f.texts("AllowMethods"),
		AllowHeaders:     f.texts("AllowHeaders"),
		ExposeHeaders:    f.texts("ExposeHeaders"),
		AllowCredentials: f.boolean("AllowCredentials", false),
		MaxAge:           time.Duration(f.number("MaxAge", 0, 0, 86400)) * time.Second,
	}
	if cors.AllowCredentials && slices.Contains(cors.AllowOrigins, "*") {
		f.fault(nil, "AllowCredentials does not go with the origin *; name the origins")
	}
	f.done()
	return cors
}

func (b *builder) readRoute(f *fields, fn Function) {
	p := pendingRoute{at: f, api: f.must("ApiId"), route: Route{
		Function: fn.Name, Path: f.must("Path"), Method: strings.ToUpper(f.must("Method")),
		Timeout: time.Duration(f.number("TimeoutInMillis", 30000, 50, 30000)) * time.Millisecond,
	}}
	f.oneOf("PayloadFormatVersion", "2.0")
	if !slices.Contains([]string{"ANY", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}, p.route.Method) {
		f.fault(nil, "method %s is not one of HTTP's; correct it", p.route.Method)
	}
	if !strings.HasPrefix(p.route.Path, "/") {
		f.fault(nil, "path %q must start with /", p.route.Path)
	}
	auth := f.inner("Auth")
	p.route.Authorizer = auth.text("Authorizer")
	p.route.Scopes = auth.texts("AuthorizationScopes")
	auth.done()
	b.routes = append(b.routes, p)
}

// attachRoutes gives the API its routes once all resources have been read.
func (b *builder) attachRoutes() {
	seen := map[string]string{}
	for _, p := range b.routes {
		api := b.stack.API
		if api == nil {
			p.at.fault(nil, "ApiId names %s and the template has no AWS::Serverless::HttpApi; declare it", p.api)
			return
		}
		switch p.route.Authorizer {
		case "":
			p.route.Authorizer = b.authorizer
		case "NONE":
			p.route.Authorizer = ""
		}
		if _, known := api.Authorizers[p.route.Authorizer]; p.route.Authorizer != "" && !known {
			p.at.fault(nil, "authorizer %s is not declared; known: %s", p.route.Authorizer, strings.Join(slices.Sorted(maps.Keys(api.Authorizers)), ", "))
		}
		key := p.route.Method + " " + p.route.Path
		if other, taken := seen[key]; taken {
			p.at.fault(nil, "route %s is served by %s already; keep one", key, other)
		}
		seen[key] = p.route.Function
		api.Routes = append(api.Routes, p.route)
	}
}
