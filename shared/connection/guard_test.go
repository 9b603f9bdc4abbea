package connection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sealift/shared/connection"
	"sealift/shared/job"
	"sealift/shared/source"
)

// refusing are sources of one connection that can't be opened.
func refusing(t *testing.T, dsn string, err error) error {
	t.Helper()
	sources, _ := sourcesWith(t, &vault{secrets: map[string]string{name: dsn}}, connection.Config{
		TTL: time.Minute, Open: func(context.Context, string, string) (source.Source, error) { return nil, err },
	})
	_, got := sources.Open(t.Context(), "orders")
	return got
}

func TestAPasswordThatIsACommonWordHidesNothing(t *testing.T) {
	t.Parallel()
	const own = "connection orders: the PostgreSQL server at 127.0.0.1:5432 refused the connection to database shop (SQLSTATE 28P01); correct user, password, " +
		"database or sslmode in the connection's secret"
	for _, password := range []string{"b", "e", " ", "shop", "postgres", "root", "orders", "password", "connection", "PostgreSQL", "28P01", "5432", "127.0.0.1", "the", "verify-full"} {
		dsn := "postgres://" + password + ":" + strings.ReplaceAll(password, " ", "%20") + "@127.0.0.1:5432/shop?sslmode=verify-full"
		err := refusing(t, strings.ReplaceAll(dsn, " ", "%20"), job.Errorf(job.Permanent, "source_denied", own))
		var shown *job.Error
		if !errors.As(err, &shown) || shown.Detail != own || shown.Code != "source_denied" || shown.Kind != job.Permanent {
			t.Errorf("with the password %q: %v", password, err)
		}
	}
}

func TestADriversTextIsLeftOutWhenItRepeatsThePassword(t *testing.T) {
	t.Parallel()
	const own = "connection orders: the server at db:5432 can't be reached"
	for title, c := range map[string]struct {
		dsn, text string
		hidden    bool
	}{
		"as it is":                   {"postgres://reader:hush-hush@db/orders", "no such user hush-hush", true},
		"the whole string":           {"postgres://reader@db/orders", "dial postgres://reader@db/orders", true},
		"decoded":                    {"postgres://reader:p%40ss%2Fw@db/orders", "password p@ss/w refused", true},
		"encoded":                    {"postgres://reader:p%40ss%2Fw@db/orders", "dial postgres://reader:p%40ss%2Fw@db", true},
		"encoded in small letters":   {"postgres://reader:p%40ss%2Fw@db/orders", "dial postgres://reader:p%40ss%2fw@db", true},
		"encoded as a parameter":     {"postgres://reader:p%40ss%20w@db/orders", "password=p%40ss+w", true},
		"encoded more than need be":  {"postgres://reader:hush@db/orders", "dial postgres://reader:%68us%68@db", true},
		"quoted":                     {`postgres://reader:p%22ss%5C@db/orders`, `parse "p\"ss\\"`, true},
		"a parameter of the address": {"postgres://db/orders?user=reader&password=p%40ss", "password p@ss", true},
		"the key's password":         {"postgres://reader@db/orders?sslpassword=hush", "can't decrypt with hush", true},
		"in another case":            {"postgres://reader:Hush@db/orders", "HUSH", true},
		"a short one":                {"postgres://reader:b@db/orders", "database", true},
		"who can't be read":          {"postgres://reader:b@db:port/orders", "x", true},
		"a harmless text":            {"postgres://reader:hush@db/orders", "connection refused 100%", false},
		"no password":                {"postgres://reader@db/orders", "connection refused", false},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for _, cause := range []error{errors.New(c.text), fmt.Errorf("dial: %w", errors.New(c.text))} {
				err := refusing(t, c.dsn, job.Errorf(job.Transient, "source_unavailable", "%s: %w", own, cause))
				var shown *job.Error
				if !errors.As(err, &shown) || shown.Kind != job.Transient || shown.Code != "source_unavailable" || shown.Detail != own {
					t.Fatalf("the error's own words are lost: %v", err)
				}
				if strings.Contains(err.Error(), c.text) == c.hidden {
					t.Errorf("hidden should be %t: %v", c.hidden, err)
				}
			}
			wrapped := refusing(t, c.dsn, fmt.Errorf("%s: %w", c.text, job.Errorf(job.Permanent, "source_denied", own)))
			if job.CodeOf(wrapped) != "source_denied" || !strings.Contains(wrapped.Error(), own) || strings.Contains(wrapped.Error(), c.text+": ") == c.hidden {
				t.Errorf("around the error: %v", wrapped)
			}
			foreign := refusing(t, c.dsn, errors.New(c.text))
			if job.CodeOf(foreign) != "connection_failed" || job.KindOf(foreign) != job.Transient || strings.Contains(foreign.Error(), c.text+" ") ||
				!strings.Contains(foreign.Error(), "connection orders: the source can't be opened") {
				t.Errorf("somebody else's error: %v", foreign)
			}
		})
	}
}

// An opener that breaks its promise is still kept from telling what can't be there by chance.
func TestOwnWordsThatRepeatTheStringAreLeftOut(t *testing.T) {
	t.Parallel()
	for title, detail := range map[string]string{
		"the whole":         "can't open " + firstDSN,
		"the password":      "password first-password is wrong",
		"user and password": "can't open //reader:first-password@db",
	} {
		err := refusing(t, firstDSN, job.Errorf(job.Permanent, "source_denied", "%s", detail))
		if job.CodeOf(err) != "source_denied" || job.KindOf(err) != job.Permanent || strings.Contains(err.Error(), "first-password") ||
			!strings.Contains(err.Error(), "connection orders: the source can't be opened") {
			t.Errorf("%s: %v", title, err)
		}
	}
}
