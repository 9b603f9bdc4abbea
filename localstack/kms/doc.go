// Package kms owns the signing keys of the embedded cloud: an http.Handler that
// speaks as much of the AWS KMS JSON protocol as signatures need, and keeps every
// key in one file, dir/kms.db, that only its owner may read (mode 0600).
//
// What it promises: a key that was made survives a restart and a kill -9, and no
// answer, log or error holds its private half. There are keys for ECDSA on P-256
// and nothing else; what AWS has besides is refused as such.
//
// Start reading at Engine in engine.go, then key.go. The package imports service
// and bbolt only.
package kms
