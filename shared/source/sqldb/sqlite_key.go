package sqldb

import (
	"bytes"
	"strconv"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// keyForm is how one key column is written in a file. SQLite compares what is stored, so a key must be turned back
// into exactly the stored form; therefore all keys of a table have to share one form, which the first row tells.
type keyForm struct {
	known   bool
	integer bool
	// separator and suffix surround the time of day in text: ' ' and "+00:00".
	separator byte
	suffix    string
	offset    int
}

// appendKey writes the canonical text of key column v, UTC for instants, and checks its form, taking it from the first
// value it sees.
func (f *keyForm) appendKey(dst []byte, v sqliteValue, kind row.Kind, utc *zone) ([]byte, fault) {
	if v.class == sqlite3.SQLITE_NULL {
		return dst, faultNull
	}
	if kind == row.String && v.class != sqlite3.SQLITE_TEXT {
		return dst, faultClass
	}
	dst, wrong := appendSQLite(dst, v, kind, utc)
	if wrong != faultNone {
		return dst, wrong
	}
	integer := v.class == sqlite3.SQLITE_INTEGER
	var separator byte
	var suffix []byte
	if !integer && (kind == row.Timestamp || kind == row.DateTime) {
		separator = v.bytes[10]
		suffix = v.bytes[19:]
		if len(suffix) > 0 && suffix[0] == '.' {
			suffix = bytes.TrimLeft(suffix[1:], "0123456789")
		}
	}
	if !f.known {
		*f = keyForm{known: true, integer: integer, separator: separator, suffix: string(suffix)}
		f.offset, _ = parseOffset(suffix)
		return dst, faultNone
	}
	if integer != f.integer || separator != f.separator || string(suffix) != f.suffix {
		return dst, faultForm
	}
	return dst, faultNone
}

// arg turns canonical text back into what is stored.
func (f *keyForm) arg(column row.Column, canonical string) (arg, error) {
	bad := func() (arg, error) {
		return arg{}, queryInvalid("a bound on key column %s isn't canonical text of kind %s", column.Source, column.Kind)
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
		return f.instant(at), nil
	case row.String, row.Date:
		return arg{text: canonical}, nil
	case row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return bad()
}

func (f *keyForm) instant(at instant) arg {
	if f.integer {
		return arg{kind: argInteger, integer: at.milliseconds()}
	}
	return arg{text: f.text(at) + f.suffix}
}

// text is the stored form without its suffix.
func (f *keyForm) text(at instant) string {
	c := civilOf(at.unix + int64(f.offset))
	c.fraction = at.fraction
	separator := f.separator
	if separator == 0 {
		separator = ' '
	}
	return string(c.append(nil, separator))
}

// timeCondition compares an instant column that is written in this form with a bound, exactly and so that an index
// can serve it. Fractions may be of any length: '10:00:00' sorts before '10:00:00.5' and a bound without suffix and
// trailing zeros before every text of its instant. Only a trailing Z, which sorts after the digits, has to be trimmed
// off, and then whole seconds serve the index.
func (f *keyForm) timeCondition(b *builder, column row.Column, op string, at instant) string {
	name := quoteColumn(column)
	if f.integer {
		return name + " " + op + " " + b.bind(arg{kind: argInteger, integer: at.millisecondsUp()})
	}
	at.fraction = bytes.TrimRight(at.fraction, "0")
	exact := b.bind(arg{text: f.text(at)})
	if len(at.fraction) == 0 || (f.suffix != "Z" && f.suffix != "z") {
		return name + " " + op + " " + exact
	}
	whole := instant{unix: at.unix}
	if op == "<" {
		whole.unix++
	}
	return name + " " + op + " " + b.bind(arg{text: f.text(whole)}) + " AND rtrim(" + name + ", 'Zz') " + op + " " + exact
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

// milliseconds cuts the instant to whole milliseconds; millisecondsUp rounds it up.
func (i instant) milliseconds() int64 {
	fraction := append(bytes.Clone(i.fraction), "000"...)
	milli, _ := digits(fraction[:3])
	return i.unix*1000 + int64(milli)
}

func (i instant) millisecondsUp() int64 {
	if len(i.fraction) > 3 && len(bytes.Trim(i.fraction[3:], "0")) > 0 {
		return i.milliseconds() + 1
	}
	return i.milliseconds()
}

// utcZone renders keys.
func utcZone() *zone { return &zone{location: time.UTC} }
