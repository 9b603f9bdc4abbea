// Package e2e owns the proofs on the whole product: each test runs the programs that "make build" leaves in bin/, the
// embedded cloud and the functions as processes, with tables in SQLite and in throw-away PostgreSQL and MariaDB servers, and
// looks at them from outside: the HTTP API, the command line, the stored objects and the ledger's rows. Start reading at
// TestProduct, whose parts share one cloud; tests that kill the cloud or make it misbehave have their own.
//
// The crash matrix (TestCrash…) strikes the functions at their calls. Its points come from an undisturbed run, its table
// tells what was struck and how it ended, and what must add up is in conserved and balance. The normal run strikes every
// operation of every function once in every way; SEALIFT_CRASH=all strikes every call, SEALIFT_CRASH=N draws N of them with
// SEALIFT_SEED. Nobody waits for leases there: when nothing moves any more, the ledger's clock is moved.
//
// With SEALIFT_E2E=long the test of the memory limit waits until the budget of crashes is used up:
// SEALIFT_E2E=long go test -timeout 1h ./e2e
package e2e
