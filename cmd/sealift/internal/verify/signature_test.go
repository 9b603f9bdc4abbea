package verify_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/signature"
	"sealift/shared/snapshot"
)

// resigned is a receipt with another signature field; without one when it is empty.
func (e exported) resigned(t *testing.T, jws string) []byte {
	t.Helper()
	field := regexp.MustCompile(`,\n  "signature": "[^"]*"`)
	if !field.Match(e.receipt) {
		t.Fatalf("the receipt has no signature:\n%s", e.receipt)
	}
	if jws == "" {
		return field.ReplaceAll(e.receipt, nil)
	}
	return field.ReplaceAll(e.receipt, []byte(",\n  \"signature\": \""+jws+"\""))
}

func TestWhatIsNotSignedByTheKeysGivenIsRefused(t *testing.T) {
	t.Parallel()
	export := exportOf(t, snapshot.FormatRequest{Type: "csv", Compression: "none"}, one)
	jws := string(regexp.MustCompile(`[\w-]+\.\.[\w-]+`).Find(export.receipt))
	_, tail, _ := strings.Cut(jws, "..")
	head := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	kid := seal(t)[0].ID()
	strangers, err := signature.ReadSet([]byte(`{"keys": [{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`))
	must(t, err)
	for _, c := range []struct {
		name    string
		receipt []byte
		keys    signature.Set
		says    string
	}{
		{"no signature", export.resigned(t, ""), seal(t), "the receipt has no signature; only those of exports that older releases completed have none"},
		{"a key that isn't given", export.receipt, strangers, "its key is not among those given; save the service's keys with `sealift export receipt-keys --output FILE`"},
		{"another export's", bytes.Replace(export.receipt, []byte(`"job": "exp_04`), []byte(`"job": "exp_05`), 1), seal(t), "the receipt's signature is wrong: key " + kid + " has signed other bytes than these"},
		{"no algorithm", export.resigned(t, head(`{"alg":"none","kid":"`+kid+`"}`)+".."), seal(t), `its algorithm is "none", and only ES256 is allowed`},
		{"a shared secret", export.resigned(t, head(`{"alg":"HS256","kid":"`+kid+`"}`)+".."+tail), seal(t), `its algorithm is "HS256", and only ES256 is allowed`},
		{"no JWS", export.resigned(t, "x"), seal(t), "it is no JWS with detached payload"},
		{"half of it", export.resigned(t, jws[:len(jws)-4]), seal(t), "its last part is not the base64url of 64 bytes"},
	} {
		r, err := verify.Read(c.receipt)
		must(t, err)
		_, err = r.Prove(c.keys)
		var forged *verify.Forged
		if !errors.As(err, &forged) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestASignatureOutlivesWhiteSpace(t *testing.T) {
	t.Parallel()
	export := exportOf(t, snapshot.FormatRequest{Type: "jsonl"}, one)
	export.keys = seal(t)
	var narrow, wide bytes.Buffer
	must(t, json.Compact(&narrow, export.receipt))
	must(t, json.Indent(&wide, export.receipt, "", "\t"))
	for _, text := range [][]byte{narrow.Bytes(), wide.Bytes()} {
		if wrong := export.differences(t, text); len(wrong) > 0 {
			t.Errorf("%.60s: %s", text, wrong)
		}
	}
}

func TestAReceiptWithoutASignatureReadsAsItDid(t *testing.T) {
	t.Parallel()
	export := exportOf(t, snapshot.FormatRequest{Type: "csv"}, one)
	if wrong := export.differences(t, export.resigned(t, "")); len(wrong) > 0 {
		t.Errorf("%s", wrong)
	}
	r, err := verify.Read(export.resigned(t, ""))
	must(t, err)
	signed, err := verify.Read(export.receipt)
	must(t, err)
	proven, err := signed.Prove(seal(t))
	must(t, err)
	if r.Proof() != verify.Unsigned || signed.Proof() != verify.Unproven || proven.Proof() != verify.Proven {
		t.Errorf("what is known of the signatures is %s, %s and %s", r.Proof(), signed.Proof(), proven.Proof())
	}
}
