package sqldb

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"sealift/shared/row"
)

// The dialect of MySQL and MariaDB. A parameter's text is a finished literal and finish puts it in its marker's place.
// Text and bytes are written in hexadecimal, numbers and times are checked to be nothing else, so that no value can end
// its literal.

// bytewiseDigits is how many digits of a decimal the server compares exactly.
const bytewiseDigits = 65

// marker stands between NUL bytes, which no name has.
func (s *mysqlSource) marker(n int) string { return "\x00" + strconv.Itoa(n) + "\x00" }

// finish is the statement's text with its literals.
func finish(st statement) string {
	pieces := strings.Split(st.text, "\x00")
	for i := 1; i < len(pieces); i += 2 {
		n, _ := strconv.Atoi(pieces[i])
		pieces[i] = st.args[n-1].text
	}
	return strings.Join(pieces, "")
}

// hint makes the server walk the index that orders by key, which it may leave for a scan and a sort otherwise.
func (s *mysqlSource) hint() string {
	if s.table == nil || s.table.index == "" {
		return ""
	}
	return " FORCE INDEX (" + quote(s.table.index) + ")"
}

// aside hides nothing: with the index given, the server takes the narrowest of all bounds.
func (s *mysqlSource) aside(condition string) string { return "(" + condition + ")" }

// rowValues spells the comparison out: indexes serve that and no row values.
func (s *mysqlSource) rowValues(left, right []string, op string) string {
	last := len(left) - 1
	text := left[last] + " " + op + " " + right[last]
	for i := last - 1; i >= 0; i-- {
		text = "(" + left[i] + " " + op[:1] + " " + right[i] + " OR " + left[i] + " = " + right[i] + " AND " + text + ")"
	}
	return text
}

func textLiteral(text string) arg { return arg{text: "_utf8mb4 " + bytesLiteral(text).text} }

func bytesLiteral(text string) arg { return arg{text: "x'" + hexText(text)[2:] + "'"} }

// bytewise is the SQL of a column's text as bytes: collations ignore case, accents or blanks at the end, bytes don't.
func bytewise(name string, t mysqlType) string {
	switch t.class {
	case classBinary:
		return "CAST(" + name + " AS BINARY)"
	case classBit:
		name = "LPAD(BIN(" + name + " + 0), " + strconv.Itoa(t.bits) + ", '0')"
	case classOther, classText, classChoice, classInteger, classYear, classDecimal, classFloat, classDouble, classDate, classTime,
		classDateTime, classTimestamp, classJSON:
	}
	return "CAST(CONVERT(" + name + " USING utf8mb4) AS BINARY)"
}

// tenant compares twice: as the column does, which an index serves, and bytewise. A whole number is compared once, as a
// number, when it is spelled as one; bytes are compared once too.
func (s *mysqlSource) tenant(b *builder) (string, error) {
	name, t := quoteColumn(b.query.TenantColumn), s.table.typeOf(b.query.TenantColumn)
	if t.class == classInteger || t.class == classDecimal {
		negative, whole, fraction, ok := canonicalDecimal(b.query.Tenant)
		if !ok || len(b.query.Tenant) > bytewiseDigits {
			return "1 = 0", nil
		}
		equal := name + " = " + b.bind(arg{text: b.query.Tenant})
		if t.class == classDecimal {
			return equal + " AND " + bytewise(name, t) + " = " + b.bind(bytesLiteral(b.query.Tenant)), nil
		}
		if whole == "" {
			whole = "0"
		}
		if negative {
			whole = "-" + whole
		}
		if fraction != "" || whole != b.query.Tenant {
			return "1 = 0", nil
		}
		return equal, nil
	}
	if t.class == classBinary {
		return name + " = " + b.bind(bytesLiteral(b.query.Tenant)), nil
	}
	if !utf8.ValidString(b.query.Tenant) {
		return "1 = 0", nil
	}
	return name + " = " + b.bind(textLiteral(b.query.Tenant)) + " AND " + bytewise(name, t) + " = " +
		b.bind(bytesLiteral(b.query.Tenant)), nil
}

func (s *mysqlSource) keyArg(q *row.Query, i int, canonical string) (arg, error) {
	literal, ok := mysqlLiteral(q.Key[i].Kind, canonical)
	if !ok {
		return arg{}, queryInvalid("a bound on key column %s isn't canonical text of kind %s", q.Key[i].Source, q.Key[i].Kind)
	}
	return literal, nil
}

