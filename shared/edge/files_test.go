package edge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/libopenapi-validator/schema_validation"

	"sealift/shared/artifact"
	"sealift/shared/checksum"
	"sealift/shared/edge"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// filesOfAcme is how many files the orders of acme fill in a house of many files.
const filesOfAcme = 3

// inFiles is march in the layout of many files.
func inFiles() option { return withBody(strings.TrimSuffix(march, "}") + `, "layout": "files"}`) }

// withFiles is a house in which an export of many files is completed. The pairs change the shipped definition.
func withFiles(t *testing.T, pairs ...string) (h *house, id string) {
	t.Helper()
	h = newHouse(t, sim.Options{})
	h.orders = 2 * filesOfAcme * 1000
	h.apply(h.reshaped(append(pairs, `"shard_rows":250000`, `"shard_rows":1000`, `"shard_rows": 250000`, `"shard_rows": 1000`)...))
	return h, h.completed(ana(), inFiles())
}

// linkTo asks for a link to one file of many.
func (h *house) linkTo(id, file string) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	return h.ask(ana(), "POST", "/v1/exports/"+id+"/download-links", withBody(`{"file": `+file+`}`))
}

// fetched follows a link and holds the bytes to what the link promises of them.
func (h *house) fetched(answer events.APIGatewayV2HTTPResponse) (name string, file []byte) {
	h.t.Helper()
	link := h.must(http.StatusCreated, answer)
	file, err := h.world.Store.Fetch(link["url"].(string))
	if err != nil {
		h.t.Fatal(err)
	}
	if text(link["bytes"]) != fmt.Sprint(len(file)) || link["crc64nvme"] != checksum.Sum64(file).Base64() {
		h.t.Errorf("the link of %v promises %v bytes and checksum %v; there are %d and %s",
			link["file_name"], link["bytes"], link["crc64nvme"], len(file), checksum.Sum64(file).Base64())
	}
	return link["file_name"].(string), file
}

// manifest takes the manifest and holds it to the API's description.
func (h *house) manifest(id string) pipeline.Manifest {
	h.t.Helper()
	_, found := h.fetched(h.link(ana(), id))
	schema := description(h.t).model.Components.Schemas.GetOrZero("Manifest").Schema()
	validating.Lock()
	defer validating.Unlock()
	if ok, faults := schema_validation.NewSchemaValidator().ValidateSchemaStringWithVersion(schema, string(found), 3.1); !ok {
		report(h.t, "the manifest", faults)
	}
	var m pipeline.Manifest
	if err := json.Unmarshal(found, &m); err != nil {
		h.t.Fatal(err)
	}
	return m
}

func TestAnExportOfManyFilesIsTakenFileByFile(t *testing.T) {
	t.Parallel()
	h, id := withFiles(t)
	m := h.manifest(id)
	bytes := int64(0)
	var last string
	for i, listed := range m.Files {
		name, file := h.fetched(h.linkTo(id, fmt.Sprint(i+1)))
		rows := readCSV(t, file)
		if rows[0][0] != "order_id" || int64(len(rows)-1) != listed.Rows {
			t.Errorf("file %d has %d lines and begins with %q; the manifest says %d rows", i+1, len(rows), rows[0], listed.Rows)
		}
		for _, row := range rows[1:] {
			if key := row[2] + row[0]; key <= last {
				t.Fatalf("file %d: the order %s at %s does not come after the one before it", i+1, row[0], row[2])
			}
			last = row[2] + row[0]
		}
		want := pipeline.ManifestFile{
			Number: i + 1, Name: fmt.Sprintf("orders-20260329-%05d.csv.gz", i+1), Rows: listed.Rows, Bytes: int64(len(file)), CRC64: checksum.Sum64(file).Base64(),
		}
		if diff := cmp.Diff(want, listed); diff != "" || name != want.Name {
			t.Errorf("file %s as listed (-want +listed):\n%s", name, diff)
		}
		bytes += listed.Bytes
	}
	if m.Job != id || m.Rows != filesOfAcme*1000 || m.Bytes != bytes || len(m.Files) != filesOfAcme {
		t.Errorf("the manifest has %d files, %d rows and %d bytes, want %d, %d and %d", len(m.Files), m.Rows, m.Bytes, filesOfAcme, filesOfAcme*1000, bytes)
	}
	h.showsFiles(id, m)
}

