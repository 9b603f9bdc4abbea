// Cancel ends exports that are not wanted any more, and the delivery of those that are done.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.CancelConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.CancelConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	canceller := pipeline.Canceller{Ledger: wire.Ledger(cloud, cfg.TableName), Jitter: edge.Jitter}
	return edge.CancelAPI(canceller, cfg.Claims(), log), nil
}
