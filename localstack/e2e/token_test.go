package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sealift/localstack/issuer"
)

func proveTokens(t *testing.T, s *shared) {
	key := s.key(t)
	kid := issuer.Thumbprint(&key.PublicKey)
	another, err := rsa.GenerateKey(rand.Reader, 2048)
	ok(t, err)
	sign := func(method jwt.SigningMethod, kid string, with any, change func(jwt.MapClaims)) string {
		body := claims(s.world, tenant, "ana")
		change(body)
		token := jwt.NewWithClaims(method, body)
		token.Header["kid"] = kid
		text, err := token.SignedString(with)
		ok(t, err)
		return text
	}
	same := func(jwt.MapClaims) {}
	good := sign(jwt.SigningMethodRS256, kid, key, same)
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct {
		token string
		says  string
	}{
		"none at all":                            {"", "Bearer"},
		"expired":                                {sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }), "expired"},
		"not valid yet":                          {sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }), "not valid yet"},
		"without an end":                         {sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { delete(c, "exp") }), "token"},
		"of another issuer":                      {sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c["iss"] = "https://login.example.com" }), "issuer"},
		"for another audience":                   {sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c["aud"] = "billing" }), "audience"},
		"signed by another key":                  {sign(jwt.SigningMethodRS256, kid, another, same), "invalid"},
		"of an unknown key":                      {sign(jwt.SigningMethodRS256, issuer.Thumbprint(&another.PublicKey), another, same), "signing key"},
		"of algorithm none":                      {sign(jwt.SigningMethodNone, kid, jwt.UnsafeAllowNoneSignatureType, same), "invalid"},
		"signed with the public key as a secret": {sign(jwt.SigningMethodHS256, kid, key.N.Bytes(), same), "invalid"},
		"with other claims under the signature":  {parts[0] + "." + strings.Split(sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c["tenant"] = foreign }), ".")[1] + "." + parts[2], "invalid"},
		"garbage":                                {"abc", "malformed"},
	} {
		a := user{w: s.world, token: c.token}.do(t, http.MethodGet, "/v1/exports", nil)
		if challenge := a.header.Get("Www-Authenticate"); a.status != http.StatusUnauthorized || !strings.Contains(challenge, c.says) {
			t.Errorf("a token %s: %d, www-authenticate %q; want 401 and a word of %q", name, a.status, challenge, c.says)
		}
	}
	for _, path := range []string{"/v1/exports", "/v1/receipt-keys"} {
		user{w: s.world}.do(t, http.MethodGet, path, nil).want(t, http.StatusUnauthorized)
		user{w: s.world, token: good}.do(t, http.MethodGet, path, nil).want(t, http.StatusOK)
	}
	for _, claim := range []string{"tenant", "sub"} {
		for _, value := range []any{nil, "", false, []string{tenant}, []string{tenant, foreign}, []string{}, map[string]any{"x": tenant}} {
			nobody := user{w: s.world, token: sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { c[claim] = value })}
			if a := nobody.do(t, http.MethodGet, "/v1/exports", nil).want(t, http.StatusForbidden); !strings.Contains(string(a.body), "("+claim+")") {
				t.Errorf("the refusal of a token whose %s is %v does not name it: %s", claim, value, a.body)
			}
		}
	}
	nobody := user{w: s.world, token: sign(jwt.SigningMethodRS256, kid, key, func(c jwt.MapClaims) { delete(c, "tenant") })}
	if a := nobody.do(t, http.MethodGet, "/v1/exports", nil).want(t, http.StatusForbidden); !strings.Contains(string(a.body), "tenant") {
		t.Errorf("the refusal of a token without a tenant does not name it: %s", a.body)
	}
}
