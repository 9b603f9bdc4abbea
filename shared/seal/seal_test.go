package seal_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"sealift/shared/job"
	"sealift/shared/seal"
	"sealift/shared/signature"
)

const keyARN = "arn:aws:kms:us-east-1:000000000000:key/11111111-2222-3333-4444-555555555555"

// service is KMS with one key, or with one answer to everything.
type service struct {
	private *ecdsa.PrivateKey
	status  int
	code    string
	calls   atomic.Int64
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.status != 0 {
		w.WriteHeader(s.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": s.code, "message": "no"})
		return
	}
	var in struct {
		KeyID            string `json:"KeyId"`
		Message          []byte `json:"Message"`
		MessageType      string `json:"MessageType"`
		SigningAlgorithm string `json:"SigningAlgorithm"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.KeyID != keyARN {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := map[string]any{"KeyId": keyARN}
	switch r.Header.Get("X-Amz-Target") {
	case "TrentService.GetPublicKey":
		der, _ := x509.MarshalPKIXPublicKey(&s.private.PublicKey)
		answer["PublicKey"] = der
	case "TrentService.Sign":
		if in.MessageType != "DIGEST" || in.SigningAlgorithm != "ECDSA_SHA_256" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		der, _ := s.private.Sign(rand.Reader, in.Message, crypto.SHA256)
		answer["Signature"] = der
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// sealOf opens a seal whose service answers so.
func sealOf(t *testing.T, s *service) *seal.Seal {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return seal.New(kms.New(kms.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}), keyARN)
}

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// signs makes a signature and holds it to the key.
func signs(t *testing.T, s *seal.Seal) {
	t.Helper()
	payload := []byte("all of it")
	key, err := s.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.Sign(t.Context(), signature.Digest(key, payload))
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signature.Join(key, payload, raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (signature.Set{key}).Verify(jws, payload); err != nil {
		t.Error(err)
	}
}

func TestASealMakesSignaturesOfItsKey(t *testing.T) {
	t.Parallel()
	signs(t, sealOf(t, &service{private: newKey(t, elliptic.P256())}))
}

func TestWhatKMSRefusesHasAClassOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		kind   job.Kind
		name   string
		calls  int64
	}{
		{400, "NotFoundException", job.Permanent, "seal_missing", 1},
		{400, "DisabledException", job.Permanent, "seal_disabled", 1},
		{400, "KMSInvalidStateException", job.Permanent, "seal_disabled", 1},
		{400, "InvalidKeyUsageException", job.Permanent, "seal_unfit", 1},
		{400, "UnsupportedOperationException", job.Permanent, "seal_unfit", 1},
		{400, "AccessDeniedException", job.Permanent, "seal_denied", 1},
		{400, "ValidationException", job.Permanent, "seal_refused", 1},
		{400, "ThrottlingException", job.Overload, "seal_overloaded", 3},
		{500, "KMSInternalException", job.Transient, "seal_unavailable", 3},
		{500, "KeyUnavailableException", job.Transient, "seal_unavailable", 3},
		{400, "ExpiredTokenException", job.Transient, "seal_unavailable", 1},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			for what, call := range map[string]func(*seal.Seal) error{
				"sign": func(s *seal.Seal) error { _, err := s.Sign(t.Context(), [sha256.Size]byte{}); return err },
				"key":  func(s *seal.Seal) error { _, err := s.Key(t.Context()); return err },
			} {
				kms := &service{status: c.status, code: c.code}
				err := call(sealOf(t, kms))
				if job.KindOf(err) != c.kind || job.CodeOf(err) != c.name {
					t.Errorf("%s: %v, want %s %s", what, err, c.kind, c.name)
				}
				if made := kms.calls.Load(); made != c.calls {
					t.Errorf("%s: asked %d times, want %d", what, made, c.calls)
				}
				detail, _, _ := strings.Cut(err.Error(), job.PlaceOf(err))
				if !strings.Contains(job.PlaceOf(err), keyARN) || strings.Contains(detail, "arn:aws") {
					t.Errorf("%s: the key is named in %q, and the place is %q", what, detail, job.PlaceOf(err))
				}
			}
		})
	}
}

func TestAKeyOfAnotherCurveIsUnfit(t *testing.T) {
	t.Parallel()
	s := sealOf(t, &service{private: newKey(t, elliptic.P384())})
	if _, err := s.Key(t.Context()); job.CodeOf(err) != "seal_unfit" || job.KindOf(err) != job.Permanent {
		t.Errorf("its key: %v", err)
	}
	if _, err := s.Sign(t.Context(), [sha256.Size]byte{}); job.CodeOf(err) != "seal_unfit" {
		t.Errorf("its signature: %v", err)
	}
}

func TestACallerThatStopsIsToldSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sealOf(t, &service{private: newKey(t, elliptic.P256())}).Sign(ctx, [sha256.Size]byte{}); job.KindOf(err) != job.Cancelled {
		t.Errorf("stopped: %v", err)
	}
}

func TestWhereNobodyAnswersATryMayHelp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := seal.New(kms.New(kms.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}), keyARN)
	if _, err := s.Sign(t.Context(), [sha256.Size]byte{}); job.KindOf(err) != job.Transient || job.CodeOf(err) != "seal_unavailable" {
		t.Errorf("nobody is there: %v", err)
	}
}
