// Package secrets owns the secrets of the embedded cloud: an http.Handler that
// speaks the AWS Secrets Manager JSON protocol and keeps every secret and its
// versions in one file, dir/secrets.db, that only its owner may read (mode 0600).
//
// What it promises: a request that was answered survives a restart and a
// kill -9; a request repeated with its ClientRequestToken makes no second
// version; a deleted secret cannot be read, keeps its name until its recovery
// window is over, and is gone after that. Values never enter logs or errors.
//
// Start reading at Engine in engine.go, then version.go. The package imports
// service and bbolt only.
package secrets
