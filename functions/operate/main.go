// Operate applies and shows definitions.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.OperateConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.OperateConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	operator := pipeline.Operator{Ledger: wire.Ledger(cloud, cfg.TableName), Jitter: edge.Jitter}
	return edge.OperateAPI(operator, cfg.Claims(), log), nil
}
