package snapshot_test

import (
	"testing"

	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

func askedDigest(t *testing.T, text string, who policy.Principal) string {
	t.Helper()
	request, err := snapshot.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return request.AskedDigest(who)
}

func TestWhatWasAskedIsToldFromEveryOtherRequestAndFromNoSpelling(t *testing.T) {
	t.Parallel()
	ana := policy.Principal{Tenant: "acme", Subject: "ana"}
	requests := map[string][]string{
		"plain": {
			`{"definition": "orders", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:00Z"}}`,
			`{"span":{"to":"2026-04-01T02:00:00+02:00","from":"2026-03-01T00:00:00.000Z"},"purpose":" tax\n","def\u0069nition":"orders"}`,
			`{"definition": "orders", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:00Z"}, "filters": [], "zone": "UTC", "layout": "file", "format": {}}`,
		},
		"another purpose":    {`{"definition": "orders", "purpose": "audit", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:00Z"}}`},
		"another definition": {`{"definition": "stock", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:00Z"}}`},
		"another end":        {`{"definition": "orders", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:01Z"}}`},
		"no end":             {`{"definition": "orders", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00Z"}}`},
		"a cutoff":           {`{"as_of": "2026-03-01T00:00:00Z"}`, `{"as_of": "2026-03-01T01:00:00+01:00"}`},
		"a zone":             {`{"zone": "Asia/Shanghai"}`},
		"a layout":           {`{"layout": "files"}`},
		"a name":             {`{"file_name": "a"}`},
		"columns":            {`{"columns": ["a", "b"]}`, `{"columns":["\u0061","b"]}`},
		"their order":        {`{"columns": ["b", "a"]}`},
		"one column":         {`{"columns": ["a,b"]}`},
		"a format":           {`{"format": {"type": "csv"}}`},
		"its option":         {`{"format": {"type": "csv", "header": false}}`},
		"its default":        {`{"format": {"type": "csv", "header": true}}`},
		"no null text":       {`{"format": {"type": "csv", "null": ""}}`},
		"a number": {
			`{"filters": [{"column": "a", "op": "eq", "value": 1500}]}`, `{"filters": [{"column": "a", "op": "eq", "value": 1500.0}]}`,
			`{"filters": [{"value": 1.5e3, "op": "eq", "column": "a"}]}`, `{"filters": [{"column": "a", "op": "eq", "value": 150000E-2}, {"column": "a", "op": "eq", "value": 1500}]}`,
		},
		"its negative":      {`{"filters": [{"column": "a", "op": "eq", "value": -1500}]}`},
		"ten times":         {`{"filters": [{"column": "a", "op": "eq", "value": 15000}]}`},
		"as text":           {`{"filters": [{"column": "a", "op": "eq", "value": "1500"}]}`},
		"as longer text":    {`{"filters": [{"column": "a", "op": "eq", "value": "01500"}]}`},
		"nothing":           {`{"filters": [{"column": "a", "op": "eq", "value": 0}]}`, `{"filters": [{"column": "a", "op": "eq", "value": -0.00e7}]}`},
		"true":              {`{"filters": [{"column": "a", "op": "eq", "value": true}]}`},
		"its word":          {`{"filters": [{"column": "a", "op": "eq", "value": "true"}]}`},
		"a large number":    {`{"filters": [{"column": "a", "op": "eq", "value": 9007199254740993}]}`},
		"its neighbour":     {`{"filters": [{"column": "a", "op": "eq", "value": 9007199254740992}]}`},
		"endless":           {`{"filters": [{"column": "a", "op": "eq", "value": 1e99999999999999999999}]}`},
		"another operation": {`{"filters": [{"column": "a", "op": "ne", "value": 1500}]}`},
		"two filters": {
			`{"filters": [{"column": "a", "op": "in", "values": ["x", "y"]}, {"column": "b", "op": "is_null"}]}`,
			`{"filters": [{"column": "b", "op": "is_null"}, {"column": "a", "op": "in", "values": ["y", "x", "y"]}]}`,
		},
		"one text of two": {`{"filters": [{"column": "a", "op": "in", "values": ["x\" \"y"]}, {"column": "b", "op": "is_null"}]}`},
	}
	seen := map[string]string{}
	for name, spellings := range requests {
		first := askedDigest(t, spellings[0], ana)
		for _, spelling := range spellings[1:] {
			if askedDigest(t, spelling, ana) != first {
				t.Errorf("%s: another spelling is another request: %s", name, spelling)
			}
		}
		if other, taken := seen[first]; taken {
			t.Errorf("%s is taken for %s", name, other)
		}
		seen[first] = name
		for _, who := range []policy.Principal{{Tenant: "acme", Subject: "bob"}, {Tenant: "evil", Subject: "ana"}} {
			if askedDigest(t, spellings[0], who) == first {
				t.Errorf("%s: %v asks the same", name, who)
			}
		}
		if askedDigest(t, spellings[0], policy.Principal{Tenant: "acme", Subject: "ana", Roles: []string{"finance"}}) != first {
			t.Errorf("%s: rights change what is asked", name)
		}
	}
}

// TestAKeyOfAnEarlierReleaseIsBoundToTheSameWords asks with times finer than nanoseconds, which were granted once, cut off behind
// the ninth decimal. The digest is the one that such a key is bound to.
func TestAKeyOfAnEarlierReleaseIsBoundToTheSameWords(t *testing.T) {
	t.Parallel()
	const times = `{"definition": "orders", "purpose": "tax", "span": {"from": "2026-03-01T00:00:00.1234567891Z", "to": "2026-04-01T00:00:00,0000000000Z"}, "as_of": "2026-04-01T00:00:00.0000000009Z"}`
	const bound = "4e3b96a725c5963164f1c50b53bda1e5a206f462708517aad2e096b70f47627d"
	if got := askedDigest(t, times, policy.Principal{Tenant: "acme", Subject: "ana"}); got != bound {
		t.Errorf("the digest is %s, want %s", got, bound)
	}
}
