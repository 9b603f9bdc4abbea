package gateway

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sealift/localstack/template"
)

const (
	// keysKeep is how long an issuer's keys are believed.
	keysKeep = 5 * time.Minute
	// keysPause is the least time between two fetches for a key that is unknown.
	keysPause = time.Second
	// documentBytesMax bounds what an issuer may answer.
	documentBytesMax = 1 << 20
	// fetchWait bounds how long an issuer may take.
	fetchWait = 5 * time.Second
)

// checker is one JWT authorizer: it believes tokens of one issuer for given
// audiences.
type checker struct {
	rules  template.JWT
	source func(*http.Request) string
	parser *jwt.Parser
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	keys    map[string]*rsa.PublicKey
	fetched time.Time
}

// refusal is an authorizer's no.
type refusal struct {
	status    int
	challenge string
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Www-Authenticate", r.challenge)
	text := "Unauthorized"
	if r.status == http.StatusForbidden {
		text = "Forbidden"
	}
	message(w, r.status, text)
}

func newChecker(rules template.JWT, opt Options) (*checker, error) {
	c := &checker{rules: rules, client: opt.Keys, now: opt.Now}
	c.parser = jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(rules.Issuer), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithTimeFunc(opt.Now), jwt.WithJSONNumber(), jwt.WithStrictDecoding())
	name := strings.TrimSpace(rules.IdentitySource)
	header, isHeader := strings.CutPrefix(name, "$request.header.")
	query, isQuery := strings.CutPrefix(name, "$request.querystring.")
	switch {
	case name == "":
		c.source = func(r *http.Request) string { return r.Header.Get("Authorization") }
	case isHeader:
		c.source = func(r *http.Request) string { return r.Header.Get(header) }
	case isQuery:
		c.source = func(r *http.Request) string { return r.URL.Query().Get(query) }
	default:
		return nil, fmt.Errorf("identity source %q is neither $request.header.NAME nor $request.querystring.NAME", name)
	}
	if rules.Issuer == "" || len(rules.Audience) == 0 {
		return nil, errors.New("a JWT authorizer needs an issuer and at least one audience")
	}
	return c, nil
}

// check verifies a request's token. It returns the claims as API Gateway hands
// them on and those of the route's scopes that the token has.
func (c *checker) check(ctx context.Context, r *http.Request, want []string) (claims map[string]string, scopes []string, no *refusal) {
	token := c.source(r)
	if scheme, rest, found := strings.Cut(token, " "); found && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	if token == "" {
		return nil, nil, &refusal{http.StatusUnauthorized, "Bearer"}
	}
	body := jwt.MapClaims{}
	_, err := c.parser.ParseWithClaims(token, body, func(t *jwt.Token) (any, error) { return c.key(ctx, t) })
	if err == nil {
		err = c.audience(body)
	}
	if err != nil {
		return nil, nil, &refusal{http.StatusUnauthorized, `Bearer scope="" error="invalid_token" error_description="` + reason(err) + `"`}
	}
	if len(want) > 0 {
		for _, scope := range scopesOf(body) {
			if slices.Contains(want, scope) {
				scopes = append(scopes, scope)
			}
		}
		if scopes == nil {
			return nil, nil, &refusal{http.StatusForbidden, `Bearer scope="` + strings.Join(want, " ") + `" error="insufficient_scope" error_description="the token has insufficient scope"`}
		}
	}
	claims = map[string]string{}
	for name, value := range body {
		if value != nil {
			claims[name] = claimText(value)
		}
	}
	return claims, scopes, nil
}

var errAudience = errors.New("invalid audience")

// audience checks aud, or client_id where a token has no aud.
func (c *checker) audience(body jwt.MapClaims) error {
	audience, err := body.GetAudience()
	if err != nil {
		return errAudience
	}
	if len(audience) == 0 {
		if id, ok := body["client_id"].(string); ok {
			audience = jwt.ClaimStrings{id}
		}
	}
	for _, a := range audience {
		if slices.Contains(c.rules.Audience, a) {
			return nil
		}
	}
	return errAudience
}

func scopesOf(body jwt.MapClaims) []string {
	for _, name := range []string{"scope", "scp"} {
		switch value := body[name].(type) {
		case string:
			return strings.Fields(value)
		case []any:
			var out []string
			for _, v := range value {
				out = append(out, fmt.Sprint(v))
			}
			return out
		}
	}
	return nil
}

// reason says what is wrong with a token in API Gateway's words.
func reason(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "the token is not valid yet"
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "the token was issued in the future"
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return "the issuer is invalid"
	case errors.Is(err, errAudience):
		return "the token does not have a valid audience"
	case errors.Is(err, errUnknownKey):
		return "unable to find a signing key that matches the key id"
	case errors.Is(err, errIssuerDown):
		return "OIDC discovery endpoint communication error"
	case errors.Is(err, jwt.ErrTokenMalformed):
		return "the token is malformed"
	default:
		return "the token is invalid"
	}
}

// claimText writes a claim as API Gateway does: numbers in digits, lists in
// brackets with blanks between, objects as JSON. A claim that is null is left out
// before (measured on AWS by the authors of floci, its pull request 2011).
func claimText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = claimText(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	}
}

var (
	errUnknownKey = errors.New("unknown key")
	errIssuerDown = errors.New("issuer does not answer")
)

// key finds the key that a token names, fetching the issuer's keys when they are
// old or do not hold it.
func (c *checker) key(ctx context.Context, t *jwt.Token) (any, error) {
	id, ok := t.Header["kid"].(string)
	if !ok || id == "" {
		return nil, errUnknownKey
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	age := c.now().Sub(c.fetched)
	if key := c.keys[id]; key != nil && age < keysKeep {
		return key, nil
	}
	if c.keys == nil || age >= keysPause {
		keys, err := c.fetch(ctx)
		if err != nil {
			return nil, errors.Join(errIssuerDown, err)
		}
		c.keys, c.fetched = keys, c.now()
	}
	if key := c.keys[id]; key != nil {
		return key, nil
	}
	return nil, errUnknownKey
}

// fetch reads the issuer's discovery document and the keys that it names.
func (c *checker) fetch(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWait)
	defer cancel()
	var discovery struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := c.get(ctx, strings.TrimRight(c.rules.Issuer, "/")+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	if err := c.get(ctx, discovery.JWKSURI, &set); err != nil {
		return nil, err
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys {
		n, nErr := base64.RawURLEncoding.DecodeString(k.N)
		e, eErr := base64.RawURLEncoding.DecodeString(k.E)
		if k.Kty != "RSA" || nErr != nil || eErr != nil || len(e) > 4 {
			continue
		}
		keys[k.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return keys, nil
}

func (c *checker) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("fetch %s: status %d", url, res.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, documentBytesMax)).Decode(into); err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	return nil
}
