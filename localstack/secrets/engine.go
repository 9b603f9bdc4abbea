package secrets

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Options is what an Engine takes from its surroundings. A zero field gets the
// default named beside it.
type Options struct {
	// Region is part of ARNs; default us-east-1.
	Region string
	// AccountID is part of ARNs; default 000000000000.
	AccountID string
	// Now is the clock; default time.Now.
	Now func() time.Time
	// NewID makes request and version ids; default random UUIDs.
	NewID func() string
	// Logger gets what no caller is told; default discards.
	Logger *slog.Logger
}

// Engine is the set of secrets kept in one directory. It is safe for concurrent use.
type Engine struct {
	opt Options
	db  *bolt.DB
	ops map[string]operation

	mu      sync.Mutex
	closed  bool
	secrets map[string]secretRecord // by name
}

// The file has one bucket: name → secretRecord.
const bucketSecret = "secret"

const (
	nameCharsMax       = 512
	valueBytesMax      = 65536
	versionsMax        = 100
	tokenCharsMin      = 32
	tokenCharsMax      = 64
	listMax            = 100
	recoveryDaysMin    = 7
	recoveryDaysMax    = 30
	requestBytesMax    = 6*valueBytesMax + 64<<10
	stageCurrent       = "AWSCURRENT"
	stagePrevious      = "AWSPREVIOUS"
	arnSuffixCharsRand = 6
)

type secretRecord struct {
	Name        string                   `json:"name"`
	ARN         string                   `json:"arn"`
	Description string                   `json:"description,omitempty"`
	KMSKeyID    string                   `json:"kms_key_id,omitempty"`
	Tags        []tag                    `json:"tags,omitempty"`
	CreatedMS   int64                    `json:"created_ms"`
	ChangedMS   int64                    `json:"changed_ms"`
	DeletedMS   int64                    `json:"deleted_ms,omitempty"`  // when it was marked
	ErasedMS    int64                    `json:"erased_ms,omitempty"`   // when it will be gone
	Accessed    int64                    `json:"accessed_ms,omitempty"` // the day of the last read
	Versions    map[string]versionRecord `json:"versions,omitempty"`
}

type versionRecord struct {
	Text      *string  `json:"text,omitempty"`
	Binary    []byte   `json:"binary,omitempty"`
	Stages    []string `json:"stages,omitempty"`
	CreatedMS int64    `json:"created_ms"`
}

type tag struct{ Key, Value string }

// Open reads the secrets in dir, making the directory and the file when absent.
// It fails when another process has them open.
func Open(dir string, opt Options) (*Engine, error) {
	e := &Engine{opt: withDefaults(opt), secrets: map[string]secretRecord{}}
	e.ops = e.operations()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("secrets: make directory %s: %w", dir, err)
	}
	path := filepath.Join(dir, "secrets.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: 2 * time.Second, NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return nil, fmt.Errorf("secrets: open %s: %w (is another process using this data directory? stop it, or choose another directory)", path, err)
	}
	e.db = db
	if err := e.load(path); err != nil {
		return nil, errors.Join(fmt.Errorf("secrets: read %s: %w", path, err), db.Close())
	}
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
		return fmt.Errorf("secrets: close: %w", err)
	}
	return nil
}

func (e *Engine) load(path string) error {
	// A file that was copied in may be open to others.
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("keep others out: %w", err)
	}
	return e.db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte(bucketSecret))
		if err != nil {
			return fmt.Errorf("make bucket: %w", err)
		}
		return bucket.ForEach(func(key, text []byte) error {
			var record secretRecord
			if err := json.Unmarshal(text, &record); err != nil {
				// The error of the decoder could quote the secret.
				return fmt.Errorf("record of secret %s is damaged", key)
			}
			e.secrets[record.Name] = record
			return nil
		})
	})
}

// save writes a record, then takes it into memory; e.mu must be held.
func (e *Engine) save(record secretRecord) error {
	err := e.db.Update(func(tx *bolt.Tx) error {
		text, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("encode record: %w", err)
		}
		return tx.Bucket([]byte(bucketSecret)).Put([]byte(record.Name), text)
	})
	if err != nil {
		return fmt.Errorf("write secret %s: %w", record.Name, err)
	}
	e.secrets[record.Name] = record
	return nil
}

// erase removes a record; e.mu must be held.
func (e *Engine) erase(name string) error {
	err := e.db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketSecret)).Delete([]byte(name)) })
	if err != nil {
		return fmt.Errorf("erase secret %s: %w", name, err)
	}
	delete(e.secrets, name)
	return nil
}

// eraseDue removes the secrets whose recovery window is over; e.mu must be held.
func (e *Engine) eraseDue() error {
	now := e.opt.Now().UnixMilli()
	for name, record := range e.secrets {
		if record.ErasedMS == 0 || record.ErasedMS > now {
			continue
		}
		if err := e.erase(name); err != nil {
			return err
		}
	}
	return nil
}

// find returns the secret that a name, an ARN or an ARN without its random end
// names; e.mu must be held.
func (e *Engine) find(id string) (secretRecord, error) {
	if id == "" {
		return secretRecord{}, invalidParameter("You must provide a value for the SecretId parameter: the name or the ARN of a secret.")
	}
	if record, found := e.secrets[id]; found {
		return record, nil
	}
	if name, ours := strings.CutPrefix(id, e.arn("")); ours {
		if record, found := e.secrets[name]; found {
			return record, nil
		}
		if cut := len(name) - arnSuffixCharsRand - 1; cut > 0 {
			if record, found := e.secrets[name[:cut]]; found && record.ARN == id {
				return record, nil
			}
		}
	}
	return secretRecord{}, refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret %q. Create it, or correct the name.", id)
}

// findLive is find without the secrets marked for deletion.
func (e *Engine) findLive(id string) (secretRecord, error) {
	record, err := e.find(id)
	if err == nil && record.DeletedMS != 0 {
		return record, refuse("InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion: %s.", record.Name)
	}
	return record, err
}

func (e *Engine) arn(name string) string {
	return "arn:aws:secretsmanager:" + e.opt.Region + ":" + e.opt.AccountID + ":secret:" + name
}

// randomSuffix ends the ARN of a new secret, so that a successor of the same
// name is another secret.
func randomSuffix() string {
	return rand.Text()[:arnSuffixCharsRand]
}

func withDefaults(opt Options) Options {
	if opt.Region == "" {
		opt.Region = "us-east-1"
	}
	if opt.AccountID == "" {
		opt.AccountID = "000000000000"
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.NewID == nil {
		opt.NewID = newUUID
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return opt
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
