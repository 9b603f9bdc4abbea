package value

import (
	"math/big"
	"strconv"
	"strings"
)

// The bounds of a DynamoDB number: 38 significant digits, magnitudes from 1E-130 up to
// 9.9999999999999999999999999999999999999E+125.
const (
	digitsMax   = 38
	exponentMax = 126
	exponentMin = -129
	// numberTextMax bounds the spelling that is parsed at all; the longest sensible one
	// (a full plain rendering of the smallest number) is far shorter.
	numberTextMax = 1024
)

// Decimal is an exact decimal number, ±0.DIGITS × 10^exp, in one canonical form: no
// leading and no trailing zero digit, and zero has no digits. Two numerically equal
// decimals are therefore equal with ==.
type Decimal struct {
	digits   string
	exp      int16
	negative bool
}

// ParseDecimal reads a number as DynamoDB spells it in JSON (plain or scientific).
func ParseDecimal(text string) (Decimal, error) {
	if text == "" {
		return Decimal{}, invalid("The parameter cannot be converted to a numeric value")
	}
	if len(text) > numberTextMax {
		return Decimal{}, invalid("Attempting to store more than 38 significant digits in a Number")
	}
	mantissa, exponent, ok := splitNumber(text)
	if !ok {
		return Decimal{}, invalid("The parameter cannot be converted to a numeric value: " + text)
	}
	negative := false
	switch mantissa[0] {
	case '-':
		negative, mantissa = true, mantissa[1:]
	case '+':
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return newDecimal(negative, whole+fraction, exponent+len(whole))
}

// splitNumber checks the spelling and returns the signed mantissa and the exponent.
// Exponents beyond any possible number are clipped, so that they still overflow or underflow.
func splitNumber(text string) (mantissa string, exponent int, ok bool) {
	mantissa = text
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		power := text[at+1:]
		unsigned := strings.TrimLeft(power, "+-")
		if unsigned == "" || len(power)-len(unsigned) > 1 || !allDigits(unsigned) {
			return "", 0, false
		}
		parsed, err := strconv.Atoi(power)
		if err != nil || parsed > 100_000 || parsed < -100_000 {
			parsed = 100_000
			if power[0] == '-' {
				parsed = -100_000
			}
		}
		exponent = parsed
	}
	unsigned := mantissa
	if unsigned != "" && (unsigned[0] == '-' || unsigned[0] == '+') {
		unsigned = unsigned[1:]
	}
	whole, fraction, _ := strings.Cut(unsigned, ".")
	if whole+fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return "", 0, false
	}
	return mantissa, exponent, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// newDecimal brings ±0.digits × 10^exp to the canonical form and checks the bounds.
func newDecimal(negative bool, digits string, exp int) (Decimal, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return Decimal{}, nil
	case exp > exponentMax:
		return Decimal{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exp < exponentMin:
		return Decimal{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(trimmed) > digitsMax:
		return Decimal{}, invalid("Attempting to store more than 38 significant digits in a Number")
	}
	return Decimal{digits: trimmed, exp: int16(exp), negative: negative}, nil
}

// String renders the number in plain notation, as DynamoDB returns it.
func (d Decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	exp := int(d.exp)
	switch {
	case exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -exp))
		b.WriteString(d.digits)
	case exp >= len(d.digits):
		b.WriteString(d.digits)
		b.WriteString(strings.Repeat("0", exp-len(d.digits)))
	default:
		b.WriteString(d.digits[:exp])
		b.WriteByte('.')
		b.WriteString(d.digits[exp:])
	}
	return b.String()
}

// Compare orders two numbers by magnitude and sign: -1, 0 or +1.
func (d Decimal) Compare(o Decimal) int {
	if d.sign() != o.sign() {
		return sign(d.sign() - o.sign())
	}
	magnitude := int(d.exp) - int(o.exp)
	if magnitude == 0 {
		magnitude = strings.Compare(d.digits, o.digits)
	}
	return sign(magnitude) * d.sign()
}

