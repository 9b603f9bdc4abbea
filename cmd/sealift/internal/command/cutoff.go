package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"sealift/shared/snapshot"
)

// cut says that the span ends earlier than it was asked for, because rows behind the cutoff are not settled yet; empty
// when it doesn't. request is the API's JSON that was sent, granted what the service made of it.
func (c create) cut(request []byte, granted snapshot.Request) string {
	var asked snapshot.Request
	if json.Unmarshal(request, &asked) != nil {
		return ""
	}
	wanted, err := time.Parse(time.RFC3339, asked.Span.To)
	if err != nil {
		return "" // Without an end the span has no other than the cutoff.
	}
	ends, err := time.Parse(time.RFC3339, granted.Span.To)
	if err != nil || !ends.Before(wanted) {
		return ""
	}
	flag := "--to"
	if c.request != "" {
		flag = "/span/to"
	}
	return fmt.Sprintf("%s (%s) is after the cutoff; the span ends at %s", flag, cmp.Or(c.words.To, asked.Span.To), granted.Span.To)
}
