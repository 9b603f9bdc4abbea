package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// canonicalValue turns a filter's JSON value into the canonical text of the column's kind, so that 5, 5.0 and "5" are
// one intent. The message of an error says what is allowed.
func canonicalValue(kind row.Kind, raw json.RawMessage) (string, error) {
	text, quoted, err := scalar(raw)
	if err != nil {
		return "", err
	}
	if len(text) > limits.FilterValueBytesMax {
		return "", fmt.Errorf("has %d bytes; at most %d are allowed", len(text), limits.FilterValueBytesMax)
	}
	switch kind {
	case row.String, row.JSON:
		if !quoted {
			return "", fmt.Errorf("is %s; the column holds text, so send a JSON string", job.Clip(text))
		}
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("holds a NUL character, which no text column can hold")
		}
		return text, nil
	case row.Bool:
		if text != "true" && text != "false" {
			return "", fmt.Errorf("is %s; the column is boolean, so send true or false", job.Clip(strings.TrimSpace(string(raw))))
		}
		return text, nil
	case row.Int64:
		return canonicalInt(text)
	case row.Decimal:
		return canonicalDecimal(text)
	case row.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.Trim(text, "0123456789.+-eE") != "" {
			return "", fmt.Errorf("is %q; the column holds floating point numbers", job.Clip(text))
		}
		return strconv.FormatFloat(number, 'g', -1, 64), nil
	case row.Date:
		day, err := time.Parse(time.DateOnly, text)
		if err != nil || !quoted {
			return "", fmt.Errorf("is %s; the column holds dates, so send \"YYYY-MM-DD\"", job.Clip(text))
		}
		return day.Format(time.DateOnly), nil
	case row.Timestamp:
		instant, err := parseInstant(text)
		if err != nil || !quoted {
			return "", fmt.Errorf("is %s; the column holds instants, so send RFC 3339 with an offset, as in \"2026-01-31T00:00:00Z\"", job.Clip(text))
		}
		return instant, nil
	case row.DateTime:
		wall, err := time.Parse("2006-01-02T15:04:05", text)
		if err != nil || !quoted || tooFine(text) {
			return "", fmt.Errorf("is %s; the column holds times without zone, so send \"YYYY-MM-DDTHH:MM:SS\"", job.Clip(text))
		}
		return wall.Format("2006-01-02T15:04:05.999999999"), nil
	case row.Bytes:
		return "", fmt.Errorf("is for a binary column, which can't be compared")
	}
	return "", fmt.Errorf("is for a column of unknown kind %q", kind)
}

// scalar reads a JSON string, number or boolean as text; numbers keep their spelling, so no digit is lost.
func scalar(raw json.RawMessage) (text string, quoted bool, err error) {
	trimmed := strings.TrimSpace(string(raw))
	switch {
	case trimmed == "" || trimmed == "null":
		return "", false, fmt.Errorf("is missing; for NULL use the op is_null or not_null without value")
	case trimmed[0] == '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", false, fmt.Errorf("is not a JSON string")
		}
		if strings.ContainsRune(text, utf8.RuneError) && !strings.ContainsRune(trimmed, utf8.RuneError) && !strings.Contains(strings.ToLower(trimmed), `\ufffd`) {
			return "", false, fmt.Errorf("holds half of a surrogate pair, which is no character")
		}
		return text, true, nil
	case trimmed[0] == '{' || trimmed[0] == '[':
		return "", false, fmt.Errorf("is a JSON %s; send one string, number or boolean", map[byte]string{'{': "object", '[': "list"}[trimmed[0]])
	}
	return trimmed, false, nil
}

func canonicalInt(text string) (string, error) {
	// 1e3 and 5.0 are whole numbers too; anything else must be spelled with digits only.
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(number, 10), nil
	}
	plain, err := canonicalDecimal(text)
	if err == nil && !strings.Contains(plain, ".") {
		if number, err := strconv.ParseInt(plain, 10, 64); err == nil {
			return strconv.FormatInt(number, 10), nil
		}
	}
	return "", fmt.Errorf("is %q; the column holds whole numbers from %d to %d", job.Clip(text), int64(-1<<63), int64(1<<63-1))
}

// exponentMax bounds how many zeros a decimal's exponent may ask for.
const exponentMax = 1000

func canonicalDecimal(text string) (string, error) {
	refused := fmt.Errorf("is %q; the column holds decimal numbers, as in 12.50 or \"12.50\"", job.Clip(text))
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > exponentMax || n < -exponentMax {
			return "", refused
		}
	}
	if strings.Trim(strings.TrimLeft(mantissa, "+-"), "0123456789.") != "" || len(strings.TrimLeft(mantissa, "+-.")) == 0 {
		return "", refused
	}
	number, ok := new(big.Rat).SetString(strings.ToLower(text))
	if !ok {
		return "", refused
	}
	// A text of digits and an exponent has a finite decimal expansion; its length is bounded by the text's.
	places, exact := number.FloatPrec()
	if !exact {
		return "", refused
	}
	plain := number.FloatString(places)
	if plain == "-0" {
		plain = "0"
	}
	return plain, nil
}

// tooFine reports whether a time has more than nine decimals of a second. Go passes over those behind the ninth.
func tooFine(text string) bool {
	const nanoDigits = 9
	_, decimals, _ := strings.Cut(strings.ReplaceAll(text, ",", "."), ".")
	return len(decimals)-len(strings.TrimLeft(decimals, "0123456789")) > nanoDigits
}

// parseInstant reads RFC 3339, no finer than nanoseconds, and renders it in UTC with what precision it has, trailing zeros cut.
func parseInstant(text string) (string, error) {
	if tooFine(text) {
		return "", errors.New("decimals behind the ninth")
	}
	return canonicalInstant(text)
}

// canonicalInstant is parseInstant for any precision, cut off behind the ninth decimal.
func canonicalInstant(text string) (string, error) {
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", err
	}
	if year := instant.UTC().Year(); year < 1 || year > 9999 {
		return "", fmt.Errorf("year %d", year)
	}
	return instant.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"), nil
}
