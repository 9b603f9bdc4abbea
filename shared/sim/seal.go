package sim

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"math/big"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/signature"
)

// Seal is what signs receipts. The key is the same in every world, and no two signatures in a row are alike: a signature's
// twin is as good as itself.
type Seal struct {
	*pen

	world *World
	actor string
}

// pen is the key and how often it has signed.
type pen struct {
	private *ecdsa.PrivateKey
	key     signature.Key
	signed  int
}

var _ pipeline.Seal = (*Seal)(nil)

func newSeal(w *World) *Seal {
	secret := sha256.Sum256([]byte("a world's seal"))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	if err != nil {
		panic("the simulation's key is none: " + err.Error())
	}
	key, err := signature.KeyOf(&private.PublicKey)
	if err != nil {
		panic("the simulation's key is none: " + err.Error())
	}
	return &Seal{world: w, pen: &pen{private: private, key: key}}
}

func (s *Seal) call(method string) Call {
	return Call{Port: PortSeal, Method: method, Actor: s.actor, Subject: "receipts"}
}

// Key is the public half of the key.
func (s *Seal) Key(ctx context.Context) (key signature.Key, err error) {
	err = s.world.read(ctx, s.call("Key"), func() error {
		key = s.key
		return nil
	})
	return or(key, err)
}

// Sign signs a digest.
func (s *Seal) Sign(ctx context.Context, digest [sha256.Size]byte) (raw []byte, err error) {
	err = s.world.read(ctx, s.call("Sign"), func() error {
		// Without a source of randomness the signature follows from key and digest (RFC 6979).
		der, err := s.private.Sign(nil, digest[:], crypto.SHA256)
		if err != nil {
			return job.Errorf(job.Permanent, "seal_refused", "sign: %w", err)
		}
		if raw, err = signature.Raw(der); err != nil {
			return job.Errorf(job.Permanent, "seal_refused", "sign: %w", err)
		}
		if s.signed++; s.signed%2 == 0 {
			half := raw[len(raw)/2:]
			new(big.Int).Sub(elliptic.P256().Params().N, new(big.Int).SetBytes(half)).FillBytes(half)
		}
		return nil
	})
	return or(raw, err)
}

// Signed counts the signatures that were made. It is no call of the port.
func (s *Seal) Signed() int {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.signed
}
