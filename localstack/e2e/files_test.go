package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// manyFiles is an ask in the layout of many files.
func manyFiles(definition, format, compression string) ask {
	return whole(definition, format, compression).with("layout", "files")
}

// listing is what a manifest lists, without the export's id.
type listing struct {
	Rows  int `json:"rows"`
	Bytes int `json:"bytes"`
	Files []struct {
		Number int    `json:"number"`
		Name   string `json:"name"`
		Rows   int    `json:"rows"`
		Bytes  int    `json:"bytes"`
		CRC64  string `json:"crc64nvme"`
	} `json:"files"`
}

// fetchFiles takes the manifest and every file that it lists through links, and checks each against what is listed.
func (u user) fetchFiles(t *testing.T, id string) (l listing, files [][]byte) {
	t.Helper()
	ok(t, json.Unmarshal(u.download(t, id), &l))
	total := 0
	for i, f := range l.Files {
		link := u.do(t, http.MethodPost, "/v1/exports/"+id+"/download-links", fmt.Appendf(nil, `{"file": %d}`, i+1)).want(t, http.StatusCreated).object(t)
		file := get(t, link["url"].(string)).want(t, http.StatusOK).body
		if f.Number != i+1 || link["file_name"] != f.Name || len(file) != f.Bytes || checksum(file) != f.CRC64 {
			t.Errorf("file %d is %v with %d bytes and checksum %s; the manifest lists %+v", i+1, link["file_name"], len(file), checksum(file), f)
		}
		files = append(files, file)
		total += len(file)
	}
	if total != l.Bytes {
		t.Errorf("the files have %d bytes, the manifest says %d", total, l.Bytes)
	}
	return l, files
}

// recordsIn are the records of all files in their order; each file must be whole by itself.
func (l listing) recordsIn(t *testing.T, files [][]byte, format, compression string) (records [][]*string) {
	t.Helper()
	for i, file := range files {
		some := parse(t, file, format, compression)
		if len(some) != l.Files[i].Rows {
			t.Errorf("file %d has %d records, the manifest lists %d", i+1, len(some), l.Files[i].Rows)
		}
		records = append(records, some...)
	}
	return records
}

// proveFiles has exports of many files hold each row once across the files, twice with the same bytes, and the command line
// fetch, verify and go on.
func proveFiles(t *testing.T, s *shared) {
	ana := s.user(t, tenant, "ana")
	want := recordsOf(s.list, tenant)
	for _, c := range [][2]string{{"csv", "gzip"}, {"csv", "none"}, {"jsonl", "zstd"}} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			t.Parallel()
			id := ana.create(t, manyFiles("lite", c[0], c[1]), "files "+t.Name())
			done := ana.completed(t, id)
			l, files := ana.fetchFiles(t, id)
			if done.Shards < 3 || len(files) != done.Shards || int(done.File.Rows) != len(want) || l.Rows != len(want) {
				t.Errorf("%d shards, %d files, %d and %d rows; want three or more, as many, and %d", done.Shards, len(files), done.File.Rows, l.Rows, len(want))
			}
			equal(t, l.recordsIn(t, files, c[0], c[1]), want)
			again := ana.create(t, manyFiles("lite", c[0], c[1]), "files again "+t.Name())
			ana.completed(t, again)
			if _, same := ana.fetchFiles(t, again); !slices.EqualFunc(files, same, bytes.Equal) {
				t.Error("the same export has files of other bytes")
			}
			folder := filepath.Join(t.TempDir(), "taken")
			ana.sealift(t, "export", "download", id, "--output", folder)
			ok(t, os.Remove(filepath.Join(folder, l.Files[1].Name)))
			ana.sealift(t, "export", "download", id, "--output", folder)
			ana.sealift(t, "export", "verify", folder, "--job", id)
			for i, f := range l.Files {
				taken, err := os.ReadFile(filepath.Join(folder, f.Name))
				ok(t, err)
				if !bytes.Equal(taken, files[i]) {
					t.Errorf("the command line has fetched other bytes of %s", f.Name)
				}
			}
			ana.do(t, http.MethodPost, "/v1/exports/"+again+"/revoke", nil).want(t, http.StatusOK)
			s.settle(t, []string{again})
			if left := s.filesOf(t, id, s.stored(t)); len(left.artifacts) != len(files)+1 {
				t.Errorf("after another's clean-up the export has %q", left.artifacts)
			}
		})
	}
}

// kept is what is stored of one export.
type kept struct{ artifacts, others []string }

func (w *world) filesOf(t *testing.T, id string, stored []string) (k kept) {
	t.Helper()
	receipt := w.item(t, "JOB#"+id, "JOB")["artifact_receipt_key"]
	for _, key := range stored {
		switch {
		case !strings.Contains(key, "/"+id+"/") || key == receipt:
		case strings.HasPrefix(key, "artifacts/"):
			k.artifacts = append(k.artifacts, key)
		default:
			k.others = append(k.others, key)
		}
	}
	return k
}

