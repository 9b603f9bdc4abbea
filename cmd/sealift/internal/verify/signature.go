package verify

import (
	"errors"
	"fmt"

	"sealift/shared/signature"
)

// Proof says what is known of a receipt's signature.
type Proof string

// What can be known of it.
const (
	// Proven is a signature that was checked with a key.
	Proven Proof = "valid"
	// Unproven is a signature that nobody has given keys for.
	Unproven Proof = "unchecked"
	// Unsigned is a receipt without one, as those of releases that signed none.
	Unsigned Proof = "none"
)

// Forged is a receipt that isn't signed by any of the keys it was held to.
type Forged struct {
	// Err says what is wrong and what to do.
	Err error
}

// Error says what is wrong and what to do.
func (f *Forged) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Forged) Unwrap() error { return f.Err }

// Proof is what is known of the receipt's signature.
func (r Receipt) Proof() Proof {
	switch {
	case r.key != "":
		return Proven
	case r.receipt.Signature != "":
		return Unproven
	}
	return Unsigned
}

// Prove checks the receipt's signature: what it gives is the receipt with every byte proven to be the key's holder's, but for
// white space. Every error is a *Forged; a receipt without a signature is one, for it may have been taken away.
func (r Receipt) Prove(keys signature.Set) (Receipt, error) {
	if r.receipt.Signature == "" {
		return Receipt{}, &Forged{errors.New("the receipt has no signature; only those of exports that older releases completed have none: check one of these without --keys, " +
			"best with --job; of any other export " + anew)}
	}
	key, err := keys.Verify(r.receipt.Signature, r.receipt.Signed())
	if errors.Is(err, signature.ErrKeyUnknown) {
		return Receipt{}, &Forged{fmt.Errorf("the receipt's signature can't be checked: %w; save the service's keys with `sealift export receipt-keys --output FILE`, and when they lack it too the receipt is not the service's", err)}
	}
	if err != nil {
		return Receipt{}, &Forged{fmt.Errorf("the receipt's signature is wrong: %w; the receipt was changed, or somebody else wrote it; %s", err, anew)}
	}
	r.key = key.ID()
	return r, nil
}

// checkSignature tells what a proven signature stands for.
func (r Receipt) checkSignature(report *Report) {
	report.Signature = r.Proof()
	if r.key != "" {
		report.check("signature of the receipt", true, "every byte of the receipt is signed by key %s (ES256)", r.key)
	}
}
