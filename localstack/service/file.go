package service

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// lockWait is how long Open waits for another process that has the file open.
const lockWait = 2 * time.Second

// Open opens the file <name>.db of a service in dir, making both when absent and the buckets in it, and lets load read it.
// Only its owner may read it, also when it was copied in. It fails when another process has it open.
func Open(dir, name string, buckets []string, load func(*bolt.Tx) error) (*bolt.DB, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("%s: make directory %s: %w", name, dir, err)
	}
	path := filepath.Join(dir, name+".db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: lockWait, NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: open %s: %w (is another process using this data directory? stop it, or choose another directory)", name, path, err)
	}
	if err := prepare(db, buckets, load); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: read %s: %w", name, path, err), db.Close())
	}
	return db, nil
}

func prepare(db *bolt.DB, buckets []string, load func(*bolt.Tx) error) error {
	if err := os.Chmod(db.Path(), 0o600); err != nil {
		return fmt.Errorf("keep others out: %w", err)
	}
	return db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(bucket)); err != nil {
				return fmt.Errorf("make bucket %s: %w", bucket, err)
			}
		}
		return load(tx)
	})
}

// Put writes a record as JSON.
func Put(tx *bolt.Tx, bucket string, key []byte, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s record: %w", bucket, err)
	}
	if err := tx.Bucket([]byte(bucket)).Put(key, text); err != nil {
		return fmt.Errorf("write %s record: %w", bucket, err)
	}
	return nil
}

// Delete removes a record; one that isn't there is removed already.
func Delete(tx *bolt.Tx, bucket string, key []byte) error {
	if err := tx.Bucket([]byte(bucket)).Delete(key); err != nil {
		return fmt.Errorf("delete %s record: %w", bucket, err)
	}
	return nil
}

// Each visits the records of a bucket in the order of their keys. The error of one that can't be read doesn't quote it.
func Each[T any](tx *bolt.Tx, bucket string, visit func(key []byte, value T) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(key, text []byte) error {
		var value T
		if json.Unmarshal(text, &value) != nil {
			return fmt.Errorf("the %s record %q is damaged: remove the data directory to start afresh", bucket, key)
		}
		return visit(key, value)
	})
}

// NumberKey is a key that orders records by number.
func NumberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }
