// Package pipeline owns the use cases, one file each: create, query, cancel, plan, process, finalize, sign, sweep and
// clean, and the ports they need (ports.go). Plan, shard, finalize and clean are units and run through one loop, Worker
// in worker.go: start reading there. It imports the pure rooms and source's interface, never an adapter.
package pipeline
