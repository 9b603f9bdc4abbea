package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/snapshot"
)

// flips is how many bits of each receipt are tried, each way in which its files are verified.
const flips = 120

// The ways to verify: the one file of an export, the folder of an export of many, one file of many alone.
const (
	one    = "the one file"
	folder = "a folder"
	alone  = "one file of many"
)

// free is a place of a receipt in which a change may go unseen.
type free struct {
	// way and format are where that is so; everywhere when they are empty.
	way, format string
	path        string
	why         string
}

// frees are all such places. A change in any other one is found.
func frees() []free {
	const manifest = "a receipt says its export's id once, and a file says it nowhere; a manifest does. Another id of the right shape is seen with the " +
		"digest of the receipt that the service keeps"
	const others = "what other files hold is seen when their folder is verified"
	return []free{
		{one, "", "job", manifest},
		{alone, "", "job", manifest},
		{"", "", "watermark.ceiling", "the row with the highest key of the frozen set may have been deleted before it was read, so any key from the last one on can be it, " +
			"and so can text that is neither a number nor a time, whose order isn't known"},
		{"", "csv", "fidelity.neutralised", "an apostrophe before a formula may be the table's own: more than there are is seen, fewer isn't"},
		{"", "csv", "fidelity.characters_replaced", "a question mark may be the table's own: more than there are is seen, fewer isn't"},
		{"", "", "fidelity.invalid_utf8_replaced", "U+FFFD may be the table's own: more than there are is seen, fewer isn't"},
		{"", "", "signature", "without the key nobody can tell what is a signature of these bytes"},
		{"", "xlsx", "fidelity.truncated", "a text may just fit a cell: more than there are is seen, fewer isn't"},
		{alone, "", "fidelity", others},
		{alone, "", "files.*.crc64nvme", others},
		{alone, "", "files.*.segments.*.crc64nvme", others},
		{alone, "xlsx", "files.*.segments.*.bytes", others},
		{alone, "parquet", "files.*.segments.*.bytes", others},
	}
}

func isFree(way, format, path string) bool {
	for _, f := range frees() {
		if (f.way == "" || f.way == way) && (f.format == "" || f.format == format) && strings.HasPrefix(path, f.path) {
			return true
		}
	}
	return false
}

// TestOneChangedBitOfAReceiptIsFound holds the promise of verification: what a receipt says is said twice, or follows from
// something else that it says, or is seen in the files; and of a receipt that is held to the keys everything is seen.
func TestOneChangedBitOfAReceiptIsFound(t *testing.T) {
	t.Parallel()
	for _, asked := range []snapshot.FormatRequest{
		{Type: "csv"}, {Type: "csv", Encoding: "gb18030", Compression: "none"}, {Type: "jsonl", Compression: "zstd"}, {Type: "xlsx"}, {Type: "parquet"},
	} {
		for _, way := range []string{one, folder, alone} {
			t.Run(asked.Type+" "+asked.Encoding+" "+way, func(t *testing.T) {
				t.Parallel()
				export := exportOf(t, asked, way)
				if wrong := export.differences(t, export.receipt); len(wrong) > 0 {
					t.Fatalf("an export that is right: %s", wrong)
				}
				export.flip(t, func(at int) bool { return isFree(way, asked.Type, pathAt(export.receipt, at)) })
				export.keys = seal(t)
				if wrong := export.differences(t, export.receipt); len(wrong) > 0 {
					t.Fatalf("an export that is right and signed: %s", wrong)
				}
				export.flip(t, func(int) bool { return false })
			})
		}
	}
}

// flip changes bits of the receipt, one at a time: each must be found unless its place is free.
func (e exported) flip(t *testing.T, isFree func(at int) bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(len(e.receipt))))
	for range flips {
		at, bit := random.IntN(len(e.receipt)), byte(1)<<random.IntN(8)
		changed := bytes.Clone(e.receipt)
		changed[at] ^= bit
		if len(e.differences(t, changed)) == 0 && !isFree(at) {
			t.Errorf("nobody sees bit %08b of byte %d, in %s: %.60q", bit, at, pathAt(e.receipt, at), changed[max(0, at-30):])
		}
	}
}

