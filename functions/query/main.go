// Query answers what stands in the ledger: exports, receipts and audit.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.QueryConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.QueryConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	querier := pipeline.Querier{Ledger: wire.Ledger(cloud, cfg.TableName), Store: wire.Store(cloud, cfg.BucketName)}
	return edge.QueryAPI(querier, cfg.Claims(), log), nil
}
