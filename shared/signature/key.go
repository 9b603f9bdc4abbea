package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
)

// coordinateBytes is the size of one coordinate of the curve P-256, and of each half of a signature.
const coordinateBytes = 32

// Key is a public key on the curve P-256. Its zero value signs and verifies nothing.
type Key struct {
	public *ecdsa.PublicKey
	x, y   string
	id     string
}

// KeyOf takes a key over.
func KeyOf(public *ecdsa.PublicKey) (Key, error) {
	if public == nil || public.Curve != elliptic.P256() {
		return Key{}, errors.New("the key is not on the curve P-256")
	}
	// An uncompressed point is a 4 and both coordinates (SEC 1, section 2.3.3).
	point, err := public.Bytes()
	if err != nil {
		return Key{}, fmt.Errorf("the key is no point of the curve P-256: %w", err)
	}
	k := Key{public: public, x: encode(point[1 : 1+coordinateBytes]), y: encode(point[1+coordinateBytes:])}
	// The members that a thumbprint is of, in the order of their names and without white space (RFC 7638, section 3).
	digest := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + k.x + `","y":"` + k.y + `"}`))
	k.id = encode(digest[:])
	return k, nil
}

// ParseKey reads a key as a SubjectPublicKeyInfo in DER (RFC 5280, section 4.1), which is how key services give theirs.
func ParseKey(der []byte) (Key, error) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return Key{}, fmt.Errorf("the public key can't be read: %w", err)
	}
	curve, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return Key{}, fmt.Errorf("the public key is a %T and not one on the curve P-256", public)
	}
	return KeyOf(curve)
}

// ID is the key's thumbprint (RFC 7638): SHA-256 in base64url, the same wherever the key is kept and whoever names it.
func (k Key) ID() string { return k.id }

// verify reports whether a signature, r and s beside each other, is the key's of a digest.
func (k Key) verify(digest [sha256.Size]byte, raw []byte) bool {
	if k.public == nil || len(raw) != 2*coordinateBytes {
		return false
	}
	r, s := new(big.Int).SetBytes(raw[:coordinateBytes]), new(big.Int).SetBytes(raw[coordinateBytes:])
	return ecdsa.Verify(k.public, digest[:], r, s)
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// decode is strict: of the last character's bits none may be set that no byte has, so that data is spelled in one way.
func decode(text string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(text) }
