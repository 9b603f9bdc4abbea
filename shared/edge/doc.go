// Package edge owns what lies between Lambda and the pipeline: decoding events, the two switches that turn a kind of
// error into an HTTP status or into acknowledge-or-retry, configuration, logging and metrics. It decides nothing about
// jobs. Start reading at API and Queue. It imports pipeline, the pure rooms and aws-lambda-go.
package edge
