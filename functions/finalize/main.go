// Finalize checks the shards of a job and publishes its one file.
package main

import (
	"log/slog"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"sealift/functions/internal/wire"
	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/seal"
)

func main() {
	wire.Start(build, func(cfg edge.FinalizeConfig) slog.Level { return cfg.LogLevel })
}

func build(cfg edge.FinalizeConfig, cloud aws.Config, log *slog.Logger) (any, error) {
	// What ends a file may be as large as limits.FooterBytesMax and is put together from pieces of that size in all.
	debug.SetGCPercent(limits.WorkerGCPercent)
	queue, err := wire.Delayers(cloud, cfg.Delays)
	if err != nil {
		return nil, err
	}
	worker := edge.Worker(wire.Ledger(cloud, cfg.TableName), queue, log)
	finalizer := pipeline.Finalizer{
		Worker: worker, Store: wire.Store(cloud, cfg.BucketName), Keys: artifact.Keys{},
		Seal: seal.New(kms.NewFromConfig(cloud), cfg.ReceiptKeyARN), NewRandom: edge.NewOwner,
	}
	return edge.Queue(log, wire.Again(cloud, cfg.Delays), finalizer.Finalize), nil
}
