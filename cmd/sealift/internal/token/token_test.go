package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

func keyFile(t *testing.T) (string, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, key
}

func claims() Claims {
	return Claims{Tenant: "acme", Subject: "ana", Roles: []string{"a", "b"}, Issuer: DefaultIssuer, Audience: "sealift", TTL: time.Hour}
}

func TestATokenSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	path, key := keyFile(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text, err := Mint(path, claims(), now, "id-1")
	if err != nil {
		t.Fatal(err)
	}
	got := jwt.MapClaims{}
	parsed, err := jwt.ParseWithClaims(text, got, func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	want := jwt.MapClaims{
		"iss": DefaultIssuer, "aud": "sealift", "sub": "ana", "tenant": "acme", "roles": []any{"a", "b"}, "jti": "id-1",
		"iat": float64(now.Unix()), "nbf": float64(now.Unix()), "exp": float64(now.Unix() + 3600),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if parsed.Header["kid"] != thumbprint(&key.PublicKey) {
		t.Errorf("kid %v", parsed.Header["kid"])
	}
}

// The example of RFC 7638, section 3.1.
func TestTheThumbprintIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	n, err := base64.RawURLEncoding.DecodeString("0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs" +
		"tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbI" +
		"SD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw")
	if err != nil {
		t.Fatal(err)
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}
	if got, want := thumbprint(key), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFaultsAreReportedTogether(t *testing.T) {
	t.Parallel()
	err := Claims{Roles: []string{"a b"}, TTL: -time.Hour}.Validate()
	for _, want := range []string{"--tenant", "--subject", "--issuer", "--audience", "--ttl", "--role"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

func TestAKeyThatIsMissingOrAnotherIsExplained(t *testing.T) {
	t.Parallel()
	path, _ := keyFile(t)
	junk := path + ".junk"
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path + ".none": "make up", junk: "is not a PKCS#8 key"} {
		if _, err := Mint(name, claims(), time.Now(), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
