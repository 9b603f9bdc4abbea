package job

import (
	"encoding/json"
	"strings"
)

// Pointer is all that a message carries: identifiers. It wakes a function, which reads the ledger and decides there; a
// duplicate, late or forged pointer changes nothing.
type Pointer struct {
	Schema int    `json:"schema"`
	Job    string `json:"job"`
	Unit   string `json:"unit"`
}

// Encode renders the pointer.
func (p Pointer) Encode() []byte {
	p.Schema = Schema
	// A struct of an int and two strings always marshals.
	text, _ := json.Marshal(p)
	return text
}

// DecodePointer reads a pointer. Unknown fields of the same schema version are ignored, so that the next release may
// add some; another schema version or malformed identifiers are refused with the reason.
func DecodePointer(text []byte) (Pointer, error) {
	var p Pointer
	if err := json.Unmarshal(text, &p); err != nil {
		return Pointer{}, &Error{Kind: Permanent, Code: "message_malformed",
			Detail: "the message is not a JSON object with schema, job and unit", Err: err}
	}
	if p.Schema < 1 {
		return Pointer{}, Errorf(Permanent, "message_malformed", "the message has no schema; this release reads %d", Schema)
	}
	if p.Schema != Schema {
		return Pointer{}, Errorf(Permanent, "message_schema", "the message has schema %d; this release reads %d", p.Schema, Schema)
	}
	if !ValidID(p.Job) || !validUnit(p.Unit) {
		return Pointer{}, Errorf(Permanent, "message_malformed", "the message's job or unit is not an identifier")
	}
	return p, nil
}

// ValidID reports whether text has the shape of a job's identifier.
func ValidID(text string) bool {
	digits, ok := strings.CutPrefix(text, idPrefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, idAlphabet) == ""
}

// NewID renders 128 random bits as a job's identifier: a prefix and 26 digits of Crockford's base 32, unguessable.
func NewID(random [16]byte) string {
	digits := make([]byte, idDigits)
	var carry uint32
	bits, next := 0, 0
	for i := range digits {
		for bits < 5 && next < len(random) {
			carry = carry<<8 | uint32(random[next])
			bits += 8
			next++
		}
		if bits < 5 {
			carry <<= uint(5 - bits)
			bits = 5
		}
		bits -= 5
		digits[i] = idAlphabet[carry>>uint(bits)&31]
	}
	return idPrefix + string(digits)
}

func validUnit(text string) bool {
	if _, ok := ShardNumber(text); ok {
		return true
	}
	return text == PlanID || text == FinalizeID || text == CleanID
}

const (
	idPrefix   = "exp_"
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	idDigits   = 26
)
