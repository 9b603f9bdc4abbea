package events

import (
	"strings"
	"testing"
)

func TestPatternsMatchAsDocumented(t *testing.T) {
	t.Parallel()
	const event = `{
		"source": "shop.orders", "detail-type": "order.placed", "account": "000000000000", "resources": ["arn:a", "arn:b"],
		"detail": {"state": "open", "count": 300, "big": 9007199254740993, "price": 12.50, "note": null, "tags": ["x", "y"], "none": [], "empty": "",
			"lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}], "deep": {"er": {"value": true}}, "file": "orders.CSV"}
	}`
	cases := []struct {
		name, pattern string
		want          bool
	}{
		{"an exact value", `{"source": ["shop.orders"]}`, true},
		{"one of several", `{"source": ["other", "shop.orders"]}`, true},
		{"another value", `{"source": ["shop"]}`, false},
		{"all fields must match", `{"source": ["shop.orders"], "detail-type": ["other"]}`, false},
		{"nested", `{"detail": {"deep": {"er": {"value": [true]}}}}`, true},
		{"a boolean is no string", `{"detail": {"deep": {"er": {"value": ["true"]}}}}`, false},
		{"an element of an array", `{"resources": ["arn:b"]}`, true},
		{"no element of an array", `{"resources": ["arn:c"]}`, false},
		{"a number", `{"detail": {"count": [300]}}`, true},
		{"a number spelled otherwise", `{"detail": {"count": [3.0e2], "price": [12.5]}}`, true},
		{"a number is no string", `{"detail": {"count": ["300"]}}`, false},
		{"neighbours beyond exact floats differ", `{"detail": {"big": [9007199254740992]}}`, false},
		{"a large number by spelling", `{"detail": {"big": [9007199254740993]}}`, true},
		{"null", `{"detail": {"note": [null]}}`, true},
		{"null is not absent", `{"detail": {"missing": [null]}}`, false},
		{"the empty string", `{"detail": {"empty": [""]}}`, true},
		{"prefix", `{"source": [{"prefix": "shop."}]}`, true},
		{"prefix of another", `{"source": [{"prefix": "orders"}]}`, false},
		{"prefix without case", `{"source": [{"prefix": {"equals-ignore-case": "SHOP."}}]}`, true},
		{"suffix", `{"detail": {"file": [{"suffix": ".CSV"}]}}`, true},
		{"suffix with case", `{"detail": {"file": [{"suffix": ".csv"}]}}`, false},
		{"suffix without case", `{"detail": {"file": [{"suffix": {"equals-ignore-case": ".csv"}}]}}`, true},
		{"equal without case", `{"detail": {"file": [{"equals-ignore-case": "ORDERS.csv"}]}}`, true},
		{"anything but another", `{"detail": {"state": [{"anything-but": "closed"}]}}`, true},
		{"anything but this", `{"detail": {"state": [{"anything-but": ["closed", "open"]}]}}`, false},
		{"anything but a number", `{"detail": {"count": [{"anything-but": 300}]}}`, false},
		{"anything but a prefix", `{"detail": {"state": [{"anything-but": {"prefix": "op"}}]}}`, false},
		{"anything but some suffixes", `{"detail": {"state": [{"anything-but": {"suffix": ["x", "y"]}}]}}`, true},
		{"anything but needs a value", `{"detail": {"missing": [{"anything-but": "x"}]}}`, false},
		{"exists", `{"detail": {"state": [{"exists": true}], "note": [{"exists": true}]}}`, true},
		{"does not exist", `{"detail": {"missing": [{"exists": false}]}}`, true},
		{"does not exist, but does", `{"detail": {"state": [{"exists": false}]}}`, false},
		{"an inner object is no value", `{"detail": {"deep": [{"exists": true}]}}`, false},
		{"an empty array is no value", `{"detail": {"none": [{"exists": true}]}}`, false},
		{"does not exist below something absent", `{"detail": {"missing": {"x": [{"exists": false}]}}}`, true},
		{"absent or a value", `{"detail": {"missing": [{"exists": false}, "x"]}}`, true},
		{"numeric equal", `{"detail": {"count": [{"numeric": ["=", 300]}]}}`, true},
		{"numeric range", `{"detail": {"price": [{"numeric": [">", 12, "<=", 12.5]}]}}`, true},
		{"numeric range, outside", `{"detail": {"price": [{"numeric": [">=", 12.6, "<", 20]}]}}`, false},
		{"numeric is not for strings", `{"detail": {"state": [{"numeric": ["<", 5]}]}}`, false},
		{"fields of one element of an array", `{"detail": {"lines": {"sku": ["B"], "n": [2]}}}`, true},
		{"fields of different elements of an array", `{"detail": {"lines": {"sku": ["A"], "n": [2]}}}`, false},
	}
	value, err := decodeJSON([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := parsePattern(c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.matches(value); got != c.want {
				t.Errorf("matches: %v, want %v", got, c.want)
			}
		})
	}
}

func TestPatternsThatAreNotProvidedAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ pattern, about string }{
		{``, "not JSON"},
		{`{`, "not JSON"},
		{`{} {}`, "follows"},
		{`[]`, "object"},
		{`{}`, "empty object"},
		{`{"detail": {}}`, "detail is an empty object"},
		{`{"source": "shop"}`, "brackets"},
		{`{"source": []}`, "empty array"},
		{`{"source": [["shop"]]}`, "side by side"},
		{`{"source": [{"wildcard": "sh*"}]}`, "source wildcard is not provided"},
		{`{"detail": {"ip": [{"cidr": "10.0.0.0/8"}]}}`, "detail.ip cidr is not provided"},
		{`{"$or": [{"source": ["a"]}]}`, "$or is not provided"},
		{`{"source": [{"prefix": 5}]}`, "source prefix must be a string"},
		{`{"source": [{"prefix": ""}]}`, "source prefix must be a string"},
		{`{"source": [{"prefix": "a", "suffix": "b"}]}`, "exactly one key"},
		{`{"source": [{"exists": "yes"}]}`, "true or false"},
		{`{"source": [{"anything-but": []}]}`, "empty"},
		{`{"source": [{"anything-but": [null]}]}`, "strings and numbers"},
		{`{"source": [{"anything-but": {"wildcard": "a*"}}]}`, "anything-but wildcard is not provided"},
		{`{"source": [{"numeric": [">"]}]}`, "[operator, number]"},
		{`{"source": [{"numeric": ["!", 5]}]}`, "operator"},
		{`{"source": [{"numeric": [">", 6e9]}]}`, "5e9"},
		{`{"source": [{"numeric": [">", 5, "<", 5]}]}`, "greater upper bound"},
		{`{"source": [{"numeric": [">", 5, ">", 6]}]}`, "greater upper bound"},
		{`{"source": ["` + strings.Repeat("x", 4096) + `"]}`, "4096"},
	}
	for _, c := range cases {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			if _, err := parsePattern(c.pattern); err == nil || !strings.Contains(err.Error(), c.about) {
				t.Errorf("%.80s: got %v, want an error about %q", c.pattern, err, c.about)
			}
		})
	}
}
