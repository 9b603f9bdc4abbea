// Plan-shards splits a job into fixed key ranges, once.
package main

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"sealift/functions/internal/wire"
	"sealift/shared/connection"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
	"sealift/shared/source/sqldb"
)

func main() {
	wire.Start(build, func(cfg edge.PlanConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.PlanConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	queue, err := wire.Delayers(cloud, cfg.Delays)
	if err != nil {
		return nil, err
	}
	// Every plan reads the secret, so that an export is of the database that its connection names when it is planned.
	sources := connection.New(secretsmanager.NewFromConfig(cloud), connection.Config{
		Prefix: cfg.ConnectionPrefix, Open: sqldb.OpenNamed, Now: time.Now,
	})
	worker := edge.Worker(wire.Ledger(cloud, cfg.TableName), queue, log)
	planner := pipeline.Planner{Worker: worker, Sources: sources}
	return edge.Queue(log, wire.Again(cloud, cfg.Delays), planner.Plan), nil
}
