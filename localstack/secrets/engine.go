package secrets

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Options is what an Engine takes from its surroundings.
type Options = service.Options

// Engine is the set of secrets kept in one directory. It is safe for concurrent use.
type Engine struct {
	opt  Options
	db   *bolt.DB
	json *service.JSON

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
	e := &Engine{opt: opt.WithDefaults(), secrets: map[string]secretRecord{}}
	e.json = e.protocol()
	db, err := service.Open(dir, "secrets", []string{bucketSecret}, e.load)
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
		return fmt.Errorf("secrets: close: %w", err)
	}
	return nil
}

func (e *Engine) load(tx *bolt.Tx) error {
	return service.Each(tx, bucketSecret, func(_ []byte, record secretRecord) error {
		e.secrets[record.Name] = record
		return nil
	})
}

// save writes a record, then takes it into memory; e.mu must be held.
func (e *Engine) save(record secretRecord) error {
	err := e.db.Update(func(tx *bolt.Tx) error { return service.Put(tx, bucketSecret, []byte(record.Name), record) })
	if err != nil {
		return fmt.Errorf("write secret %s: %w", record.Name, err)
	}
	e.secrets[record.Name] = record
	return nil
}

// erase removes a record; e.mu must be held.
func (e *Engine) erase(name string) error {
	err := e.db.Update(func(tx *bolt.Tx) error { return service.Delete(tx, bucketSecret, []byte(name)) })
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
	return secretRecord{}, service.Refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret %q. Create it, or correct the name.", id)
}

// findLive is find without the secrets marked for deletion.
func (e *Engine) findLive(id string) (secretRecord, error) {
	record, err := e.find(id)
	if err == nil && record.DeletedMS != 0 {
		return record, service.Refuse("InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion: %s.", record.Name)
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
