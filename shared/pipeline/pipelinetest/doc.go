// Package pipelinetest owns the conformance suites of the pipeline's ports: the same tests for the fake, the embedded
// cloud and a real one, so that what a simulation proves holds elsewhere. Ledger and Store run them; Samples are one
// change of every kind, for golden files. Subjects may be shared between runs: every test makes identifiers of its own.
// Start reading at Ledger. It imports job and the pipeline's ports, and only tests import it.
package pipelinetest
