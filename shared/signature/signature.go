// Package signature owns how receipts are signed: as a JWS with detached payload (RFC 7515, appendix F), by ES256 (RFC
// 7518, section 3.4), with keys that are named by their thumbprints (RFC 7638) and given as a JWK Set (RFC 7517). It is
// pure: who holds the private key makes the signature of a digest. Start reading at Digest, then Join and Set's Verify. It
// imports the standard library only.
package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// algorithm is the one algorithm there is: ECDSA on P-256 with SHA-256.
const algorithm = "ES256"

// header is a protected header. A header may say more; nothing that Sealift has signed does.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// protected is the first part of a JWS by a key.
func protected(keyID string) string {
	// Two texts always marshal.
	text, _ := json.Marshal(header{algorithm, keyID})
	return encode(text)
}

// Digest is what the key's holder signs for a payload: SHA-256 of the JWS signing input, which is made on the way and never
// held whole.
func Digest(key Key, payload []byte) [sha256.Size]byte { return digest(protected(key.id), payload) }

func digest(protected string, payload []byte) (sum [sha256.Size]byte) {
	hash := sha256.New()
	// A hash takes every write.
	_, _ = io.WriteString(hash, protected+".")
	text := base64.NewEncoder(base64.RawURLEncoding, hash)
	_, _ = text.Write(payload)
	_ = text.Close()
	hash.Sum(sum[:0])
	return sum
}

// Raw turns a signature in DER (SEC 1, appendix C.5), as key services give it, into r and s beside each other.
func Raw(der []byte) ([]byte, error) {
	var found struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &found)
	if err != nil {
		return nil, fmt.Errorf("the signature is no ECDSA signature in DER: %w", err)
	}
	raw := make([]byte, 2*coordinateBytes)
	for i, half := range []*big.Int{found.R, found.S} {
		if half.Sign() <= 0 || half.BitLen() > 8*coordinateBytes || len(rest) > 0 {
			return nil, errors.New("the signature is none of the curve P-256")
		}
		half.FillBytes(raw[i*coordinateBytes : (i+1)*coordinateBytes])
	}
	return raw, nil
}

// Join makes the JWS of a payload of which the key's holder has signed the digest. It is an error when the signature isn't
// the key's of that payload, so that none is ever given out that a receiver would refuse.
func Join(key Key, payload, raw []byte) (string, error) {
	if !key.verify(Digest(key, payload), raw) {
		return "", fmt.Errorf("the signature is not that of key %s", key.id)
	}
	return protected(key.id) + ".." + encode(raw), nil
}

// ErrKeyUnknown says that a signature names a key that isn't in the set.
var ErrKeyUnknown = errors.New("its key is not among those given")

// Verify checks a JWS with detached payload and gives the key that has signed. An error says what is wrong with the
// signature; ErrKeyUnknown is in it when that is only that the set lacks its key.
func (s Set) Verify(jws string, payload []byte) (Key, error) {
	parts := strings.Split(jws, ".")
	if len(parts) != 3 || parts[1] != "" {
		return Key{}, errors.New("it is no JWS with detached payload, which is a header, nothing and a signature with two dots between them")
	}
	said, err := readHeader(parts[0])
	if err != nil {
		return Key{}, err
	}
	raw, err := decode(parts[2])
	if err != nil || len(raw) != 2*coordinateBytes {
		return Key{}, fmt.Errorf("its last part is not the base64url of %d bytes, as %s has", 2*coordinateBytes, algorithm)
	}
	for _, key := range s {
		if key.id != said.KeyID {
			continue
		}
		if !key.verify(digest(parts[0], payload), raw) {
			return Key{}, fmt.Errorf("key %s has signed other bytes than these", key.id)
		}
		return key, nil
	}
	return Key{}, fmt.Errorf("it names key %q: %w", clip(said.KeyID), ErrKeyUnknown)
}

// readHeader reads a protected header. The algorithm is decided here and not by whoever made the signature.
func readHeader(text string) (header, error) {
	var said header
	data, err := decode(text)
	if err != nil {
		return said, errors.New("its header is not base64url")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&said); err != nil || decoder.More() {
		return said, fmt.Errorf("its header is not an object of alg and kid: %q", clip(string(data)))
	}
	if said.Algorithm != algorithm {
		return said, fmt.Errorf("its algorithm is %q, and only %s is allowed", clip(said.Algorithm), algorithm)
	}
	return said, nil
}

// clipBytes bounds how much of a signature a message repeats.
const clipBytes = 80

func clip(text string) string {
	if len(text) > clipBytes {
		text = text[:clipBytes] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
