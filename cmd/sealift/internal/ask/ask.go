// Package ask owns how the words of a command line become the request of an export, and how the API's refusal is said in
// those words. It knows no definition: whether a column exists and a value fits is for the API to say. Start reading at
// Words. It imports snapshot and row.
package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sealift/shared/snapshot"
)

// Words are what a person gives; empty is not given.
type Words struct {
	Definition  string
	Purpose     string
	From        string
	To          string
	AsOf        string
	Zone        string
	Columns     []string
	Filters     []string
	Format      string
	Compression string
	FileName    string
	Layout      string
	Delimiter   string
	Quote       string
	LineEnd     string
	Header      *bool
	BOM         bool
	Null        *string
	Encoding    string
}

// Request renders the words as the API's JSON. Its error tells every fault that the words themselves show.
func (w Words) Request() ([]byte, error) {
	var faults []error
	if w.Definition == "" {
		faults = append(faults, errors.New("--definition is missing; name what shall be exported, as in --definition orders"))
	}
	if slices.ContainsFunc(w.Columns, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		faults = append(faults, errors.New("--column has an empty name; name columns, as in --column order_id,status, or leave the flag out for all"))
	}
	request := snapshot.Request{
		Definition: w.Definition, Purpose: w.Purpose, Columns: w.Columns, Zone: w.Zone, Layout: w.Layout, FileName: w.FileName,
		Format: snapshot.FormatRequest{
			Type: w.Format, Compression: w.Compression, Delimiter: delimiter(w.Delimiter), Quote: w.Quote, LineEnd: w.LineEnd,
			Header: w.Header, BOM: w.BOM, Null: w.Null, Encoding: w.Encoding,
		},
	}
	for _, given := range []struct {
		flag, text string
		to         *string
	}{{"--from", w.From, &request.Span.From}, {"--to", w.To, &request.Span.To}, {"--as-of", w.AsOf, &request.AsOf}} {
		var err error
		if *given.to, err = instant(given.flag, given.text, w.Zone); err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	if request.Filters, err = parseFilters(w.Filters); err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// delimiter lets a tab be named, which is hard to type.
func delimiter(text string) string {
	switch strings.ToLower(text) {
	case "tab", `\t`:
		return "\t"
	case "comma":
		return ","
	case "semicolon":
		return ";"
	case "pipe":
		return "|"
	}
	return text
}

// instant lets a day stand for its beginning in the zone; a time is sent as it is.
func instant(flag, text, zone string) (string, error) {
	if text == "" {
		return "", nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "", fmt.Errorf("%s is %q; give a day, as in 2026-01-31 (its beginning in --zone, UTC when not given), or a time with its offset, as in 2026-01-31T09:30:00+08:00", flag, text)
		}
		return text, nil
	}
	if zone == "" {
		zone = "UTC"
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return "", fmt.Errorf("%s is a day, but the zone %q in which it begins is unknown; give --zone as in Asia/Shanghai, or a time with its offset", flag, zone)
	}
	start, exists := snapshot.DayStart(day, location)
	if !exists {
		return "", fmt.Errorf("%s is %s, a day that the clocks of %s left out; give %s, which came in its place", flag, text, zone, day.AddDate(0, 0, 1).Format(time.DateOnly))
	}
	return snapshot.InstantText(start), nil
}
