package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// form is one way that Sealift writes a file.
type form struct{ format, compression string }

// forms are the ways that are measured; one that the product doesn't know yet is a line that is missing.
func forms() []struct {
	form
	workers []int
} {
	return []struct {
		form
		workers []int
	}{
		{form{"csv", "gzip"}, []int{1, 2, 4}},
		{form{"csv", "zstd"}, []int{2}},
		{form{"jsonl", "gzip"}, []int{2}},
		{form{"parquet", "none"}, []int{2}},
		{form{"xlsx", "none"}, []int{2}}, // last, beside excelize
	}
}

// ours is the name of Sealift's line for a form.
func ours(f form, workers int) string {
	name := "Sealift " + f.format
	if f.compression != "none" {
		name += " " + f.compression
	}
	if workers == 1 {
		return name + ", 1 worker"
	}
	return fmt.Sprintf("%s, %d workers", name, workers)
}

// export is what the API says of one.
type export struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Shards  int64  `json:"shards"`
	Written int64  `json:"rows_written"`
	Failure *struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"failure"`
	File *struct {
		Rows  int64 `json:"rows"`
		Bytes int64 `json:"bytes"`
	} `json:"file"`
}

// sealift lists Sealift's lines.
func (t *table) sealift(ctx context.Context, root string) ([]line, error) {
	var lines []line
	for _, f := range forms() {
		missing, err := t.refused(ctx, root, f.form)
		if err != nil {
			return nil, err
		}
		for _, workers := range f.workers {
			group := groupOurs
			if f.format == "xlsx" {
				group = groupExcel
			}
			lines = append(lines, line{Name: ours(f.form, workers), Group: group, Note: "asked over HTTP, sealed in the embedded cloud", Missing: missing,
				measure: func(ctx context.Context) (sample, error) { return t.export(ctx, root, f.form, workers) }})
		}
	}
	return lines, nil
}

// refused says why the product takes no definition with the form; empty when it does.
func (t *table) refused(ctx context.Context, root string, f form) (string, error) {
	if f.format == "csv" {
		return "", nil
	}
	s, err := startStack(ctx, root, t.dir, leastConcurrency)
	if err != nil {
		return "", err
	}
	if refusal := s.define(ctx, f, engineShardRows); refusal != nil {
		_, reason, found := strings.Cut(refusal.Error(), definitionName+":")
		if !found {
			reason = refusal.Error()
		}
		return "the definition does not take it: " + reason, s.stop()
	}
	return "", s.stop()
}

// export asks a fresh cloud for the whole table and waits until the file is sealed. Starting the functions counts, starting the cloud doesn't.
func (t *table) export(ctx context.Context, root string, f form, workers int) (out sample, err error) {
	s, err := startStack(ctx, root, t.dir, workers)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	shardRows := int64(engineShardRows)
	if workers == 1 {
		shardRows = max(shardRows, 2*t.rows)
	}
	if err := errors.Join(s.connect(ctx, t.dsn), s.define(ctx, f, shardRows)); err != nil {
		return out, err
	}
	if err := s.own(ctx, http.MethodDelete, "/_localstack/calls", nil); err != nil {
		return out, err
	}
	cloud, own, err := spent(s.cmd.Process.Pid)
	if err != nil {
		return out, err
	}
	m, err := startMeter(t.server)
	if err != nil {
		return out, err
	}
	e, err := s.create(ctx, yearEnd, f)
	if err != nil {
		return out, err
	}
	start := time.Now()
	done, err := s.wait(ctx, e.ID, func(e export) time.Duration { return nextLook(time.Since(start), e.Written, t.rows) })
	if err != nil {
		return out, err
	}
	if out.Seconds, out.ServerSeconds, err = m.done(); err != nil {
		return out, err
	}
	cloudAfter, ownAfter, err := spent(s.cmd.Process.Pid)
	if err != nil {
		return out, err
	}
	if out.FunctionSeconds, err = functions(s.cmd.Process.Pid); err != nil {
		return out, err
	}
	out.OwnSeconds, out.CloudSeconds = ownAfter-own, cloudAfter-cloud
	out.Rows, out.OutBytes = done.File.Rows, done.File.Bytes
	if workers == 1 && done.Shards != 1 {
		return out, fmt.Errorf("it was planned as %d shards, so more than one worker worked", done.Shards)
	}
	if out.PeakBytes, err = s.peaks(ctx); err != nil {
		return out, err
	}
	out.Calls, err = s.calls(ctx)
	return out, errors.Join(err, t.whole(out))
}

const (
	// lookMin and lookMax bound the time between two looks whether the file is sealed.
	lookMin = 50 * time.Millisecond
	lookMax = time.Second
	// exportWait bounds one export.
	exportWait = 30 * time.Minute
)

func (s *stack) create(ctx context.Context, to string, f form) (e export, err error) {
	err = s.ask(ctx, http.MethodPost, "/v1/exports", http.StatusAccepted, map[string]any{
		"definition": "orders", "purpose": "benchmark", "span": map[string]string{"from": yearStart, "to": to},
		"format": map[string]string{"type": f.format, "compression": f.compression},
	}, &e)
	return e, err
}

// nextLook is when to look again at an export that has so many of its rows after so long: in half of the time that it should still take. Each look
// costs what a worker would have used, and what passes between the seal and the next one is nobody's work.
func nextLook(elapsed time.Duration, written, rows int64) time.Duration {
	if written == 0 {
		return lookMax / 2
	}
	left := float64(elapsed) * float64(rows-written) / float64(written)
	return min(max(time.Duration(left/2), lookMin), lookMax)
}

// wait waits for the file; poll says when to look again.
func (s *stack) wait(ctx context.Context, id string, poll func(export) time.Duration) (export, error) {
	ctx, cancel := context.WithTimeout(ctx, exportWait)
	defer cancel()
	for {
		var e export
		if err := s.ask(ctx, http.MethodGet, "/v1/exports/"+id, http.StatusOK, nil, &e); err != nil {
			return e, err
		}
		switch {
		case e.State == "completed" && e.File != nil:
			return e, nil
		case e.Failure != nil:
			return e, fmt.Errorf("the export failed: %s: %s", e.Failure.Code, e.Failure.Detail)
		}
		select {
		case <-ctx.Done():
			return e, ctx.Err()
		case <-time.After(poll(e)):
		}
	}
}

// peaks are the largest resident sets of the functions' processes, and of the cloud itself.
func (s *stack) peaks(ctx context.Context) (map[string]int64, error) {
	var stats []struct {
		Name string `json:"name"`
		Peak int64  `json:"peak_rss_bytes"`
	}
	if err := s.own(ctx, http.MethodGet, "/_localstack/functions", &stats); err != nil {
		return nil, err
	}
	peaks := map[string]int64{}
	for _, f := range stats {
		if f.Peak > 0 {
			peaks[strings.TrimPrefix(f.Name, stackPrefix)] = f.Peak
		}
	}
	return peaks, nil
}

const stackPrefix = "sealift-"

// functionBinary is where a function's binary is.
func functionBinary(root, name string) string {
	return filepath.Join(root, "bin", "functions", name, "bootstrap")
}
