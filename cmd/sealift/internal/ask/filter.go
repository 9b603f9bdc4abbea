package ask

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"

	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// FilterHelp says how a filter is written.
const FilterHelp = `  column=text  column!=text  column<text  column<=text  column>text  column>=text
      The value is sent as text, which columns of every kind take: numbers, dates and times keep every digit.
  column:=JSON
      The value is sent as it is: note:=" x" for text with spaces at its ends.
  column in a,b,"c,d"    column in ["a","b"]
      One of several values, comma-separated with quotes as in CSV, or a JSON list. Empty text needs the JSON list.
  column is null    column is not null
Spaces around operators don't count. A column whose name holds an operator needs --request.`

// operator is one way to write a comparison.
type operator struct {
	text string
	op   row.Op
	raw  bool
}

// operators are in the order in which they are tried at one place, the longer before what they begin with.
func operators() []operator {
	return []operator{
		{":=", row.Equal, true}, {"!=", row.NotEqual, false}, {"<=", row.LessEqual, false}, {">=", row.GreaterEqual, false},
		{"=", row.Equal, false}, {"<", row.Less, false}, {">", row.Greater, false},
	}
}

// Signs names the API's comparisons as a filter writes them.
func Signs() map[string]string {
	signs := map[string]string{string(row.IsNull): "is null", string(row.NotNull): "is not null"}
	for _, o := range operators() {
		if !o.raw {
			signs[string(o.op)] = o.text
		}
	}
	return signs
}

// ParseFilter reads one filter.
func ParseFilter(text string) (snapshot.Filter, error) {
	if filter, ok, err := parseWords(text); ok || err != nil {
		return filter, err
	}
	for i := range len(text) {
		for _, o := range operators() {
			if value, found := strings.CutPrefix(text[i:], o.text); found {
				return comparison(text, strings.TrimSpace(text[:i]), o, strings.TrimSpace(value))
			}
		}
	}
	return snapshot.Filter{}, refused(text, "has no operator")
}

func comparison(text, column string, o operator, value string) (snapshot.Filter, error) {
	if column == "" {
		return snapshot.Filter{}, refused(text, "names no column")
	}
	filter := snapshot.Filter{Column: column, Op: o.op, Value: quote(value)}
	if o.raw {
		if !json.Valid([]byte(value)) {
			return snapshot.Filter{}, refused(text, fmt.Sprintf("has %q after :=, which is not JSON; text needs quotes there, as in column:=\"text\"", value))
		}
		filter.Value = json.RawMessage(value)
	}
	return filter, nil
}

// parseWords reads the filters whose operator is a word: in, is null, is not null. The word must come before any other
// operator, so that note="is null" is a comparison.
func parseWords(text string) (filter snapshot.Filter, ok bool, err error) {
	head := text
	if at := strings.IndexAny(text, "=<>!"); at >= 0 {
		head = text[:at]
	}
	fields := strings.Fields(text)
	switch {
	case len(fields) == 3 && fields[1] == "is" && fields[2] == "null":
		return snapshot.Filter{Column: fields[0], Op: row.IsNull}, true, nil
	case len(fields) == 4 && fields[1] == "is" && fields[2] == "not" && fields[3] == "null":
		return snapshot.Filter{Column: fields[0], Op: row.NotNull}, true, nil
	}
	words := strings.Fields(head)
	if len(words) < 2 || words[1] != "in" {
		return snapshot.Filter{}, false, nil
	}
	_, list, _ := strings.Cut(strings.TrimSpace(text)[len(words[0]):], "in")
	list = strings.TrimSpace(list)
	if list == "" {
		return snapshot.Filter{}, false, refused(text, "has no values")
	}
	filter = snapshot.Filter{Column: words[0], Op: row.In}
	if strings.HasPrefix(list, "[") && json.Unmarshal([]byte(list), &filter.Values) == nil {
		return filter, true, nil
	}
	reader := csv.NewReader(strings.NewReader(list))
	reader.TrimLeadingSpace = true
	values, err := reader.Read()
	if err != nil {
		return snapshot.Filter{}, false, refused(text, "has a list that can't be read: a value with a comma or quote needs quotes around it, and its own quotes doubled")
	}
	if _, err := reader.Read(); err == nil {
		return snapshot.Filter{}, false, refused(text, "has a line break outside quotes")
	}
	for _, value := range values {
		if value == "" {
			return snapshot.Filter{}, false, refused(text, `has an empty value in its list; take the spare comma away, or write column in ["a",""] when empty text is meant`)
		}
		filter.Values = append(filter.Values, quote(value))
	}
	return filter, true, nil
}

// quote renders text as a JSON string.
func quote(text string) json.RawMessage {
	// A string always marshals.
	value, _ := json.Marshal(text)
	return value
}

func refused(text, why string) error {
	return fmt.Errorf("the filter %q %s; write one of these:\n%s", text, why, FilterHelp)
}
