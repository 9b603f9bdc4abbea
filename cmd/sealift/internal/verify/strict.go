package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sealift/shared/pipeline"
)

// Malformed is a text that is no receipt: it isn't JSON, has another schema, or has fields or values that no receipt has.
// Of a text that was a receipt it says that somebody changed it.
type Malformed struct {
	// Err says what is wrong and how to mend it.
	Err error
}

// Error says what is wrong and how to mend it.
func (m *Malformed) Error() string { return m.Err.Error() }

// Unwrap returns the cause.
func (m *Malformed) Unwrap() error { return m.Err }

// anew is how to get a receipt that is one.
const anew = "get it anew with `sealift export receipt ID --output FILE`"

// decode reads the text of a receipt. A receipt is written in one way but for white space, so every field that is unknown,
// missing, doubled or out of place, and every number or text that is spelled otherwise, shows when what was read is written
// again. What releases have added since the first is left out where it has nothing to say, as the first ones did.
func decode(text []byte) (pipeline.Receipt, error) {
	var r pipeline.Receipt
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("the receipt can't be read: %w; %s", err, anew)
	}
	if r.Schema != 1 {
		return r, fmt.Errorf("the receipt has schema %d; this release reads 1, so use the release of the service", r.Schema)
	}
	// A receipt that was read always marshals.
	want, _ := json.Marshal(r)
	if have := compact(text); !bytes.Equal(have, want) {
		return r, fmt.Errorf("the receipt isn't as the service writes it: %w; %s, and when that says the same use the release of the service", unlike(have, want), anew)
	}
	return r, nil
}

// compact is JSON without its white space.
func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return nil
	}
	return out.Bytes()
}

// wordsMax bounds how much of a receipt a message shows.
const wordsMax = 80

// unlike says where two texts of JSON first differ.
func unlike(have, want []byte) error {
	haveLines, wantLines := lines(have), lines(want)
	for i, line := range haveLines {
		if i >= len(wantLines) {
			break
		}
		if !bytes.Equal(line, wantLines[i]) {
			return fmt.Errorf("it has %.*s where %.*s belongs", wordsMax, printable(line), wordsMax, printable(wantLines[i]))
		}
	}
	return errors.New("it ends elsewhere")
}

// lines are the lines of JSON with one field or value each, without their indent.
func lines(text []byte) [][]byte {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "") != nil {
		return nil
	}
	return bytes.Split(out.Bytes(), []byte("\n"))
}

// printable is a line as it may be shown to people.
func printable(line []byte) string {
	return string(bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte(",")), []byte("?")))
}
