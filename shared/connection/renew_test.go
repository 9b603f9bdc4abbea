package connection_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/connection"
	"sealift/shared/job"
	"sealift/shared/source"
)

// renewable is what pipeline asks of a source that isn't the one that was planned.
type renewable interface {
	Renew(ctx context.Context) (source.Source, error)
}

func TestASourceOfAKeptStringIsRenewedWhenTheSecretHasChanged(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		rest time.Duration
		// before is how often the connection was opened and closed before the source that is to be renewed.
		before int
		put    string
		want   []string
		reads  int
	}{
		"changed, and it can't rest":        {0, 1, secondDSN, []string{"open first", "close first", "open first", "open second"}, 2},
		"changed, and it has rested":        {time.Hour, 1, secondDSN, []string{"open first", "rest first", "wake first", "open second"}, 2},
		"the same":                          {time.Hour, 1, firstDSN, []string{"open first", "rest first", "wake first"}, 2},
		"read for this source, and changed": {time.Hour, 0, secondDSN, []string{"open first"}, 1},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			sources, v, _ := resting(t, s, c.rest)
			var opened source.Source
			var err error
			for i := range c.before + 1 {
				if opened, err = sources.Open(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
				if i < c.before {
					_ = opened.Close()
				}
			}
			v.put(name, c.put)
			renewed, err := renew(t, opened)
			if err != nil || (renewed != nil) != (c.put == secondDSN && c.before > 0) {
				t.Errorf("renewed to %v (%v)", renewed, err)
			}
			if diff := cmp.Diff(c.want, s.told); diff != "" || v.count() != c.reads {
				t.Errorf("%d reads, want %d:\n%s", v.count(), c.reads, diff)
			}
			if renewed == nil {
				return
			}
			// The next source is of the new string without another read, and the old one isn't woken for it.
			_ = opened.Close()
			if _, err := sources.Open(t.Context(), "orders"); err != nil || s.told[len(s.told)-1] != "open second" || v.count() != c.reads {
				t.Errorf("the next: %v, %q after %d reads", err, s.told, v.count())
			}
		})
	}
}

func TestASourceIsNotRenewedWhereTheNewStringLeadsNowhere(t *testing.T) {
	t.Parallel()
	v, o := &vault{secrets: map[string]string{name: firstDSN}}, &opener{}
	sources, _ := sourcesWith(t, v, connection.Config{TTL: time.Hour, Open: o.open})
	var opened source.Source
	for range 2 {
		var err error
		if opened, err = sources.Open(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
	}
	v.put(name, secondDSN)
	o.refuses = map[string]error{secondDSN: job.Errorf(job.Transient, "source_unavailable", "the server can't be reached")}
	if renewed, err := renew(t, opened); renewed != nil || job.CodeOf(err) != "source_unavailable" {
		t.Errorf("got %v and %v", renewed, err)
	}
	v.put(name, firstDSN)
	if again, err := sources.Open(t.Context(), "orders"); err != nil || again == nil || v.count() != 3 {
		t.Errorf("the next try reads the secret again: %v after %d reads", err, v.count())
	}
}

// renew renews a source that can be; one that can't has nothing to renew.
func renew(t *testing.T, opened source.Source) (source.Source, error) {
	t.Helper()
	old, ok := opened.(renewable)
	if !ok {
		return nil, nil
	}
	return old.Renew(t.Context())
}
