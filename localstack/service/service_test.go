package service_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

type order struct {
	Number int
	Note   string
}

// shop is a service with three operations.
func shop(log io.Writer) *service.JSON {
	return &service.JSON{
		Options: service.Options{
			Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }, NewID: func() string { return "request-1" },
			Logger: slog.New(slog.NewTextHandler(log, nil)),
		},
		Name: "shop", Prefix: "Shop.", RequestBytesMax: 64, Internal: "ShopFailure", Message: "message",
		Operations: map[string]service.Operation{
			"Order": func(body []byte) (any, error) { return service.Decode[order]("Shop", body) },
			"Fail":  func([]byte) (any, error) { return nil, errors.New("the shelf fell over") },
			"Sing":  func([]byte) (any, error) { return func() {}, nil },
		},
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		answer, log                string
	}{
		{"done", "POST", "Shop.Order", `{"Number":7}`, 200, `{"Number":7,"Note":""}`, ""},
		{"another method", "GET", "Shop.Order", ``, 400, "UnknownOperationException", ""},
		{"another service", "POST", "Mall.Order", `{}`, 400, "is not provided by the embedded shop", ""},
		{"another operation", "POST", "Shop.Buy", `{}`, 400, "X-Amz-Target: Shop.", ""},
		{"too long", "POST", "Shop.Order", `{"Note":"` + strings.Repeat("n", 64) + `"}`, 400, "longer than 64 bytes", ""},
		{"another type", "POST", "Shop.Order", `{"Number":"secret"}`, 400, "in Number. Compare it with the Shop API reference", ""},
		{"no JSON", "POST", "Shop.Order", `{"Number":secret}`, 400, "at byte 11. Compare", ""},
		{"a failure", "POST", "Shop.Fail", `{}`, 500, `{"__type":"ShopFailure","message":"The shop failed: the shelf fell over"}`, "the shelf fell over"},
		{"an answer without a form", "POST", "Shop.Sing", `{}`, 500, "{}", "answer has no JSON form"},
	} {
		var log bytes.Buffer
		r := httptest.NewRequest(c.method, "/", strings.NewReader(c.body))
		r.Header.Set("X-Amz-Target", c.target)
		w := httptest.NewRecorder()
		shop(&log).ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code != c.status || !strings.Contains(got, c.answer) || strings.Contains(got, "secret") {
			t.Errorf("%s: %d %s, want %d with %s", c.name, w.Code, got, c.status, c.answer)
		}
		if (c.log == "") != (log.Len() == 0) || !strings.Contains(log.String(), c.log) {
			t.Errorf("%s: logged %q, want %q", c.name, log.String(), c.log)
		}
		want := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "Date": {"Sun, 01 Mar 2026 12:00:00 GMT"}, "X-Amzn-Requestid": {"request-1"}}
		for name := range want {
			if w.Header().Get(name) != want.Get(name) {
				t.Errorf("%s: header %s is %q, want %q", c.name, name, w.Header().Get(name), want.Get(name))
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	o := service.Options{}.WithDefaults()
	if a, b := o.NewID(), o.NewID(); len(a) != 36 || a[14] != '4' || a == b {
		t.Errorf("ids %s and %s, want two random UUIDs", a, b)
	}
	if o.Region != "us-east-1" || o.AccountID != "000000000000" || o.Now().Before(time.Now().Add(-time.Minute)) {
		t.Errorf("defaults %+v", o)
	}
	o.Logger.Error("nobody hears it")
}

func TestRecordsSurvive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	const bucket = "order"
	open := func(load func(*bolt.Tx) error) (*bolt.DB, error) {
		return service.Open(dir, "shop", []string{bucket}, load)
	}
	db, err := open(func(*bolt.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error {
		for _, n := range []uint64{300, 2, 5} {
			if err := service.Put(tx, bucket, service.NumberKey(n), order{Number: int(n)}); err != nil {
				return err
			}
		}
		return service.Delete(tx, bucket, service.NumberKey(5))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(func(*bolt.Tx) error { return nil }); err == nil || !strings.Contains(err.Error(), "is another process using this data directory?") {
		t.Errorf("opened twice: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "shop.db")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var numbers []int
	db, err = open(func(tx *bolt.Tx) error {
		return service.Each(tx, bucket, func(_ []byte, o order) error {
			numbers = append(numbers, o.Number)
			return nil
		})
	})
	if err != nil || len(numbers) != 2 || numbers[0] != 2 || numbers[1] != 300 {
		t.Fatalf("read %v (%v), want 2 and 300", numbers, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v), want 0600", info.Mode(), err)
	}
	if err := errors.Join(db.Update(func(tx *bolt.Tx) error { return service.Put(tx, bucket, []byte("x"), "secret") }), db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = open(func(tx *bolt.Tx) error {
		return service.Each(tx, bucket, func([]byte, order) error { return nil })
	})
	if err == nil || !strings.Contains(err.Error(), `the order record "x" is damaged`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a damaged record is told as %v", err)
	}
}
