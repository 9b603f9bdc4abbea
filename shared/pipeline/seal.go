package pipeline

import (
	"bytes"
	"context"
	"slices"

	"sealift/shared/job"
	"sealift/shared/signature"
)

// sealed makes the signature of a receipt's bytes. One that isn't the key's, however that came about, is not given out.
func sealed(ctx context.Context, seal Seal, text []byte) (string, error) {
	key, err := seal.Key(ctx)
	if err != nil {
		return "", err
	}
	raw, err := seal.Sign(ctx, signature.Digest(key, text))
	if err != nil {
		return "", err
	}
	jws, err := signature.Join(key, text, raw)
	if err != nil {
		return "", job.Errorf(job.Transient, "signature_wrong", "the receipt's signature doesn't fit the key that made it: %w", err)
	}
	return jws, nil
}

// receiptEnd is how the text of a receipt ends.
const receiptEnd = "\n}\n"

// signedText is the text of a receipt with its signature as the last field, and the text as it is without one.
func signedText(text []byte, jws string) []byte {
	body, whole := bytes.CutSuffix(text, []byte(receiptEnd))
	if jws == "" || !whole {
		return text
	}
	// A JWS needs no escapes.
	return slices.Concat(body, []byte(",\n  \"signature\": \""+jws+"\""+receiptEnd))
}

// Signed is the text that the receipt's signature is of: the receipt without it, as it is written.
func (r Receipt) Signed() []byte {
	r.Signature = ""
	return r.Encode()
}
