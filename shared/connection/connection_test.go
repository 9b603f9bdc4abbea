package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/connection"
	"sealift/shared/job"
	"sealift/shared/source"
)

// vault answers like Secrets Manager.
type vault struct {
	mu      sync.Mutex
	secrets map[string]string
	reads   int
	status  int
	code    string
	// breaks ends the connection before the reason of a refusal has been sent.
	breaks bool
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var asked struct{ SecretId string }
	_ = json.Unmarshal(text, &asked)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	status, code := v.status, v.code
	value, ok := v.secrets[asked.SecretId]
	if status == 0 && !ok {
		status, code = 400, "ResourceNotFoundException"
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if v.breaks {
		w.Header().Set("Content-Length", "400")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"Inv`)
		return
	}
	if status != 0 {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type":%q,"Message":"m"}`, code)
		return
	}
	answer, _ := json.Marshal(map[string]string{"Name": asked.SecretId, "SecretString": value})
	_, _ = w.Write(answer)
}

func (v *vault) put(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets[name] = value
}

func (v *vault) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

// opener opens every string but those it refuses, and keeps what it was given.
type opener struct {
	given   []string
	refuses map[string]error
}

type opened struct {
	source.Source
	dsn string
}

func (o *opener) open(_ context.Context, _, dsn string) (source.Source, error) {
	o.given = append(o.given, dsn)
	if err := o.refuses[dsn]; err != nil {
		return nil, err
	}
	return opened{dsn: dsn}, nil
}

type clock struct{ now time.Time }

func newSources(t *testing.T, v *vault, o *opener, ttl time.Duration) (*connection.Sources, *clock) {
	t.Helper()
	return sourcesWith(t, v, connection.Config{TTL: ttl, Open: o.open})
}

// sourcesWith completes a config with the prefix of these tests' secrets and a clock that stands still.
func sourcesWith(t *testing.T, v *vault, config connection.Config) (*connection.Sources, *clock) {
	t.Helper()
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	client := secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	config.Prefix, config.Now = "sealift/connections/", func() time.Time { return c.now }
	return connection.New(client, config), c
}

const (
	firstDSN  = "postgres://reader:first-password@db/orders"
	secondDSN = "postgres://reader:second-password@db/orders"
	name      = "sealift/connections/orders"
)

func TestAConnectionIsTheSecretBelowThePrefix(t *testing.T) {
	t.Parallel()
	v, o := &vault{secrets: map[string]string{name: firstDSN + "\n"}}, &opener{}
	sources, _ := newSources(t, v, o, time.Minute)
	got, err := sources.Open(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if source, ok := got.(opened); !ok || source.dsn != firstDSN {
		t.Errorf("opened %+v", got)
	}
}

func TestASecretIsReadAgainWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	v, o := &vault{secrets: map[string]string{name: firstDSN}}, &opener{}
	sources, c := newSources(t, v, o, time.Minute)
	open := func() {
		t.Helper()
		if _, err := sources.Open(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
	}
	open()
	v.put(name, secondDSN)
	c.now = c.now.Add(time.Minute - time.Nanosecond)
	open()
	c.now = c.now.Add(time.Nanosecond)
	open()
	if diff := cmp.Diff([]string{firstDSN, firstDSN, secondDSN}, o.given); diff != "" || v.count() != 2 {
		t.Errorf("%d reads:\n%s", v.count(), diff)
	}

	always, _ := newSources(t, v, o, 0)
	for range 3 {
		if _, err := always.Open(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
	}
	if v.count() != 5 {
		t.Errorf("without a time to keep, every open reads; %d reads", v.count())
	}
}

func TestARotatedSecretIsTakenUpAtOnce(t *testing.T) {
	t.Parallel()
	v, o := &vault{secrets: map[string]string{name: firstDSN}}, &opener{}
	sources, _ := newSources(t, v, o, time.Hour)
	if _, err := sources.Open(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	denied := job.Errorf(job.Permanent, "source_denied", "the password is refused")
	o.refuses = map[string]error{firstDSN: denied}
	if _, err := sources.Open(t.Context(), "orders"); !errors.Is(err, denied) {
		t.Errorf("an unchanged secret: got %v", err)
	}
	if tries := len(o.given); tries != 2 {
		t.Errorf("an unchanged secret was tried %d times", tries)
	}
	if _, err := sources.Open(t.Context(), "orders"); err == nil {
		t.Error("a secret just read was tried with success")
	}
	if tries := len(o.given); tries != 3 {
		t.Errorf("a secret just read was tried %d times", tries-2)
	}
	v.put(name, secondDSN)
	if _, err := sources.Open(t.Context(), "orders"); err != nil {
		t.Errorf("a rotated secret: %v", err)
	}
}

func TestAMissingConnectionSaysHowToMakeIt(t *testing.T) {
	t.Parallel()
	sources, _ := newSources(t, &vault{}, &opener{}, time.Minute)
	_, err := sources.Open(t.Context(), "orders")
	if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "connection_missing" ||
		!strings.Contains(err.Error(), `aws secretsmanager create-secret --name "$STACK/connections/orders"`) || job.PlaceOf(err) != "secret "+name {
		t.Errorf("got %v", err)
	}
}

func TestANameNeverReachesAnotherSecret(t *testing.T) {
	t.Parallel()
	v := &vault{secrets: map[string]string{}}
	sources, _ := newSources(t, v, &opener{}, time.Minute)
	for _, bad := range []string{"", "..", ".x", "../other", "a/b", "a b", "订单", "a\n", strings.Repeat("a", 129)} {
		if _, err := sources.Open(t.Context(), bad); job.CodeOf(err) != "connection_invalid" {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if v.count() != 0 {
		t.Errorf("%d secrets were asked for", v.count())
	}
}

func TestEveryAnswerHasItsKind(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		status int
		code   string
		kind   job.Kind
		want   string
	}{
		"denied":         {400, "AccessDeniedException", job.Permanent, "connection_denied"},
		"key denied":     {400, "DecryptionFailure", job.Permanent, "connection_denied"},
		"being deleted":  {400, "InvalidRequestException", job.Permanent, "connection_missing"},
		"throttled":      {400, "ThrottlingException", job.Overload, "connection_overloaded"},
		"failed":         {500, "InternalServiceError", job.Transient, "connection_unavailable"},
		"not understood": {400, "InvalidParameterException", job.Permanent, "connection_refused"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			v := &vault{status: c.status, code: c.code}
			sources, _ := newSources(t, v, &opener{}, time.Minute)
			_, err := sources.Open(t.Context(), "orders")
			if job.KindOf(err) != c.kind || job.CodeOf(err) != c.want || v.count() > 3 {
				t.Errorf("got %v after %d reads, want %s: %s", err, v.count(), c.kind, c.want)
			}
		})
	}
	t.Run("broken off", func(t *testing.T) {
		t.Parallel()
		sources, _ := newSources(t, &vault{breaks: true}, &opener{}, time.Minute)
		_, err := sources.Open(t.Context(), "orders")
		if job.KindOf(err) != job.Transient || job.CodeOf(err) != "connection_unavailable" {
			t.Errorf("got %v, want a transient failure", err)
		}
	})
	t.Run("no text", func(t *testing.T) {
		t.Parallel()
		sources, _ := newSources(t, &vault{secrets: map[string]string{name: " "}}, &opener{}, time.Minute)
		if _, err := sources.Open(t.Context(), "orders"); job.CodeOf(err) != "connection_malformed" {
			t.Errorf("got %v", err)
		}
	})
}

// An address is corrected while exports wait for it, be what was wrong the password, the host or the port.
func TestAFailedOpeningForgetsTheString(t *testing.T) {
	t.Parallel()
	for _, kind := range []job.Kind{job.Permanent, job.Transient, job.Overload, job.Resource} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			failure := job.Errorf(kind, "source_unavailable", "the server can't be reached")
			v, o := &vault{secrets: map[string]string{name: firstDSN}}, &opener{refuses: map[string]error{firstDSN: failure}}
			sources, _ := newSources(t, v, o, time.Hour)
			for range 2 {
				if _, err := sources.Open(t.Context(), "orders"); !errors.Is(err, failure) {
					t.Fatalf("got %v", err)
				}
			}
			if diff := cmp.Diff([]string{firstDSN, firstDSN}, o.given); diff != "" || v.count() != 2 {
				t.Errorf("a string just read is tried once and read again the next time; %d reads:\n%s", v.count(), diff)
			}
			v.put(name, secondDSN)
			if _, err := sources.Open(t.Context(), "orders"); err != nil {
				t.Errorf("the next try after the correction: %v", err)
			}
			o.refuses[secondDSN] = failure
			v.put(name, firstDSN)
			delete(o.refuses, firstDSN)
			if _, err := sources.Open(t.Context(), "orders"); err != nil || o.given[len(o.given)-1] != firstDSN {
				t.Errorf("a kept string that fails is changed within the same try: %v, %q", err, o.given)
			}
			if _, err := sources.Open(t.Context(), "orders"); err != nil || v.count() != 4 {
				t.Errorf("what opens is kept: %v after %d reads", err, v.count())
			}
		})
	}
}

func TestAStoppedOpeningReadsNothingMore(t *testing.T) {
	t.Parallel()
	v, o := &vault{secrets: map[string]string{name: firstDSN}}, &opener{refuses: map[string]error{}}
	sources, _ := newSources(t, v, o, time.Hour)
	if _, err := sources.Open(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	o.refuses[firstDSN] = job.Errorf(job.Cancelled, "source_cancelled", "stopped")
	if _, err := sources.Open(t.Context(), "orders"); job.KindOf(err) != job.Cancelled || v.count() != 1 {
		t.Errorf("%v after %d reads, want cancelled after one", err, v.count())
	}
}
