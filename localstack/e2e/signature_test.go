package e2e

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/golang-jwt/jwt/v5"
)

// signed says whether a JWS with detached payload is one of the text, by the key that KMS has, as somebody else's code sees
// it: "valid", or what is wrong.
func (w *world) signed(t *testing.T, text []byte, jws string) string {
	t.Helper()
	out, err := kms.NewFromConfig(w.aws).GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: aws.String("alias/" + stack + "-receipts")})
	ok(t, err)
	public, err := x509.ParsePKIXPublicKey(out.PublicKey)
	ok(t, err)
	header, signature, detached := strings.Cut(jws, "..")
	if !detached {
		return "no JWS with detached payload: " + jws
	}
	var said struct{ Alg, Kid string }
	if data, err := base64.RawURLEncoding.DecodeString(header); err != nil || json.Unmarshal(data, &said) != nil || said.Alg != "ES256" || len(said.Kid) != 43 {
		return "a header " + string(data)
	}
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return err.Error()
	}
	if err := jwt.SigningMethodES256.Verify(header+"."+base64.RawURLEncoding.EncodeToString(text), raw, public); err != nil {
		return err.Error()
	}
	return "valid"
}
