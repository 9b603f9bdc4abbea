package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// database is a source with an identity that tells what becomes of it.
type database struct {
	source.Source

	identity string
	broken   error
	told     *[]string
}

func (d database) Check(context.Context, row.Query) error { return d.broken }

func (d database) Identity(context.Context, row.Query) (string, error) { return d.identity, nil }

func (d database) Close() error {
	*d.told = append(*d.told, "close "+d.identity)
	return nil
}

// outdated is a database that was opened with an address from before.
type outdated struct {
	database

	now    source.Source
	failed error
}

func (o outdated) Renew(context.Context) (source.Source, error) {
	*o.told = append(*o.told, "renew")
	return o.now, o.failed
}

// opens opens one source.
type opens struct{ source source.Source }

func (o opens) Open(context.Context, string) (source.Source, error) { return o.source, nil }

func TestAWorkerReadsTheDatabaseOfThePlan(t *testing.T) {
	t.Parallel()
	gone := job.Errorf(job.Permanent, "source_schema_changed", "table orders isn't there")
	away := job.Errorf(job.Transient, "source_unavailable", "the server can't be reached")
	for name, c := range map[string]struct {
		open func(of func(identity string, broken error) database) source.Source
		// reads is the source that is read, code what the worker fails with otherwise.
		reads, code string
		told        []string
	}{
		"the planned one": {func(of func(string, error) database) source.Source { return of("new", nil) }, "new", "", nil},
		"the planned one, by an address from before": {func(of func(string, error) database) source.Source {
			return outdated{database: of("new", nil)}
		}, "new", "", nil},
		"the one before, and the address has changed": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", nil), now: of("new", nil)}
		}, "new", "", []string{"renew", "close old"}},
		"the one before has no such table, and the address has changed": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", gone), now: of("new", nil)}
		}, "new", "", []string{"renew", "close old"}},
		"the address has changed to a third": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", nil), now: of("third", nil)}
		}, "", "source_replaced", []string{"renew", "close third", "close old"}},
		"another, and the address is the same": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", nil)}
		}, "", "source_replaced", []string{"renew", "close old"}},
		"another, by the address of now": {func(of func(string, error) database) source.Source { return of("old", nil) }, "", "source_replaced", []string{"close old"}},
		"no table there, and the address is the same": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", gone)}
		}, "", "source_schema_changed", []string{"renew", "close old"}},
		"a lost connection is no reason to ask": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", away), now: of("new", nil)}
		}, "", "source_unavailable", []string{"close old"}},
		"the new address leads nowhere": {func(of func(string, error) database) source.Source {
			return outdated{database: of("old", nil), failed: away}
		}, "", "source_unavailable", []string{"renew", "close old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			from := c.open(func(identity string, broken error) database {
				return database{identity: identity, broken: broken, told: &told}
			})
			got, err := openPlanned(t.Context(), opens{from}, "shop", row.Query{Table: "shop.orders"}, "new")
			if diff := cmp.Diff(c.told, told); diff != "" {
				t.Error(diff)
			}
			if c.code != "" {
				if job.CodeOf(err) != c.code || got != nil {
					t.Errorf("got %v and %v, want %s", got, err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if identity, _ := got.Identity(t.Context(), row.Query{}); identity != c.reads {
				t.Errorf("%s is read, want %s", identity, c.reads)
			}
		})
	}
}

func TestAnotherDatabaseIsToldAsAChangedAddressToo(t *testing.T) {
	t.Parallel()
	var told []string
	_, err := openPlanned(t.Context(), opens{database{identity: "old", told: &told}}, "shop", row.Query{Table: "shop.orders"}, "new")
	var shown *job.Error
	const want = "the connection's secret names another database, or table shop.orders, or a column of it, was replaced, emptied, written anew or changed " +
		"its type while the export was running; ask for the export again when the change is done"
	if !errors.As(err, &shown) || shown.Detail != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
