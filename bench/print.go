package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// print writes the report for people.
func (r *report) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(out, strings.Join(cells, "\t")) } // Flush tells what failed
	line(fmt.Sprintf("%d rows of %d bytes of CSV, %d rounds, median; %s; %s", r.Rows, r.Raw/max(1, r.Rows), r.Rounds, r.Machine, r.Date))
	for _, text := range legend() {
		line(text)
	}
	line()
	line(heads()...)
	for _, m := range r.Lines {
		line(r.cells(m)...)
	}
	line()
	if len(r.Small.Asked) > 0 {
		line("small exports", "median", "least", "most", "first")
		asked, downloaded := spreadOf(r.Small.Asked), spreadOf(r.Small.Downloaded)
		line("asking answered, ms", milli(asked.median), milli(asked.least), milli(asked.most), milli(r.Small.FirstAsked))
		line(fmt.Sprintf("%d rows downloaded, ms", smallRows), milli(downloaded.median), milli(downloaded.least), milli(downloaded.most), milli(r.Small.FirstDownloaded))
		line()
	}
	line("function", "binary", "start until ready")
	for _, cells := range r.startCells() {
		line(cells...)
	}
	line()
	if len(r.Bills) > 0 {
		line("calls of the cloud", "calls/M rows", "billed units/M rows", "$/M rows")
		var sum float64
		for _, b := range r.Bills {
			line(b.What, fmt.Sprintf("%.1f", b.Calls), fmt.Sprintf("%.1f", b.Units), fmt.Sprintf("%.6f", b.Dollars))
			sum += b.Dollars
		}
		line("together", "", "", fmt.Sprintf("%.6f", sum))
		line()
	}
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "MISSED"
		}
		line(g.What, g.Got, g.Want, verdict)
	}
	return out.Flush()
}

func milli(ms float64) string { return fmt.Sprintf("%.1f", ms) }
