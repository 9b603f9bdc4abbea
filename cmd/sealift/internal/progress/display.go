package progress

import (
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// plainEvery is how often a line is written where it can't be drawn over.
const plainEvery = 2 * time.Second

// Display shows one line that changes. It belongs to one goroutine.
type Display struct {
	w   io.Writer
	opt DisplayOptions

	written time.Time
	last    string
	drawn   bool
}

// DisplayOptions say what the output is.
type DisplayOptions struct {
	// Width returns the terminal's columns, 0 when the output is not a terminal.
	Width func() int
	Now   func() time.Time
}

// NewDisplay shows lines on w.
func NewDisplay(w io.Writer, opt DisplayOptions) *Display { return &Display{w: w, opt: opt} }

// Terminal reports whether the line is drawn over.
func (d *Display) Terminal() bool { return d.opt.Width() > 0 }

// Show shows a line. On a terminal a bar that stands for share (0 to 1, below 0 for none) is put in front of it;
// elsewhere a line is written when it differs from the one before, at most every two seconds unless urgent.
func (d *Display) Show(line string, share float64, urgent bool) {
	if width := d.opt.Width(); width > 0 {
		d.draw(line, share, width)
		return
	}
	now := d.opt.Now()
	if line == d.last || !urgent && now.Sub(d.written) < plainEvery {
		return
	}
	d.last, d.written = line, now
	// What can't be shown does not end the work that is shown.
	_, _ = io.WriteString(d.w, line+"\n")
}

// barCells is the width of a bar.
const barCells = 24

func (d *Display) draw(line string, share float64, width int) {
	if share >= 0 && width >= 60 {
		line = bar(share) + " " + line
	}
	d.drawn = true
	// Carriage return, the line, erase to the end of the line.
	_, _ = io.WriteString(d.w, "\r"+clip(line, width-1)+"\x1b[K")
}

// Clear takes a drawn line away.
func (d *Display) Clear() {
	if d.drawn {
		_, _ = io.WriteString(d.w, "\r\x1b[K")
		d.drawn = false
	}
}

func bar(share float64) string {
	full := int(min(max(share, 0), 1) * barCells)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barCells-full) + "]"
}

// clip keeps a line within the terminal, where it could not be drawn over otherwise.
func clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width, 0)])
}
