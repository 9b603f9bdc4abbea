package signature_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/signature"
)

// holder has a private key.
type holder struct {
	private *ecdsa.PrivateKey
	key     signature.Key
}

func newHolder(t *testing.T) holder {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.KeyOf(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return holder{private, key}
}

func (h holder) sign(t *testing.T, payload string) string {
	t.Helper()
	digest := signature.Digest(h.key, []byte(payload))
	der, err := h.private.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signature.Raw(der)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signature.Join(h.key, []byte(payload), raw)
	if err != nil {
		t.Fatal(err)
	}
	return jws
}

const payload = "{\"rows\": 1}\n"

func text(data string) string { return base64.RawURLEncoding.EncodeToString([]byte(data)) }

func TestASignatureIsAJWSThatOthersReadToo(t *testing.T) {
	t.Parallel()
	h := newHolder(t)
	jws := h.sign(t, payload)
	got, err := signature.Set{newHolder(t).key, h.key}.Verify(jws, []byte(payload))
	if err != nil || got.ID() != h.key.ID() {
		t.Fatalf("key %s, %v", got.ID(), err)
	}
	head, tail, _ := strings.Cut(jws, "..")
	if err := jwt.SigningMethodES256.Verify(head+"."+text(payload), decoded(t, tail), &h.private.PublicKey); err != nil {
		t.Errorf("another library, with the payload in its place: %v", err)
	}
	if want := `{"alg":"ES256","kid":"` + h.key.ID() + `"}`; string(decoded(t, head)) != want {
		t.Errorf("header %s, want %s", decoded(t, head), want)
	}
}

func decoded(t *testing.T, encoded string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The example of RFC 7515, appendix A.3, whose header has no kid, with the key that it is given with.
const (
	rfcSet = `{"keys": [{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`
	rfcJWS = "eyJhbGciOiJFUzI1NiJ9..DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
)

func TestTheThumbprintIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	set, err := signature.ReadSet([]byte(rfcSet))
	if err != nil {
		t.Fatal(err)
	}
	// SHA-256 of {"crv":…,"kty":…,"x":…,"y":…}, made by other means.
	if want := "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U"; set[0].ID() != want {
		t.Errorf("thumbprint %s, want %s", set[0].ID(), want)
	}
	if _, err := set.Verify(rfcJWS, []byte("x")); !errors.Is(err, signature.ErrKeyUnknown) {
		t.Errorf("a signature that names no key: %v", err)
	}
}

func TestWhatIsNoSignatureOfThePayloadIsRefused(t *testing.T) {
	t.Parallel()
	h, stranger := newHolder(t), newHolder(t)
	jws := h.sign(t, payload)
	head, tail, _ := strings.Cut(jws, "..")
	kid := `"kid":"` + h.key.ID() + `"`
	for _, c := range []struct{ name, jws, payload, says string }{
		{"other bytes", jws, payload + " ", "has signed other bytes than these"},
		{"no bytes", jws, "", "has signed other bytes than these"},
		{"a key that isn't given", stranger.sign(t, payload), payload, "it names key \"" + stranger.key.ID() + "\": its key is not among those given"},
		{"the payload within", head + "." + text(payload) + "." + tail, payload, "no JWS with detached payload"},
		{"nothing", "", payload, "no JWS with detached payload"},
		{"another part", jws + ".x", payload, "no JWS with detached payload"},
		{"no algorithm", text(`{"alg":"none",`+kid+`}`) + "..", payload, `its algorithm is "none", and only ES256 is allowed`},
		{"a shared secret", text(`{"alg":"HS256",`+kid+`}`) + ".." + tail, payload, `its algorithm is "HS256"`},
		{"small letters", text(`{"alg":"es256",`+kid+`}`) + ".." + tail, payload, `its algorithm is "es256"`},
		{"an extension", text(`{"alg":"ES256",`+kid+`,"crit":["b64"],"b64":false}`) + ".." + tail, payload, "its header is not an object of alg and kid"},
		{"two headers", text(`{"alg":"ES256",`+kid+`}{}`) + ".." + tail, payload, "its header is not an object of alg and kid"},
		{"a header in other words", text(`{"alg": "ES256",`+kid+`}`) + ".." + tail, payload, "has signed other bytes than these"},
		{"a header that isn't base64url", "*.." + tail, payload, "its header is not base64url"},
		{"DER instead of raw", head + ".." + text(strings.Repeat("x", 70)), payload, "its last part is not the base64url of 64 bytes"},
		{"zeros", head + ".." + text(strings.Repeat("\x00", 64)), payload, "has signed other bytes than these"},
		{"padding", jws + "==", payload, "its last part is not the base64url of 64 bytes"},
	} {
		if _, err := (signature.Set{h.key}).Verify(c.jws, []byte(c.payload)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestEveryChangedBitOfASignatureIsRefused(t *testing.T) {
	t.Parallel()
	h := newHolder(t)
	jws := h.sign(t, payload)
	for at := range len(jws) {
		for bit := range 8 {
			changed := []byte(jws)
			changed[at] ^= 1 << bit
			if _, err := (signature.Set{h.key}).Verify(string(changed), []byte(payload)); err == nil {
				t.Errorf("bit %d of byte %d goes unseen: %s", bit, at, changed)
			}
		}
	}
}

func TestNoSignatureIsMadeThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	h, stranger := newHolder(t), newHolder(t)
	digest := signature.Digest(h.key, []byte(payload))
	der, err := stranger.private.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signature.Raw(der)
	if err != nil {
		t.Fatal(err)
	}
	if jws, err := signature.Join(h.key, []byte(payload), raw); err == nil {
		t.Errorf("of another key: %s", jws)
	}
	if jws, err := signature.Join(signature.Key{}, []byte(payload), raw); err == nil {
		t.Errorf("of no key: %s", jws)
	}
	for _, wrong := range []string{"", "x", string(der) + "x", "\x30\x06\x02\x01\x00\x02\x01\x01", "\x30\x06\x02\x01\x01\x02\x01\xff"} {
		if _, err := signature.Raw([]byte(wrong)); err == nil {
			t.Errorf("%x is taken for a signature", wrong)
		}
	}
}

func TestASetIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	one, two := newHolder(t), newHolder(t)
	set, err := signature.ReadSet(signature.Set{one.key, two.key}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{one.key.ID(), two.key.ID()}, []string{set[0].ID(), set[1].ID()}); diff != "" {
		t.Error(diff)
	}
	if _, err := set.Verify(two.sign(t, payload), []byte(payload)); err != nil {
		t.Error(err)
	}
}

func TestASetThatHasNoUsableKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"x", "it is no JWK Set"},
		{"[]", "it is no JWK Set"},
		{"{}", `it has no list "keys"`},
		{`{"keys": []}`, "it has no key for ES256"},
		{`{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}`, "it has no key for ES256"},
		{strings.Replace(rfcSet, `"kty"`, `"use":"enc","kty"`, 1), "it has no key for ES256"},
		{strings.Replace(rfcSet, "f83", "f84", 1), "key 1 of it: it is no point of the curve P-256"},
		{strings.Replace(rfcSet, "f83", "83", 1), "key 1 of it: a coordinate is not the base64url of 32 bytes"},
		{strings.Replace(rfcSet, `"kty"`, `"kid":"mine","kty"`, 1), `key 1 of it: it is named "mine", and its thumbprint is oKIy`},
	} {
		if _, err := signature.ReadSet([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

func TestAKeyIsReadFromDER(t *testing.T) {
	t.Parallel()
	h := newHolder(t)
	der, err := x509.MarshalPKIXPublicKey(&h.private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := signature.ParseKey(der); err != nil || key.ID() != h.key.ID() {
		t.Errorf("key %s, %v", key.ID(), err)
	}
	large, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if der, err = x509.MarshalPKIXPublicKey(&large.PublicKey); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][]byte{nil, []byte("x"), der} {
		if _, err := signature.ParseKey(wrong); err == nil {
			t.Errorf("%x is taken for a key", wrong)
		}
	}
}
