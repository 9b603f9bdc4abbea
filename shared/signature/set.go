package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
)

// Set is a set of public keys.
type Set []Key

// jwk is a key as JSON (RFC 7517, section 4; RFC 7518, section 6.2.1).
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	KeyID     string `json:"kid,omitempty"`
	Use       string `json:"use,omitempty"`
	Algorithm string `json:"alg,omitempty"`
}

// Encode renders the set as a JWK Set.
func (s Set) Encode() []byte {
	keys := make([]jwk, 0, len(s))
	for _, k := range s {
		keys = append(keys, jwk{Type: "EC", Curve: "P-256", X: k.x, Y: k.y, KeyID: k.id, Use: "sig", Algorithm: algorithm})
	}
	// Texts always marshal.
	text, _ := json.MarshalIndent(map[string][]jwk{"keys": keys}, "", "  ")
	return append(text, '\n')
}

// ReadSet reads a JWK Set. Keys of other kinds and uses are passed over (RFC 7517, section 5); one on P-256 that can't be
// read, or whose name isn't its thumbprint, is an error, and so is a set of which no key is left.
func ReadSet(text []byte) (Set, error) {
	var list struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("it is no JWK Set: %w", err)
	}
	if list.Keys == nil {
		return nil, errors.New(`it is no JWK Set: it has no list "keys"`)
	}
	var set Set
	for i, given := range list.Keys {
		if given.Type != "EC" || given.Curve != "P-256" || given.Use != "" && given.Use != "sig" || given.Algorithm != "" && given.Algorithm != algorithm {
			continue
		}
		key, err := given.key()
		if err != nil {
			return nil, fmt.Errorf("key %d of it: %w", i+1, err)
		}
		set = append(set, key)
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("it has no key for %s", algorithm)
	}
	return set, nil
}

func (j jwk) key() (Key, error) {
	point := []byte{4}
	for _, text := range []string{j.X, j.Y} {
		coordinate, err := decode(text)
		if err != nil || len(coordinate) != coordinateBytes {
			return Key{}, fmt.Errorf("a coordinate is not the base64url of %d bytes", coordinateBytes)
		}
		point = append(point, coordinate...)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return Key{}, fmt.Errorf("it is no point of the curve P-256: %w", err)
	}
	key, err := KeyOf(public)
	if err != nil {
		return Key{}, err
	}
	if j.KeyID != "" && j.KeyID != key.id {
		return Key{}, fmt.Errorf("it is named %q, and its thumbprint is %s", clip(j.KeyID), key.id)
	}
	return key, nil
}
