package sqs

import (
	"crypto/md5" //nolint:gosec // The protocol's checksum, not a security measure.
	"encoding/binary"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// messageAttribute is one typed attribute of a message.
type messageAttribute struct {
	DataType         string
	StringValue      *string  `json:",omitempty"`
	BinaryValue      []byte   `json:",omitempty"`
	StringListValues []string `json:",omitempty"`
	BinaryListValues [][]byte `json:",omitempty"`
}

func (a messageAttribute) binary() bool { return strings.HasPrefix(a.DataType, "Binary") }

func (a messageAttribute) value() []byte {
	if a.binary() {
		return a.BinaryValue
	}
	if a.StringValue == nil {
		return nil
	}
	return []byte(*a.StringValue)
}

func checkMessageAttributes(attributes map[string]messageAttribute) error {
	if len(attributes) > attributesMax {
		return invalidValue("MessageAttributes", len(attributes), "A message has at most %d attributes.", attributesMax)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := checkMessageAttribute(name, attributes[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkMessageAttribute(name string, a messageAttribute) error {
	lower := strings.ToLower(name)
	if name == "" || len(name) > attributeCharsMax || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") ||
		strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.") || !regexp.MustCompile(`^[A-Za-z0-9_.-]+$`).MatchString(name) {
		return invalidValue("MessageAttributes", name, "A message attribute name has 1 to %d letters, digits, hyphens, underscores and single inner dots, and does not start with AWS. or Amazon.", attributeCharsMax)
	}
	base, _, _ := strings.Cut(a.DataType, ".")
	switch {
	case a.DataType == "":
		return invalidValue("MessageAttributes", name, "The message attribute %q must contain a non-empty message attribute type.", name)
	case len(a.DataType) > attributeCharsMax || base != "String" && base != "Number" && base != "Binary":
		return invalidValue("MessageAttributes", a.DataType, "The type of message attribute %q must be String, Number or Binary, with an optional suffix after a dot.", name)
	case len(a.StringListValues) > 0 || len(a.BinaryListValues) > 0:
		return invalidValue("MessageAttributes", name, "Message attribute list values in SendMessage operation are not supported.")
	case a.binary() && a.StringValue != nil || !a.binary() && a.BinaryValue != nil:
		return invalidValue("MessageAttributes", name, "The value of message attribute %q is in the wrong field for its type %s.", name, a.DataType)
	case len(a.value()) == 0:
		return invalidValue("MessageAttributes", name, "The message attribute %q must contain a non-empty value of type %s.", name, a.DataType)
	case !a.binary():
		if err := checkText(*a.StringValue, "message attribute "+name); err != nil {
			return err
		}
	}
	if base == "Number" && !regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`).MatchString(*a.StringValue) {
		return invalidValue("MessageAttributes", *a.StringValue, "Can't cast the value of message attribute %q to a number.", name)
	}
	return nil
}

// checkText refuses characters that XML 1.0 cannot carry, as SQS does.
func checkText(text, what string) error {
	for at, r := range text {
		if r == utf8.RuneError {
			if _, width := utf8.DecodeRuneInString(text[at:]); width == 1 {
				return refuse("InvalidMessageContents", "InvalidMessageContents", "The %s has invalid UTF-8 at byte %d.", what, at)
			}
			continue
		}
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return refuse("InvalidMessageContents", "InvalidMessageContents",
				"The %s has the character U+%04X at byte %d. Allowed are #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD, #x10000 to #x10FFFF; encode binary text first.", what, r, at)
		}
	}
	return nil
}

// contentBytes is the size that counts against the limits of a queue.
func contentBytes(body string, attributes map[string]messageAttribute) int {
	n := len(body)
	for name, a := range attributes {
		n += len(name) + len(a.DataType) + len(a.value())
	}
	return n
}

func md5Text(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // See the import.
	return hex.EncodeToString(sum[:])
}

// md5Attributes is the checksum over attributes that SQS documents: for each
// name in order, name, type and value with their lengths; empty for none.
func md5Attributes(attributes map[string]messageAttribute) string {
	if len(attributes) == 0 {
		return ""
	}
	sum := md5.New() //nolint:gosec // See the import.
	field := func(value []byte) {
		// Writing to a hash never fails.
		_, _ = sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(value))))
		_, _ = sum.Write(value)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		field([]byte(name))
		field([]byte(a.DataType))
		transport := byte(1)
		if a.binary() {
			transport = 2
		}
		_, _ = sum.Write([]byte{transport})
		field(a.value())
	}
	return hex.EncodeToString(sum.Sum(nil))
}
