package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The wide table's shards: the first needs several parts, the second is one small object, the third is large enough to
// be copied whole when the file is put together. Together they make every kind of call that an export can make.
const (
	wideShards    = 3
	wideShardRows = 1_000
	partBytes     = 8 << 20
	copyBytesMin  = 5 << 20
)

// wide makes the wide table's orders.
func wide() []order {
	return orders(23, wideShards*wideShardRows, func(i int) *string {
		size := []int{9_600, 40, 6_400}[i/wideShardRows]
		note := strings.Repeat(string(rune('a'+i%26)), size)
		return &note
	})
}

// shards checks that the export has the shards that the wide table is made for.
func (u user) shards(t *testing.T, id string) {
	t.Helper()
	var receipt struct {
		Files []struct {
			Segments []struct {
				Bytes int64 `json:"bytes"`
			} `json:"segments"`
		} `json:"files"`
	}
	ok(t, json.Unmarshal(u.do(t, http.MethodGet, "/v1/exports/"+id+"/receipt", nil).want(t, http.StatusOK).body, &receipt))
	segments := receipt.Files[0].Segments
	if len(segments) != wideShards || segments[0].Bytes <= partBytes || segments[1].Bytes >= copyBytesMin || segments[2].Bytes < copyBytesMin || segments[2].Bytes >= partBytes {
		t.Fatalf("the wide table's shards have %+v bytes; want the first above %d, the second below %d, the third between them", segments, partBytes, copyBytesMin)
	}
}

// undisturbed is the file of an export that nothing happens to.
func (u user) undisturbed(t *testing.T, asked ask) []byte {
	t.Helper()
	id := u.create(t, asked, "undisturbed")
	u.completed(t, id)
	u.shards(t, id)
	return u.download(t, id)
}

// same checks that the export has completed with these bytes.
func (u user) same(t *testing.T, id string, want []byte) bool {
	t.Helper()
	if e := u.show(t, id); e.State != "completed" {
		t.Errorf("export %s is %s: %+v", id, e.State, e.Failure)
		return false
	}
	got := u.download(t, id)
	if bytes.Equal(got, want) {
		return true
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("export %s has other bytes than an undisturbed one: %d of them, the first at %d, want %d", id, len(got), at, len(want))
	return false
}
