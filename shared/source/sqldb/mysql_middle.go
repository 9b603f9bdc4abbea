package sqldb

import (
	"bytes"
	"context"
	"encoding/hex"
	"math/big"
	"net/netip"
)

// MariaDB's types uuid, inet4 and inet6 read values in their own form only, and no row is at or above another text: a plan needs
// middles that are values of the type.

// middle is a value between two keys' values in column i, which need not exist in the table; ok is false when none is known.
func (h *halver) middle(i int, low, high string) (middle string, ok bool) {
	switch column := h.query.Key[i]; h.source.table.typeOf(column).name {
	case "uuid":
		return middleUUID(low, high, h.swapped)
	case "inet4", "inet6":
		return middleAddress(low, high)
	default:
		return middleOf(column.Kind, low, high)
	}
}

// swaps asks how the server sorts UUIDs, where a plan needs to know it: the first versions of MariaDB that have the type swap the
// parts of all of them, later ones those of versions 1 to 5 alone.
func (h *halver) swaps(ctx context.Context) error {
	uuid := false
	for _, column := range h.query.Key {
		uuid = uuid || h.source.table.typeOf(column).name == "uuid"
	}
	if !uuid {
		return nil
	}
	// Of version 7, so that only where the parts are swapped the last ones decide.
	st := statement{text: "SELECT CAST('02000000-0000-7000-8000-000000000001' AS uuid) < CAST('01000000-0000-7000-8000-000000000002' AS uuid)"}
	return h.source.query(ctx, h.query, st, func(values [][]byte) error {
		h.swapped = string(values[0]) == "1"
		return nil
	})
}

const uuidBytes = 16

// The bytes of a UUID with its version and its variant (RFC 9562, sections 4.1 and 4.2), and the bits of both.
const (
	versionByte, variantByte = 6, 8
	versionMask, variantMask = 0xf0, 0xc0
	// variantRFC is the variant that has versions.
	variantRFC = 0x80
)

type uuid [uuidBytes]byte

func parseUUID(text string) (u uuid, ok bool) {
	digits := bytes.ReplaceAll([]byte(text), []byte("-"), nil)
	if len(digits) != 2*uuidBytes {
		return u, false
	}
	_, err := hex.Decode(u[:], digits)
	return u, err == nil
}

func (u uuid) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// swapParts is the UUID with its five parts in reverse, and unswapParts makes it what it was.
func (u uuid) swapParts() (s uuid) {
	copy(s[:6], u[10:])
	copy(s[6:8], u[8:10])
	copy(s[8:10], u[6:8])
	copy(s[10:12], u[4:6])
	copy(s[12:], u[:4])
	return s
}

func (u uuid) unswapParts() (s uuid) {
	copy(s[10:], u[:6])
	copy(s[8:10], u[6:8])
	copy(s[6:8], u[8:10])
	copy(s[4:6], u[10:12])
	copy(s[:4], u[12:])
	return s
}

// sorted is the bytes by which the server sorts (MariaDB, plugin/type_uuid/sql_type_uuid.h).
func (u uuid) sorted(swapped bool) uuid {
	if version := u[versionByte]; swapped || version > 0 && version < 0x60 && u[variantByte]&variantRFC != 0 {
		return u.swapParts()
	}
	return u
}

// readable reports whether the server reads the UUID whatever its variant: 10.11 takes few of those with a version above 7.
func (u uuid) readable() bool { return u[versionByte] < 0x80 }

// as is the UUID with a version.
func (u uuid) as(version byte) uuid {
	u[versionByte] = u[versionByte]&^versionMask | version<<4
	u[variantByte] = u[variantByte]&^variantMask | variantRFC
	return u
}

// middleUUID is a UUID about half way between two. Not all bytes are those of a UUID that would be sorted there, so some are tried:
// the first bytes are what matters.
func middleUUID(low, high string, swapped bool) (middle string, ok bool) {
	l, okLow := parseUUID(low)
	u, okHigh := parseUUID(high)
	if !okLow || !okHigh {
		return "", false
	}
	l, u = l.sorted(swapped), u.sorted(swapped)
	var half uuid
	halfway(half[:], l[:], u[:])
	for _, tried := range []uuid{half.unswapParts(), half, half.as(7), half.unswapParts().as(4)} {
		at := tried.sorted(swapped)
		if tried.readable() && bytes.Compare(l[:], at[:]) < 0 && bytes.Compare(at[:], u[:]) < 0 {
			return tried.String(), true
		}
	}
	return "", false
}

// middleAddress is the address half way between two, which are sorted by their bytes.
func middleAddress(low, high string) (middle string, ok bool) {
	l, errLow := netip.ParseAddr(low)
	u, errHigh := netip.ParseAddr(high)
	if errLow != nil || errHigh != nil || l.BitLen() != u.BitLen() {
		return "", false
	}
	half := make([]byte, l.BitLen()/8)
	halfway(half, l.AsSlice(), u.AsSlice())
	address, ok := netip.AddrFromSlice(half)
	if !ok || address.Compare(l) <= 0 || address.Compare(u) >= 0 {
		return "", false
	}
	return address.String(), true
}

// halfway fills half with the number in the middle of two of as many bytes, rounded down.
func halfway(half, low, high []byte) {
	sum := new(big.Int).Add(new(big.Int).SetBytes(low), new(big.Int).SetBytes(high))
	sum.Rsh(sum, 1).FillBytes(half)
}
