package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"sealift/shared/job"
)

// inspect holds a request's text to the shape of Request before it is decoded, so that every refusal names the exact
// place. It refuses what readers would understand differently: a field twice, a field in another spelling (encoding/json
// ignores case), anything after the first value; and values of another type, null included.
func inspect(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := inspectValue(decoder, "", reflect.TypeFor[Request]()); err != nil {
		if errors.As(err, new(*json.SyntaxError)) {
			return malformed("", "the request is not JSON: %s (at byte %d)", err, decoder.InputOffset())
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return malformed("", "the request ends in the middle of its JSON; send the whole object")
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("", "there is more after the request's JSON object (at byte %d); send one object", decoder.InputOffset())
	}
	return nil
}

// inspectValue reads the next value, which stands at the JSON pointer where and must fit the type.
func inspectValue(decoder *json.Decoder, where string, want reflect.Type) error {
	if want == reflect.TypeFor[json.RawMessage]() {
		// A filter's value: its type depends on the column, which Freeze knows.
		var any json.RawMessage
		return decoder.Decode(&any)
	}
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	found, wanted := tokenType(token), jsonType(want.Kind())
	if found != wanted {
		return malformed(where, "%s is a JSON %s; it must be a JSON %s", place(where), found, wanted)
	}
	switch found {
	case "object":
		return inspectObject(decoder, where, want)
	case "list":
		return inspectList(decoder, where, want.Elem())
	}
	return nil
}

func inspectObject(decoder *json.Decoder, where string, want reflect.Type) error {
	fields := fieldsOf(want)
	var names, seen []string
	for _, field := range fields {
		names = append(names, field.name)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		at := slices.Index(names, name)
		if at < 0 {
			pointer := where + "/" + pointerEscape(job.Clip(name))
			return malformed(pointer, "%s does not exist; %s has the fields %s", pointer, place(where), quoted(names))
		}
		pointer := where + "/" + name
		if slices.Contains(seen, name) {
			return malformed(pointer, "%s is given twice; give it once", pointer)
		}
		seen = append(seen, name)
		if err := inspectValue(decoder, pointer, fields[at].want); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

func inspectList(decoder *json.Decoder, where string, want reflect.Type) error {
	for i := 0; decoder.More(); i++ {
		if err := inspectValue(decoder, fmt.Sprintf("%s/%d", where, i), want); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

type namedField struct {
	name string
	want reflect.Type
}

// fieldsOf lists the JSON fields of a request's struct.
func fieldsOf(want reflect.Type) []namedField {
	fields := make([]namedField, want.NumField())
	for i := range fields {
		name, _, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		fields[i] = namedField{name: name, want: want.Field(i).Type}
	}
	return fields
}

// tokenType names the JSON type that a token begins.
func tokenType(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return "object"
		}
		return "list"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// jsonType names the JSON type that a Go kind is read from.
func jsonType(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "boolean"
	default:
		return "string"
	}
}

// place names a JSON pointer in words.
func place(where string) string {
	if where == "" {
		return "the request"
	}
	return where
}

// pointerEscape renders a name as a segment of a JSON pointer (RFC 6901).
func pointerEscape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
