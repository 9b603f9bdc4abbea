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

// Show shows a line, given in several forms from the longest to the shortest, so that a narrow terminal leaves out whole
// facts and never a part of a figure. On a terminal the longest form that fits is drawn, with a bar before it that stands
// for share (0 to 1, below 0 for none); elsewhere the first form is written when it differs from the one before, at most
// every two seconds unless urgent.
func (d *Display) Show(forms []string, share float64, urgent bool) {
	if width := d.opt.Width(); width > 0 {
		d.draw(forms, share, width)
		return
	}
	now := d.opt.Now()
	line := forms[0]
	if line == d.last || !urgent && now.Sub(d.written) < plainEvery {
		return
	}
	d.last, d.written = line, now
	// What can't be shown does not end the work that is shown.
	_, _ = io.WriteString(d.w, line+"\n")
}

// A bar is long where there is room for it, short on the usual terminal, and left out on a narrow one.
const (
	barCells, barWidth           = 24, 100
	shortBarCells, shortBarWidth = 12, 60
)

func (d *Display) draw(forms []string, share float64, width int) {
	head := ""
	switch {
	case share < 0 || width < shortBarWidth:
	case width < barWidth:
		head = bar(share, shortBarCells) + " "
	default:
		head = bar(share, barCells) + " "
	}
	d.drawn = true
	// Carriage return, the line, erase to the end of the line. A full last column would begin a new line.
	_, _ = io.WriteString(d.w, "\r"+head+fit(forms, width-1-len(head))+"\x1b[K")
}

// Clear takes a drawn line away.
func (d *Display) Clear() {
	if d.drawn {
		_, _ = io.WriteString(d.w, "\r\x1b[K")
		d.drawn = false
	}
}

func bar(share float64, cells int) string {
	full := int(min(max(share, 0), 1) * float64(cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
}

// fit chooses the first form that fits; of one that doesn't, as many whole words as do.
func fit(forms []string, width int) string {
	for _, form := range forms {
		if utf8.RuneCountInString(form) <= width {
			return form
		}
	}
	line := ""
	for _, word := range strings.Fields(forms[len(forms)-1]) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if utf8.RuneCountInString(longer) > width {
			break
		}
		line = longer
	}
	return line
}
