package sqldb

import (
	"bytes"
	"testing"
)

func TestMiddlesOfUUIDsLieBetweenInBothOrders(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"7692263e-ed10-11f1-add8-02fc00000001", "7692263e-ed10-11f2-add8-02fc00000001"},
		{"10000000-0000-4000-8000-000000000001", "10000000-0000-4000-9000-f00000000001"},
		{"01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8059"},
		{"01890a5d-ac96-774b-bcce-b302099a8057", "ff890a5d-ac96-774b-bcce-b302099a8057"},
		{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		{"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000011170"},
		{"10000000-0000-4000-8000-000000000001", "01890a5d-ac96-774b-bcce-b302099a8057"},
	} {
		for _, swapped := range []bool{false, true} {
			low, _ := parseUUID(c[0])
			high, _ := parseUUID(c[1])
			l, h := low.sorted(swapped), high.sorted(swapped)
			if bytes.Compare(l[:], h[:]) > 0 {
				continue
			}
			text, ok := middleUUID(c[0], c[1], swapped)
			middle, _ := parseUUID(text)
			m := middle.sorted(swapped)
			if !ok || bytes.Compare(l[:], m[:]) >= 0 || bytes.Compare(m[:], h[:]) >= 0 || !middle.readable() || middle.String() != text {
				t.Errorf("between %s and %s lies %q (%t), all of them swapped %t", c[0], c[1], text, ok, swapped)
			}
		}
	}
	for _, c := range [][2]string{{"a", "b"}, {"10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000001"}} {
		if got, ok := middleUUID(c[0], c[1], false); ok {
			t.Errorf("between %s and %s lies %s, want nothing", c[0], c[1], got)
		}
	}
}

func TestMiddlesOfAddressesLieBetween(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"1.2.3.4", "1.2.3.8", "1.2.3.6"}, {"20.0.0.1", "100.0.0.1", "60.0.0.1"}, {"::1", "::5", "::3"}, {"2001:db8::", "2001:dba::", "2001:db9::"},
		{"::ffff:1.2.3.4", "::ffff:1.2.3.8", "::ffff:1.2.3.6"}, {"::1.2.3.4", "::1.2.3.5", ""}, {"1.2.3.4", "::1", ""}, {"k1", "k3", ""},
	} {
		if got, ok := middleAddress(c[0], c[1]); got != c[2] || ok != (c[2] != "") {
			t.Errorf("between %s and %s lies %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