// showsFiles holds what the API tells of an export, and its receipt, to the manifest.
func (h *house) showsFiles(id string, m pipeline.Manifest) {
	h.t.Helper()
	shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	file := shown["file"].(map[string]any)
	name, manifest := h.fetched(h.link(ana(), id))
	have := fmt.Sprintln(file["name"], file["bytes"], file["crc64nvme"], file["rows"], file["files"])
	want := fmt.Sprintln("orders-20260329.manifest.json", len(manifest), checksum.Sum64(manifest).Base64(), m.Rows, map[string]any{"count": len(m.Files), "bytes": m.Bytes})
	if have != want || file["name"] != name {
		h.t.Errorf("shown is %s, want %s", have, want)
	}
	var receipt pipeline.Receipt
	decode(h.t, []byte(h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt").Body), &receipt)
	var listed []pipeline.ManifestFile
	var ranges []string
	for _, f := range receipt.Files {
		listed = append(listed, pipeline.ManifestFile{Number: f.Number, Name: f.Name, Rows: f.Rows, Bytes: f.Bytes, CRC64: f.CRC64})
		for _, segment := range f.Segments {
			ranges = append(ranges, fmt.Sprint(segment.Range.From), fmt.Sprint(segment.Range.To))
		}
	}
	if diff := cmp.Diff(m.Files, listed); diff != "" || receipt.Bytes != m.Bytes {
		h.t.Errorf("the receipt has %d bytes and these files (-manifest +receipt):\n%s", receipt.Bytes, diff)
	}
	for i := 1; i+1 < len(ranges); i += 2 {
		if ranges[i] != ranges[i+1] {
			h.t.Errorf("a segment ends at %s and the next begins at %s", ranges[i], ranges[i+1])
		}
	}
}

// fileRefusals are asked for files that an export doesn't have, and in ways that the API doesn't know.
func fileRefusals() []refusal {
	const bad = http.StatusBadRequest
	link := func(body string, options ...option) func(h *house) events.APIGatewayV2HTTPResponse {
		return func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "POST", "/v1/exports/"+h.completed(ana(), options...)+"/download-links", withBody(body))
		}
	}
	howTo := []string{`{"file": 3}`}
	return []refusal{
		{"an unknown layout", "layout", bad, "/layout", []string{`"folder"`, "file (one file)", "files (many files and a manifest)"}, true, with(`"layout": "folder"`)},
		{"file 0", "request-malformed", bad, "/file", howTo, true, link(`{"file": 0}`, inFiles())},
		{"file -1", "request-malformed", bad, "/file", howTo, true, link(`{"file": -1}`, inFiles())},
		{"a file by a word", "request-malformed", bad, "/file", howTo, true, link(`{"file": "x"}`, inFiles())},
		{"two files", "request-malformed", bad, "/file", howTo, false, link(`{"file": 1, "file": 2}`, inFiles())},
		{"a file in capitals", "request-malformed", bad, "/file", howTo, true, link(`{"File": 1}`, inFiles())},
		{"half a file", "request-malformed", bad, "/file", howTo, true, link(`{"file": 1.5}`, inFiles())},
		{"no number", "request-malformed", bad, "/file", howTo, true, link(`{"file": null}`, inFiles())},
		{"a number beyond 64 bits", "request-malformed", bad, "/file", howTo, false, link(`{"file": 9223372036854775808}`, inFiles())},
		{"a misspelt number", "request-malformed", bad, "/file", howTo, true, link(`{"number": 1}`, inFiles())},
		{"two numbers", "request-malformed", bad, "/file", howTo, true, link(`[1, 2]`, inFiles())},
		{"a number of 2 MB", "request-too-large", 413, "", []string{"at most 262144"}, true, link(strings.Repeat(" ", 2<<20), inFiles())},
		{"the file after the last", "file-unknown", bad, "/file", []string{"/file is 2", "files 1 to 1", "leave the field out for their manifest"}, false, link(`{"file": 2}`, inFiles())},
		{"a number where there is one file", "file-unknown", bad, "/file", []string{"/file is 1", "a single file: leave the field out"}, false, link(`{"file": 1}`)},
	}
}

