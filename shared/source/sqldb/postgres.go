package sqldb

import (
	"context"

	"sealift/shared/source"
)

func openPostgres(ctx context.Context, dsn string) (source.Source, error) { return nil, nil }
