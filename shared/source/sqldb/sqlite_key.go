package sqldb

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// keyForm is how one key column is written in a file. SQLite compares what is stored, so a key or a bound must be
// turned back into exactly the stored form, and text sorts as its values do in one form only. Therefore all keys of a
// tenant have to share one form, which the first row tells, Plan proves and Read checks row by row.
type keyForm struct {
	known   bool
	integer bool
	unit    row.Unit
	// separator and suffix surround the time of day in text: 'T' and 'Z', or ' ' and 0.
	separator, suffix byte
	// whole and fraction count the digits of a decimal before and after its dot; fraction also those of a second.
	whole, fraction int
}

// formOf tells the form of a value that appendSQLite has accepted, unless text in that form doesn't sort as its values.
func formOf(v sqliteValue, column row.Column) (keyForm, fault) {
	f := keyForm{known: true, integer: v.class == sqlite3.SQLITE_INTEGER}
	switch {
	case f.integer:
		f.unit = column.Unit
	case column.Kind.Timed():
		f.separator = v.bytes[10]
		suffix := v.bytes[19:]
		if len(suffix) > 0 && suffix[0] == '.' {
			digits := bytes.TrimLeft(suffix[1:], "0123456789")
			f.fraction = len(suffix) - 1 - len(digits)
			suffix = digits
		}
		if len(suffix) > 1 {
			f.suffix = suffix[0]
			return f, faultOffset
		}
		if len(suffix) == 1 {
			f.suffix = suffix[0]
		}
	case column.Kind == row.Decimal:
		if v.bytes[0] == '-' {
			return f, faultNegative
		}
		f.whole = len(v.bytes)
		if dot := bytes.IndexByte(v.bytes, '.'); dot >= 0 {
			f.whole, f.fraction = dot, len(v.bytes)-dot-1
		}
	}
	return f, faultNone
}

// appendKey writes the canonical text of key column v, UTC for instants, and checks its form, taking it from the first
// value it sees.
func (f *keyForm) appendKey(dst []byte, v sqliteValue, column row.Column, utc *zone) ([]byte, fault) {
	if v.class == sqlite3.SQLITE_NULL {
		return dst, faultNull
	}
	if column.Kind == row.String && v.class != sqlite3.SQLITE_TEXT {
		return dst, faultClass
	}
	dst, wrong := appendSQLite(dst, v, column, utc)
	if wrong != faultNone {
		return dst, wrong
	}
	form, wrong := formOf(v, column)
	if wrong != faultNone {
		return dst, wrong
	}
	if !f.known {
		*f = form
	} else if form != *f {
		return dst, faultForm
	}
	return dst, faultNone
}

// String describes the form for people: INTEGER, or the layout of the text.
func (f keyForm) String() string {
	switch {
	case f.integer:
		return "INTEGER"
	case f.separator != 0:
		text := "TEXT YYYY-MM-DD" + string(f.separator) + "hh:mm:ss"
		if f.fraction > 0 {
			text += "." + strings.Repeat("f", f.fraction)
		}
		switch f.suffix {
		case 0:
		case '+', '-':
			text += string(f.suffix) + "hh:mm"
		default:
			text += string(f.suffix)
		}
		return text
	case f.whole > 0 && f.fraction > 0:
		return fmt.Sprintf("TEXT of %d digits, a dot and %d digits", f.whole, f.fraction)
	case f.whole > 0:
		return fmt.Sprintf("TEXT of %d digits", f.whole)
	}
	return "TEXT"
}

// pattern is a GLOB that matches the text of this form and nothing else.
func (f keyForm) pattern(kind row.Kind) string {
	digits := func(count int) string { return strings.Repeat("[0-9]", count) }
	text := digits(4) + "-" + digits(2) + "-" + digits(2)
	switch {
	case kind == row.Decimal:
		text = digits(f.whole)
	case kind.Timed():
		text += string(f.separator) + digits(2) + ":" + digits(2) + ":" + digits(2)
	}
	if f.fraction > 0 {
		text += "." + digits(f.fraction)
	}
	if f.suffix != 0 {
		text += string(f.suffix)
	}
	return text
}

