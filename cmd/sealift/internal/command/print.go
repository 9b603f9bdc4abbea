package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// printer writes output and remembers the first error, so that a full disk is not taken for success.
type printer struct {
	w     io.Writer
	fault error
}

func (p *printer) write(text string) {
	if p.fault == nil {
		_, p.fault = io.WriteString(p.w, text)
	}
}

func (p *printer) printf(format string, args ...any) { p.write(clean(fmt.Sprintf(format, args...))) }

// json writes a value on a line of its own.
func (p *printer) json(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("render the result: %w", err)
	}
	p.write(string(text) + "\n")
	return nil
}

// table writes rows with aligned columns.
func (p *printer) table(rows [][]string) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		for i, cell := range cells {
			cells[i] = clean(strings.NewReplacer("\n", " ", "\t", " ").Replace(cell))
		}
		_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n")
	}
	_ = w.Flush()
	for line := range strings.Lines(text.String()) {
		p.write(strings.TrimRight(line, " \n") + "\n")
	}
}

func (p *printer) failed() error {
	if p.fault != nil {
		return fmt.Errorf("write the output: %w", p.fault)
	}
	return nil
}

// clean takes control characters out of text that others have written, which could command the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func text(optional *string) string {
	if optional == nil {
		return "-"
	}
	return *optional
}
