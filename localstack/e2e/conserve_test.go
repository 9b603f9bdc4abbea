package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/cespare/xxhash/v2"
)

// truth is what the source says that a completed export must hold, computed without Sealift's own code.
type truth struct {
	file []byte
	rows int
	hash uint64
}

// truthOf writes the undisturbed file once more from the source's orders, whose values need no quotes, and compares, so that
// whatever has the same bytes is true as well.
func truthOf(t *testing.T, list []order, file []byte) truth {
	t.Helper()
	want, text := truth{file: file}, strings.Join(columns(), ",")+"\r\n"
	var whole strings.Builder
	whole.WriteString(text)
	for _, o := range list {
		if o.tenant != tenant {
			continue
		}
		fields := make([]string, 0, len(columns()))
		for i, field := range o.record() {
			if columns()[i] == "placed_at" {
				*field = o.placed.UTC().Format("2006-01-02T15:04:05.000000Z")
			}
			fields = append(fields, *field)
		}
		text = strings.Join(fields, ",") + "\r\n"
		whole.WriteString(text)
		want.hash += xxhash.Sum64String(text)
		want.rows++
	}
	if whole.String() != string(file) {
		got, wanted := strings.Split(string(file), "\r\n"), strings.Split(whole.String(), "\r\n")
		for i := range min(len(got), len(wanted)) {
			if got[i] != wanted[i] {
				t.Fatalf("line %d of the file is\n%.200s\nwant\n%.200s", i+1, got[i], wanted[i])
			}
		}
		t.Fatalf("the file has %d lines, want %d", len(got), len(wanted))
	}
	return want
}

// receipt is an export's receipt as far as the equations read it.
type receipt struct {
	Rows     int    `json:"rows"`
	Bytes    int    `json:"bytes"`
	RowsHash string `json:"rows_xxh64_sum"`
	Files    []struct {
		Rows     int       `json:"rows"`
		Bytes    int       `json:"bytes"`
		CRC64    string    `json:"crc64nvme"`
		Segments []segment `json:"segments"`
	} `json:"files"`
}

type segment struct {
	Unit  string `json:"unit"`
	Range struct {
		From []string `json:"from"`
		To   []string `json:"to"`
	} `json:"range"`
	Keys struct {
		First []string `json:"first"`
		Last  []string `json:"last"`
	} `json:"keys"`
	Rows     int    `json:"rows"`
	Offset   int    `json:"offset"`
	Bytes    int    `json:"bytes"`
	CRC64    string `json:"crc64nvme"`
	RowsHash string `json:"rows_xxh64_sum"`
}

// conserved checks one completed export: what the ledger, the receipt, the store and the file say adds up to the source.
// It returns every equation that does not hold.
func (w *world) conserved(t *testing.T, id string, want truth) []string {
	t.Helper()
	all := w.rows(t, "JOB#"+id)
	job := all["JOB"]
	if job["state"] != "completed" {
		return []string{"the export is " + job["state"] + ": " + job["failure"]}
	}
	var broken []string
	same := func(what string, values ...any) {
		for _, v := range values[1:] {
			if v != values[0] {
				broken = append(broken, fmt.Sprintf("%s differ: %v", what, values))
				return
			}
		}
	}
	object, crc := w.object(t, job["artifact_key"])
	text, _ := w.object(t, job["artifact_receipt_key"])
	sum := sha256.Sum256(text)
	same("the receipt's digests", hex.EncodeToString(sum[:]), job["artifact_receipt_sha256"])
	same("the receipt's signature", w.signed(t, text, job["artifact_receipt_signature"]), "valid")
	var r receipt
	ok(t, json.Unmarshal(text, &r))
	file := r.Files[0]
	var rows, size int
	var hash uint64
	for i, s := range file.Segments {
		unit := all["UNIT#"+s.Unit]
		rows, size = rows+s.Rows, size+s.Bytes
		hash += hexOf(t, s.RowsHash)
		same(s.Unit+"'s rows", s.Rows, number(t, unit["rows"]))
		same(s.Unit+"'s hashes", hexOf(t, s.RowsHash), hexOf(t, unit["rows_hash"]))
		same(s.Unit+"'s bytes", s.Bytes, number(t, unit["bytes"]), number(t, unit["object_bytes"]))
		if s.Offset+s.Bytes > len(object) {
			return append(broken, s.Unit+" ends behind the file")
		}
		stored := object[s.Offset : s.Offset+s.Bytes]
		same(s.Unit+"'s checksums", s.CRC64, checksum(stored), base64CRC(hexOf(t, unit["crc64"])))
		broken = append(broken, partsOf(t, s.Unit, unit["parts"], stored)...)
		if i > 0 && (!slices.Equal(file.Segments[i-1].Range.To, s.Range.From) || !before(t, file.Segments[i-1].Keys.Last, s.Keys.First)) {
			broken = append(broken, s.Unit+" does not begin where the one before it ends")
		}
	}
	if n := len(file.Segments); n == 0 || file.Segments[0].Range.From != nil || file.Segments[n-1].Range.To != nil {
		broken = append(broken, "the shards' ranges do not cover all keys")
	}
	same("the numbers of shards", len(file.Segments), number(t, job["shards"]), number(t, job["shards_done"]))
	same("the rows", want.rows, rows, number(t, job["rows"]), number(t, job["artifact_rows"]), r.Rows, file.Rows, bytes.Count(object, []byte("\r\n"))-1)
	same("the bytes", len(want.file), size, number(t, job["bytes"]), number(t, job["artifact_bytes"]), r.Bytes, file.Bytes, len(object))
	same("the rows' hashes", want.hash, hash, hexOf(t, r.RowsHash))
	same("the checksums", checksum(object), crc, file.CRC64, base64CRC(hexOf(t, job["artifact_crc64"])))
	if !bytes.Equal(object, want.file) {
		broken = append(broken, "the file's bytes are not those of an undisturbed export")
	}
	return append(broken, counted(all)...)
}

