package issuer

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheKeyIsMadeOnceAndKeptPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "issuer")
	first, err := Open(dir, "http://127.0.0.1:1/_issuer")
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(dir, "http://127.0.0.1:2/_issuer")
	if err != nil {
		t.Fatal(err)
	}
	if first.KeyID() != second.KeyID() || first.KeyID() == "" {
		t.Errorf("key ids: %q, then %q", first.KeyID(), second.KeyID())
	}
	info, err := os.Stat(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode of key.pem: %v", info.Mode())
	}
}

func TestABrokenKeyFileIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, "http://x")
	if err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("got %v", err)
	}
}

// The example of RFC 7638, section 3.1.
func TestTheThumbprintIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	n, err := base64.RawURLEncoding.DecodeString("0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw")
	if err != nil {
		t.Fatal(err)
	}
	got := Thumbprint(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537})
	if want := "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheDocumentsNameTheKey(t *testing.T) {
	t.Parallel()
	i, err := Open(t.TempDir(), "http://127.0.0.1:4566/_issuer")
	if err != nil {
		t.Fatal(err)
	}
	var discovery struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	get(t, i, "/_issuer/.well-known/openid-configuration", &discovery)
	if discovery.Issuer != "http://127.0.0.1:4566/_issuer" || discovery.JWKSURI != "http://127.0.0.1:4566/_issuer/.well-known/jwks.json" {
		t.Errorf("discovery: %+v", discovery)
	}
	var set struct{ Keys []map[string]string }
	get(t, i, "/_issuer/.well-known/jwks.json", &set)
	if len(set.Keys) != 1 || set.Keys[0]["kid"] != i.KeyID() || set.Keys[0]["alg"] != "RS256" || set.Keys[0]["d"] != "" {
		t.Errorf("key set: %+v", set)
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/_issuer/.well-known/jwks.json", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func get(t *testing.T, h http.Handler, path string, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}
