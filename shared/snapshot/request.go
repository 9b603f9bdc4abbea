package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	AsOf   string        `json:"as_of,omitempty"`
	Zone   string        `json:"zone,omitempty"`
	Format FormatRequest `json:"format,omitzero"`
	// Layout is file (one file, the default) or files (many files and a manifest).
	Layout   string `json:"layout,omitempty"`
	FileName string `json:"file_name,omitempty"`
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
	Encoding    string  `json:"encoding,omitempty"`
}

// Decode reads a request from JSON: at most limits.RequestBytesMax of valid UTF-8, one object, no unknown field, no
// field twice and every value of its type. An error is the Refusal of every fault of its shape. When those name fields,
// everything else is in the request and may be judged; a fault without a field is of the whole, and there is no request.
func Decode(text []byte) (Request, error) {
	if len(text) > limits.RequestBytesMax {
		return Request{}, &job.Error{Kind: job.Invalid, Code: "request_too_large",
			Detail: fmt.Sprintf("the request has %d bytes; at most %d are allowed", len(text), limits.RequestBytesMax)}
	}
	if !utf8.Valid(text) {
		return Request{}, malformed("the request is not valid UTF-8; send JSON in UTF-8")
	}
	tree, shape, err := inspect(text)
	if err != nil {
		return Request{}, err
	}
	if len(shape) > 0 {
		// What is faulty is not in the tree, which otherwise says what the text does. It was read from JSON and marshals.
		text, _ = json.Marshal(tree)
	}
	var request Request
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return Request{}, malformed("the request is not a JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return request, shape.Refusal()
}

// codeMalformed is the code of a request that has not the shape of one.
const codeMalformed = "request_malformed"

func malformed(format string, args ...any) error {
	return &job.Error{Kind: job.Invalid, Code: codeMalformed, Detail: fmt.Sprintf(format, args...)}
}
