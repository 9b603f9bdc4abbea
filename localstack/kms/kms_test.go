package kms_test

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"

	"sealift/localstack/kms"
)

// bench is one engine behind a server, and an SDK client of it.
type bench struct {
	*awskms.Client
	t    *testing.T
	dir  string
	stop func()
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	b.begin()
	return b
}

// begin starts an engine on the bench's directory, again after a stop.
func (b *bench) begin() {
	b.t.Helper()
	engine, err := kms.Open(b.dir, kms.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	b.stop = sync.OnceFunc(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(b.stop)
	b.Client = awskms.New(awskms.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

const (
	chosenID  = "0a1b2c3d-0000-8000-8000-000000000001"
	chosenARN = "arn:aws:kms:us-east-1:000000000000:key/" + chosenID
)

// chosen makes a key with an id of the caller's choice and an alias.
func (b *bench) chosen() {
	b.t.Helper()
	out, err := b.CreateKey(b.t.Context(), &awskms.CreateKeyInput{
		KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify, Description: aws.String("signs"),
		Tags: []types.Tag{{TagKey: aws.String("_custom_id_"), TagValue: aws.String(chosenID)}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if m := out.KeyMetadata; *m.KeyId != chosenID || *m.Arn != chosenARN || !m.Enabled || m.KeyState != types.KeyStateEnabled || m.CreationDate.IsZero() || *m.Description != "signs" {
		b.t.Errorf("the key is %+v", m)
	}
	if _, err := b.CreateAlias(b.t.Context(), &awskms.CreateAliasInput{AliasName: aws.String("alias/receipts"), TargetKeyId: aws.String(chosenARN)}); err != nil {
		b.t.Fatal(err)
	}
}

// public is the public half of a key.
func (b *bench) public(id string) *ecdsa.PublicKey {
	b.t.Helper()
	out, err := b.GetPublicKey(b.t.Context(), &awskms.GetPublicKeyInput{KeyId: &id})
	if err != nil {
		b.t.Fatalf("public key of %s: %v", id, err)
	}
	parsed, err := x509.ParsePKIXPublicKey(out.PublicKey)
	public, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok || *out.KeyId != chosenARN || out.KeySpec != types.KeySpecEccNistP256 || out.KeyUsage != types.KeyUsageTypeSignVerify {
		b.t.Fatalf("public key of %s: %+v, %v", id, out, err)
	}
	return public
}

// signs has a message signed and reports whether the signature is that of a digest by a key.
func (b *bench) signs(public *ecdsa.PublicKey, kind types.MessageType, message, digest []byte) bool {
	b.t.Helper()
	out, err := b.Sign(b.t.Context(), &awskms.SignInput{
		KeyId: aws.String(chosenARN), Message: message, MessageType: kind, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if *out.KeyId != chosenARN || out.SigningAlgorithm != types.SigningAlgorithmSpecEcdsaSha256 {
		b.t.Errorf("signed by %s with %s", *out.KeyId, out.SigningAlgorithm)
	}
	return ecdsa.VerifyASN1(public, digest, out.Signature)
}

func TestAKeySignsADigestAndAMessageAlike(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.chosen()
	message := []byte("all of it")
	digest := sha256.Sum256(message)
	for _, name := range []string{chosenID, chosenARN, "alias/receipts", "arn:aws:kms:us-east-1:000000000000:alias/receipts"} {
		public := b.public(name)
		if !b.signs(public, types.MessageTypeDigest, digest[:], digest[:]) || !b.signs(public, types.MessageTypeRaw, message, digest[:]) || !b.signs(public, "", message, digest[:]) {
			t.Errorf("a signature is not that of the key %s", name)
		}
	}
}

func TestKeysSurviveARestartInAFileThatOnlyTheOwnerReads(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.chosen()
	before := b.public(chosenID)
	b.stop()
	path := filepath.Join(b.dir, "kms.db")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.begin()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file open to others stays open: %v, mode %v", err, info.Mode())
	}
	if !before.Equal(b.public("alias/receipts")) {
		t.Error("after the restart it is another key")
	}
}

func TestASecondEngineOnTheSameKeysIsTurnedAway(t *testing.T) {
	t.Parallel()
	b := start(t)
	if _, err := kms.Open(b.dir, kms.Options{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
}

func TestRefusalsAreTypedErrors(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.chosen()
	ctx := t.Context()
	sign := func(id string, kind types.MessageType, message int, algorithm types.SigningAlgorithmSpec) error {
		_, err := b.Sign(ctx, &awskms.SignInput{KeyId: &id, Message: make([]byte, message), MessageType: kind, SigningAlgorithm: algorithm})
		return err
	}
	create := func(spec types.KeySpec, usage types.KeyUsageType, id string) error {
		_, err := b.CreateKey(ctx, &awskms.CreateKeyInput{KeySpec: spec, KeyUsage: usage, Tags: []types.Tag{{TagKey: aws.String("_custom_id_"), TagValue: &id}}})
		return err
	}
	alias := func(name, target string) error {
		_, err := b.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: &name, TargetKeyId: &target})
		return err
	}
	_, describe := b.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: aws.String("none")})
	_, public := b.GetPublicKey(ctx, &awskms.GetPublicKeyInput{KeyId: aws.String("alias/none")})
	_, encrypt := b.Encrypt(ctx, &awskms.EncryptInput{KeyId: aws.String(chosenID), Plaintext: []byte("x")})
	const es256 = types.SigningAlgorithmSpecEcdsaSha256
	for _, c := range []struct {
		name, code string
		err        error
	}{
		{"a key that is not there", "NotFoundException", describe},
		{"an alias that is not there", "NotFoundException", public},
		{"signing with a key that is not there", "NotFoundException", sign("none", types.MessageTypeDigest, 32, es256)},
		{"a key of another account", "NotFoundException", sign("arn:aws:kms:us-east-1:111111111111:key/"+chosenID, types.MessageTypeDigest, 32, es256)},
		{"another algorithm", "InvalidKeyUsageException", sign(chosenID, types.MessageTypeDigest, 48, types.SigningAlgorithmSpecEcdsaSha384)},
		{"a digest of another length", "ValidationException", sign(chosenID, types.MessageTypeDigest, 31, es256)},
		{"a message that is too long", "ValidationException", sign(chosenID, types.MessageTypeRaw, 4097, es256)},
		{"no message", "ValidationException", sign(chosenID, types.MessageTypeRaw, 0, es256)},
		{"another type of message", "ValidationException", sign(chosenID, types.MessageTypeExternalMu, 64, es256)},
		{"a key for encryption", "UnsupportedOperationException", create("", "", "x")},
		{"a key of another curve", "UnsupportedOperationException", create(types.KeySpecEccNistP384, types.KeyUsageTypeSignVerify, "x")},
		{"an id that is taken", "AlreadyExistsException", create(types.KeySpecEccNistP256, types.KeyUsageTypeSignVerify, chosenID)},
		{"an id that is none", "ValidationException", create(types.KeySpecEccNistP256, types.KeyUsageTypeSignVerify, "a/b")},
		{"an alias that is taken", "AlreadyExistsException", alias("alias/receipts", chosenID)},
		{"an alias that is none", "InvalidAliasNameException", alias("receipts", chosenID)},
		{"an alias of nothing", "NotFoundException", alias("alias/other", "none")},
		{"an operation that is not provided", "UnknownOperationException", encrypt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var answer smithy.APIError
			if !errors.As(c.err, &answer) || answer.ErrorCode() != c.code || answer.ErrorMessage() == "" {
				t.Errorf("got %v, want %s", c.err, c.code)
			}
		})
	}
}
