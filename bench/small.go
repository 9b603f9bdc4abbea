package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

// smallRows is how many rows the small export has; a multiple of instantOrders.
const smallRows = 2 * instantOrders

// answers are the times of small exports on an otherwise idle cloud, in milliseconds.
type answers struct {
	// Asked is until the POST was answered, Downloaded until the whole file was there.
	Asked      []float64 `json:"asked_ms"`
	Downloaded []float64 `json:"downloaded_ms"`
	// FirstAsked and FirstDownloaded are those of the first, which starts every function.
	FirstAsked      float64 `json:"first_asked_ms"`
	FirstDownloaded float64 `json:"first_downloaded_ms"`
}

// smallPoll is how often a small export is looked at.
const smallPoll = 20 * time.Millisecond

// small asks for the first rows of the table again and again, each time when the last file has been downloaded. The functions' cold starts are added
// to cold.
func (t *table) small(ctx context.Context, root string, asks int, cold map[string][]float64, tell func(done int)) (a answers, err error) {
	s, err := startStack(ctx, root, t.dir, leastConcurrency)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	f := form{"csv", "gzip"}
	if err := errors.Join(s.connect(ctx, t.dsn), s.define(ctx, f, engineShardRows)); err != nil {
		return a, err
	}
	to := newGenerator(int(t.rows)).placed(smallRows + 1).Format(timeLayout)
	for i := range asks + 1 {
		asked, downloaded, err := s.smallExport(ctx, to, f)
		if err != nil {
			return a, err
		}
		if i == 0 {
			a.FirstAsked, a.FirstDownloaded = asked, downloaded
			continue
		}
		a.Asked, a.Downloaded = append(a.Asked, asked), append(a.Downloaded, downloaded)
		tell(i)
	}
	if err := s.cancelOne(ctx, f); err != nil {
		return a, err
	}
	return a, s.starts(cold)
}

// smallExport does what a client does: ask, look until it is done, take a link, download.
func (s *stack) smallExport(ctx context.Context, to string, f form) (asked, downloaded float64, err error) {
	start := time.Now()
	since := func() float64 { return time.Since(start).Seconds() * 1e3 }
	e, err := s.create(ctx, to, f)
	if err != nil {
		return 0, 0, err
	}
	asked = since()
	if e, err = s.wait(ctx, e.ID, func(export) time.Duration { return smallPoll }); err != nil {
		return 0, 0, err
	}
	var link struct {
		URL string `json:"url"`
	}
	if err := s.ask(ctx, http.MethodPost, "/v1/exports/"+e.ID+"/download-links", http.StatusCreated, nil, &link); err != nil {
		return 0, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link.URL, nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	size, err := io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, 0, err
	}
	if e.File.Rows != smallRows || size != e.File.Bytes {
		return 0, 0, fmt.Errorf("the small export has %d rows and %d bytes and gave %d bytes; want %d rows", e.File.Rows, e.File.Bytes, size, smallRows)
	}
	return asked, since(), nil
}

// cancelOne starts the function that no export needs.
func (s *stack) cancelOne(ctx context.Context, f form) error {
	e, err := s.create(ctx, yearEnd, f)
	if err != nil {
		return err
	}
	return s.ask(ctx, http.MethodPost, "/v1/exports/"+e.ID+"/cancel", http.StatusOK, map[string]any{"reason": "benchmark"}, nil)
}

// started finds a function's start in the cloud's log.
func started() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + stackPrefix + `(\S+) REPORT .* Init Duration: ([0-9.]+) ms`)
}

// starts adds how long each function took from the start of its process to its first request for work, in milliseconds.
func (s *stack) starts(cold map[string][]float64) error {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err
	}
	for _, found := range started().FindAllStringSubmatch(string(text), -1) {
		ms, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return err
		}
		cold[found[1]] = append(cold[found[1]], ms)
	}
	return nil
}
