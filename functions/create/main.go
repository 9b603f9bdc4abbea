// Create takes requests for exports: over HTTP, from the intake queue and from events of the bus.
package main

import (
	"log/slog"
	_ "time/tzdata" // zones are checked where the runtime has no database of them

	"github.com/aws/aws-sdk-go-v2/aws"

	"sealift/functions/internal/wire"
	"sealift/shared/edge"
	"sealift/shared/pipeline"
)

func main() {
	wire.Start(build, func(cfg edge.CreateConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.CreateConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	queue, err := wire.Senders(cloud, cfg.Queues)
	if err != nil {
		return nil, err
	}
	creator := pipeline.Creator{Ledger: wire.Ledger(cloud, cfg.TableName), Queue: queue, NewID: edge.NewJobID}
	return edge.CreateHandler(
		edge.CreateAPI(creator, cfg.Claims(), log),
		edge.Intake{Creator: creator, Upstreams: cfg.Upstreams, Log: log},
	), nil
}
