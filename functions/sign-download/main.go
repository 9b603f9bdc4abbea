// Sign-download gives out links that read one finished file for minutes.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.SignConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.SignConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	signer := pipeline.Signer{
		Ledger: wire.Ledger(cloud, cfg.TableName), Store: wire.Store(cloud, cfg.BucketName), Keys: artifact.Keys{}, NewID: edge.NewJobID,
	}
	return edge.SignAPI(signer, cfg.Claims(), log), nil
}
