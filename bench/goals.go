package main

import "fmt"

// goal is one thing that is wanted.
type goal struct {
	What string `json:"what"`
	Got  string `json:"got"`
	Want string `json:"want"`
	Met  bool   `json:"met"`
}

// What is wanted of gzipped CSV with two workers, and of the other formats beside it.
const (
	loopTimes, gzip6Times, gzip1Times, duckTimes = 0.75, 3, 1.2, 4
	processorTimesMax                            = 1.3
	shardPeakMax, groupPeakMax                   = 96 << 20, 160 << 20
	formatTimes                                  = 0.8
	workbookRows, workbookTimes, workbookPeakMax = 250_000, 6, 0.1
	askedMax, downloadedMax                      = 30, 2000
)

// judge compares the figures with what is wanted; what was not measured is left out.
func (r *report) judge() {
	r.Goals = nil
	if csv, ok := r.named(ours(form{"csv", "gzip"}, 2)); ok {
		r.judgeSpeed(csv)
		r.judgeFormats(csv)
	}
	if len(r.Small.Asked) > 0 {
		asked, downloaded := spreadOf(r.Small.Asked).median, spreadOf(r.Small.Downloaded).median
		r.want("median time until asking is answered", fmt.Sprintf("%.1f ms", asked), fmt.Sprintf("below %d ms", askedMax), asked < askedMax)
		r.want(fmt.Sprintf("median time until %d rows are downloaded", smallRows), fmt.Sprintf("%.0f ms", downloaded),
			fmt.Sprintf("below %d ms", downloadedMax), downloaded < downloadedMax)
	}
}

// judgeSpeed compares gzipped CSV with what others make of the same rows.
func (r *report) judgeSpeed(csv measured) {
	r.wantTimes("speed against the loop, both with 2 workers", csv, nameLoop2, loopTimes)
	r.wantTimes("speed against psql | gzip -6", csv, nameGzip6, gzip6Times)
	r.wantTimes("speed against psql | gzip -1", csv, nameGzip1, gzip1Times)
	r.wantTimes("speed against DuckDB's COPY to csv.gz", csv, nameDuckDB, duckTimes)
	if loop, ok := r.named(nameLoop2); ok {
		all, own := csv.all()/loop.all(), csv.own()/loop.own()
		want := fmt.Sprintf("at most %.2f", processorTimesMax)
		r.want("processor time a row against the loop, with database and cloud", fmt.Sprintf("%.2f times", all), want, all <= processorTimesMax)
		r.want("the same of the exporter alone", fmt.Sprintf("%.2f times", own), want, own <= processorTimesMax)
	}
	r.wantPeak("process-shard's peak resident set", csv, shardPeakMax)
}

// judgeFormats compares the other formats with gzipped CSV, and workbooks with excelize's.
func (r *report) judgeFormats(csv measured) {
	for _, f := range []form{{"jsonl", "gzip"}, {"parquet", "none"}} {
		if m, ok := r.named(ours(f, 2)); ok {
			r.wantTimes("speed of "+f.format+" against csv", m, csv.Name, formatTimes)
		}
	}
	if parquet, ok := r.named(ours(form{"parquet", "none"}, 2)); ok {
		r.wantPeak("process-shard's peak resident set for parquet", parquet, groupPeakMax)
	}
	workbook, ok := r.named(ours(form{"xlsx", "none"}, 2))
	if !ok {
		return
	}
	speed := workbook.speed().median
	r.want("speed of xlsx", thousands(speed)+" rows/s", "at least "+thousands(workbookRows), speed >= workbookRows)
	r.wantTimes("speed of xlsx against excelize", workbook, nameExcelize, workbookTimes)
	if other, ok := r.named(nameExcelize); ok {
		part := float64(workbook.peak("process-shard")) / float64(other.peak("largest"))
		r.want("peak resident set of xlsx against excelize", fmt.Sprintf("%.2f times", part), fmt.Sprintf("at most %.2f", workbookPeakMax), part <= workbookPeakMax)
	}
}

func (r *report) want(what, got, want string, met bool) {
	r.Goals = append(r.Goals, goal{What: what, Got: got, Want: want, Met: met})
}

// wantTimes wants m to be so many times as fast as the line of that name.
func (r *report) wantTimes(what string, m measured, name string, least float64) {
	if times := r.times(m, name); times > 0 {
		r.want(what, fmt.Sprintf("%.2f times", times), fmt.Sprintf("at least %.2f", least), times >= least)
	}
}

func (r *report) wantPeak(what string, m measured, most int64) {
	peak := m.peak("process-shard")
	r.want(what, mib(peak)+" MiB", "at most "+mib(most)+" MiB", peak <= most)
}