// mysqlLiteral writes canonical text of an ordered kind; ok is false for text of another form. Times finer than the
// microseconds that the server keeps become the next microsecond.
func mysqlLiteral(kind row.Kind, canonical string) (literal arg, ok bool) {
	switch kind {
	case row.String:
		return textLiteral(canonical), utf8.ValidString(canonical)
	case row.Int64, row.Decimal:
		_, whole, fraction, ok := canonicalDecimal(canonical)
		return arg{text: canonical}, ok && len(whole)+len(fraction) <= bytewiseDigits
	case row.Date:
		_, rest, ok := parseDate([]byte(canonical))
		return arg{text: "DATE'" + canonical + "'"}, ok && len(rest) == 0
	case row.Timestamp, row.DateTime:
		exact, ok := microseconds(canonical)
		if !ok {
			return arg{}, false
		}
		at, _ := parseInstant(exact)
		c := civilOf(at.unix)
		c.fraction = at.fraction
		return arg{text: "TIMESTAMP'" + string(c.append(nil, ' ')) + "'"}, true
	case row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return arg{}, false
}

func (s *mysqlSource) time(b *builder, op, canonical string) (string, error) {
	literal, ok := mysqlLiteral(b.query.TimeColumn.Kind, canonical)
	if !ok {
		return "", queryInvalid("the bound on time column %s isn't canonical text of kind %s", b.query.TimeColumn.Source, b.query.TimeColumn.Kind)
	}
	return quoteColumn(b.query.TimeColumn) + " " + op + " " + b.bind(literal), nil
}

// filter compares text by its bytes, whatever the column's collation, and everything else by value, a FLOAT as the number
// that its few digits are. A number that is no bool satisfies neither true nor false.
func (s *mysqlSource) filter(b *builder, f row.Filter) (string, error) {
	left, t := quoteColumn(f.Column), s.table.typeOf(f.Column)
	if t.class == classFloat {
		var some bool
		if f, some = asReal(f); !some {
			return "1 = 0", nil
		}
	}
	switch {
	case f.Column.Kind == row.String:
		left = bytewise(left, t)
	case f.Column.Kind == row.Bytes:
		left = "CAST(" + left + " AS BINARY)"
	case t.class == classFloat:
		left = "(" + left + " + 0e0)"
	case t.class == classBit || t.class == classYear:
		left = "(" + left + " + 0)"
	}
	return compare(f, left, func(value string) (string, error) {
		if err := checkValue(f, value); err != nil {
			return "", err
		}
		var literal arg
		ok := true
		switch f.Column.Kind {
		case row.String:
			if t.small() {
				value = strings.ToLower(value)
			}
			literal = bytesLiteral(value)
		case row.Bytes:
			literal = bytesLiteral(value)
		case row.Bool:
			literal = arg{text: strconv.Itoa(strings.Count(value, "true"))}
		case row.Float64:
			literal, ok = floatLiteral(value, t)
		case row.Int64, row.Decimal, row.Date, row.Timestamp, row.DateTime:
			if literal, ok = mysqlLiteral(f.Column.Kind, value); !ok {
				return "", filterInvalid(f, "has a value of more digits than the 65 that MySQL compares exactly")
			}
			if at, timed := parseInstant(value); timed && f.Column.Kind.Timed() && len(strings.TrimRight(string(at.fraction), "0")) > 6 {
				return "", filterInvalid(f, "has a value finer than the microseconds that MySQL keeps")
			}
		case row.JSON:
		}
		if !ok {
			return "", filterInvalid(f, "has a value that MySQL can't compare with")
		}
		return b.bind(literal), nil
	})
}

// floatLiteral is the number as the column holds it: a FLOAT's canonical text is shorter than its value. What is beyond all
// FLOATs stays as it is.
func floatLiteral(value string, t mysqlType) (literal arg, ok bool) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) {
		return arg{}, false
	}
	if near, _ := nearestReal(value); t.class == classFloat && !math.IsInf(near, 0) {
		v = near
	}
	return arg{text: strconv.FormatFloat(v, 'e', -1, 64)}, true
}