// arg turns canonical text back into what is stored.
func (f *keyForm) arg(column row.Column, canonical string) (arg, error) {
	bad := func() (arg, error) {
		return arg{}, queryInvalid("a bound on key column %s isn't canonical text of kind %s in the form that the column is stored in (%s)",
			column.Source, column.Kind, f)
	}
	switch column.Kind {
	case row.Int64:
		n, err := strconv.ParseInt(canonical, 10, 64)
		if err != nil {
			return bad()
		}
		return arg{kind: argInteger, integer: n}, nil
	case row.Decimal:
		if !plainDecimal([]byte(canonical)) {
			return bad()
		}
		if !f.integer {
			return arg{text: canonical}, nil
		}
		n, err := strconv.ParseInt(canonical, 10, 64)
		if err != nil {
			return bad()
		}
		return arg{kind: argInteger, integer: n}, nil
	case row.Timestamp, row.DateTime:
		at, ok := parseInstant(canonical)
		if !ok {
			return bad()
		}
		stored, exact := f.instant(at)
		if !exact {
			return bad()
		}
		return stored, nil
	case row.String, row.Date:
		return arg{text: canonical}, nil
	case row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return bad()
}

// instant is the last stored value that isn't after at; exact says that it is at itself.
func (f *keyForm) instant(at instant) (stored arg, exact bool) {
	if f.integer {
		n, exact := at.count(f.unit)
		return arg{kind: argInteger, integer: n}, exact
	}
	if !f.known {
		// No row tells the form, so none will be compared either.
		return arg{text: f.text(at)}, true
	}
	fraction, exact := at.cut(f.fraction)
	return arg{text: f.text(instant{unix: at.unix, fraction: fraction})}, exact
}

func (f *keyForm) text(at instant) string {
	c := civilOf(at.unix)
	c.fraction = at.fraction
	separator := f.separator
	if separator == 0 {
		separator = ' '
	}
	text := string(c.append(nil, separator))
	if f.suffix != 0 {
		text += string(f.suffix)
	}
	return text
}

// timeCondition compares an instant column that is written in this form with a bound, exactly and so that an index can
// serve it. A bound between two storable values gives way to the one on its outer side, so that a number with a fraction,
// which is no time, is let through to be refused where it is read.
func (f *keyForm) timeCondition(b *builder, column row.Column, op string, at instant) string {
	stored, exact := f.instant(at)
	switch {
	case exact:
	case op == ">=":
		op = ">"
	case f.integer:
		stored.integer++
	default:
		op = "<="
	}
	return quoteColumn(column) + " " + op + " " + b.bind(stored)
}

// instant is a canonical Timestamp, or a DateTime taken as if it were UTC.
type instant struct {
	unix     int64
	fraction []byte
}

func parseInstant(canonical string) (instant, bool) {
	c, _, rest, ok := parseCivil([]byte(canonical))
	if !ok {
		return instant{}, false
	}
	offset, ok := parseOffset(rest)
	return instant{unix: c.unix() - int64(offset), fraction: c.fraction}, ok
}

// cut is the fraction in exactly so many digits, and whether that lost none but zeros.
func (i instant) cut(digits int) (fraction []byte, exact bool) {
	fraction = bytes.Clone(i.fraction)
	for len(fraction) < digits {
		fraction = append(fraction, '0')
	}
	return fraction[:digits], len(bytes.Trim(fraction[digits:], "0")) == 0
}

// count is the whole units up to the instant, and whether they reach it.
func (i instant) count(unit row.Unit) (n int64, exact bool) {
	fraction, exact := i.cut(unit.Digits())
	part, _ := digits(fraction)
	return i.unix*perSecond(unit) + int64(part), exact
}

// perSecond is how many of the unit make a second.
func perSecond(unit row.Unit) int64 {
	n := int64(1)
	for range unit.Digits() {
		n *= 10
	}
	return n
}

// utcZone renders keys.
func utcZone() *zone { return &zone{location: time.UTC} }
