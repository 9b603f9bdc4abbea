package format_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"sealift/shared/format"
	"sealift/shared/job"
)

func bytesReader(data []byte) *bytes.Reader { return bytes.NewReader(data) }

// unpacked decompresses with the standard library's gzip and with klauspost's zstd.
func unpacked(t *testing.T, compression format.Compression, file []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(file)
	switch compression {
	case format.Gzip:
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			t.Fatalf("gzip: %v", err)
		}
		r = unzipped
	case format.Zstd:
		unzipped, err := zstd.NewReader(r)
		if err != nil {
			t.Fatalf("zstd: %v", err)
		}
		defer unzipped.Close()
		r = unzipped
	case format.None, format.Snappy:
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("decompress %s: %v", compression, err)
	}
	return data
}

// wantError fails the test unless err is a *job.Error of that kind and code whose text holds all of texts.
func wantError(t *testing.T, err error, kind job.Kind, code string, texts ...string) {
	t.Helper()
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Kind != kind || fault.Code != code {
		t.Fatalf("error is %v, want %s %s", err, kind, code)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q doesn't say %q", err, text)
		}
	}
}
