package dynamodb

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/dynamodb/value"
)

type timeToLiveInput struct {
	TableName               string
	TimeToLiveSpecification *timeToLiveSpecification
}

type timeToLiveSpecification struct {
	AttributeName string
	Enabled       bool
}

type timeToLiveOutput struct {
	TimeToLiveSpecification *timeToLiveSpecification
}

// updateTimeToLive switches the expiry of items on or off.
func (e *Engine) updateTimeToLive(in *timeToLiveInput) (*timeToLiveOutput, error) {
	e.schema.Lock()
	defer e.schema.Unlock()
	t, err := e.described(in.TableName)
	if err != nil {
		return nil, err
	}
	spec := in.TimeToLiveSpecification
	switch {
	case spec == nil:
		return nil, missing("timeToLiveSpecification")
	case spec.AttributeName == "":
		return nil, constraint("", "timeToLiveSpecification.attributeName", "Member must have length greater than or equal to 1")
	case spec.Enabled && t.TimeToLive == spec.AttributeName:
		return nil, invalid("TimeToLive is already enabled")
	case spec.Enabled && t.TimeToLive != "":
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TimeToLive)
	case !spec.Enabled && t.TimeToLive == "":
		return nil, invalid("TimeToLive is already disabled")
	case !spec.Enabled && t.TimeToLive != spec.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TimeToLive)
	}
	_, err = e.alter(t, func(s *trees, altered *table) error {
		altered.TimeToLive = ""
		if spec.Enabled {
			altered.TimeToLive = spec.AttributeName
		}
		return s.rebuildExpiry(altered)
	})
	if err != nil {
		return nil, err
	}
	return &timeToLiveOutput{spec}, nil
}

// rebuildExpiry makes the tree of times to live anew.
func (s *trees) rebuildExpiry(t *table) error {
	if err := s.tx.DeleteBucket(t.expiryBucket()); err != nil {
		return fmt.Errorf("remove the times to live of table %s: %w", t.Name, err)
	}
	if _, err := s.tx.CreateBucket(t.expiryBucket()); err != nil {
		return fmt.Errorf("create the times to live of table %s: %w", t.Name, err)
	}
	return s.fill(t, t.expiryBucket(), func(item value.Item) entry { return entry{key: t.expiryKey(item)} })
}

type describeTimeToLiveOutput struct {
	TimeToLiveDescription timeToLiveDescription
}

type timeToLiveDescription struct {
	TimeToLiveStatus string
	AttributeName    string `json:",omitempty"`
}

func (e *Engine) describeTimeToLive(in *tableInput) (*describeTimeToLiveOutput, error) {
	e.schema.RLock()
	defer e.schema.RUnlock()
	t, err := e.described(in.TableName)
	if err != nil {
		return nil, err
	}
	if t.TimeToLive == "" {
		return &describeTimeToLiveOutput{timeToLiveDescription{TimeToLiveStatus: "DISABLED"}}, nil
	}
	return &describeTimeToLiveOutput{timeToLiveDescription{"ENABLED", t.TimeToLive}}, nil
}

const (
	// sweepEvery is the pause between two sweeps; the service itself promises only days.
	sweepEvery = time.Second
	// sweepBatch bounds the items that one write removes, so that clients wait little.
	sweepBatch = 100
	// expiredYearsMax is the age beyond which the service takes a time to live for a mistake.
	expiredYearsMax = 5
)

// Run removes items whose time to live has passed, until ctx ends. Nothing else of the engine
// depends on it.
func (e *Engine) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if _, err := e.Sweep(ctx); err != nil {
				e.opt.Logger.LogAttrs(ctx, slog.LevelError, "dynamodb time-to-live sweep failed", slog.Any("error", err))
			}
		}
	}
}

// Sweep removes once all items whose time to live has passed and tells how many.
func (e *Engine) Sweep(ctx context.Context) (removed int, err error) {
	e.schema.RLock()
	names := slices.Sorted(maps.Keys(e.tables))
	e.schema.RUnlock()
	for _, name := range names {
		for ctx.Err() == nil {
			n, err := e.sweepTable(name)
			removed += n
			if err != nil {
				return removed, fmt.Errorf("sweep table %s: %w", name, err)
			}
			if n < sweepBatch {
				break
			}
		}
	}
	return removed, nil
}

// sweepTable removes one batch. It looks before it writes, so that an idle table costs no
// write.
func (e *Engine) sweepTable(name string) (removed int, err error) {
	e.schema.RLock()
	defer e.schema.RUnlock()
	t := e.tables[name]
	if t == nil || t.TimeToLive == "" {
		return 0, nil
	}
	found := false
	err = e.view(func(s *trees) error {
		b, err := s.bucket(t.expiryBucket())
		if err == nil {
			found = len(e.expired(b)) > 0
		}
		return err
	})
	if err != nil || !found {
		return 0, err
	}
	err = e.update(func(s *trees) error {
		b, err := s.bucket(t.expiryBucket())
		if err != nil {
			return err
		}
		keys := e.expired(b)
		removed = len(keys)
		for _, key := range keys {
			old, err := s.item(t, key)
			if err != nil {
				return err
			}
			if err := s.replace(t, key, old, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, err
}

// expired are the keys of some items whose time to live has passed, oldest first.
func (e *Engine) expired(b *bolt.Bucket) (keys [][]byte) {
	const timeBytes = 8
	now := e.opt.Now()
	from := binary.BigEndian.AppendUint64(nil, uint64(max(0, now.AddDate(-expiredYearsMax, 0, 0).Unix())))
	until := uint64(max(0, now.Unix()))
	cursor := b.Cursor()
	for key, _ := cursor.Seek(from); key != nil && len(keys) < sweepBatch; key, _ = cursor.Next() {
		if binary.BigEndian.Uint64(key) >= until {
			break
		}
		keys = append(keys, append([]byte(nil), key[timeBytes:]...))
	}
	return keys
}
