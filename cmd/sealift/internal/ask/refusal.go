package ask

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// Refusal is what the API says against a request: a stable code, the JSON pointer of the field at fault, and a detail
// for people that begins with a pointer.
type Refusal struct {
	Code, Field, Detail string
}

// Explain renders a refusal in the words that the person gave: flags where the API names fields of its JSON.
func (w Words) Explain(r Refusal) string {
	pointer := leading(r.Detail)
	if pointer == "" {
		return r.Detail
	}
	flag, part, known := w.flag(pointer)
	if !known {
		return r.Detail
	}
	rest := w.named(r.Detail[len(pointer):])
	_, allowed, listed := strings.Cut(rest, " doesn't have; ")
	switch {
	case r.Code == "column-unknown" && listed:
		return w.unknown(r.Detail) + "; " + allowed
	case r.Code == "column-twice":
		return flag + " is given twice; give it once"
	case r.Code == "definition-unknown" && w.Definition != "":
		return flag + " " + w.Definition + ": there is none of this name that you may export from\nsee those that you may with `sealift definitions list`"
	case part == comparisonPart:
		rest = ": " + part + w.inSigns(rest, pointer)
	case part != "":
		rest = ": " + part + rest
	}
	text := flag + rest
	switch r.Code {
	case "span-missing", "time-malformed", "span-within-day":
		text += "; " + dayHelp
	}
	if r.Code == "span-empty" && w.To == "" {
		text += "\nwithout --to the span ends at the cutoff: --as-of, or else now"
	}
	return text
}

// unknown says in flags which names a detail gives that there are no columns of, each with the pointer before it.
func (w Words) unknown(detail string) string {
	var given []string
	for _, found := range regexp.MustCompile(`(?:^|, | and )(/[a-z_]+(?:/[a-z_0-9]+)+) is "(?:[^"\\]|\\.)*"`).FindAllStringSubmatch(detail, -1) {
		if flag, _, known := w.flag(found[1]); known {
			given = append(given, flag)
		}
	}
	if more := regexp.MustCompile(` and (\d+) more are names, which`).FindStringSubmatch(detail); more != nil {
		given = append(given, more[1]+" more")
	}
	no := "no such column"
	if len(given) > 1 {
		no += "s"
	}
	return strings.Join(given, ", ") + ": definition " + w.Definition + " has " + no
}

// inSigns writes the comparisons of a text about a filter as --filter takes them. A column that is named like one keeps
// its name.
func (w Words) inSigns(text, pointer string) string {
	column := ""
	if i, ok := index(strings.Split(pointer, "/")[1:], len(w.Filters)); ok {
		if filter, err := ParseFilter(w.Filters[i]); err == nil {
			column = "column " + filter.Column + " "
		}
	}
	before, after, found := strings.Cut(text, column)
	if !found {
		return signed(text)
	}
	return signed(before) + column + signed(after)
}

func signed(text string) string {
	signs := Signs()
	return regexp.MustCompile(`[a-z_]+`).ReplaceAllStringFunc(text, func(word string) string {
		return cmp.Or(signs[word], word)
	})
}

// named says flags for the pointers inside of a text, but for what it quotes.
func (w Words) named(text string) string {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|/[a-z_]+(?:/[a-z_0-9]+)*`).ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		if flag, _, known := w.flag(found); known {
			return flag
		}
		return found
	})
}

// dayHelp says which other form the flags for times take.
const dayHelp = "a day such as 2026-01-31 is allowed too, and is its beginning in --zone"

// leading is the JSON pointer that a text begins with.
func leading(text string) string {
	return regexp.MustCompile(`^/[a-z_]+(/[a-z_0-9]+)*`).FindString(text)
}

// flag finds the flag that a pointer's value came from, and which part of it the pointer means, in words.
func (w Words) flag(pointer string) (flag, part string, known bool) {
	elements := strings.Split(pointer, "/")[1:]
	switch elements[0] {
	case "columns":
		if i, ok := index(elements, len(w.Columns)); ok {
			return "--column " + strconv.Quote(w.Columns[i]), "", true
		}
		return "--column", "", len(elements) == 1
	case "filters":
		i, ok := index(elements, len(w.Filters))
		if !ok {
			return "--filter", "", len(elements) == 1
		}
		return "--filter '" + w.Filters[i] + "'", filterPart(elements[2:]), true
	}
	flag, known = flags()[pointer]
	return flag, "", known
}

// index reads the number in the second element of a pointer.
func index(elements []string, count int) (int, bool) {
	if len(elements) < 2 {
		return 0, false
	}
	i, err := strconv.Atoi(elements[1])
	return i, err == nil && i >= 0 && i < count
}

// comparisonPart is what a filter's op is called.
const comparisonPart = "the comparison"

func filterPart(elements []string) string {
	if len(elements) == 0 {
		return ""
	}
	switch elements[0] {
	case "op":
		return comparisonPart
	case "column":
		return "the column"
	case "values":
		if i, ok := index(elements, 1<<30); ok {
			return "value " + strconv.Itoa(i+1) + " of the list"
		}
		return "the list"
	}
	return "the value"
}

// flags are the flags of the fields that have one each.
func flags() map[string]string {
	return map[string]string{
		"/definition": "--definition", "/purpose": "--purpose", "/span": "the time between --from and --to", "/span/from": "--from", "/span/to": "--to",
		"/as_of": "--as-of", "/zone": "--zone", "/file_name": "--file-name", "/layout": "--layout", "/format": "--format", "/format/type": "--format",
		"/format/compression": "--compression", "/format/delimiter": "--delimiter", "/format/quote": "--quote",
		"/format/line_end": "--line-end", "/format/header": "--header", "/format/bom": "--bom", "/format/null": "--null",
		"/format/encoding": "--encoding",
	}
}
