package kms

import (
	"fmt"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Options is what an Engine takes from its surroundings.
type Options = service.Options

// Engine is the set of keys kept in one directory. It is safe for concurrent use.
type Engine struct {
	opt  Options
	db   *bolt.DB
	json *service.JSON

	mu      sync.Mutex
	closed  bool
	keys    map[string]key    // by id
	aliases map[string]string // name → key id
}

// The file has two buckets: id → keyRecord, alias → key id.
const (
	bucketKey   = "key"
	bucketAlias = "alias"
)

// Open reads the keys in dir, making the directory and the file when absent. It
// fails when another process has them open.
func Open(dir string, opt Options) (*Engine, error) {
	e := &Engine{opt: opt.WithDefaults(), keys: map[string]key{}, aliases: map[string]string{}}
	e.json = e.protocol()
	db, err := service.Open(dir, "kms", []string{bucketKey, bucketAlias}, e.load)
	if err != nil {
		return nil, err
	}
	e.db = db
	return e, nil
}

// Close closes the file. Repeating it does nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("kms: close: %w", err)
	}
	return nil
}

func (e *Engine) load(tx *bolt.Tx) error {
	err := service.Each(tx, bucketKey, func(_ []byte, record keyRecord) error {
		opened, err := record.open()
		e.keys[record.ID] = opened
		return err
	})
	if err != nil {
		return err
	}
	return service.Each(tx, bucketAlias, func(name []byte, id string) error {
		e.aliases[string(name)] = id
		return nil
	})
}

// put writes a record; e.mu must be held.
func (e *Engine) put(bucket, name string, value any) error {
	err := e.db.Update(func(tx *bolt.Tx) error { return service.Put(tx, bucket, []byte(name), value) })
	if err != nil {
		return fmt.Errorf("write %s %s: %w", bucket, name, err)
	}
	return nil
}

// find returns the key that an id, an alias or the ARN of either names; e.mu must
// be held.
func (e *Engine) find(name string) (key, error) {
	if name == "" {
		return key{}, invalid("1 validation error detected: Value at 'keyId' failed to satisfy constraint: Member must not be null. Name the key by its id, alias or ARN.")
	}
	id := strings.TrimPrefix(name, e.arn(""))
	if alias, isAlias := strings.CutPrefix(id, "alias/"); isAlias {
		target, found := e.aliases["alias/"+alias]
		if !found {
			return key{}, service.Refuse("NotFoundException", "Alias %s is not found.", e.arn("alias/"+alias))
		}
		id = target
	}
	found, known := e.keys[strings.TrimPrefix(id, "key/")]
	if !known {
		return key{}, service.Refuse("NotFoundException", "Key '%s' does not exist", e.arn("key/"+strings.TrimPrefix(id, "key/")))
	}
	return found, nil
}

func (e *Engine) arn(resource string) string {
	return "arn:aws:kms:" + e.opt.Region + ":" + e.opt.AccountID + ":" + resource
}
