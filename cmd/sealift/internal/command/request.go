package command

import (
	"cmp"
	"encoding/json"
	"strings"

	"sealift/cmd/sealift/internal/ask"
	"sealift/shared/snapshot"
)

// requestLines are what an export was asked with, for people.
func requestLines(r snapshot.Request) [][]string {
	if r.Span.From == "" {
		return nil // A service of an earlier release doesn't say.
	}
	lines := [][]string{
		{"from", r.Span.From}, {"until", r.Span.To}, {"cutoff", dash(r.AsOf)}, {"zone", r.Zone}, {"format", formatText(r)},
		{"columns", strings.Join(r.Columns, ", ")},
	}
	for i, filter := range r.Filters {
		name := "filters"
		if i > 0 {
			name = ""
		}
		lines = append(lines, []string{name, filterText(filter)})
	}
	return lines
}

// formatText names a format with its compression and whether it is many files.
func formatText(r snapshot.Request) string {
	text := r.Format.Type
	if r.Format.Compression != "none" && r.Format.Compression != "" {
		text += " " + r.Format.Compression
	}
	if r.Format.Encoding != "" {
		text += ", " + r.Format.Encoding
	}
	if r.Layout == string(snapshot.LayoutFiles) {
		text += ", many files"
	}
	return text
}

// filterText is a filter as --filter takes it, but for quotes that a name or value may need.
func filterText(f snapshot.Filter) string {
	values := f.Values
	if f.Value != nil {
		values = append(values, f.Value)
	}
	texts := make([]string, 0, len(values))
	for _, raw := range values {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw)
		}
		texts = append(texts, value)
	}
	sign := cmp.Or(ask.Signs()[string(f.Op)], string(f.Op))
	return strings.TrimSpace(f.Column + " " + sign + " " + strings.Join(texts, ","))
}

// spanText is a span in as few characters as tell it.
func spanText(s snapshot.Span) string {
	short := func(instant string) string { return strings.TrimSuffix(instant, "T00:00:00Z") }
	if s.From == "" {
		return "-"
	}
	return short(s.From) + " to " + short(s.To)
}
