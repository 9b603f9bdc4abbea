package checksum_test

import (
	"math/rand/v2"
	"testing"

	"sealift/shared/checksum"
)

func TestChecksumsEqualThePublishedCheckValues(t *testing.T) {
	t.Parallel()
	// Check values of "123456789" from the catalogue of parametrised CRC algorithms.
	data := []byte("123456789")
	if got := checksum.Sum32(data); got != 0xcbf43926 {
		t.Errorf("CRC-32 is %08x, want cbf43926", uint32(got))
	}
	if got := checksum.Sum64(data); got != 0xae8b14860a799888 {
		t.Errorf("CRC-64/NVME is %016x, want ae8b14860a799888", uint64(got))
	}
	if checksum.Sum32(nil) != 0 || checksum.Sum64(nil) != 0 {
		t.Error("the checksum of no bytes is the zero value")
	}
}

func TestTextIsBigEndianAsTheStoreWritesIt(t *testing.T) {
	t.Parallel()
	data := []byte("123456789")
	for _, c := range []struct{ name, got, want string }{
		{"CRC-32 hex", checksum.Sum32(data).Hex(), "cbf43926"},
		{"CRC-32 base64", checksum.Sum32(data).Base64(), "y/Q5Jg=="},
		{"CRC-64 hex", checksum.Sum64(data).Hex(), "ae8b14860a799888"},
		{"CRC-64 base64", checksum.Sum64(data).Base64(), "rosUhgp5mIg="},
		{"leading zeros stay", checksum.CRC64(1).Hex(), "0000000000000001"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestParseReadsWhatBase64WritesAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	if got, err := checksum.ParseCRC32(checksum.CRC32(0xcbf43926).Base64()); err != nil || got != 0xcbf43926 {
		t.Errorf("CRC-32 reads back as %x, %v", got, err)
	}
	if got, err := checksum.ParseCRC64(checksum.CRC64(0xae8b14860a799888).Base64()); err != nil || got != 0xae8b14860a799888 {
		t.Errorf("CRC-64 reads back as %x, %v", got, err)
	}
	for _, text := range []string{"", "y/Q5Jg", "y/Q5Jg==\n", "!", "y_Q5Jg=="} {
		if _, err := checksum.ParseCRC32(text); err == nil {
			t.Errorf("ParseCRC32(%q) is accepted", text)
		}
		if _, err := checksum.ParseCRC64(text); err == nil {
			t.Errorf("ParseCRC64(%q) is accepted", text)
		}
	}
}

func TestCombinedChecksumEqualsTheStraightOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1<<16)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for range 500 {
		whole := data[:random.IntN(len(data)+1)]
		var crc32 checksum.CRC32
		var crc64 checksum.CRC64
		for rest := whole; len(rest) > 0; {
			n := random.IntN(min(len(rest), 20_000) + 1)
			crc32 = crc32.Combine(checksum.Sum32(rest[:n]), int64(n))
			crc64 = crc64.Combine(checksum.Sum64(rest[:n]), int64(n))
			rest = rest[n:]
		}
		if want := checksum.Sum32(whole); crc32 != want {
			t.Fatalf("CRC-32 of %d bytes combines to %s, straight is %s", len(whole), crc32.Hex(), want.Hex())
		}
		if want := checksum.Sum64(whole); crc64 != want {
			t.Fatalf("CRC-64 of %d bytes combines to %s, straight is %s", len(whole), crc64.Hex(), want.Hex())
		}
	}
}

func TestCombineIsRightForLengthsNobodyReads(t *testing.T) {
	t.Parallel()
	// 2^40 zero bytes after "a" are doubled up by combining, one long length against many short ones.
	zeros32, zeros64 := checksum.Sum32([]byte{0}), checksum.Sum64([]byte{0})
	for bits := range 40 {
		zeros32 = zeros32.Combine(zeros32, 1<<bits)
		zeros64 = zeros64.Combine(zeros64, 1<<bits)
	}
	a32, a64 := checksum.Sum32([]byte("a")), checksum.Sum64([]byte("a"))
	once32, once64 := a32.Combine(zeros32, 1<<40), a64.Combine(zeros64, 1<<40)

	half32, half64 := checksum.Sum32([]byte{0}), checksum.Sum64([]byte{0})
	for bits := range 39 {
		half32 = half32.Combine(half32, 1<<bits)
		half64 = half64.Combine(half64, 1<<bits)
	}
	twice32 := a32.Combine(half32, 1<<39).Combine(half32, 1<<39)
	twice64 := a64.Combine(half64, 1<<39).Combine(half64, 1<<39)
	if once32 != twice32 || once64 != twice64 {
		t.Errorf("one step gives %s %s, two steps give %s %s", once32.Hex(), once64.Hex(), twice32.Hex(), twice64.Hex())
	}
}

func TestAppendEqualsTheStraightChecksum(t *testing.T) {
	t.Parallel()
	data := []byte("the quick brown fox")
	if got := checksum.Sum32(data[:7]).Append(data[7:]); got != checksum.Sum32(data) {
		t.Errorf("CRC-32 appended is %s", got.Hex())
	}
	if got := checksum.Sum64(data[:7]).Append(data[7:]); got != checksum.Sum64(data) {
		t.Errorf("CRC-64 appended is %s", got.Hex())
	}
}

func BenchmarkCombineGiB(b *testing.B) {
	var crc checksum.CRC64
	for b.Loop() {
		crc = crc.Combine(0x1234, 1<<30)
	}
}