// before reports whether one key of a time and a number comes before another.
func before(t *testing.T, a, b []string) bool {
	t.Helper()
	return len(a) == 2 && len(b) == 2 && (a[0] < b[0] || a[0] == b[0] && number(t, a[1]) < number(t, b[1]))
}

// counted checks an export's audit and that nothing of it but its expiry is due.
func counted(all map[string]row) (broken []string) {
	for _, to := range []string{"publishing", "completed"} {
		n := 0
		for _, r := range all {
			if r["to"] == to {
				n++
			}
		}
		if n != 1 {
			broken = append(broken, fmt.Sprintf("the audit has %d moves to %s, want 1", n, to))
		}
	}
	for sk, r := range all {
		if r["due_at_ms"] != "" && sk != "JOB" {
			broken = append(broken, sk+" is still due")
		}
	}
	return broken
}

// partsOf checks a shard's committed parts against the bytes that they became.
func partsOf(t *testing.T, unit, list string, stored []byte) (broken []string) {
	t.Helper()
	if list == "" {
		return nil // stored in one call
	}
	for _, text := range strings.Split(list, "\n") {
		fields := strings.SplitN(text, ":", 4)
		size := number(t, fields[1])
		if size > len(stored) {
			return append(broken, unit+": its parts are longer than its object")
		}
		if got := checksum(stored[:size]); got != base64CRC(hexOf(t, fields[2])) {
			broken = append(broken, unit+": part "+fields[0]+" has another checksum than what is stored")
		}
		stored = stored[size:]
	}
	if len(stored) > 0 {
		broken = append(broken, unit+": its object is longer than its parts")
	}
	return broken
}

// object reads a stored object and the checksum that the store tells of it.
func (w *world) object(t *testing.T, key string) (body []byte, crc string) {
	t.Helper()
	out, err := w.s3().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &w.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		t.Errorf("read %s: %v", key, err)
		return nil, ""
	}
	defer func() { _ = out.Body.Close() }()
	body, err = io.ReadAll(out.Body)
	ok(t, err)
	return body, aws.ToString(out.ChecksumCRC64NVME)
}

// checksum is the CRC-64/NVME in the form that S3 tells it; its reversed polynomial is in the CRC catalogue of
// reveng.sourceforge.io.
func checksum(data []byte) string {
	const reversed = 0x9a6c9329ac4bc9b5
	return base64CRC(crc64.Checksum(data, crc64.MakeTable(reversed)))
}

func base64CRC(sum uint64) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, sum))
}

func hexOf(t *testing.T, text string) uint64 {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 16, 64)
	ok(t, err)
	return n
}

func number(t *testing.T, text string) int {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	ok(t, err)
	return n
}
