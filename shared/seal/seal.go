// Package seal owns what signs receipts: a key of AWS KMS on the curve P-256, which never leaves it. It imports pipeline for
// the port, answer, job, signature and its SDK service; start reading at Seal.Sign.
//
// This package is the one layer that retries asking KMS, three attempts at most. Neither call leaves anything behind, so a
// lost answer is a call that wasn't made.
package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"sealift/shared/answer"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/signature"
)

const (
	attemptsMax = 3
	backoffMax  = 2 * time.Second
	callTimeout = 15 * time.Second
)

// Seal signs with one key. It may be shared by goroutines.
type Seal struct {
	client  *kms.Client
	keyID   string
	retryer aws.RetryerV2
}

var _ pipeline.Seal = (*Seal)(nil)

// New returns the seal of a key, which is named by its ARN or id. The retry settings of the client are not used.
func New(client *kms.Client, keyID string) *Seal {
	return &Seal{client: client, keyID: keyID, retryer: retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attemptsMax
		o.MaxBackoff = backoffMax
	})}
}

// Key reads the public half of the key.
func (s *Seal) Key(ctx context.Context) (signature.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := s.client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &s.keyID}, s.patiently)
	if err != nil {
		return signature.Key{}, s.failed("read the public key", "kms:GetPublicKey", err)
	}
	key, err := signature.ParseKey(out.PublicKey)
	if err != nil {
		return signature.Key{}, s.unfit(err)
	}
	return key, nil
}

// Sign has a SHA-256 digest signed. Two signatures of one digest differ.
func (s *Seal) Sign(ctx context.Context, digest [sha256.Size]byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := s.client.Sign(ctx, &kms.SignInput{
		KeyId: &s.keyID, Message: digest[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	}, s.patiently)
	if err != nil {
		return nil, s.failed("sign", "kms:Sign", err)
	}
	raw, err := signature.Raw(out.Signature)
	if err != nil {
		return nil, s.unfit(err)
	}
	return raw, nil
}

func (s *Seal) patiently(o *kms.Options) {
	o.Retryer = s.retryer
	o.RetryMaxAttempts = 0
}

// unfit is the error of a key that can't make signatures of the one kind there is.
func (s *Seal) unfit(err error) error {
	return job.Errorf(job.Permanent, "seal_unfit", "the key that signs receipts is not of the key spec ECC_NIST_P256; deploy template.yaml as it is: %w", job.At("key "+s.keyID, err))
}

// failed turns an error of the SDK into one of the pipeline's. Which key it is stands in the cause.
func (s *Seal) failed(doing, action string, err error) error {
	a := answer.Of(err)
	err = job.At("key "+s.keyID, err)
	switch {
	case a.Code == "NotFoundException":
		return job.Errorf(job.Permanent, "seal_missing", "%s: the key that signs receipts does not exist; deploy template.yaml as it is: %w", doing, err)
	case a.Code == "DisabledException" || a.Code == "KMSInvalidStateException":
		return job.Errorf(job.Permanent, "seal_disabled", "%s: the key that signs receipts is disabled or is being deleted; enable it, or cancel its deletion: %w", doing, err)
	case a.Code == "InvalidKeyUsageException" || a.Code == "UnsupportedOperationException":
		return s.unfit(err)
	case strings.HasPrefix(a.Code, "AccessDenied") || a.Status == http.StatusForbidden:
		return job.Errorf(job.Permanent, "seal_denied", "%s: not allowed to use the key that signs receipts; add %s to the function's role, and look at the key's policy: %w", doing, action, err)
	case a.Throttled():
		return job.Errorf(job.Overload, "seal_overloaded", "%s: asked to slow down using the key that signs receipts: %w", doing, err)
	case a.Status == 0 && errors.Is(err, context.Canceled):
		return job.Errorf(job.Cancelled, "seal_cancelled", "%s: stopped by the caller: %w", doing, err)
	case a.Status >= http.StatusInternalServerError || a.Status == 0 || strings.HasPrefix(a.Code, "ExpiredToken") || a.Code == "KeyUnavailableException":
		return job.Errorf(job.Transient, "seal_unavailable", "%s: the key that signs receipts can't be used now: %w", doing, err)
	}
	return job.Errorf(job.Permanent, "seal_refused", "%s: using the key that signs receipts was refused as it stands: %w", doing, err)
}
