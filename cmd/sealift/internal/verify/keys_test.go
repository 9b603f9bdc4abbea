package verify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/definition"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// frozenAgain changes the snapshot of a receipt and all that repeats it.
func frozenAgain(t *testing.T, r *pipeline.Receipt, change func(*snapshot.Snapshot)) {
	t.Helper()
	snap, err := snapshot.Parse(string(r.Snapshot))
	if err != nil {
		t.Fatal(err)
	}
	change(&snap)
	r.Snapshot, r.SnapshotDigest = json.RawMessage(snap.Encode()), snap.Digest()
	for i := range snap.Columns {
		r.Columns[i].Mask = string(snap.Columns[i].Mask)
	}
}

// keyed is a receipt whose two segments have the keys that are given, each a value for each column of the key: the first
// and last of one segment, the border, the first and last of the other, the ceiling.
func keyed(r *pipeline.Receipt, keys ...string) {
	key := func(i int) row.Key { return strings.Split(keys[i], " ") }
	of := &r.Files[0]
	of.Segments[0].Keys, of.Segments[1].Keys = pipeline.KeyRange{First: key(0), Last: key(1)}, pipeline.KeyRange{First: key(3), Last: key(4)}
	of.Segments[0].Range.To, of.Segments[1].Range.From = key(2), key(2)
	of.Keys, r.Watermark.Ceiling = pipeline.KeyRange{First: key(0), Last: key(4)}, key(5)
}

func TestKeysLieInTheirRangesInTheOrderOfSomeSource(t *testing.T) {
	t.Parallel()
	const day = "2026-01-01T00:00:0"
	for name, c := range map[string]struct {
		keys []string
		ok   bool
	}{
		"numbers":                      {[]string{"-5", "9", "10", "10", "100", "1000"}, true},
		"decimals":                     {[]string{"-5.5", "9.75", "10.0", "10.0", "100", "100"}, true},
		"numbers kept as text":         {[]string{"10", "2", "20", "20", "3", "30"}, true},
		"text of some collation":       {[]string{"a", "B", "ç", "ç", "d", "Ø"}, true},
		"numbers behind text":          {[]string{"a 1", "a 3", "B 2", "B 2", "c 1", "c 1"}, true},
		"days":                         {[]string{"2026-01-01", "2026-01-02", "2026-01-10", "2026-01-10", "2026-02-01", "2026-02-01"}, true},
		"a day behind":                 {[]string{"2026-01-01", "2026-01-12", "2026-01-10", "2026-01-10", "2026-02-01", "2026-02-01"}, false},
		"instants":                     {[]string{day + "0Z", day + "0.5Z", day + "1Z", day + "1Z", day + "1.25Z", day + "2Z"}, true},
		"two columns":                  {[]string{day + "0Z 9", day + "0Z 10", day + "0Z 11", day + "0Z 11", day + "0.5Z 1", day + "0.5Z 1"}, true},
		"a range from a row's own key": {[]string{"1", "2", "3", "3", "4", "4"}, true},
		"the last one behind":          {[]string{"1", "12", "10", "10", "100", "1000"}, false},
		"the last one on the border":   {[]string{"1", "10", "10", "11", "100", "1000"}, false},
		"the first one before":         {[]string{"1", "5", "10", "9", "100", "1000"}, false},
		"turned round":                 {[]string{"1", "5", "10", "100", "11", "1000"}, false},
		"behind the ceiling":           {[]string{"1", "5", "10", "10", "100", "99"}, false},
		"an instant behind":            {[]string{day + "0Z", day + "1.5Z", day + "1Z", day + "1Z", day + "1.25Z", day + "2Z"}, false},
		"the second column behind":     {[]string{day + "0Z 9", day + "0Z 12", day + "0Z 11", day + "0Z 11", day + "0.5Z 1", day + "0.5Z 1"}, false},
		"one value too few":            {[]string{"1 1", "2 1", "3 1", "3", "4 1", "4 1"}, false},
		"one key for many rows":        {[]string{"1", "1", "3", "3", "4", "4"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, "csv", "none")
			order := []string{"k", "l"}[:len(strings.Fields(c.keys[0]))]
			frozenAgain(t, &receipt, func(s *snapshot.Snapshot) { s.Order = order })
			keyed(&receipt, c.keys...)
			got := failed(check(t, file, receipt))
			if c.ok != (got == "") || !c.ok && got != "keys of the receipt" {
				t.Errorf("differs: %q", got)
			}
		})
	}
}

func TestKeysOfSegmentsAreThoseOfTheRows(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, f[0], f[1])
			receipt.Files[0].Segments[0].Keys.Last = keyOf(498)
			report := check(t, file, receipt)
			if got := failed(report); got != "keys of the rows" {
				t.Errorf("differs: %q", got)
			}
			for _, c := range report.Checks {
				if want := `row 500 has id "499", which is not that of the last key of segment s00001: 498`; c.Name == "keys of the rows" && c.Detail != want {
					t.Errorf("got  %s\nwant %s", c.Detail, want)
				}
			}
		})
	}
}

// A definition may read a column from one column of the table and order by another one that has its name.
func TestAColumnThatOnlyHasTheNameOfTheKeysIsNotTakenForIt(t *testing.T) {
	t.Parallel()
	file, receipt := published(t, "csv", "none")
	keyed(&receipt, "10000", "10499", "10500", "10500", "10999", "10999")
	report := check(t, file, receipt)
	if !report.OK {
		t.Errorf("differs: %s", failed(report))
	}
}

func TestMaskedValuesAreCountedAsFarAsTheyShow(t *testing.T) {
	t.Parallel()
	// Of the second column's values every seventh of each segment is NULL.
	const shown = 2 * (segmentRows - 72)
	for _, c := range []struct {
		mask   definition.MaskKind
		masked int64
		ok     bool
	}{
		{definition.MaskLast4, shown, true},
		{definition.MaskLast4, shown - 1, false},
		{definition.MaskRedact, shown, true},
		{definition.MaskRedact, shown + 1, false},
		{definition.MaskNull, 0, true},
		{definition.MaskNull, 2 * segmentRows, true},
		{definition.MaskNull, 2*segmentRows + 1, false},
		{"", 1, false},
	} {
		file, receipt := published(t, "jsonl", "none")
		frozenAgain(t, &receipt, func(s *snapshot.Snapshot) { s.Columns[1].Mask = c.mask })
		receipt.Fidelity["masked"] = c.masked
		if got := failed(check(t, file, receipt)); c.ok != (got == "") || !c.ok && got != "changed values" {
			t.Errorf("%+v differs: %q", c, got)
		}
	}
}

func TestAReceiptMayBeIndentedOtherwise(t *testing.T) {
	t.Parallel()
	file, receipt := published(t, "csv", "none")
	text, err := json.Marshal(receipt)
	must(t, err)
	r, err := verify.Read(text)
	must(t, err)
	report, err := r.File(strings.NewReader(string(file)), 0, nil)
	must(t, err)
	if !report.OK {
		t.Errorf("differs: %s", failed(report))
	}
}
