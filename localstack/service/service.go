// Package service owns what the services of the embedded cloud have in common: what they take from their surroundings, the
// file in which each keeps its records, and how they answer in JSON. It knows none of them and imports bbolt and the
// standard library only. Start reading at Options, then JSON in json.go.
package service

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"
)

// Options is what a service takes from its surroundings. A zero field gets the default named beside it.
type Options struct {
	// Region is part of ARNs; default us-east-1.
	Region string
	// AccountID is part of ARNs; default 000000000000.
	AccountID string
	// Now is the clock; default time.Now.
	Now func() time.Time
	// NewID makes the ids of requests and of what a service makes; default random UUIDs.
	NewID func() string
	// Logger gets what no caller is told; default discards.
	Logger *slog.Logger
}

// WithDefaults fills the zero fields.
func (o Options) WithDefaults() Options {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newUUID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	// crypto/rand.Read never returns an error.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
