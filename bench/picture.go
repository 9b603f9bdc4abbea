package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"
)

// The picture's measures, in pixels.
const (
	pictureWidth = 1190
	rowHeight    = 22
	barLeft      = 262
	barWidth     = 250
)

// drawing is a picture in the making: text from top to bottom.
type drawing struct {
	Width, Height int
	Shapes        []string
	y             int
}

// picture draws the report.
func picture(r *report) []byte {
	d := &drawing{Width: pictureWidth, y: 40}
	d.text(20, "title", "start", "One table, many ways to export it")
	d.down(1)
	d.text(20, "note", "start", fmt.Sprintf("%d rows of %d bytes of CSV in PostgreSQL, median of %d rounds in turns, thin line: least to most. %s. %s.",
		r.Rows, r.Raw/max(1, r.Rows), r.Rounds, r.Machine, r.Date))
	d.down(1)
	for _, text := range legend() {
		d.text(20, "note", "start", text)
		d.down(1)
	}
	d.speeds(r)
	d.down(1)
	top := d.y
	d.starts(r)
	bottom := d.y
	d.y = top
	d.calls(r)
	d.y = max(d.y, bottom)
	d.down(1)
	d.goals(r)
	d.Height = d.y + rowHeight/2
	var out bytes.Buffer
	if err := frame().Execute(&out, d); err != nil {
		panic(err) // the template is fixed and the buffer never fails
	}
	return out.Bytes()
}

func frame() *template.Template {
	return template.Must(template.New("picture").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" font-family="Helvetica, Arial, sans-serif" font-size="13">
<style>text{fill:#1f2933}.title{font-size:20px;font-weight:bold}.head{font-weight:bold}.note{fill:#52606d;font-size:12px}.missed{fill:#b42318;font-weight:bold}.met{fill:#1a7f37}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
{{range .Shapes}}{{.}}
{{end}}</svg>
`))
}

func (d *drawing) down(rows int) { d.y += rows * rowHeight }

func (d *drawing) text(x int, class, anchor, text string) {
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	d.Shapes = append(d.Shapes, fmt.Sprintf(`<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`, x, d.y, class, anchor, escaped))
}

// row is one line of a table; the first cell is written from its place, the others up to theirs.
func (d *drawing) row(class string, places []int, cells []string) {
	for i, cell := range cells {
		anchor := "end"
		if i == 0 {
			anchor = "start"
		}
		d.text(places[i], class, anchor, cell)
	}
	d.down(1)
}

// speeds draws a bar and the figures of every line.
func (d *drawing) speeds(r *report) {
	fastest := 1.0
	for _, m := range r.Lines {
		fastest = max(fastest, m.speed().most)
	}
	places := []int{20, 570, 626, 684, 742, 800, 880, 952, 1018, 1096, pictureWidth - 20}
	group := ""
	for _, m := range r.Lines {
		if m.Group != group {
			group = m.Group
			d.y += rowHeight / 2
			names := heads()
			d.row("head", places, append([]string{group, names[1]}, names[3:]...))
		}
		cells := r.cells(m)
		if len(m.Samples) == 0 {
			d.text(places[0], "", "start", m.Name)
			d.text(barLeft, "note", "start", clip(cells[1]))
			d.down(1)
			continue
		}
		d.bar(m.speed(), fastest, colour(m.Group))
		d.row("", places, append([]string{cells[0], cells[1]}, cells[3:]...))
	}
}

func colour(group string) string {
	switch group {
	case groupLoop:
		return "#9aa5b1"
	case groupOurs:
		return "#2563eb"
	}
	return "#d97706"
}

// clip keeps a reason on its line; the printed table has it whole.
func clip(text string) string {
	const most = 120
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (d *drawing) bar(s spread, fastest float64, fill string) {
	const height, middle = 12, 5
	at := func(rows float64) float64 { return barLeft + rows/fastest*barWidth }
	d.Shapes = append(d.Shapes,
		fmt.Sprintf(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, barLeft, d.y-height+1, at(s.median)-barLeft, height, fill),
		fmt.Sprintf(`<path d="M%.1f %dH%.1f" stroke="#1f2933"/>`, at(s.least), d.y-middle, at(s.most)))
}

func (d *drawing) starts(r *report) {
	places := []int{20, 220, 490}
	d.row("head", places, []string{"function", "binary", "process start until ready"})
	for _, cells := range r.startCells() {
		d.row("", places, cells)
	}
	if len(r.Small.Asked) == 0 {
		return
	}
	d.y += rowHeight / 2
	d.row("head", places, []string{"small exports, ms", "median", "least to most, first"})
	for _, one := range []struct {
		name  string
		all   []float64
		first float64
	}{{"asking answered", r.Small.Asked, r.Small.FirstAsked}, {fmt.Sprintf("%d rows downloaded", smallRows), r.Small.Downloaded, r.Small.FirstDownloaded}} {
		s := spreadOf(one.all)
		d.row("", places, []string{one.name, milli(s.median), milli(s.least) + " to " + milli(s.most) + ", " + milli(one.first)})
	}
}

func (d *drawing) calls(r *report) {
	places := []int{600, 870, 1010, pictureWidth - 20}
	d.row("head", places, []string{"calls for a million rows", "calls", "billed units", "list price"})
	var sum float64
	for _, b := range r.Bills {
		d.row("", places, []string{b.What, fmt.Sprintf("%.1f", b.Calls), fmt.Sprintf("%.1f", b.Units), fmt.Sprintf("$%.6f", b.Dollars)})
		sum += b.Dollars
	}
	d.row("head", places, []string{"together", "", "", fmt.Sprintf("$%.6f", sum)})
}

func (d *drawing) goals(r *report) {
	places := []int{20, 520, 660, 740}
	d.row("head", places, []string{"what is wanted of Sealift", "measured", "wanted", ""})
	for _, g := range r.Goals {
		class, verdict := "met", "met"
		if !g.Met {
			class, verdict = "missed", "missed"
		}
		d.text(places[3], class, "end", verdict)
		d.row("", places[:3], []string{g.What, g.Got, g.Want})
	}
}
