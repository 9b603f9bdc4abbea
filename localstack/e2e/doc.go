// Package e2e owns the proofs on the whole product: each test runs the programs that "make build" leaves in bin/, the
// embedded cloud and the functions as processes, with tables in SQLite and in a throw-away PostgreSQL server, and looks
// at them from outside: the HTTP API, the command line, the stored objects and the ledger's rows. Start reading at
// TestProduct, whose parts share one cloud; tests that kill the cloud or make it misbehave have their own.
//
// The normal run takes minutes, most of them spent waiting for leases of killed workers to end. With SEALIFT_E2E=long the
// test of single faults strikes every call that an export's workers make, in every way, and the one of the memory limit
// waits until the budget of crashes is used up: SEALIFT_E2E=long go test -timeout 1h ./e2e
package e2e
