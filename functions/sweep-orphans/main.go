// Sweep-orphans looks at whatever is due and was not woken, and removes what belongs to nothing.
package main

import (
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.SweepConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.SweepConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	queue, err := wire.Senders(cloud, cfg.Queues)
	if err != nil {
		return nil, err
	}
	worker := edge.Worker(wire.Ledger(cloud, cfg.TableName), queue, log)
	sweeper := pipeline.Sweeper{
		Cleaner:   pipeline.Cleaner{Worker: worker, Store: wire.Store(cloud, cfg.BucketName), Keys: artifact.Keys{}},
		OrphanAge: limits.OrphanAge,
	}
	return edge.Sweep(log, sweeper.Sweep), nil
}