// pathAt is the field that a byte of a receipt is of.
func pathAt(text []byte, at int) string {
	d := json.NewDecoder(bytes.NewReader(text))
	var path []string
	var inList []bool
	name := true
	for {
		token, err := d.Token()
		if err != nil {
			return strings.Join(path, ".")
		}
		depth := len(inList)
		delim, _ := token.(json.Delim)
		key := depth > 0 && !inList[depth-1] && name && delim == 0
		if key {
			path = append(path[:depth-1], fmt.Sprint(token))
			name = false
		}
		if d.InputOffset() > int64(at) {
			return strings.Join(path, ".")
		}
		switch {
		case key:
		case delim == '{', delim == '[':
			inList, name = append(inList, delim == '['), true
			path = append(path[:depth], path[depth:]...)
			if delim == '[' {
				path = append(path, "*")
			}
		case delim == '}', delim == ']':
			inList = inList[:depth-1]
			path = path[:max(0, min(len(path), len(inList)))]
			name = true
		default:
			name = true
		}
	}
}

// The list of free places tells no more than there are: these changes do go unseen.
func TestWhatAReceiptSaysOnceIsToldApart(t *testing.T) {
	t.Parallel()
	csv := exportOf(t, snapshot.FormatRequest{Type: "csv", Encoding: "gb18030"}, one)
	for _, c := range []struct{ pattern, by string }{
		{`"job": "exp_..`, `"job": "exp_00`},
		{`(?s)"ceiling": \[\s*"[^"]*",\s*"2100"`, `"ceiling": ["2026-01-02T10:59:00Z", "2101"`},
		{`"neutralised": 21`, `"neutralised": 20`},
		{`"characters_replaced": 1,`, ``},
		{`"invalid_utf8_replaced": 2`, `"invalid_utf8_replaced": 1`},
	} {
		changed := regexp.MustCompile(c.pattern).ReplaceAll(csv.receipt, []byte(c.by))
		if bytes.Equal(changed, csv.receipt) {
			t.Errorf("%s isn't there:\n%s", c.pattern, csv.receipt)
		}
		if wrong := csv.differences(t, changed); len(wrong) > 0 {
			t.Errorf("%s: %s", c.pattern, wrong)
		}
		signed := csv
		signed.keys = seal(t)
		if wrong := strings.Join(signed.differences(t, changed), "\n"); !strings.Contains(wrong, "the receipt's signature is wrong: key") {
			t.Errorf("%s, with the keys: %s", c.pattern, wrong)
		}
	}
}

// changedReceipt is a receipt of an export in a format, in which the first match of a pattern is replaced.
type changedReceipt struct{ format, way, pattern, by, says string }

