package xlsx

import (
	"encoding/json"
	"fmt"

	"sealift/shared/job"
)

// fragment is what the next writer of a shard and the joiner must know of it. Its text is JSON.
type fragment struct {
	// At is how many bytes of the shard are written.
	At int64 `json:"at"`
	// Open is the worksheet that isn't ended.
	Open *sheet `json:"open,omitempty"`
	// Done are the others.
	Done []sheet `json:"done,omitempty"`
}

// sheet is one worksheet of a shard: an array of numbers in the fragment's text.
type sheet struct {
	// Offset is where its local header begins, from the start of the shard.
	Offset int64
	// Rows doesn't count the header.
	Rows   int64
	CRC32  uint32
	Packed int64
	Raw    int64
}

// MarshalJSON is that of json.Marshaler.
func (s sheet) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int64{s.Offset, s.Rows, int64(s.CRC32), s.Packed, s.Raw})
}

// UnmarshalJSON is that of json.Unmarshaler.
func (s *sheet) UnmarshalJSON(data []byte) error {
	var numbers []int64
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	if want := 5; len(numbers) != want {
		return fmt.Errorf("a worksheet has %d numbers, not %d", len(numbers), want)
	}
	*s = sheet{Offset: numbers[0], Rows: numbers[1], CRC32: uint32(numbers[2]), Packed: numbers[3], Raw: numbers[4]}
	return nil
}

// entry is the sheet's, which is number number of the shard that begins at offset at. Only the first shard's writer, at 0,
// knows where in the file it is; the others allow for the worst.
func (s sheet) entry(shard, number int, at int64, bounds Bounds) entry {
	e := sheetEntry(shard, number)
	e.far = at > 0 || s.Offset >= bounds.Offset
	e.crc32, e.packed, e.raw, e.offset = s.CRC32, s.Packed, s.Raw, at+s.Offset
	return e
}

func (f fragment) encode() (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", job.Errorf(job.Permanent, "fragment_invalid", "write what is known of the worksheets: %w", err)
	}
	return string(text), nil
}

func decodeFragment(text string) (fragment, error) {
	var f fragment
	if text == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return fragment{}, job.Errorf(job.Permanent, "fragment_invalid", "read what is known of the worksheets: %w", err)
	}
	return f, nil
}