func (d Decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	default:
		return 0
	}
}

// Add returns the exact sum; a sum outside DynamoDB's bounds is an error.
func (d Decimal) Add(o Decimal) (Decimal, error) {
	if d.digits == "" {
		return o, nil
	}
	if o.digits == "" {
		return d, nil
	}
	low := min(d.lowest(), o.lowest())
	sum := new(big.Int).Add(d.scaled(low), o.scaled(low))
	text := sum.String()
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	return newDecimal(negative, text, low+len(text))
}

// Sub returns the exact difference; one outside DynamoDB's bounds is an error.
func (d Decimal) Sub(o Decimal) (Decimal, error) {
	if o.digits != "" {
		o.negative = !o.negative
	}
	return d.Add(o)
}

// Int64 returns the whole part when it fits.
func (d Decimal) Int64() (int64, bool) {
	whole, _, _ := strings.Cut(d.String(), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil
}

// lowest is the power of ten of the last digit.
func (d Decimal) lowest() int { return int(d.exp) - len(d.digits) }

func (d Decimal) scaled(low int) *big.Int {
	text := d.digits + strings.Repeat("0", d.lowest()-low)
	if d.negative {
		text = "-" + text
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// size is the number of bytes DynamoDB counts for the number.
func (d Decimal) size() int {
	if d.digits == "" {
		return 1
	}
	bytes := (len(d.digits)+1)/2 + 1
	if d.negative {
		bytes++
	}
	return bytes
}

const (
	orderNegative = 0x01
	orderZero     = 0x02
	orderPositive = 0x03
)

// appendOrdered appends an encoding whose byte order is the numeric order, which ends by
// itself and which is one byte string for all spellings of a number: a sign byte, the
// biased exponent, two digits a byte (plus one), and a zero byte. Negative numbers have all
// bytes after the sign inverted.
func (d Decimal) appendOrdered(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, orderZero)
	}
	flip := byte(0)
	if d.negative {
		flip = 0xFF
		dst = append(dst, orderNegative)
	} else {
		dst = append(dst, orderPositive)
	}
	dst = append(dst, byte(int(d.exp)-exponentMin)^flip)
	for i := 0; i < len(d.digits); i += 2 {
		pair := (d.digits[i] - '0') * 10
		if i+1 < len(d.digits) {
			pair += d.digits[i+1] - '0'
		}
		dst = append(dst, (pair+1)^flip)
	}
	return append(dst, flip)
}

// readOrdered reads what appendOrdered wrote and returns the rest.
func readOrdered(src []byte) (Decimal, []byte, error) {
	if len(src) == 0 {
		return Decimal{}, nil, errCorrupt
	}
	if src[0] == orderZero {
		return Decimal{}, src[1:], nil
	}
	if len(src) < 3 || src[0] != orderNegative && src[0] != orderPositive {
		return Decimal{}, nil, errCorrupt
	}
	flip := byte(0)
	if src[0] == orderNegative {
		flip = 0xFF
	}
	exp := int16(src[1]^flip) + exponentMin
	var digits [digitsMax]byte
	n := 0
	for i := 2; i < len(src); i++ {
		pair := src[i] ^ flip
		if pair == 0 {
			text := strings.TrimRight(string(digits[:n]), "0")
			if text == "" || text[0] == '0' {
				return Decimal{}, nil, errCorrupt
			}
			return Decimal{digits: text, exp: exp, negative: flip != 0}, src[i+1:], nil
		}
		if n+2 > digitsMax || pair > 100 {
			return Decimal{}, nil, errCorrupt
		}
		digits[n], digits[n+1] = '0'+(pair-1)/10, '0'+(pair-1)%10
		n += 2
	}
	return Decimal{}, nil, errCorrupt
}

func newDecimalInt(n int64) (Decimal, error) {
	return ParseDecimal(strconv.FormatInt(n, 10))
}
