// Package token owns the minting of tokens with the embedded cloud's issuer key, for people and tests on one machine.
// Real deployments have an issuer of their own and never need it. Start reading at Mint. It imports disk.
package token

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sealift/cmd/sealift/internal/disk"
)

// The defaults of the embedded cloud.
const (
	DefaultKeyFile  = ".sealift/data/issuer/key.pem"
	DefaultIssuer   = "http://127.0.0.1:4566/_issuer"
	DefaultAudience = "sealift"
	DefaultTTL      = time.Hour
)

// TTLMax bounds how long a token lives.
const TTLMax = 30 * 24 * time.Hour

// Claims are whose token it is and for whom.
type Claims struct {
	Tenant   string
	Subject  string
	Roles    []string
	Issuer   string
	Audience string
	TTL      time.Duration
}

// Validate lists every fault of the claims.
func (c Claims) Validate() error {
	var faults []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(c.Tenant != "", "--tenant is missing; name the tenant that the token speaks for")
	must(c.Subject != "", "--subject is missing; name the user, as in ana@acme.example")
	must(c.Issuer != "", "--issuer is empty; it is the TokenIssuer of the deployment, by default %s", DefaultIssuer)
	must(c.Audience != "", "--audience is empty; it is the TokenAudience of the deployment, by default %s", DefaultAudience)
	must(c.TTL >= time.Second && c.TTL <= TTLMax, "--ttl is %s; allowed are 1s to %s", c.TTL, TTLMax)
	for _, role := range c.Roles {
		// The gateway hands a list over as words between brackets.
		must(role != "" && !strings.ContainsAny(role, " ,\"[]"), "--role %q holds a space, comma, quote or bracket, or is empty; give one role each time", role)
	}
	return errors.Join(faults...)
}

// Mint signs a token with the key in a file. id is the token's own name, which must be unique.
func Mint(keyFile string, claims Claims, now time.Time, id string) (string, error) {
	if err := claims.Validate(); err != nil {
		return "", err
	}
	key, err := readKey(keyFile)
	if err != nil {
		return "", err
	}
	roles := claims.Roles
	if roles == nil {
		roles = []string{}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": claims.Issuer, "aud": claims.Audience, "sub": claims.Subject, "tenant": claims.Tenant, "roles": roles,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(claims.TTL).Unix(), "jti": id,
	})
	token.Header["kid"] = thumbprint(&key.PublicKey)
	text, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return text, nil
}

// keyBytesMax bounds a key file.
const keyBytesMax = 64 << 10

func readKey(path string) (*rsa.PrivateKey, error) {
	text, err := disk.Read(path, keyBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &disk.Fault{Path: path, Err: err,
			Text: "there is no issuer key at " + path + "; start the embedded cloud once with `make up`, run from the same folder, or name its key with --issuer-key"}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; only who started the embedded cloud may read its issuer's key", disk.Explain("read", path, err))
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s is not a PKCS#8 key in PEM; name the embedded cloud's key with --issuer-key, by default %s", path, DefaultKeyFile)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the issuer key %s: %w", path, err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T; RS256 needs an RSA key", path, parsed)
	}
	return key, nil
}

// thumbprint is a key's RFC 7638 thumbprint: SHA-256 over its required members in lexical order, in base64url.
func thumbprint(key *rsa.PublicKey) string {
	encode := base64.RawURLEncoding.EncodeToString
	sum := sha256.Sum256([]byte(`{"e":"` + encode(big.NewInt(int64(key.E)).Bytes()) + `","kty":"RSA","n":"` + encode(key.N.Bytes()) + `"}`))
	return encode(sum[:])
}