// TestCrashMatrixOfManyFiles strikes finalize at the calls that it makes to publish many files: after the first, after the
// second, before the manifest, at every move of the ledger. Every export ends with the files of an undisturbed one, its
// manifest and its receipt, and nothing is left over.
func TestCrashMatrixOfManyFiles(t *testing.T) {
	t.Parallel()
	list := wide()
	w := calmly(t)
	m := matrix{world: w, plan: planned(t), source: sqlite(t, list), outcomes: outcomes{}, ana: w.user(t, tenant, "ana")}
	m.definition(t, "wide")
	made := w.made(t)
	id := m.ana.create(t, manyFiles("wide", "csv", "none"), "undisturbed")
	m.ana.completed(t, id)
	at := slices.DeleteFunc(points(w.callsSince(t, made), id, "finalize"), func(p point) bool { return p.about == own })
	l, files := m.ana.fetchFiles(t, id)
	if len(files) != wideShards {
		t.Fatalf("%d files, want %d", len(files), wideShards)
	}
	equal(t, l.recordsIn(t, files, "csv", "none"), recordsOf(list, tenant))
	strikes := m.strikes(at)
	for _, operation := range []string{"PutObject", "CompleteMultipartUpload", "CreateMultipartUpload", "UploadPartCopy"} {
		for nth := range wideShards {
			p := point{function: "finalize", service: "s3", operation: operation, nth: nth + 1}
			for _, way := range []string{killBefore, killAfter} {
				if slices.Contains(at, p) && !slices.Contains(strikes, strike{p, way}) {
					strikes = append(strikes, strike{p, way})
				}
			}
		}
	}
	t.Logf("an undisturbed finalize of %d files makes %d calls; %d strikes, seed %d", len(files), len(at), len(strikes), m.seed)
	done := 0
	for _, some := range [][]strike{strikes, nil} {
		if some == nil {
			some = m.missing(strikes, at)
		}
		const atOnce = 16 // so that the disk does not fill
		for part := range slices.Chunk(some, atOnce) {
			m.playFiles(t, done, part, files)
			done += len(part)
			t.Logf("%d struck exports have ended", done)
		}
	}
	m.print(t)
	linearizable(t, w.balance(t, tenant))
}

// playFiles has some exports of many files struck at once, waits for their ends and looks at what they have made and left.
func (m matrix) playFiles(t *testing.T, before int, some []strike, want [][]byte) {
	t.Helper()
	m.faults(t, http.MethodPut, standstill())
	ids := make([]string, len(some))
	for i, s := range some {
		key := itoa(before + i)
		ids[i] = m.ana.create(t, manyFiles("wide", "csv", "none"), "struck "+key)
		match := rule{"function": stack + "-" + s.function, "service": s.service, "operation": s.operation, "nth": s.nth, "key": ids[i]}
		m.faults(t, http.MethodPost, rule{"id": key, "match": match, "action": s.way})
	}
	for _, id := range ids {
		m.send(t, "plan", `{"schema": 1, "job": "`+id+`", "unit": "plan"}`)
	}
	m.over(t, ids)
	struck := map[any]bool{}
	for _, r := range m.faults(t, http.MethodGet, nil) {
		struck[r["id"]] = r["struck"] != 0.0
	}
	m.faults(t, http.MethodDelete, nil)
	stored := m.stored(t)
	for i, s := range some {
		m.saw(t, s, struck[itoa(before+i)], m.differences(t, ids[i], stored, want))
		for _, key := range m.filesOf(t, ids[i], stored).artifacts {
			_, err := m.s3().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &m.bucket, Key: aws.String(key)})
			ok(t, err)
		}
	}
}

// differences are what a completed export of many files has otherwise than an undisturbed one.
func (m matrix) differences(t *testing.T, id string, stored []string, want [][]byte) (wrong []string) {
	t.Helper()
	rows := m.rows(t, "JOB#"+id)
	job := rows["JOB"]
	if job["state"] != "completed" {
		return []string{"the export is " + job["state"] + ": " + job["failure"]}
	}
	found := m.filesOf(t, id, stored)
	names := map[string]bool{job["artifact_key"]: true}
	folder := job["artifact_key"][:strings.LastIndexByte(job["artifact_key"], '/')+1]
	for i, file := range want {
		key := fmt.Sprintf("%sfile-%05d.csv", folder, i+1)
		names[key] = true
		if !slices.Contains(found.artifacts, key) {
			wrong = append(wrong, "there is no "+key)
		} else if have, _ := m.object(t, key); !bytes.Equal(have, file) {
			wrong = append(wrong, fmt.Sprintf("file %d has other bytes than an undisturbed one", i+1))
		}
	}
	if diff := slices.Sorted(maps.Keys(names)); !slices.Equal(diff, slices.Sorted(slices.Values(found.artifacts))) {
		wrong = append(wrong, fmt.Sprintf("stored are %q, want %q", found.artifacts, diff))
	}
	if len(found.others) > 0 {
		wrong = append(wrong, fmt.Sprintf("left over are %q", found.others))
	}
	if number(t, job["artifact_files"]) != len(want) {
		wrong = append(wrong, "the ledger says that there are "+job["artifact_files"]+" files")
	}
	if l, _ := m.ana.fetchFiles(t, id); len(l.Files) != len(want) {
		wrong = append(wrong, fmt.Sprintf("the manifest lists %d files", len(l.Files)))
	}
	for sk, unit := range rows {
		if strings.HasPrefix(sk, "UNIT#") && !slices.Contains([]string{"done", "failed", "retired"}, unit["state"]) {
			wrong = append(wrong, sk+" is "+unit["state"]+" after the end")
		}
	}
	return append(wrong, counted(rows)...)
}