func TestAWholeDownloadOfManyFilesCountsAsOne(t *testing.T) {
	t.Parallel()
	h, id := withFiles(t, `"downloads_max":50`, `"downloads_max":1`, `"downloads_max": 50`, `"downloads_max": 1`)
	h.must(http.StatusBadRequest, h.linkTo(id, "4"))
	empty := h.must(http.StatusCreated, h.ask(ana(), "POST", "/v1/exports/"+id+"/download-links", withBody(`{}`)))
	if name, _ := empty["file_name"].(string); !strings.HasSuffix(name, "manifest.json") {
		t.Errorf("an empty object asks for %q, want the manifest", name)
	}
	for number := range filesOfAcme {
		h.must(http.StatusCreated, h.linkTo(id, fmt.Sprint(number+1)))
	}
	for name, again := range map[string]events.APIGatewayV2HTTPResponse{"the manifest": h.link(ana(), id), "a file": h.linkTo(id, "1")} {
		problem := h.must(http.StatusForbidden, again)
		if problem["type"] != "/problems/downloads-exceeded" || !strings.Contains(problem["detail"].(string), "downloaded once,") {
			t.Errorf("%s: %v", name, problem)
		}
	}
	var signed []string
	page := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events"))
	for _, event := range page["events"].([]any) {
		if e := event.(map[string]any); e["action"] == "link_signed" {
			signed = append(signed, fmt.Sprint(e["detail"]))
		}
	}
	if diff := cmp.Diff([]string{"<nil>", "map[file:1]", "map[file:2]", "map[file:3]"}, signed); diff != "" {
		t.Errorf("the audit of links differs (-want +got):\n%s", diff)
	}
}

