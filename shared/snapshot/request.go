package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Request is what an applicant asks for, as it arrives. Who asks and for which tenant is never part of it.
type Request struct {
	Definition string   `json:"definition"`
	Purpose    string   `json:"purpose"`
	Columns    []string `json:"columns,omitempty"`
	Filters    []Filter `json:"filters,omitempty"`
	Span       Span     `json:"span,omitzero"`
	// AsOf is the cutoff in business time; absent means the moment of creation.
	AsOf     string        `json:"as_of,omitempty"`
	Zone     string        `json:"zone,omitempty"`
	Format   FormatRequest `json:"format,omitzero"`
	FileName string        `json:"file_name,omitempty"`
}

// Filter is one restriction as asked for: value for the comparisons, values for in.
type Filter struct {
	Column string            `json:"column"`
	Op     row.Op            `json:"op"`
	Value  json.RawMessage   `json:"value,omitempty"`
	Values []json.RawMessage `json:"values,omitempty"`
}

// Span is the business time asked for, from inclusive, to exclusive.
type Span struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// FormatRequest is how the file shall be written; absent fields take the definition's and the formats' defaults.
type FormatRequest struct {
	Type        string  `json:"type,omitempty"`
	Compression string  `json:"compression,omitempty"`
	Delimiter   string  `json:"delimiter,omitempty"`
	Quote       string  `json:"quote,omitempty"`
	LineEnd     string  `json:"line_end,omitempty"`
	Header      *bool   `json:"header,omitempty"`
	BOM         bool    `json:"bom,omitempty"`
	Null        *string `json:"null,omitempty"`
}

// Decode reads a request from JSON: at most limits.RequestBytesMax of valid UTF-8, one object, no unknown field and no
// field twice. Every error is Invalid and names the field.
func Decode(text []byte) (Request, error) {
	if len(text) > limits.RequestBytesMax {
		return Request{}, &job.Error{Kind: job.Invalid, Code: "request_too_large",
			Detail: fmt.Sprintf("the request has %d bytes; at most %d are allowed", len(text), limits.RequestBytesMax)}
	}
	if !utf8.Valid(text) {
		return Request{}, malformed("", "the request is not valid UTF-8; send JSON in UTF-8")
	}
	if err := refuseTwice(text); err != nil {
		return Request{}, err
	}
	var request Request
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return Request{}, explain(err)
	}
	return request, nil
}

func malformed(field, format string, args ...any) error {
	return &job.Error{Kind: job.Invalid, Code: "request_malformed", Field: field, Detail: fmt.Sprintf(format, args...)}
}

func explain(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		field := "/" + strings.ReplaceAll(wrongType.Field, ".", "/")
		return malformed(field, "%s is a JSON %s; it must be a %s", field, wrongType.Value, jsonType(wrongType.Type.Kind().String()))
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		field := "/" + strings.Trim(name, `"`)
		return malformed(field, "the request has a field %s that does not exist; allowed are definition, purpose, columns, filters, span, as_of, zone, format and file_name", name)
	}
	return malformed("", "the request is not a JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func jsonType(kind string) string {
	switch kind {
	case "slice":
		return "list"
	case "struct", "map":
		return "object"
	case "bool":
		return "boolean"
	}
	return kind
}

// refuseTwice walks the tokens and refuses an object that names a field twice, which readers would understand
// differently, anything after the first value, and nesting that no request needs.
func refuseTwice(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := walk(decoder, "", 0); err != nil {
		var refused *job.Error
		if errors.As(err, &refused) {
			return err
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return malformed("", "the request ends in the middle of its JSON; send the whole object")
		}
		return malformed("", "the request is not JSON: %s (at byte %d)", strings.TrimPrefix(err.Error(), "json: "), decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("", "there is more after the request's JSON object (at byte %d)", decoder.InputOffset())
	}
	return nil
}

const nestingMax = 8

func walk(decoder *json.Decoder, where string, depth int) error {
	if depth > nestingMax {
		return malformed(where, "the request is nested deeper than %d levels", nestingMax)
	}
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			field := where + "/" + name
			if seen[name] {
				return malformed(field, "the field %s is given twice", field)
			}
			seen[name] = true
			if err := walk(decoder, field, depth+1); err != nil {
				return err
			}
		}
		_, err = decoder.Token()
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if err := walk(decoder, fmt.Sprintf("%s/%d", where, i), depth+1); err != nil {
				return err
			}
		}
		_, err = decoder.Token()
	}
	return err
}
