package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"sealift/cmd/sealift/internal/ask"
	"sealift/cmd/sealift/internal/client"
	"sealift/shared/definition"
)

// contract is what a definition says, as far as the one who asks may know it: an operator sees the source as well.
type contract struct {
	Title  string          `json:"title"`
	Source *contractSource `json:"source"`
	// TimeColumn is where those find it who aren't told the source.
	TimeColumn   string           `json:"time_column"`
	Columns      []contractColumn `json:"columns"`
	Formats      []string         `json:"formats"`
	Compressions []string         `json:"compressions"`
	Purposes     []string         `json:"purposes"`
	Limits       contractLimits   `json:"limits"`
	RequireKey   bool             `json:"require_idempotency_key"`
	// Promise is where everybody finds it, Consistency where an operator does.
	Promise     string `json:"promise"`
	Consistency struct {
		Promise string `json:"promise"`
	} `json:"consistency"`
}

type contractSource struct {
	Connection string        `json:"connection"`
	Table      string        `json:"table"`
	TimeColumn contractKey   `json:"time_column"`
	Key        []contractKey `json:"key"`
}

type contractKey struct {
	Name string `json:"name"`
}

type contractColumn struct {
	Name   string          `json:"name"`
	Source string          `json:"source"`
	Kind   string          `json:"kind"`
	Title  string          `json:"title"`
	Filter []string        `json:"filter"`
	Roles  []string        `json:"roles"`
	Mask   json.RawMessage `json:"mask"`
}

type contractLimits struct {
	SpanDaysMax   int64 `json:"span_days_max"`
	RowsMax       int64 `json:"rows_max"`
	ActiveJobsMax int64 `json:"active_jobs_max"`
	DownloadsMax  int64 `json:"downloads_max"`
	RetentionDays int64 `json:"retention_days"`
}

// contractOf reads the definition of an answer; one without is empty.
func contractOf(d client.Definition) (contract, error) {
	var c contract
	if len(d.Definition) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(d.Definition, &c); err != nil {
		return contract{}, fmt.Errorf("read the answer: %w", err)
	}
	return c, nil
}

// facts are the lines that say what holds for a definition as a whole.
func (c contract) facts(d client.Definition) [][]string {
	lines := [][]string{
		{"name", d.Name}, {"title", c.Title}, {"version", strconv.FormatInt(d.Version, 10)}, {"applied", d.AppliedAt}, {"by", d.AppliedBy},
		{"sha256", d.SHA256}, {"formats", strings.Join(c.Formats, ", ")}, {"compressions", c.compressions()},
		{"purposes", strings.Join(c.Purposes, "; ")}, {"span of", c.spanOf()}, {"span at most", amount(c.Limits.SpanDaysMax, "day", "days")},
		{"rows at most", amount(c.Limits.RowsMax, "row", "rows")}, {"exports at once", amount(c.Limits.ActiveJobsMax, "export", "exports")},
		{"downloads at most", amount(c.Limits.DownloadsMax, "download", "downloads")}, {"kept for", amount(c.Limits.RetentionDays, "day", "days")},
		{"promise", cmp.Or(c.Promise, c.Consistency.Promise)},
	}
	if c.RequireKey {
		lines = append(lines, []string{"needs", "an --idempotency-key of your own"})
	}
	if s := c.Source; s != nil {
		var key []string
		for _, column := range s.Key {
			key = append(key, column.Name)
		}
		lines = append(lines, []string{"source", fmt.Sprintf("%s, table %s, by %s", s.Connection, s.Table, strings.Join(key, ", "))})
	}
	var told [][]string
	for _, line := range lines {
		if line[1] != "" {
			told = append(told, line)
		}
	}
	return told
}

// spanOf says what the flags for a span bound; nothing where that is not to be known.
func (c contract) spanOf() string {
	column := c.TimeColumn
	if c.Source != nil && c.Source.TimeColumn.Name != "" {
		column = c.Source.TimeColumn.Name + " of the table, which is no column of the file"
		for _, output := range c.Columns {
			if cmp.Or(output.Source, output.Name) == c.Source.TimeColumn.Name {
				column = output.Name
				break
			}
		}
	}
	if column == "" {
		return ""
	}
	return column + ": at --from or later, and before --to"
}

// compressions says what each format can be compressed with, its default first; formats that share a list share a word.
func (c contract) compressions() string {
	d := definition.Definition{Formats: c.Formats, Compressions: c.Compressions}
	var groups [][2]string
	for _, format := range c.Formats {
		allowed := d.CompressionsFor(format)
		if allowed == nil {
			// A format that this release doesn't know.
			allowed = c.Compressions
		}
		list := strings.Join(allowed, ", ")
		at := slices.IndexFunc(groups, func(group [2]string) bool { return group[1] == list })
		if at < 0 {
			groups = append(groups, [2]string{format, list})
			continue
		}
		groups[at][0] += ", " + format
	}
	if len(groups) == 1 {
		return groups[0][1]
	}
	texts := make([]string, len(groups))
	for i, group := range groups {
		texts[i] = group[0] + ": " + group[1]
	}
	return strings.Join(texts, "; ")
}

// amount renders a limit; 0 is none.
func amount(n int64, one, many string) string {
	if n == 0 {
		return ""
	}
	return humanize.Comma(n) + " " + plural(n, one, many)
}

// columns is the table of what may be exported.
func (c contract) columns() [][]string {
	head := []string{"COLUMN", "KIND", "FILTERS", "MASKED"}
	roles, titles := false, false
	for _, column := range c.Columns {
		roles, titles = roles || len(column.Roles) > 0, titles || column.Title != ""
	}
	if roles {
		head = append(head, "ONLY FOR")
	}
	if titles {
		head = append(head, "TITLE")
	}
	rows := [][]string{head}
	for _, column := range c.Columns {
		cells := []string{column.Name, column.Kind, dash(filterSigns(column.Filter)), dash(masked(column.Mask))}
		if roles {
			cells = append(cells, dash(strings.Join(column.Roles, ", ")))
		}
		if titles {
			cells = append(cells, dash(column.Title))
		}
		rows = append(rows, cells)
	}
	return rows
}

func dash(text string) string { return cmp.Or(text, "-") }

// filterSigns names comparisons as --filter takes them.
func filterSigns(ops []string) string {
	signs := ask.Signs()
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = cmp.Or(signs[op], op)
	}
	return strings.Join(texts, ", ")
}

// masked says how a column's values are masked: an operator is told for whom they are not, everybody else only what
// holds for them.
func masked(mask json.RawMessage) string {
	var kind string
	if json.Unmarshal(mask, &kind) == nil {
		return kind
	}
	var whole struct {
		Kind   string   `json:"kind"`
		Unless []string `json:"unless"`
	}
	if json.Unmarshal(mask, &whole) != nil || whole.Kind == "" {
		return ""
	}
	if len(whole.Unless) > 0 {
		return whole.Kind + ", not for " + strings.Join(whole.Unless, ", ")
	}
	return whole.Kind
}
