package ask

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
Spaces around operators don't count. A name that holds an operator or begins with a quote stands in quotes, with its own
quotes doubled: "days in stock" in 1,2 or "a<b"=3. The shell needs quotes of its own around: --filter '"a<b"=3'.`

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

// parseFilters reads all filters, and says of all that can't be read what is wrong, and once how they are written.
func parseFilters(texts []string) ([]snapshot.Filter, error) {
	var filters []snapshot.Filter
	var wrong []string
	for _, text := range texts {
		filter, err := ParseFilter(text)
		if err != nil {
			wrong = append(wrong, strings.TrimSuffix(err.Error(), helpBehind))
		}
		filters = append(filters, filter)
	}
	if wrong != nil {
		return nil, errors.New(strings.Join(wrong, "\n") + helpBehind)
	}
	return filters, nil
}

// ParseFilter reads one filter.
func ParseFilter(text string) (snapshot.Filter, error) {
	column, tail, closed := split(text)
	if !closed {
		return snapshot.Filter{}, refused(text, `begins with a quote, and the name that stands in it has no end; quotes of the name itself are doubled`)
	}
	tail = strings.TrimSpace(tail)
	filter, known, err := words(text, column, tail)
	for _, o := range operators() {
		if value, found := strings.CutPrefix(tail, o.text); found && !known && err == nil {
			known = true
			filter, err = comparison(text, column, o, strings.TrimSpace(value))
		}
	}
	switch {
	case err != nil:
		return snapshot.Filter{}, err
	case !known:
		return snapshot.Filter{}, refused(text, "has no operator")
	case column == "":
		return snapshot.Filter{}, refused(text, "names no column")
	}
	return filter, nil
}

// split finds the column's name at the head of a filter, and what comes behind it. A bare name ends before the first word
// or sign that is an operator; one in quotes holds what it likes.
func split(text string) (column, tail string, closed bool) {
	if quoted, is := strings.CutPrefix(strings.TrimSpace(text), `"`); is {
		name := regexp.MustCompile(`^(?:[^"]|"")*"`).FindString(quoted)
		return strings.ReplaceAll(strings.TrimSuffix(name, `"`), `""`, `"`), quoted[len(name):], name != ""
	}
	// A name may end in a word that is an operator too, and a value seldom looks like the end of a filter: that goes first.
	for _, word := range []string{`^([^=<>!]*[^=<>!\s])\s+is\s+(?:not\s+)?null\s*$`, `^([^=<>!]*?[^=<>!\s])\s+in(?:\s|$)`} {
		if found := regexp.MustCompile(word).FindStringSubmatch(text); found != nil {
			return strings.TrimSpace(found[1]), text[len(found[1]):], true
		}
	}
	for i := range len(text) {
		for _, o := range operators() {
			if strings.HasPrefix(text[i:], o.text) {
				return strings.TrimSpace(text[:i]), text[i:], true
			}
		}
	}
	return strings.TrimSpace(text), "", true
}

func comparison(text, column string, o operator, value string) (snapshot.Filter, error) {
	filter := snapshot.Filter{Column: column, Op: o.op, Value: quote(value)}
	if o.raw {
		if !json.Valid([]byte(value)) {
			return snapshot.Filter{}, refused(text, fmt.Sprintf("has %s after :=, which is not JSON; text needs quotes there, as in %s:=%s", value, column, quote(value)))
		}
		filter.Value = json.RawMessage(value)
	}
	return filter, nil
}

// words reads what comes behind a column when its operator is a word: in, is null, is not null.
func words(text, column, tail string) (filter snapshot.Filter, known bool, err error) {
	switch strings.Join(strings.Fields(tail), " ") {
	case "is null":
		return snapshot.Filter{Column: column, Op: row.IsNull}, true, nil
	case "is not null":
		return snapshot.Filter{Column: column, Op: row.NotNull}, true, nil
	}
	if !regexp.MustCompile(`^in(?:\s|$)`).MatchString(tail) {
		return snapshot.Filter{}, false, nil
	}
	filter = snapshot.Filter{Column: column, Op: row.In}
	filter.Values, err = listed(text, strings.TrimSpace(tail[len("in"):]))
	return filter, true, err
}

// listed reads the values of a list.
func listed(text, list string) (values []json.RawMessage, err error) {
	if list == "" {
		return nil, refused(text, "has no values")
	}
	if strings.HasPrefix(list, "[") && json.Unmarshal([]byte(list), &values) == nil {
		return values, nil
	}
	reader := csv.NewReader(strings.NewReader(list))
	reader.TrimLeadingSpace = true
	fields, err := reader.Read()
	if err != nil {
		return nil, refused(text, "has a list that can't be read: a value with a comma or quote needs quotes around it, and its own quotes doubled")
	}
	if _, err := reader.Read(); err == nil {
		return nil, refused(text, "has a line break outside quotes")
	}
	values = nil
	for _, field := range fields {
		if field == "" {
			return nil, refused(text, `has an empty value in its list; take the spare comma away, or write column in ["a",""] when empty text is meant`)
		}
		values = append(values, quote(field))
	}
	return values, nil
}

// quote renders text as a JSON string.
func quote(text string) json.RawMessage {
	// A string always marshals.
	value, _ := json.Marshal(text)
	return value
}

// helpBehind follows the last filter that can't be read.
const helpBehind = "; write one of these:\n" + FilterHelp

func refused(text, why string) error {
	return fmt.Errorf("the filter '%s' %s%s", text, why, helpBehind)
}
