// Package connection owns how a definition's connection becomes an open source: the connection string is a secret of that
// name, read from Secrets Manager, kept in memory for a while and given to nothing but the opener. It imports pipeline for the
// port, answer, job, source and its SDK service; start reading at Sources.Open.
//
// One source that was closed may rest for a moment, for a worker's next shard is mostly of the same job (rest.go).
//
// This package is the one layer that retries reading a secret, three attempts at most; opening is tried once, and once more
// when the secret turns out to have been changed. What an opener's error may show of the secret is judged in guard.go.
package connection

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/source"
)

const (
	attemptsMax   = 3
	backoffMax    = 2 * time.Second
	secretTimeout = 15 * time.Second
	nameBytesMax  = 128
	// cachedMax bounds how many connection strings are kept.
	cachedMax = 256
)

// Config is what Sources needs besides its client.
type Config struct {
	// Prefix stands before a connection's name in the name of its secret.
	Prefix string
	// TTL is how long a connection string is used without being read again, unless a source can't be opened with it; 0 reads
	// it every time.
	TTL time.Duration
	// Rest is how long a source that can last waits for the next Open of its connection before it is closed; 0 closes it at
	// once. It never outlasts its connection string, so that a changed secret takes effect as soon as ever.
	Rest time.Duration
	Now  func() time.Time
	// Open opens the source that the connection string dsn names, and calls it by its connection in messages. The details of
	// its errors must be in words of its own; what somebody else said goes into their causes, and is left out when it repeats
	// the string or its password.
	Open func(ctx context.Context, connection, dsn string) (source.Source, error)
}

// Sources opens sources by the name of their connection. It may be shared by goroutines; every source it opens belongs to
// its caller, who closes it.
type Sources struct {
	client  *secretsmanager.Client
	config  Config
	retryer aws.RetryerV2

	mu    sync.Mutex
	known map[string]secret
	// resting is the source that was closed last and may be used again; nil when there is none.
	resting *resting
}

// secret is a connection string and when it has to be read again.
type secret struct {
	dsn   string
	until time.Time
}

var _ pipeline.Sources = (*Sources)(nil)

// New returns sources whose connection strings are the secrets below the prefix. The retry settings of the client are not
// used.
func New(client *secretsmanager.Client, config Config) *Sources {
	return &Sources{client: client, config: config, known: map[string]secret{}, retryer: retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attemptsMax
		o.MaxBackoff = backoffMax
	})}
}

// Open opens the source that a connection names. A connection without a secret is Permanent with code connection_missing.
// When a source can't be opened with a kept connection string, the secret may have been changed: it is read again and, if it
// is another one, tried. One with which nothing could be opened isn't kept.
//
// A source that was opened with a kept string has a method Renew, for whoever finds that it is not what it should be.
func (s *Sources) Open(ctx context.Context, connection string) (source.Source, error) {
	with, kept, err := s.secret(ctx, connection)
	if err != nil {
		return nil, err
	}
	if woken := s.wake(ctx, with); woken != nil {
		return s.lend(ctx, woken, loan{connection: connection, with: with, kept: kept}), nil
	}
	opened, err := s.open(ctx, connection, with)
	if err == nil {
		return s.lend(ctx, opened, loan{connection: connection, with: with, kept: kept}), nil
	}
	if !kept || job.KindOf(err) == job.Cancelled {
		return nil, err
	}
	renewed, readErr := s.renew(ctx, connection, with)
	if readErr != nil {
		return nil, readErr
	}
	if renewed == nil {
		return nil, err
	}
	return renewed, nil
}

// renew forgets a kept string, reads the secret again and, if it is another one, opens its source; nil if it is the same.
func (s *Sources) renew(ctx context.Context, connection string, before secret) (source.Source, error) {
	s.forget(connection, before)
	with, _, err := s.secret(ctx, connection)
	if err != nil || with.dsn == before.dsn {
		return nil, err
	}
	opened, err := s.open(ctx, connection, with)
	if err != nil {
		return nil, err
	}
	return s.lend(ctx, opened, loan{connection: connection, with: with}), nil
}

// open opens a source, and forgets a string with which that failed.
func (s *Sources) open(ctx context.Context, connection string, with secret) (source.Source, error) {
	opened, err := s.config.Open(ctx, connection, with.dsn)
	if err != nil {
		s.forget(connection, with)
		return nil, guarded(connection, with.dsn, err)
	}
	return opened, nil
}

// secret is the connection string, and whether it was kept from before.
func (s *Sources) secret(ctx context.Context, connection string) (with secret, kept bool, err error) {
	if !validName(connection) {
		return secret{}, false, job.Errorf(job.Permanent, "connection_invalid",
			"connection %q: a name has 1 to %d letters, digits and any of - _ . inside; correct the definition", connection, nameBytesMax)
	}
	now := s.config.Now()
	s.mu.Lock()
	have, ok := s.known[connection]
	s.mu.Unlock()
	if ok && now.Before(have.until) {
		return have, true, nil
	}
	dsn, err := s.read(ctx, connection)
	if err != nil {
		return secret{}, false, err
	}
	with = secret{dsn: dsn, until: now.Add(s.config.TTL)}
	if s.config.TTL > 0 {
		s.mu.Lock()
		if len(s.known) >= cachedMax {
			clear(s.known)
		}
		s.known[connection] = with
		s.mu.Unlock()
	}
	return with, false, nil
}

// forget drops a string unless a newer one has taken its place.
func (s *Sources) forget(connection string, with secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[connection] == with {
		delete(s.known, connection)
	}
}

func (s *Sources) read(ctx context.Context, connection string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	name := s.config.Prefix + connection
	out, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name}, func(o *secretsmanager.Options) {
		o.Retryer = s.retryer
		o.RetryMaxAttempts = 0
	})
	if err != nil {
		return "", failed(connection, name, err)
	}
	dsn := strings.TrimSpace(aws.ToString(out.SecretString))
	if dsn == "" {
		return "", job.Errorf(job.Permanent, "connection_malformed",
			"connection %s: its secret holds no text; put the connection string there as plain text: %w", connection, job.At("secret "+name, nil))
	}
	return dsn, nil
}

// validName keeps a name from reaching other secrets than those below the prefix.
func validName(name string) bool {
	if name == "" || len(name) > nameBytesMax || name[0] == '.' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}
