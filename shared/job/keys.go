package job

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"sealift/shared/limits"
)

// FieldPK and FieldSK are the ledger's primary key; the others below are those that its indexes name.
const (
	FieldPK        = "pk"
	FieldSK        = "sk"
	FieldDueBucket = "due_bucket"
	FieldDueAt     = "due_at_ms"
	FieldTenantKey = "tenant_key"
	FieldCreated   = "created_key"
	FieldExpires   = "expires_at_s"
	fieldState     = "state"
	fieldSchema    = "schema"
)

// Schema is the version of ledger rows and messages that this release writes. Rows of a later version are refused.
const Schema = 1

const (
	jobPrefix   = "JOB#"
	unitPrefix  = "UNIT#"
	eventPrefix = "EVENT#"
)

// JobKey is the row of a job.
func JobKey(id string) RowKey { return RowKey{PK: jobPrefix + id, SK: "JOB"} }

// UnitKey is the row of one unit of a job.
func UnitKey(jobID, unitID string) RowKey {
	return RowKey{PK: jobPrefix + jobID, SK: unitPrefix + unitID}
}

// ShardSpan is the inclusive range of sort keys that holds every shard of a job in order.
func ShardSpan() (from, to string) {
	return unitPrefix + ShardID(1), unitPrefix + ShardID(limits.ShardsPerJobMax)
}

// UnitSpan is the inclusive range of sort keys that holds every unit of a job.
func UnitSpan() (from, to string) { return unitPrefix, unitPrefix + "~" }

// EventSpan is the inclusive range of sort keys that holds a job's audit in order.
func EventSpan() (from, to string) { return eventPrefix, eventPrefix + "~" }

// EventKey is the row of the audit event that belongs to one version of a job. Events that change no row add a suffix.
func EventKey(jobID string, version int64, suffix string) RowKey {
	return RowKey{PK: jobPrefix + jobID, SK: fmt.Sprintf("%s%010d%s", eventPrefix, version, suffix)}
}

// IdempotencyKey is the row that remembers a tenant's Idempotency-Key (its digest, so that any text is a valid key).
func IdempotencyKey(tenant, keyDigest string) RowKey {
	return RowKey{PK: "IDEM#" + tenant + "#" + keyDigest, SK: "IDEM"}
}

// QuotaKey is the row that counts a tenant's unfinished jobs.
func QuotaKey(tenant string) RowKey { return RowKey{PK: "TENANT#" + tenant, SK: "QUOTA"} }

// TenantKey is the value of FieldTenantKey for a tenant's jobs.
func TenantKey(tenant string) string { return "TENANT#" + tenant }

// The units that every job has besides its shards.
const (
	PlanID     = "plan"
	FinalizeID = "finalize"
	CleanID    = "clean"
)

// ShardID is the unit of the nth shard, counted from 1.
func ShardID(number int) string { return fmt.Sprintf("s%05d", number) }

// ShardNumber is the number behind a shard's unit id; ok is false for other units.
func ShardNumber(unitID string) (number int, ok bool) {
	digits, found := strings.CutPrefix(unitID, "s")
	if !found || len(digits) != 5 {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > limits.ShardsPerJobMax || ShardID(n) != unitID {
		return 0, false
	}
	return n, true
}

// ParseRowKey tells which job and unit a ledger row belongs to; unit is empty for the job's own row.
func ParseRowKey(key RowKey) (jobID, unitID string, ok bool) {
	jobID, ok = strings.CutPrefix(key.PK, jobPrefix)
	if !ok || jobID == "" {
		return "", "", false
	}
	if key.SK == "JOB" {
		return jobID, "", true
	}
	unitID, ok = strings.CutPrefix(key.SK, unitPrefix)
	return jobID, unitID, ok && unitID != ""
}

// createdKey is the value of FieldCreated, by which a tenant's jobs are listed.
func createdKey(at time.Time, id string) string { return at.UTC().Format(createdLayout) + "#" + id }

const createdLayout = "20060102T150405.000"

// IsCreatedKey reports whether text has the shape of a value of FieldCreated, so that a cursor from outside may be read
// from.
func IsCreatedKey(text string) bool {
	at, id, found := strings.Cut(text, "#")
	_, err := time.Parse(createdLayout, at)
	return found && err == nil && len(at) == len(createdLayout) && ValidID(id)
}

// IsEventSortKey reports whether text has the shape of the sort key of an audit event.
func IsEventSortKey(text string) bool {
	number, found := strings.CutPrefix(text, eventPrefix)
	number, suffix, _ := strings.Cut(number, "#")
	const most = 128
	return found && len(number) == 10 && strings.Trim(number, "0123456789") == "" && len(suffix) <= most &&
		strings.Trim(suffix, "#_0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// DueBucket is the partition of the due index that a row belongs to: rows spread over limits.DueBuckets of them.
func DueBucket(key RowKey) string {
	hash := fnv.New32a()
	hash.Write([]byte(key.PK + "|" + key.SK))
	return DueBucketName(int(hash.Sum32() % limits.DueBuckets))
}

// DueBucketName names the nth bucket, counted from 0.
func DueBucketName(n int) string { return fmt.Sprintf("due#%02d", n) }

func due(key RowKey, at time.Time) []Field {
	return []Field{{FieldDueBucket, DueBucket(key)}, {FieldDueAt, at.UnixMilli()}}
}

func notDue() []string { return []string{FieldDueBucket, FieldDueAt} }
