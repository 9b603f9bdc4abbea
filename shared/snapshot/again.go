package snapshot

import (
	"encoding/json"
	"strings"
	"time"

	"sealift/shared/row"
)

// Request is the request that asks for the snapshot's set and file again, with every default filled in: under the same
// definition and rights it freezes to the same snapshot. Only where the business time knows nothing but days, the cutoff,
// which is seldom the beginning of one, is left to the moment of asking; the days are the same.
func (s Snapshot) Request() Request {
	request := Request{
		Definition: s.Definition, Purpose: s.Purpose, AsOf: s.AsOf, Zone: s.Zone, Layout: string(s.Layout), FileName: s.FileName,
		Span: Span{From: s.instant(s.Since), To: s.instant(s.Until)}, Format: s.Format.request(),
	}
	if isDay(s.Since) {
		request.AsOf = ""
	}
	for _, column := range s.Columns {
		request.Columns = append(request.Columns, column.Name)
	}
	for _, wanted := range s.Filters {
		request.Filters = append(request.Filters, wanted.filter())
	}
	return request
}

// instant is the instant that stands in a snapshot as text of the time column's kind.
func (s Snapshot) instant(text string) string {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return text
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return text
	}
	if day, err := time.Parse(time.DateOnly, strings.TrimSuffix(text, "T00:00:00")); err == nil {
		if start, exists := DayStart(day, zone); exists {
			return InstantText(start)
		}
	}
	wall, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", text, zone)
	if err != nil {
		return text
	}
	if wall.Nanosecond() == 0 {
		return InstantText(wall)
	}
	return wall.UTC().Format(time.RFC3339Nano)
}

func isDay(text string) bool { return len(text) == len(time.DateOnly) }

// request names every option that the format has.
func (f Format) request() FormatRequest {
	asked := FormatRequest{Type: f.Type, Compression: f.Compression}
	if f.Type != "csv" {
		return asked
	}
	asked.Delimiter, asked.Quote, asked.LineEnd, asked.Encoding = f.Delimiter, f.Quote, "crlf", f.Encoding
	asked.Header, asked.BOM, asked.Null = &f.Header, f.BOM, &f.Null
	if f.LineEnd == "\n" {
		asked.LineEnd = "lf"
	}
	return asked
}

func (w Wanted) filter() Filter {
	filter := Filter{Column: w.Column, Op: w.Op}
	for _, value := range w.Values {
		// Text always marshals, and is taken for every kind.
		raw, _ := json.Marshal(value)
		filter.Values = append(filter.Values, raw)
	}
	if w.Op != row.In && len(filter.Values) == 1 {
		filter.Value, filter.Values = filter.Values[0], nil
	}
	return filter
}
