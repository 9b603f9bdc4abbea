// Query answers what stands in the ledger: exports, receipts and audit; and the keys that receipts are verified with.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"sealift/functions/internal/wire"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
	"sealift/shared/seal"
)

func main() {
	wire.Start(build, func(cfg edge.QueryConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.QueryConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	querier := pipeline.Querier{
		Ledger: wire.Ledger(cloud, cfg.TableName), Store: wire.Store(cloud, cfg.BucketName),
		Seal: seal.New(kms.NewFromConfig(cloud), cfg.ReceiptKeyARN),
	}
	return edge.QueryAPI(querier, cfg.Claims(), log), nil
}
