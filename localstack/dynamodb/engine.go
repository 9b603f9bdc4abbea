package dynamodb

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Options are what an Engine needs from outside. All but NewID are required.
type Options struct {
	// Now is the clock: of the Date header, of times to live and of transaction tokens.
	Now func() time.Time
	// Region and AccountID appear in the names (ARNs) of tables.
	Region    string
	AccountID string
	Logger    *slog.Logger
	// NewID makes identifiers of requests and tables; the default is random.
	NewID func() string
}

// Engine is one DynamoDB: the tables of one account in one region.
type Engine struct {
	opt        Options
	db         *bolt.DB
	operations map[string]operation

	// schema guards tables: operations on items hold it for reading while they run, changes of
	// tables hold it for writing, so that no write can miss a new index.
	schema sync.RWMutex
	tables map[string]*table
}

// The file can grow into this much address space before it must be mapped anew, for which
// all readers have to be done.
const initialMmapBytes = 1 << 30

// lockWait is how long Open waits for another process that has the file open.
const lockWait = 5 * time.Second

// Open opens the tables below dir, creating the directory and the file when needed.
func Open(dir string, opt Options) (*Engine, error) {
	if opt.Now == nil || opt.Logger == nil || opt.Region == "" || opt.AccountID == "" {
		return nil, errors.New("open dynamodb: Options need Now, Logger, Region and AccountID")
	}
	if opt.NewID == nil {
		opt.NewID = rand.Text
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open dynamodb: create its directory: %w", err)
	}
	path := filepath.Join(dir, "dynamodb.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: lockWait, NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bolt.FreelistMapType, InitialMmapSize: initialMmapBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("open dynamodb: open %s (is another embedded cloud using it? stop it or choose another data directory): %w", path, err)
	}
	e := &Engine{opt: opt, db: db, operations: operations(), tables: map[string]*table{}}
	if err := db.Update(e.load); err != nil {
		return nil, errors.Join(fmt.Errorf("open dynamodb: read the tables in %s: %w", path, err), db.Close())
	}
	return e, nil
}

// load creates the fixed trees and reads the descriptions of all tables.
func (e *Engine) load(tx *bolt.Tx) error {
	for _, name := range [][]byte{tablesBucket(), tokensBucket(), tokenTimesBucket()} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(tablesBucket()).ForEach(func(name, stored []byte) error {
		t := &table{}
		if err := json.Unmarshal(stored, t); err != nil {
			return fmt.Errorf("description of table %s: %w", name, err)
		}
		e.tables[t.Name] = t
		return nil
	})
}

// Close waits for the operations that run and closes the file.
func (e *Engine) Close() error {
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("close dynamodb: %w", err)
	}
	return nil
}

// table finds a table for an operation on items. The caller holds schema.
func (e *Engine) table(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t, ok := e.tables[name]
	if !ok {
		return nil, notFound()
	}
	return t, nil
}

// described finds a table for an operation on the table itself. The caller holds schema.
func (e *Engine) described(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t, ok := e.tables[name]
	if !ok {
		return nil, tableNotFound(name)
	}
	return t, nil
}
