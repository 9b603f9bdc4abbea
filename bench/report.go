package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// measured is a line with its samples.
type measured struct {
	line

	Samples []sample `json:"samples,omitempty"`
}

// report is everything that one run found out.
type report struct {
	Date    string     `json:"date"`
	Machine string     `json:"machine"`
	Rows    int64      `json:"rows"`
	Rounds  int        `json:"rounds"`
	Raw     int64      `json:"raw_csv_bytes"`
	Lines   []measured `json:"lines"`
	Small   answers    `json:"small"`
	// Starts are how long functions took to start, in milliseconds.
	Starts map[string][]float64 `json:"cold_start_ms"`
	Sizes  map[string]int64     `json:"binary_bytes"`
	Bills  []bill               `json:"calls"`
	Goals  []goal               `json:"goals"`
}

// spread is a median with the least and the most; zero when there is nothing.
type spread struct{ median, least, most float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{median, sorted[0], sorted[len(sorted)-1]}
}

func (m measured) over(value func(sample) float64) spread {
	values := make([]float64, len(m.Samples))
	for i, s := range m.Samples {
		values[i] = value(s)
	}
	return spreadOf(values)
}

func (m measured) speed() spread {
	return m.over(func(s sample) float64 { return float64(s.Rows) / s.Seconds })
}

// per is processor time in seconds for a million rows.
func (m measured) per(seconds func(sample) float64) float64 {
	return m.over(func(s sample) float64 { return seconds(s) * 1e6 / float64(s.Rows) }).median
}

func (m measured) own() float64    { return m.per(func(s sample) float64 { return s.OwnSeconds }) }
func (m measured) cloud() float64  { return m.per(func(s sample) float64 { return s.CloudSeconds }) }
func (m measured) server() float64 { return m.per(func(s sample) float64 { return s.ServerSeconds }) }
func (m measured) all() float64 {
	return m.per(func(s sample) float64 { return s.OwnSeconds + s.CloudSeconds + s.ServerSeconds })
}

// peak is the largest resident set of a process in any sample.
func (m measured) peak(name string) int64 {
	var most int64
	for _, s := range m.Samples {
		most = max(most, s.PeakBytes[name])
	}
	return most
}

// peaks names the processes that matter with their MiB.
func (m measured) peaks() string {
	if most := m.peak("largest"); most > 0 {
		return mib(most)
	}
	var parts []string
	for _, name := range []string{"process-shard", "finalize"} {
		if most := m.peak(name); most > 0 {
			parts = append(parts, mib(most))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, " / ")
}

func mib(bytes int64) string { return strconv.FormatInt((bytes+1<<19)>>20, 10) }

// named finds a line; one without samples counts as none.
func (r *report) named(name string) (measured, bool) {
	at := slices.IndexFunc(r.Lines, func(m measured) bool { return m.Name == name && len(m.Samples) > 0 })
	if at < 0 {
		return measured{}, false
	}
	return r.Lines[at], true
}

// times is how much faster m is than the line of that name, as the median over the rounds, in each of which both were measured.
func (r *report) times(m measured, name string) float64 {
	other, ok := r.named(name)
	if !ok {
		return 0
	}
	var ratios []float64
	for i := range min(len(m.Samples), len(other.Samples)) {
		a, b := m.Samples[i], other.Samples[i]
		ratios = append(ratios, float64(a.Rows)/a.Seconds*b.Seconds/float64(b.Rows))
	}
	return spreadOf(ratios).median
}

// bill sets the calls from the samples of the line that has them.
func (r *report) bill() {
	if m, ok := r.named(ours(form{"csv", "gzip"}, 2)); ok {
		last := m.Samples[len(m.Samples)-1]
		r.Bills = bills(last.Calls, last.Rows)
	}
}

// cells are one line of the speeds' table.
func (r *report) cells(m measured) []string {
	if len(m.Samples) == 0 {
		return []string{m.Name, "missing: " + m.Missing}
	}
	speed := m.speed()
	rawPerRow := float64(r.Raw) / float64(r.Rows) / 1e6
	ratio := func(name string) string {
		if times := r.times(m, name); times > 0 {
			return fmt.Sprintf("%.2f", times)
		}
		return "-"
	}
	cloud := "-"
	if m.cloud() > 0 {
		cloud = fmt.Sprintf("%.2f", m.cloud())
	}
	return []string{
		m.Name, thousands(speed.median), thousands(speed.least) + "-" + thousands(speed.most), fmt.Sprintf("%.0f", speed.median*rawPerRow),
		fmt.Sprintf("%.2f", m.own()), cloud, fmt.Sprintf("%.2f", m.server()), m.peaks(), fmt.Sprintf("%.1f", float64(m.Samples[0].OutBytes)/1e6),
		ratio(nameLoop2), ratio(nameGzip6), ratio(nameGzip1),
	}
}

// legend explains the heads, a line each.
func legend() []string {
	return []string{
		"MB/s of plain CSV. CPU, cloud, db: processor seconds for a million rows of the exporter, the embedded cloud, the database.",
		"Peak of Sealift: process-shard / finalize. x: times as fast as the loop with 2 workers, psql | gzip -6, psql | gzip -1.",
	}
}

// heads name the cells.
func heads() []string {
	return []string{"", "rows/s", "least-most", "MB/s", "CPU", "cloud", "db", "peak MiB", "file MB", "x loop", "x gzip6", "x gzip1"}
}

func thousands(rows float64) string { return strconv.FormatFloat(rows/1e3, 'f', 0, 64) + "k" }

// startCells are one line of the functions' table.
func (r *report) startCells() [][]string {
	rows := [][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Sizes)) {
		starts := "not seen"
		if s := spreadOf(r.Starts[name]); s.median > 0 {
			starts = fmt.Sprintf("%.0f ms (%.0f-%.0f, %d starts)", s.median, s.least, s.most, len(r.Starts[name]))
		}
		rows = append(rows, []string{name, fmt.Sprintf("%.1f MB", float64(r.Sizes[name])/1e6), starts})
	}
	return rows
}
