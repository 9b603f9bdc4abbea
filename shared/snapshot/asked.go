package snapshot

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"sealift/shared/policy"
)

// asked is a request as it was asked, in a canonical form that needs no definition: what it leaves to a default stays left
// out, so that the form is the same whatever a definition has become since.
type asked struct {
	Form       string        `json:"form"`
	Tenant     string        `json:"tenant"`
	Applicant  string        `json:"applicant"`
	Definition string        `json:"definition"`
	Purpose    string        `json:"purpose"`
	Columns    []string      `json:"columns"`
	Filters    []Wanted      `json:"filters"`
	From       string        `json:"from"`
	To         string        `json:"to"`
	AsOf       string        `json:"as_of"`
	Zone       string        `json:"zone"`
	Format     FormatRequest `json:"format"`
	Layout     string        `json:"layout"`
	FileName   string        `json:"file_name"`
}

// AskedDigest is the digest of the request in the words of whoever asked: spelling doesn't matter (the order of fields and
// filters, white space, how numbers and instants are written), and neither does any definition. An Idempotency-Key is bound
// to it beside RequestDigest. Two requests with one digest are the same intent; one intent has several when a default is
// spelled out, which only a definition can tell.
func (r Request) AskedDigest(who policy.Principal) string {
	form := asked{
		Form: "asked/1", Tenant: who.Tenant, Applicant: who.Subject, Definition: r.Definition, Purpose: strings.TrimSpace(r.Purpose), Columns: r.Columns,
		From: instantOr(r.Span.From), To: instantOr(r.Span.To), AsOf: instantOr(r.AsOf), Zone: cmp.Or(r.Zone, zoneDefault), Format: r.Format,
		Layout: cmp.Or(r.Layout, string(LayoutFile)), FileName: r.FileName,
	}
	for _, filter := range r.Filters {
		wanted := Wanted{Column: filter.Column, Op: filter.Op}
		for _, raw := range filter.Values {
			wanted.Values = append(wanted.Values, askedValue(raw))
		}
		if filter.Value != nil {
			wanted.Values = append(wanted.Values, askedValue(filter.Value))
		}
		form.Filters = append(form.Filters, wanted.sorted())
	}
	form.Filters = sorted(form.Filters)
	// The form holds text, booleans and lists only and always marshals.
	text, _ := json.Marshal(form)
	return digest(string(text))
}

// instantOr is an instant in UTC, whatever text stands for it. One finer than nanoseconds is cut off behind the ninth decimal: it
// is refused now, but was granted so, and the keys of that time go on to mean the same.
func instantOr(text string) string {
	if instant, err := canonicalInstant(text); err == nil {
		return instant
	}
	return text
}

// askedValue is a filter's value without the spelling of JSON. Text and number stay apart: only a column's kind tells
// whether they are the same.
func askedValue(raw json.RawMessage) string {
	text, quoted, err := scalar(raw)
	switch {
	case err != nil:
		return string(raw)
	case quoted:
		return strconv.Quote(text)
	}
	return plainNumber(text)
}

// plainNumber is a JSON number as its digits and the power of ten that they are multiplied by; other text is left alone. It
// isn't written out, because an exponent can be of any size.
func plainNumber(text string) string {
	mantissa, power, scaled := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if scaled {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return text
		}
	}
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return text
	}
	exponent -= len(fraction)
	significant := strings.TrimRight(strings.TrimLeft(digits, "0"), "0")
	if significant == "" {
		return "0"
	}
	exponent += len(digits) - len(strings.TrimRight(digits, "0"))
	if negative {
		significant = "-" + significant
	}
	return significant + "e" + strconv.Itoa(exponent)
}
