package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strconv"

	"golang.org/x/sync/errgroup"

	"sealift/shared/format"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

// engineShardRows is the planner's aim, that of Sealift's own lines.
const engineShardRows = limits.ShardRows

// engine does what process-shard does between the database and the store, with the same code and no cloud: it plans, reads batches and cuts parts of
// gzipped CSV, which it drops. profile, when not empty, is where the processor's profile goes.
func engine(ctx context.Context, dsn string, workers int, profile string) (y yield, err error) {
	debug.SetGCPercent(limits.WorkerGCPercent)
	src, err := sqldb.Open(ctx, dsn)
	if err != nil {
		return y, err
	}
	defer func() { _ = src.Close() }()
	query := engineQuery()
	plan, err := src.Plan(ctx, query, source.PlanOptions{ShardRows: engineShardRows, ShardsMax: limits.ShardsPerJobMax})
	if err != nil {
		return y, err
	}
	query.Ceiling = plan.Ceiling
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return y, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return y, errors.Join(err, file.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, file.Close())
		}()
	}
	yields := make([]yield, len(plan.Shards))
	memories := make(chan *engineMemory, workers)
	for range workers {
		memories <- &engineMemory{}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, shard := range plan.Shards {
		group.Go(func() error {
			memory := <-memories
			defer func() { memories <- memory }()
			var err error
			yields[i], err = engineShard(ctx, dsn, query, shard.Range, i == 0, memory)
			return err
		})
	}
	err = group.Wait()
	for _, one := range yields {
		y.Rows, y.RawBytes, y.OutBytes = y.Rows+one.Rows, y.RawBytes+one.RawBytes, y.OutBytes+one.OutBytes
	}
	return y, err
}

// engineMemory is what a worker keeps from shard to shard, as process-shard does.
type engineMemory struct {
	batch row.Batch
	// parts has memory for the part that is written and for the one behind it.
	parts [2][]byte
}

func engineShard(ctx context.Context, dsn string, query row.Query, in row.Range, first bool, memory *engineMemory) (y yield, err error) {
	src, err := sqldb.Open(ctx, dsn)
	if err != nil {
		return y, err
	}
	defer func() { _ = src.Close() }()
	if err := src.Check(ctx, query); err != nil {
		return y, err
	}
	keys := len(query.Key)
	writer, err := format.NewPartWriter(format.Spec{
		Format: format.CSV, Compression: format.Gzip, Columns: query.Columns, Keys: keys, Guard: true, InvalidUTF8: format.Fail,
		CSV: format.CSVOptions{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Header: true},
	}, format.PartOptions{First: first, Buffer: memory.parts[0]})
	if err != nil {
		return y, err
	}
	batch := &memory.batch
	take := func(next []byte) ([]byte, error) {
		part, err := writer.Take(next)
		y.Rows, y.RawBytes, y.OutBytes = y.Rows+part.Rows, y.RawBytes+part.RawBytes, y.OutBytes+int64(len(part.Data))
		return part.Data, err
	}
	limit := source.Limit{Rows: limits.BatchRows, Bytes: limits.BatchBytes}
	for after := row.Key(nil); ; after = batch.Key(batch.Rows()-1, keys) {
		if err := src.Read(ctx, query, in, after, limit, batch); err != nil {
			return y, err
		}
		if batch.Rows() == 0 {
			memory.parts[0], err = take(nil)
			return y, err
		}
		for r := range batch.Rows() {
			full, err := writer.Append(batch, r)
			if err != nil {
				return y, err
			}
			if !full {
				continue
			}
			// A part is dropped as soon as it is complete.
			if memory.parts[1], err = take(memory.parts[1]); err != nil {
				return y, err
			}
		}
	}
}

// engineQuery is what the definition in orders.yaml asks of the source.
func engineQuery() row.Query {
	column := func(name string, kind row.Kind) row.Column {
		return row.Column{Name: name, Source: name, Kind: kind, Scale: -1}
	}
	return row.Query{
		Table: "orders",
		Columns: []row.Column{
			column("id", row.Int64), column("tenant_id", row.String), column("order_no", row.String), column("placed_at", row.Timestamp),
			column("status", row.String), column("customer", row.String), column("email", row.String), column("country", row.String),
			column("amount", row.Decimal), column("items", row.Int64), column("shipped_at", row.Timestamp), column("note", row.String),
		},
		Key:          []row.Column{column("placed_at", row.Timestamp), column("id", row.Int64)},
		TenantColumn: column("tenant_id", row.String), Tenant: tenant,
		TimeColumn: column("placed_at", row.Timestamp), Since: yearStart, Until: yearEnd,
		Zone: "UTC",
	}
}

// child is what a copy of this program does that was started to be measured: loop WORKERS DSN, engine WORKERS DSN [PROFILE] or excel 1 DSN.
func child(ctx context.Context, args []string) (yield, error) {
	const least = 3
	if len(args) < least {
		return yield{}, fmt.Errorf("a child needs its work, its workers and the address of the table, not %q", args)
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil {
		return yield{}, err
	}
	switch args[0] {
	case "loop":
		return loop(ctx, args[2], workers)
	case "engine":
		profile := ""
		if len(args) > least {
			profile = args[least]
		}
		return engine(ctx, args[2], workers, profile)
	case "excel":
		return excel(ctx, args[2])
	}
	return yield{}, fmt.Errorf("there is no work %q", args[0])
}
