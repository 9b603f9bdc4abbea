package pipeline

import (
	"context"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// renewable is a source that was opened with what was known of its connection from before. Renew opens the one that the
// connection names now, beside it; nil when that is still the same.
type renewable interface {
	Renew(ctx context.Context) (source.Source, error)
}

// openPlanned opens the source that a job was planned for. One that was opened with an address from before the plan is
// another database, or none with that table: then the address is asked for once more.
func openPlanned(ctx context.Context, sources Sources, connection string, query row.Query, planned string) (source.Source, error) {
	from, err := sources.Open(ctx, connection)
	if err != nil {
		return nil, err
	}
	err = prove(ctx, from, query, planned)
	if err == nil {
		return from, nil
	}
	defer func() { _ = from.Close() }()
	old, ok := from.(renewable)
	if !ok || job.KindOf(err) != job.Permanent {
		return nil, err
	}
	renewed, failed := old.Renew(ctx)
	if failed != nil {
		return nil, failed
	}
	if renewed == nil {
		return nil, err
	}
	if err := prove(ctx, renewed, query, planned); err != nil {
		_ = renewed.Close()
		return nil, err
	}
	return renewed, nil
}

// prove refuses a source that isn't the planned one, or hasn't what the query needs.
func prove(ctx context.Context, from source.Source, query row.Query, planned string) error {
	if err := from.Check(ctx, query); err != nil {
		return err
	}
	err := sameSource(ctx, from, query, planned)
	replaced := source.Replaced(query.Table)
	if job.CodeOf(err) == replaced.Code {
		// Between the plan and now the connection may have been given another address.
		replaced.Detail = "the connection's secret names another database, or " + replaced.Detail
		return replaced
	}
	return err
}