func changedReceipts() []changedReceipt {
	return []changedReceipt{
		{"csv", one, `"fidelity"`, `"fidelty"`, `it has "fidelty": { where "fidelity": null belongs`},
		{"csv", one, `"rows": 2100,`, `"rows": 2100, "rows": 2100,`, `it has "rows": 2100 where "bytes"`},
		{"csv", one, `"rows": 2100,`, `"Rows": 2100,`, `it has "Rows": 2100 where "rows": 2100 belongs`},
		{"csv", one, `"tenant": "acme",`, ``, `where "tenant": "" belongs`},
		{"csv", one, `"schema": 1,`, `"schema": 1, "sealed": true,`, `it has "sealed": true where "job"`},
		{"csv", one, `"rows": 2100,`, `"rows": 2.1e3,`, "can't be read"},
		{"csv", one, `"watermark": \{\s*"as_of": "2026`, `"watermark": {"as_of": "2025`, "facts of the receipt: the cutoff is 2025-"},
		{"csv", one, `"tenant": "acme",`, `"tenant": "evil",`, "facts of the receipt: the tenant is evil; by the snapshot it is acme"},
		{"csv", one, `"definition_version": 1,`, `"definition_version": 2,`, "facts of the receipt: the version of the definition is 2"},
		{"csv", one, `"null_rendering": "unq`, `"null_rendering": "Unq`, "facts of the receipt: the rendering of NULL is Unquoted"},
		{"csv", one, `"unit": "s00002"`, `"unit": "s00003"`, `names of the receipt: segment 2 is named "s00003"; its place makes it "s00002"`},
		{"csv", one, `"job": "exp_`, `"job": "exq_`, "is not the id of an export"},
		{"csv", one, `"name": "orders-(\d+)`, `"name": "others-$1`, "names of the receipt: file 1 is named"},
		{"csv", one, `"neutralised": 21`, `"neutralised": 22`, "changed values: neutralised: the values show 0 to 21; the receipt says 22"},
		{"csv", one, `"masked": 2100`, `"masked": 2101`, "changed values: masked: the values show 2100; the receipt says 2101"},
		{"csv", one, `"nulls": 30`, `"nulls": 30, "truncated": 0`, "counters of the receipt: one is missing, is unknown or counts nothing"},
		{"xlsx", one, `"neutralised": 21`, `"neutralised": 20`, "changed values: neutralised: the values show 21; the receipt says 20"},
		{"xlsx", one, `"numbers_as_text": 5`, `"numbers_as_text": 4`, "changed values: numbers_as_text: the values show 5; the receipt says 4"},
		{"xlsx", one, `"escaped": 5,`, ``, "changed values: escaped: the values show 5; the receipt says 0"},
		{"xlsx", one, `"truncated": 1`, `"truncated": 2`, "changed values: truncated: the values show 0 to 1; the receipt says 2"},
		{"jsonl", one, `"invalid_utf8_replaced": 2`, `"invalid_utf8_replaced": 3`, "changed values: invalid_utf8_replaced: the values show 0 to 2; the receipt says 3"},
		{"parquet", one, `"1000"(\s*\],?\s*\}[^{}]*?"rows")`, `"999"$1`, "keys of the rows: row 1000 has id \"1000\""},
		{"jsonl", one, `"ceiling": \[\s*"2026`, `"ceiling": ["2025`, "keys of the receipt: some lie outside of their segment's range or behind the ceiling"},
		{"jsonl", folder, `"keys": \{\s*"first": \[\s*"2026`, `"keys": {"first": ["2025`, "keys of the receipt"},
		{"jsonl", folder, `"job": "exp_..`, `"job": "exp_00`, "manifest"},
	}
}

func TestAReceiptThatWasChangedIsToldHow(t *testing.T) {
	t.Parallel()
	exports := map[string]exported{}
	for _, c := range changedReceipts() {
		export, known := exports[c.format+c.way]
		if !known {
			export = exportOf(t, snapshot.FormatRequest{Type: c.format}, c.way)
			exports[c.format+c.way] = export
		}
		found := regexp.MustCompile(c.pattern).FindSubmatchIndex(export.receipt)
		if found == nil {
			t.Errorf("%s %s: %s isn't there:\n%s", c.format, c.way, c.pattern, export.receipt)
			continue
		}
		by := regexp.MustCompile(c.pattern).Expand(nil, []byte(c.by), export.receipt, found)
		changed := slices.Concat(export.receipt[:found[0]], by, export.receipt[found[1]:])
		if wrong := strings.Join(export.differences(t, changed), "\n"); !strings.Contains(wrong, c.says) {
			t.Errorf("%s %s: with %s it says %s\nwant %s", c.format, c.way, c.by, wrong, c.says)
		}
	}
}

func TestATextThatIsNoReceiptIsMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "null", "[]", `{"schema": 2}`, "{\"schema\": 1}", "PK\x03\x04"} {
		_, err := verify.Read([]byte(text))
		var malformed *verify.Malformed
		if !errors.As(err, &malformed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
