// Package ask owns how the words of a command line become the request of an export, and how the API's refusal is said in
// those words. It knows no definition: whether a column exists and a value fits is for the API to say. Start reading at
// Words. It imports snapshot and row.
package ask

import (
	"encoding/json"
	"fmt"
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

// Request renders the words as the API's JSON.
func (w Words) Request() ([]byte, error) {
	if w.Definition == "" {
		return nil, fmt.Errorf("--definition is missing; name what shall be exported, as in --definition orders")
	}
	for _, name := range w.Columns {
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("--column has an empty name; name columns, as in --column order_id,status, or leave the flag out for all")
		}
	}
	request := snapshot.Request{
		Definition: w.Definition, Purpose: w.Purpose, Columns: w.Columns, Zone: w.Zone, Layout: w.Layout, FileName: w.FileName,
		Format: snapshot.FormatRequest{
			Type: w.Format, Compression: w.Compression, Delimiter: delimiter(w.Delimiter), Quote: w.Quote, LineEnd: w.LineEnd,
			Header: w.Header, BOM: w.BOM, Null: w.Null, Encoding: w.Encoding,
		},
	}
	var err error
	if request.Span.From, err = instant("--from", w.From, w.Zone); err != nil {
		return nil, err
	}
	if request.Span.To, err = instant("--to", w.To, w.Zone); err != nil {
		return nil, err
	}
	if request.AsOf, err = instant("--as-of", w.AsOf, w.Zone); err != nil {
		return nil, err
	}
	for _, text := range w.Filters {
		filter, err := ParseFilter(text)
		if err != nil {
			return nil, err
		}
		request.Filters = append(request.Filters, filter)
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
