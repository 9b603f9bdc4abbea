package ledger

import (
	"fmt"
	"strings"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// remedy ends the detail of everything that the service refuses as it stands: no repetition helps, and only a person may.
const remedy = "ask for the export again, and if it fails again do what infra/runbooks/failed-job.md says of " + codeInvalid

// refusedWrite is the error of a change that the service refuses as it stands. The detail, which whoever asked for the export
// may read, names the record and the largest of the attributes that were to be written, because a record that is too large is
// what such a refusal is most often about. What the service itself says may repeat values and is for logs only.
func refusedWrite(change job.Change, index int, cause error) *job.Error {
	write := change.Writes()[index]
	name, size := largest(write)
	return job.Errorf(job.Permanent, codeInvalid, "the ledger refuses the move %s of %s; the largest attribute that it writes there is %s with %d bytes, and a record may have %d in all: %s: %w",
		change.Name(), recordOf(write.Key), name, size, limits.LedgerRowBytesMax, remedy, cause)
}

// refusedRead gives the error of a read that the service refuses as it stands what it was about; others pass through.
func refusedRead(what string, err error) error {
	if err == nil || job.CodeOf(err) != codeInvalid {
		return err
	}
	return job.Errorf(job.Permanent, codeInvalid, "the ledger refuses to read %s: %s: %w", what, remedy, err)
}

// heaviest is the index of the write with the largest attribute.
func heaviest(change job.Change) int {
	at, most := 0, 0
	for index, write := range change.Writes() {
		if _, size := largest(write); size > most {
			at, most = index, size
		}
	}
	return at
}

// largest is the attribute for which a write brings most bytes.
func largest(write job.Write) (name string, size int) {
	for _, fields := range [][]job.Field{write.Set, write.Append, write.Add} {
		for _, field := range fields {
			if n := sizeOf(field.Value); n > size {
				name, size = field.Name, n
			}
		}
	}
	return name, size
}

func sizeOf(value job.Value) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []string:
		return len(strings.Join(v, ""))
	}
	return len(fmt.Sprint(value))
}

// recordOf says whose record a row is, in words that are of use to whoever asked for an export.
func recordOf(key job.RowKey) string {
	jobID, unitID, ok := job.ParseRowKey(key)
	switch {
	case ok && unitID != "":
		return "the record of unit " + unitID + " of export " + jobID
	case ok:
		return "the record of export " + jobID
	case jobID != "":
		return "a record beside that of export " + jobID
	}
	return "a record that is no export's own"
}
