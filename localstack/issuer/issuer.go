// Package issuer is the embedded cloud's token issuer: an RSA key that is made at
// the first start and the two documents that an API needs to check tokens signed
// with it. It owns <data>/issuer/key.pem and mints no tokens itself: whoever can
// read the key file does. Start reading at Open. It imports the standard library
// only.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// keyBits is the size of the key, the least that RS256 verifiers accept.
const keyBits = 2048

// Path is where the issuer answers below its endpoint; the issuer's URL is the
// endpoint's followed by Path.
const Path = "/_issuer"

// Issuer publishes one key under one URL.
type Issuer struct {
	url string
	key *rsa.PublicKey
	id  string
}

// Open reads the private key dir/key.pem (PKCS#8), and makes it when it is
// missing. The url is the issuer's name as it stands in the iss claim.
func Open(dir, url string) (*Issuer, error) {
	path := filepath.Join(dir, "key.pem")
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(dir, path)
	}
	if err != nil {
		return nil, err
	}
	return &Issuer{url: strings.TrimRight(url, "/"), key: &key.PublicKey, id: Thumbprint(&key.PublicKey)}, nil
}

// KeyID is the kid that tokens name: the key's RFC 7638 thumbprint.
func (i *Issuer) KeyID() string { return i.id }

// ServeHTTP answers GET for the discovery document and the key set, at any path
// that ends in their well-known names.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document any
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the issuer answers GET only", http.StatusMethodNotAllowed)
		return
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		document = map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/.well-known/jwks.json",
			"id_token_signing_alg_values_supported": []string{"RS256"},
			"response_types_supported":              []string{"token"}, "subject_types_supported": []string{"public"},
		}
	case strings.HasSuffix(r.URL.Path, "/.well-known/jwks.json"):
		n, e := members(i.key)
		document = map[string]any{"keys": []map[string]string{{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": i.id, "n": n, "e": e}}}
	default:
		http.Error(w, "the issuer has /.well-known/openid-configuration and /.well-known/jwks.json only", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=60")
	_ = json.NewEncoder(w).Encode(document)
}

// Thumbprint is a key's RFC 7638 thumbprint: SHA-256 over its required members in
// lexical order, in base64url.
func Thumbprint(key *rsa.PublicKey) string {
	n, e := members(key)
	sum := sha256.Sum256([]byte(`{"e":"` + e + `","kty":"RSA","n":"` + n + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// members are the modulus and exponent as a JSON Web Key spells them.
func members(key *rsa.PublicKey) (n, e string) {
	return base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())
}

func readKey(path string) (*rsa.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read issuer key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("read issuer key %s: not a PKCS#8 PEM file; remove it to have a new one made (tokens signed before end to be valid)", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read issuer key %s: %w; remove it to have a new one made (tokens signed before end to be valid)", path, err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read issuer key %s: it is a %T, RS256 needs an RSA key; remove it to have a new one made", path, parsed)
	}
	return key, nil
}

// makeKey writes a new key whole or not at all: a start that is killed leaves no
// half of one behind.
func makeKey(dir, path string) (*rsa.PrivateKey, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make issuer folder: %w; give a data folder that can be written to", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make issuer key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode issuer key: %w", err)
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, fmt.Errorf("write issuer key: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return nil, fmt.Errorf("write issuer key: %w", err)
	}
	return key, nil
}
