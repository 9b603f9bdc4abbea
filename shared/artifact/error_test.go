package artifact_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sealift/shared/artifact"
	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, kind job.Kind, code string) {
	t.Helper()
	if job.KindOf(err) != kind || job.CodeOf(err) != code {
		t.Errorf("got %v, want %s: %s", err, kind, code)
	}
}

// storeAt is a store whose S3 is at an address.
func storeAt(address string, attempts int) *artifact.Store {
	return artifact.New(s3.New(s3.Options{
		BaseEndpoint: aws.String(address), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}), "exports", artifact.Options{Attempts: attempts})
}

// answering is a store whose S3 gives one answer to everything, and the count of calls that reached it.
func answering(t *testing.T, attempts int, answer http.HandlerFunc) (*artifact.Store, *atomic.Int64) {
	t.Helper()
	calls := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return storeAt(server.URL, attempts), calls
}

func says(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>m</Message></Error>`, code)
		}
	}
}

// hangsUp closes the connection after the request has arrived.
func hangsUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

type operation func(ctx context.Context, s *artifact.Store) error

func operations() map[string]operation {
	upload := job.Upload{Key: "k", ID: "u"}
	sum := uint64(checksum.Sum64([]byte("x")))
	return map[string]operation{
		"put": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.Put(ctx, pipeline.NewObject{Key: "k"}, []byte("x"))
			return err
		},
		"create": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.CreateUpload(ctx, pipeline.NewObject{Key: "k"})
			return err
		},
		"part": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.PutPart(ctx, upload, 1, []byte("x"), sum)
			return err
		},
		"copy": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.CopyPart(ctx, upload, 1, pipeline.Slice{Key: "from", ETag: "e", To: 10 << 20})
			return err
		},
		"complete": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.CompleteUpload(ctx, upload, []job.Part{{Number: 1, ETag: "e", Bytes: 1, CRC64: sum}}, pipeline.Object{Bytes: 1, CRC64: sum})
			return err
		},
		"parts": func(ctx context.Context, s *artifact.Store) error { _, err := s.Parts(ctx, upload); return err },
		"stat":  func(ctx context.Context, s *artifact.Store) error { _, _, err := s.Stat(ctx, "k"); return err },
		"read": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.Read(ctx, pipeline.Slice{Key: "k", To: 1})
			return err
		},
		"abort":   func(ctx context.Context, s *artifact.Store) error { return s.AbortUpload(ctx, "k", "u") },
		"delete":  func(ctx context.Context, s *artifact.Store) error { return s.Delete(ctx, "k", "e") },
		"objects": func(ctx context.Context, s *artifact.Store) error { _, err := s.Objects(ctx, "p", "", 1); return err },
		"uploads": func(ctx context.Context, s *artifact.Store) error {
			_, err := s.Uploads(ctx, "p", pipeline.StoredUpload{}, 1)
			return err
		},
	}
}

func readsOnly(name string) bool {
	return strings.Contains(" parts stat read objects uploads ", " "+name+" ")
}

func TestEveryAnswerHasItsKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		only   string
		reads  string
		writes string
	}{
		"slow down":             {status: 503, code: "SlowDown", reads: "overload: store_overloaded", writes: "overload: store_overloaded"},
		"unavailable":           {status: 503, code: "ServiceUnavailable", reads: "overload: store_overloaded", writes: "overload: store_overloaded"},
		"too many requests":     {status: 429, code: "TooManyRequests", reads: "overload: store_overloaded", writes: "overload: store_overloaded"},
		"internal error":        {status: 500, code: "InternalError", reads: "transient: store_unavailable", writes: "unknown: store_unknown"},
		"denied":                {status: 403, code: "AccessDenied", reads: "permanent: store_denied", writes: "permanent: store_denied"},
		"expired token":         {status: 400, code: "ExpiredToken", only: "put complete read objects", reads: "transient: credentials_expired", writes: "transient: credentials_expired"},
		"no bucket":             {status: 404, code: "NoSuchBucket", only: "put create part read objects", reads: "permanent: store_refused", writes: "permanent: store_refused"},
		"no upload":             {status: 404, code: "NoSuchUpload", only: "part copy complete parts", reads: "permanent: upload_missing", writes: "permanent: upload_missing"},
		"no object":             {status: 404, code: "NoSuchKey", only: "copy read", reads: "permanent: object_missing", writes: "permanent: object_missing"},
		"condition on create":   {status: 412, code: "PreconditionFailed", only: "put complete", writes: "permanent: object_exists"},
		"condition on version":  {status: 412, code: "PreconditionFailed", only: "copy read", reads: "permanent: object_changed", writes: "permanent: object_changed"},
		"a race on the key":     {status: 409, code: "ConditionalRequestConflict", only: "put complete", writes: "unknown: store_unknown"},
		"bad digest":            {status: 400, code: "BadDigest", only: "put part complete", writes: "permanent: checksum_mismatch"},
		"bad part":              {status: 400, code: "InvalidPart", only: "complete", writes: "permanent: part_invalid"},
		"small part":            {status: 400, code: "EntityTooSmall", only: "complete", writes: "permanent: part_invalid"},
		"bytes too slow":        {status: 400, code: "RequestTimeout", only: "put part", writes: "transient: store_timeout"},
		"not understood":        {status: 400, code: "InvalidRequest", only: "put part complete read", reads: "permanent: store_refused", writes: "permanent: store_refused"},
		"error with status 200": {status: 200, code: "InternalError", only: "complete copy", writes: "unknown: store_unknown"},
		"slow down with 200":    {status: 200, code: "SlowDown", only: "complete copy", writes: "overload: store_overloaded"},
	} {
		for title, run := range operations() {
			if c.only != "" && !strings.Contains(" "+c.only+" ", " "+title+" ") {
				continue
			}
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				store, _ := answering(t, 1, says(c.status, c.code))
				want := c.writes
				if readsOnly(title) {
					want = c.reads
				}
				err := run(t.Context(), store)
				if got := fmt.Sprintf("%s: %s", job.KindOf(err), job.CodeOf(err)); got != want {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
	}
}

func TestALostAnswerIsUnknownForAWrite(t *testing.T) {
	t.Parallel()
	slow := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	}
	for name, answer := range map[string]http.HandlerFunc{"hung up": hangsUp, "too late": slow} {
		for title, run := range operations() {
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				store, _ := answering(t, 1, answer)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				want := job.Unknown
				if readsOnly(title) {
					want = job.Transient
				}
				if err := run(ctx, store); job.KindOf(err) != want {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
	}
}

func TestACallThatNeverConnectedDidNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := "http://" + listener.Addr().String()
	must(t, listener.Close())
	for title, run := range operations() {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			wantCode(t, run(t.Context(), storeAt(address, 1)), job.Transient, "store_unavailable")
		})
	}
}

func TestOnlyWhatMayBeRepeatedIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string
		answer    http.HandlerFunc
		calls     int64
	}{
		"a part is sent again after a lost answer":     {"part", hangsUp, 3},
		"a part is sent again after a failure":         {"part", says(500, "InternalError"), 3},
		"a read is made again":                         {"stat", says(500, ""), 3},
		"a creation is not after a lost answer":        {"put", hangsUp, 1},
		"a completion is not after a lost answer":      {"complete", hangsUp, 1},
		"a completion is not after an error in a 200":  {"complete", says(200, "InternalError"), 1},
		"a creation is when the store asks to wait":    {"put", says(503, "SlowDown"), 3},
		"nothing is repeated that can't become better": {"put", says(403, "AccessDenied"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, calls := answering(t, 3, c.answer)
			if err := operations()[c.operation](t.Context(), store); err == nil {
				t.Error("no error")
			}
			if calls.Load() != c.calls {
				t.Errorf("%d calls, want %d", calls.Load(), c.calls)
			}
		})
	}
}

// breaksOff refuses and closes the connection before it has said why.
func breaksOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", "400")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>Inv`)
}

func TestARefusalWhoseReasonIsLostIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for title, run := range operations() {
		if title == "stat" {
			continue // an answer to HEAD has no body that could be lost
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			store, calls := answering(t, 2, breaksOff)
			want := job.Unknown
			if readsOnly(title) {
				want = job.Transient
			}
			if err := run(t.Context(), store); job.KindOf(err) != want || calls.Load() != 2 {
				t.Errorf("got %v after %d calls, want %s after 2", err, calls.Load(), want)
			}
			turn := &atomic.Int64{}
			told, _ := answering(t, 2, func(w http.ResponseWriter, r *http.Request) {
				if turn.Add(1) == 1 {
					breaksOff(w, r)
					return
				}
				says(http.StatusForbidden, "AccessDenied")(w, r)
			})
			wantCode(t, run(t.Context(), told), job.Permanent, "store_denied")
		})
	}
}

func TestACompletionAnsweredWithAnotherChecksumIsNotBelieved(t *testing.T) {
	t.Parallel()
	complete := operations()["complete"]
	body := func(sum string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Length", "1")
				w.Header().Set("ETag", `"e-1"`)
				w.Header().Set("X-Amz-Checksum-Crc64nvme", checksum.Sum64([]byte("x")).Base64())
				w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
				return
			}
			_, _ = fmt.Fprintf(w, `<CompleteMultipartUploadResult><ETag>"e-1"</ETag>%s</CompleteMultipartUploadResult>`, sum)
		}
	}
	other, _ := answering(t, 1, body("<ChecksumCRC64NVME>"+checksum.Sum64([]byte("y")).Base64()+"</ChecksumCRC64NVME>"))
	wantCode(t, complete(t.Context(), other), job.Permanent, "checksum_mismatch")
	silent, calls := answering(t, 1, body(""))
	must(t, complete(t.Context(), silent))
	if calls.Load() != 2 {
		t.Errorf("a completion without a checksum is looked at afterwards; %d calls", calls.Load())
	}
}

func TestABodyThatEndsEarlyIsNotData(t *testing.T) {
	t.Parallel()
	store, _ := answering(t, 1, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("short"))
	})
	_, err := store.Read(t.Context(), pipeline.Slice{Key: "k", To: 100})
	wantCode(t, err, job.Transient, "store_unavailable")
}

// It runs beside no other test, because it measures what the whole process allocates.
func TestAPartIsSentFromTheCallersMemory(t *testing.T) {
	store, _ := answering(t, 1, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"e"`) })
	data := make([]byte, 32<<20)
	sum := uint64(checksum.Sum64(data))
	send := func() {
		if _, err := store.PutPart(t.Context(), job.Upload{Key: "k", ID: "u"}, 1, data, sum); err != nil {
			t.Fatal(err)
		}
	}
	send()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	send()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("sending %d bytes allocated %d", len(data), grown)
	}
}