// sweep lets the sweeper go round after the time is over, until what it wakes has come to rest.
func (h *house) sweep(after time.Duration) pipeline.Report {
	h.t.Helper()
	h.world.Clock.Advance(after)
	sweeper := pipeline.Sweeper{OrphanAge: limits.OrphanAge, Cleaner: pipeline.Cleaner{
		Worker: edge.Worker(h.world.Ledger, h.world.Queue, h.logger()), Store: h.world.Store, Keys: artifact.Keys{},
	}}
	found, err := sweeper.Sweep(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.run()
	return found
}

// stored lists what the store holds of an export: objects and unfinished uploads.
func (h *house) stored(id string) []string {
	h.t.Helper()
	var keys []string
	for _, prefix := range (artifact.Keys{}).Prefixes("acme", id) {
		objects, err := h.world.Store.Objects(h.t.Context(), prefix, "", 1000)
		if err != nil {
			h.t.Fatal(err)
		}
		uploads, err := h.world.Store.Uploads(h.t.Context(), prefix, pipeline.StoredUpload{}, 1000)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, object := range objects {
			keys = append(keys, object.Key)
		}
		for _, upload := range uploads {
			keys = append(keys, upload.Key+" (upload)")
		}
	}
	return keys
}

func TestNothingIsLeftOfFilesWhoseDeliveryHasEnded(t *testing.T) {
	t.Parallel()
	revoke := func(h *house, id string) { h.must(http.StatusOK, h.end(ana(), id, "revoke")) }
	cases := []struct {
		name string
		// swept says that the staging was cleaned before.
		swept bool
		end   func(h *house, id string)
	}{
		{"revoked", true, revoke},
		{"revoked before the staging was cleaned", false, revoke},
		{"expired", true, func(h *house, _ string) { h.sweep(7 * 24 * time.Hour) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, id := withFiles(t)
			if c.swept {
				h.sweep(2 * limits.Lease)
			}
			links := []events.APIGatewayV2HTTPResponse{h.link(ana(), id), h.linkTo(id, "1")}
			c.end(h, id)
			for _, answer := range []events.APIGatewayV2HTTPResponse{h.link(ana(), id), h.linkTo(id, "1"), h.linkTo(id, "9")} {
				h.must(http.StatusGone, answer)
			}
			h.sweep(2 * limits.Lease)
			if left := h.stored(id); len(left) > 0 {
				t.Errorf("after the clean-up there still are\n%s", strings.Join(left, "\n"))
			}
			for _, link := range links {
				if _, err := h.world.Store.Fetch(h.must(http.StatusCreated, link)["url"].(string)); err == nil {
					t.Error("a link that was given out before still works")
				}
			}
		})
	}
}

func TestASweepKeepsEveryBoundFile(t *testing.T) {
	t.Parallel()
	h, id := withFiles(t)
	h.sweep(2 * limits.Lease)
	before := h.stored(id)
	if len(before) != filesOfAcme+2 || slices.ContainsFunc(before, func(key string) bool { return strings.HasPrefix(key, "staging/") }) {
		t.Errorf("after the clean-up of the staging there are %q, want %d files, the manifest and the receipt", before, filesOfAcme)
	}
	found := h.sweep(2 * limits.OrphanAge)
	if diff := cmp.Diff(map[string]int{"object_bound": filesOfAcme + 2}, found.Stored); diff != "" {
		t.Errorf("the sweep saw (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, h.stored(id)); diff != "" {
		t.Errorf("the sweep has changed what is stored (-before +after):\n%s", diff)
	}
	for _, file := range h.manifest(id).Files {
		h.fetched(h.linkTo(id, fmt.Sprint(file.Number)))
	}
}

// object reads what is stored under a key.
func (h *house) object(key string) []byte {
	h.t.Helper()
	found, ok, err := h.world.Store.Stat(h.t.Context(), key)
	if err != nil || !ok {
		h.t.Fatalf("%s: %v, %v", key, ok, err)
	}
	data, err := h.world.Store.Read(h.t.Context(), pipeline.Slice{Key: key, ETag: found.ETag, To: found.Bytes})
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.Clone(data)
}

func TestNoLinkIsGivenToAFileThatIsNotTheOnePublished(t *testing.T) {
	t.Parallel()
	second := func(h *house, id string) string {
		return (artifact.Keys{}).File(h.job(id).Artifact.Key, 2, "csv.gz")
	}
	manifest := func(h *house, id string) string { return h.job(id).Artifact.Key }
	change := func(h *house, key string) {
		data := h.object(key)
		data[len(data)/2] ^= 1
		h.world.Store.Damage(key, data)
	}
	shorten := func(h *house, key string) { h.world.Store.Damage(key, h.object(key)[1:]) }
	remove := func(h *house, key string) {
		h.broken = true
		if err := h.world.Store.Delete(h.t.Context(), key, ""); err != nil {
			h.t.Fatal(err)
		}
	}
	cases := []struct {
		name  string
		key   func(h *house, id string) string
		wrong func(h *house, key string)
		// refused are the numbers that get no link, 0 for the manifest.
		refused []int
	}{
		{"a file changed in one bit", second, change, []int{2}},
		{"a file cut short", second, shorten, []int{2}},
		{"a file gone", second, remove, []int{2}},
		{"the manifest changed in one bit", manifest, change, []int{0, 1, 2, 3}},
		{"the manifest gone", manifest, remove, []int{0, 1, 2, 3}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, id := withFiles(t)
			c.wrong(h, c.key(h, id))
			var refused []int
			for number, answer := range []events.APIGatewayV2HTTPResponse{h.link(ana(), id), h.linkTo(id, "1"), h.linkTo(id, "2"), h.linkTo(id, "3")} {
				if answer.StatusCode == http.StatusCreated {
					continue
				}
				refused = append(refused, number)
				if problem := h.must(http.StatusInternalServerError, answer); problem["type"] != "/problems/artifact-damaged" {
					t.Errorf("file %d: %v", number, problem)
				}
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if counted, given := h.job(id).Downloads, int64(filesOfAcme+1-len(refused)); counted != given {
				t.Errorf("%d links were given and %d are counted", given, counted)
			}
		})
	}
}
