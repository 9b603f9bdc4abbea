package edge

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
)

func TestALargeReceiptIsPackedForThoseWhoTakeGzip(t *testing.T) {
	t.Parallel()
	small, large, huge := bytes.Repeat([]byte("r"), limits.PlainAnswerBytesMax), bytes.Repeat([]byte("r"), limits.PlainAnswerBytesMax+1), bytes.Repeat([]byte("r"), limits.AnswerBytesMax+1)
	cases := []struct {
		name    string
		text    []byte
		accepts string
		packed  bool
		code    string
	}{
		{"small", small, "gzip", false, ""},
		{"large", large, "gzip", true, ""},
		{"large, as browsers ask", large, "br;q=1.0, gzip;q=0.8, *;q=0.1", true, ""},
		{"large, anything", large, "*", true, ""},
		{"large, none", large, "", false, ""},
		{"large, no gzip", large, "gzip;q=0, identity", false, ""},
		{"large, no gzip among any", large, "gzip;q=0, *", false, ""},
		{"large, any but gzip", large, "*, gzip;q=0", false, ""},
		{"huge, nothing but gzip", huge, "*;q=0, gzip", true, ""},
		{"huge, gzip after a weaker any", huge, "identity, *;q=0, gzip;q=0.5", true, ""},
		{"huge", huge, "deflate, GZIP", true, ""},
		{"huge, none", huge, "identity", false, "receipt_too_large"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer, err := packed(c.text, c.accepts)
			if c.code != "" {
				if job.CodeOf(err) != c.code || job.KindOf(err) != job.Invalid {
					t.Fatalf("error is %v, want %s", err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sent := render(answer)
			if sent.IsBase64Encoded != c.packed || (sent.Headers["content-encoding"] == "gzip") != c.packed || (sent.Headers["vary"] != "") != c.packed {
				t.Errorf("base64 %v, headers %v", sent.IsBase64Encoded, sent.Headers)
			}
			if got := opened(t, sent.Body, c.packed); !bytes.Equal(got, c.text) {
				t.Errorf("%d bytes arrive of %d", len(got), len(c.text))
			}
		})
	}
}

func opened(t *testing.T, body string, packed bool) []byte {
	t.Helper()
	if !packed {
		return []byte(body)
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
