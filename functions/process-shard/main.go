// Process-shard reads one key range of a job and writes it, part by part.
package main

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"sealift/functions/internal/wire"
	"sealift/shared/artifact"
	"sealift/shared/connection"
	"sealift/shared/edge"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/source/sqldb"
)

func main() {
	wire.Start(build, func(cfg edge.ProcessConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.ProcessConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	// What a shard needs is a few large buffers and next to no garbage a row: collecting early costs little and keeps the
	// peak the same for the first shard and the thousandth.
	debug.SetGCPercent(limits.WorkerGCPercent)
	queue, err := wire.Delayers(cloud, cfg.Delays)
	if err != nil {
		return nil, err
	}
	sources := connection.New(secretsmanager.NewFromConfig(cloud), connection.Config{
		Prefix: cfg.ConnectionPrefix, TTL: limits.SecretLifetime, Rest: limits.SourceRest, Open: sqldb.OpenNamed, Now: time.Now,
	})
	worker := edge.Worker(wire.Ledger(cloud, cfg.TableName), queue, log)
	processor := pipeline.Processor{
		Worker: worker, Sources: sources, Store: wire.Store(cloud, cfg.BucketName), Keys: artifact.Keys{}, Memory: pipeline.NewMemory(),
	}
	return edge.Queue(log, wire.Again(cloud, cfg.Delays), processor.Process), nil
}
