package gateway

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/template"
)

func TestATokenPassesOnlyWhenEverythingAboutItIsRight(t *testing.T) {
	t.Parallel()
	b := start(t, nil, echo)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims{"iss": b.issuer, "aud": "sealift", "exp": noon.Add(time.Hour).Unix()})
		token.Header["kid"] = b.kid
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	good := b.token(t, nil)
	parts := strings.Split(good, ".")
	for _, c := range []struct{ name, token, reason string }{
		{"good", "Bearer " + good, ""},
		{"good, without the word Bearer", good, ""},
		{"audience in a list", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["aud"] = []string{"other", "sealift"} }), ""},
		{"client id in place of audience", "Bearer " + b.token(t, func(c jwt.MapClaims) { delete(c, "aud"); c["client_id"] = "sealift" }), ""},
		{"expired", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["exp"] = noon.Add(-time.Second).Unix() }), "the token has expired"},
		{"without expiry", "Bearer " + b.token(t, func(c jwt.MapClaims) { delete(c, "exp") }), "the token is invalid"},
		{"not yet valid", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["nbf"] = noon.Add(time.Minute).Unix() }), "the token is not valid yet"},
		{"issued later", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["iat"] = noon.Add(time.Minute).Unix() }), "the token was issued in the future"},
		{"other issuer", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["iss"] = "https://evil.example" }), "the issuer is invalid"},
		{"other audience", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["aud"] = "else" }), "the token does not have a valid audience"},
		{"no audience", "Bearer " + b.token(t, func(c jwt.MapClaims) { delete(c, "aud") }), "the token does not have a valid audience"},
		{"client id beside another audience", "Bearer " + b.token(t, func(c jwt.MapClaims) { c["aud"] = "else"; c["client_id"] = "sealift" }), "the token does not have a valid audience"},
		{"unknown key id", "Bearer " + b.token(t, nil, "kid", "nobody"), "unable to find a signing key that matches the key id"},
		{"stranger's key", "Bearer " + sign(jwt.SigningMethodRS256, stranger), "the token is invalid"},
		{"algorithm none", "Bearer " + sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), "the token is invalid"},
		{"HS256 with the public key", "Bearer " + sign(jwt.SigningMethodHS256, b.key.N.Bytes()), "the token is invalid"},
		{"RS512", "Bearer " + sign(jwt.SigningMethodRS512, b.key), "the token is invalid"},
		{"changed claims", "Bearer " + parts[0] + "." + parts[1] + "x." + parts[2], "the token is malformed"},
		{"no token at all", "Bearer abc", "the token is malformed"},
	} {
		res, body := do(t, "POST", b.url+"/v1/exports", map[string]string{"Authorization": c.token}, nil)
		if c.reason == "" {
			if res.StatusCode != http.StatusOK || body != "create" {
				t.Errorf("%s: got %d %s", c.name, res.StatusCode, body)
			}
			continue
		}
		want := `Bearer scope="" error="invalid_token" error_description="` + c.reason + `"`
		if res.StatusCode != http.StatusUnauthorized || body != `{"message":"Unauthorized"}` || res.Header.Get("Www-Authenticate") != want {
			t.Errorf("%s: got %d %s %s, want %s", c.name, res.StatusCode, body, res.Header.Get("Www-Authenticate"), want)
		}
	}
	res, body := do(t, "POST", b.url+"/v1/exports", nil, nil)
	if res.StatusCode != http.StatusUnauthorized || body != `{"message":"Unauthorized"}` || res.Header.Get("Www-Authenticate") != "Bearer" {
		t.Errorf("without a header: got %d %s %s", res.StatusCode, body, res.Header.Get("Www-Authenticate"))
	}
}

func TestClaimsArriveAsText(t *testing.T) {
	t.Parallel()
	var got event
	b := start(t, nil, func(_ context.Context, _ string, payload []byte) (Answer, error) {
		return Answer{Payload: []byte("null")}, json.Unmarshal(payload, &got)
	})
	token := b.token(t, func(c jwt.MapClaims) {
		c["roles"], c["big"], c["flag"], c["custom:tenant"] = []string{"a", "b"}, int64(9007199254740993), true, "acme"
		c["none"], c["empty"], c["address"] = nil, []string{}, map[string]any{"city": "Ulm"}
	})
	do(t, "POST", b.url+"/v1/exports", map[string]string{"Authorization": "Bearer " + token}, []byte("{}"))
	want := map[string]string{"iss": b.issuer, "aud": "sealift", "sub": "ada", "exp": "1774789200", "iat": "1774785600", "nbf": "1774785600",
		"roles": "[a b]", "big": "9007199254740993", "flag": "true", "custom:tenant": "acme",
		"empty": "[]", "address": `{"city":"Ulm"}`}
	if got.RequestContext.Authorizer == nil {
		t.Fatal("no authorizer in the payload")
	}
	if diff := cmp.Diff(want, got.RequestContext.Authorizer.JWT.Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestARouteWithScopesNeedsOneOfThem(t *testing.T) {
	t.Parallel()
	b := start(t, nil, echo)
	for scope, status := range map[string]int{"read admin": 200, "read": 403, "": 403} {
		token := b.token(t, func(c jwt.MapClaims) { c["scope"] = scope })
		res, _ := do(t, "PUT", b.url+"/v1/admin", map[string]string{"Authorization": token}, nil)
		if res.StatusCode != status {
			t.Errorf("scope %q: got %d, want %d", scope, res.StatusCode, status)
		}
	}
}

func TestAPageOfAnAllowedOriginMayAsk(t *testing.T) {
	t.Parallel()
	b := start(t, func(api *template.API) {
		api.CORS = &template.CORS{AllowOrigins: []string{"https://app.example"}, AllowMethods: []string{"GET", "POST"},
			AllowHeaders: []string{"authorization"}, ExposeHeaders: []string{"location"}, MaxAge: time.Minute}
	}, echo)
	ask := map[string]string{"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
	res, _ := do(t, "OPTIONS", b.url+"/v1/exports", ask, nil)
	if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		res.Header.Get("Access-Control-Allow-Methods") != "GET,POST" || res.Header.Get("Access-Control-Max-Age") != "60" {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	ask["Origin"] = "https://evil.example"
	res, _ = do(t, "OPTIONS", b.url+"/v1/exports", ask, nil)
	if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a stranger: %d %v", res.StatusCode, res.Header)
	}
	res, _ = do(t, "POST", b.url+"/v1/exports", map[string]string{"Origin": "https://app.example"}, nil)
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || res.Header.Get("Access-Control-Expose-Headers") != "location" {
		t.Errorf("refused request: %d %v", res.StatusCode, res.Header)
	}
}
