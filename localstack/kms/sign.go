package kms

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"sealift/localstack/service"
)

// messageBytesMax is the longest message that is not a digest.
const messageBytesMax = 4096

type publicKeyOutput struct {
	KeyId                 string //nolint:revive // The protocol's own spelling.
	PublicKey             []byte
	KeySpec               string
	CustomerMasterKeySpec string
	KeyUsage              string
	SigningAlgorithms     []string
}

func (e *Engine) getPublicKey(in *keyInput) (*publicKeyOutput, error) {
	k, err := e.find(in.KeyId)
	if err != nil {
		return nil, err
	}
	return &publicKeyOutput{
		KeyId: e.arn("key/" + k.ID), PublicKey: k.public, KeySpec: keySpec, CustomerMasterKeySpec: keySpec, KeyUsage: keyUsage,
		SigningAlgorithms: []string{algorithm},
	}, nil
}

type signInput struct {
	KeyId            string //nolint:revive // The protocol's own spelling.
	Message          []byte
	MessageType      string
	SigningAlgorithm string
}

type signOutput struct {
	KeyId            string //nolint:revive // The protocol's own spelling.
	Signature        []byte
	SigningAlgorithm string
}

func (e *Engine) sign(in *signInput) (*signOutput, error) {
	k, err := e.find(in.KeyId)
	if err != nil {
		return nil, err
	}
	if in.SigningAlgorithm != algorithm {
		return nil, service.Refuse("InvalidKeyUsageException", "Algorithm %s is incompatible with key spec %s. Use %s.", in.SigningAlgorithm, keySpec, algorithm)
	}
	digest, err := digestOf(in)
	if err != nil {
		return nil, err
	}
	signature, err := k.private.Sign(rand.Reader, digest, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", k.ID, err)
	}
	return &signOutput{KeyId: e.arn("key/" + k.ID), Signature: signature, SigningAlgorithm: algorithm}, nil
}

// digestOf is what is signed of a message: its digest, which it may be itself.
func digestOf(in *signInput) ([]byte, error) {
	switch in.MessageType {
	case "DIGEST":
		if len(in.Message) != sha256.Size {
			return nil, invalid("Digest is invalid length for algorithm %s.", algorithm)
		}
		return in.Message, nil
	case "", "RAW":
		if len(in.Message) < 1 || len(in.Message) > messageBytesMax {
			return nil, invalid("1 validation error detected: Value at 'message' failed to satisfy constraint: Member must have length between 1 and %d. Send the digest of a longer message, with MessageType DIGEST.", messageBytesMax)
		}
		digest := sha256.Sum256(in.Message)
		return digest[:], nil
	}
	return nil, invalid("1 validation error detected: Value '%s' at 'messageType' failed to satisfy constraint: Member must satisfy enum value set: [RAW, DIGEST]", in.MessageType)
}
