package template

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readParameters gives every declared parameter its value, checked by the rules it declares.
func readParameters(r *reader, root *fields) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	section := root.inner("Parameters")
	for _, e := range section.entries() {
		f := r.fields(e.value, "parameter "+e.key.Value)
		if value := readParameter(r, f, e.key.Value); value != nil {
			out[e.key.Value] = value
		}
		f.done()
	}
	for _, name := range slices.Sorted(maps.Keys(r.opt.Parameters)) {
		if lookup(section.node, name) == nil {
			r.fault(section.line(), "parameter "+name, "was given a value and is not declared in the template; correct its name")
		}
	}
	return out
}

func readParameter(r *reader, f *fields, name string) *yaml.Node {
	kind := f.must("Type")
	value, given := r.opt.Parameters[name]
	if missing := f.take("Default"); !given {
		if missing == nil {
			f.fault(nil, "has no default and was given no value; pass it (--param %s=VALUE)", name)
			return nil
		}
		value = missing.Value
	}
	allowed := f.texts("AllowedValues")
	pattern := f.text("AllowedPattern")
	lengthMin, lengthMax := f.number("MinLength", 0, 0, 4096), f.number("MaxLength", 4096, 0, 4096)
	low, high := f.text("MinValue"), f.text("MaxValue")
	hint := f.text("ConstraintDescription")
	f.ignore("Description", "NoEcho")
	refuse := func(rule string) {
		if hint != "" {
			rule += "; " + hint
		}
		f.fault(nil, "value %q is refused: %s", value, rule)
	}
	if len(allowed) > 0 && !slices.Contains(allowed, value) {
		refuse("it must be one of " + strings.Join(allowed, ", "))
	}
	if pattern != "" {
		if re, err := regexp.Compile(`^(?:` + pattern + `)$`); err != nil {
			f.fault(nil, "AllowedPattern %q is not a pattern that can be checked: %v", pattern, err)
		} else if !re.MatchString(value) {
			refuse("it must match " + pattern)
		}
	}
	switch kind {
	case "String":
		if n := utf8.RuneCountInString(value); n < lengthMin || n > lengthMax {
			refuse("its length must be from " + strconv.Itoa(lengthMin) + " to " + strconv.Itoa(lengthMax))
		}
	case "Number":
		if rule := outOfRange(value, low, high); rule != "" {
			refuse(rule)
		}
	case "CommaDelimitedList", "List<String>":
		var values []string
		for part := range strings.SplitSeq(value, ",") {
			values = append(values, strings.TrimSpace(part))
		}
		return sequence(f.node, values)
	case "":
	default:
		f.fault(f.take("Type"), "type %s is not understood; use String, Number or CommaDelimitedList", kind)
	}
	return scalar(f.node, value)
}

func outOfRange(value, low, high string) string {
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return "it must be a number"
	}
	if limit, err := strconv.ParseFloat(low, 64); err == nil && number < limit {
		return "it must be at least " + low
	}
	if limit, err := strconv.ParseFloat(high, 64); err == nil && number > limit {
		return "it must be at most " + high
	}
	return ""
}
