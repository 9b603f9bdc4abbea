package dynamodb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/dynamodb/value"
)

// The file holds one tree of table descriptions, two of transaction tokens, and for each
// table one of items, one of times to live, and one for each index.
func tablesBucket() []byte     { return []byte("tables") }
func tokensBucket() []byte     { return []byte("tokens") }
func tokenTimesBucket() []byte { return []byte("token-times") }

func (t *table) itemsBucket() []byte            { return []byte("items/" + t.ID) }
func (t *table) expiryBucket() []byte           { return []byte("expiry/" + t.ID) }
func (t *table) indexBucket(x *index) []byte    { return []byte("index/" + t.ID + "/" + x.Name) }
func (t *table) itemKey(item value.Item) []byte { return t.Key.append(nil, item) }

// hashBytes is how much of a hash of the partition key leads a stored key.
const hashBytes = 8

// append appends the stored form of a key.
func (k keySchema) append(dst []byte, item value.Item) []byte {
	dst = k.appendPartition(dst, item[k.Hash.Name])
	if k.Range.Name != "" {
		dst = item[k.Range.Name].AppendOrdered(dst)
	}
	return dst
}

func (k keySchema) appendPartition(dst []byte, hash value.Value) []byte {
	ordered := hash.AppendOrdered(nil)
	sum := sha256.Sum256(ordered)
	dst = append(dst, sum[:hashBytes]...)
	return append(dst, ordered...)
}

// entryKey is the stored key of an item's entry in an index, and the length of its index
// part; what follows is the key of the item in its table. It is nil when there is no entry.
func (t *table) entryKey(x *index, item value.Item) (key []byte, indexBytes int) {
	if !x.covers(item) {
		return nil, 0
	}
	key = x.Key.append(nil, item)
	indexBytes = len(key)
	return t.Key.append(key, item), indexBytes
}

// entryContent is what an index keeps with a key: where the key of the item begins.
func entryContent(indexBytes int) []byte { return binary.AppendUvarint(nil, uint64(indexBytes)) }

// expiryKey is the stored key of an item's time to live, nil when it has none: eight bytes of
// seconds since 1970, then the key of the item in its table.
func (t *table) expiryKey(item value.Item) []byte {
	v := item[t.TimeToLive]
	if t.TimeToLive == "" || v.Kind() != value.Number {
		return nil
	}
	seconds, ok := v.Decimal().Int64()
	if !ok || seconds < 0 {
		return nil
	}
	key := binary.BigEndian.AppendUint64(nil, uint64(seconds))
	return t.Key.append(key, item)
}

// trees are the open trees of one transaction.
type trees struct {
	tx   *bolt.Tx
	open map[string]*bolt.Bucket
}

func newTrees(tx *bolt.Tx) *trees { return &trees{tx: tx, open: map[string]*bolt.Bucket{}} }

func (s *trees) bucket(name []byte) (*bolt.Bucket, error) {
	if b, ok := s.open[string(name)]; ok {
		return b, nil
	}
	b := s.tx.Bucket(name)
	if b == nil {
		return nil, fmt.Errorf("the database file has no tree %q: it is damaged; remove the data directory to begin anew", name)
	}
	s.open[string(name)] = b
	return b, nil
}

// item reads an item; it is nil when there is none.
func (s *trees) item(t *table, key []byte) (value.Item, error) {
	b, err := s.bucket(t.itemsBucket())
	if err != nil {
		return nil, err
	}
	stored := b.Get(key)
	if stored == nil {
		return nil, nil
	}
	item, err := value.ReadItem(stored)
	if err != nil {
		return nil, fmt.Errorf("read an item of table %s: %w", t.Name, err)
	}
	return item, nil
}

// replace puts next in the place of old, either of which may be nil, and keeps every index and
// the times to live in step.
func (s *trees) replace(t *table, key []byte, old, next value.Item) error {
	if old == nil && next == nil {
		return nil
	}
	items, err := s.bucket(t.itemsBucket())
	if err != nil {
		return err
	}
	if next == nil {
		err = items.Delete(key)
	} else {
		err = items.Put(key, value.AppendItem(nil, next))
	}
	if err != nil {
		return fmt.Errorf("write an item of table %s: %w", t.Name, err)
	}
	for _, x := range t.Indexes {
		before, _ := t.entryKey(x, old)
		after, indexBytes := t.entryKey(x, next)
		if err := s.move(t.indexBucket(x), before, after, entryContent(indexBytes)); err != nil {
			return err
		}
	}
	if t.TimeToLive == "" {
		return nil
	}
	return s.move(t.expiryBucket(), t.expiryKey(old), t.expiryKey(next), nil)
}

// move replaces one entry of a tree by another; nil stands for none.
func (s *trees) move(bucket, before, after, content []byte) error {
	if bytes.Equal(before, after) {
		return nil
	}
	b, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	if before != nil {
		if err := b.Delete(before); err != nil {
			return fmt.Errorf("write to the tree %q: %w", bucket, err)
		}
	}
	if after != nil {
		if err := b.Put(after, content); err != nil {
			return fmt.Errorf("write to the tree %q: %w", bucket, err)
		}
	}
	return nil
}

// entry is one key and its content of a tree.
type entry struct{ key, content []byte }

// fill puts entries, those of the items of a table say, into an empty tree. They go in
// ascending order: bbolt splits pages only at the commit, and inserting amid one page that
// grows with every entry would take quadratic time.
func (s *trees) fill(t *table, bucket []byte, of func(value.Item) entry) error {
	var entries []entry
	err := s.each(t, func(item value.Item) {
		if made := of(item); made.key != nil {
			entries = append(entries, made)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, made := range entries {
		if err := s.move(bucket, nil, made.key, made.content); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for every item of a table.
func (s *trees) each(t *table, f func(value.Item)) error {
	items, err := s.bucket(t.itemsBucket())
	if err != nil {
		return err
	}
	return items.ForEach(func(_, stored []byte) error {
		item, err := value.ReadItem(stored)
		if err != nil {
			return fmt.Errorf("read an item of table %s: %w", t.Name, err)
		}
		f(item)
		return nil
	})
}

// view runs a reader on one committed state.
func (e *Engine) view(read func(*trees) error) error {
	return e.db.View(func(tx *bolt.Tx) error { return read(newTrees(tx)) })
}

// update runs the only writer; when it fails nothing of it is kept.
func (e *Engine) update(write func(*trees) error) error {
	return e.db.Update(func(tx *bolt.Tx) error { return write(newTrees(tx)) })
}
