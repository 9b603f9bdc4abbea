package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
)

const valid = `{"name": "orders",
  "source": {"connection": "shop", "table": "public.orders", "tenant_column": {"name": "tenant_id", "kind": "string"},
    "time_column": {"name": "placed_at", "kind": "timestamp"}, "key": [{"name": "placed_at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}]},
  "consistency": {"kind": "cutoff", "promise": "as read"},
  "columns": [{"name": "order_id", "source": "id", "kind": "int64", "filter": ["eq"]}, {"name": "amount", "kind": "decimal", "scale": 2}]}`

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	d, err := definition.Decode([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	if d.Lane != job.Bulk || d.InvalidUTF8 != "fail" || d.Limits.ShardRows != limits.ShardRows || d.Limits.RetentionDays != 7 {
		t.Errorf("lane %s, invalid_utf8 %s, limits %+v", d.Lane, d.InvalidUTF8, d.Limits)
	}
	if diff := cmp.Diff([]string{"gzip", "none", "zstd"}, d.Compressions); diff != "" {
		t.Error(diff)
	}
	order, _ := d.Column("order_id")
	amount, _ := d.Column("amount")
	if order.Row().Source != "id" || order.Row().Scale != -1 || amount.Row().Source != "amount" || amount.Row().Scale != 2 {
		t.Errorf("columns %+v %+v", order.Row(), amount.Row())
	}
}

func TestTheCanonicalFormIsTheSameHoweverTheFileIsWritten(t *testing.T) {
	t.Parallel()
	spelled := strings.Replace(valid, `{"name": "orders",`, `{"lane": "bulk", "schema": 1, "limits": {"retention_days": 7}, "name": "orders",`, 1)
	a, errA := definition.Decode([]byte(valid))
	b, errB := definition.Decode([]byte(strings.ReplaceAll(spelled, ", ", " ,\n  ")))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Encode() != b.Encode() {
		t.Errorf("%s\n%s", a.Encode(), b.Encode())
	}
	again, err := definition.Decode([]byte(a.Encode()))
	if err != nil || again.Encode() != a.Encode() {
		t.Errorf("read back: %v", err)
	}
}

func TestEveryFaultIsReportedWithItsPlaceAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, from, to, pointer, says string }{
		{"an upper-case name", `"orders",`, `"Orders",`, "/name", "a-z"},
		{"an unknown lane", `{"name": "orders",`, `{"lane": "slow", "name": "orders",`, "/lane", "realtime"},
		{"an unknown kind", `"kind": "decimal", "scale"`, `"kind": "money", "scale"`, "/columns/1/kind", "decimal"},
		{"a column twice", `"name": "amount"`, `"name": "order_id"`, "/columns/1/name", "another column"},
		{"a scale of a whole number", `"kind": "int64", "filter"`, `"kind": "int64", "scale": 2, "filter"`, "/columns/0/scale", "decimal"},
		{"a scale below zero", `"scale": 2`, `"scale": -1`, "/columns/1/scale", "is -1; only decimal columns have a scale, from 0 up"},
		{"a table of three names", `"public.orders"`, `"shop.public.orders"`, "/source/table", `is "shop.public.orders"; write table or schema.table; a name that holds a dot can't be written: make a view under a name without one`},
		{"a table with a dot in its name", `"public.orders"`, `"Mein Schema.Sicht v1.0"`, "/source/table", `is "Mein Schema.Sicht v1.0"; write table or schema.table; a name that holds a dot can't be written: make a view under a name without one`},
		{"a table in MySQL's quotes", `"public.orders"`, "\"`v.joined`\"", "/source/table", "has quotes around a name; write table or schema.table without quotes, each as it stands; a name that holds a dot can't be written: make a view under a name without one"},
		{"a table in SQL's quotes", `"public.orders"`, `"public.\"Orders\""`, "/source/table", "has quotes around a name; write table or schema.table without"},
		{"a table in brackets", `"public.orders"`, `"[v.joined]"`, "/source/table", "has quotes around a name; write table or schema.table without"},
		{"a table in apostrophes", `"public.orders"`, `"'orders'"`, "/source/table", "has quotes around a name; write table or schema.table without"},
		{"no table", `"public.orders"`, `""`, "/source/table", "is missing; write table or schema.table"},
		{"a table without schema", `"public.orders"`, `".orders"`, "/source/table", `is ".orders"; write table or schema.table`},
		{"a schema without table", `"public.orders"`, `"public."`, "/source/table", `is "public."; write table or schema.table`},
		{"an address for a connection", `"shop"`, `"postgres://reader:hush@db/shop"`, "/source/connection", "is an address, which is a secret; give the name that it is kept under"},
		{"an unknown comparison", `["eq"]`, `["like"]`, "/columns/0/filter/0", "eq"},
		{"no key", `[{"name": "placed_at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}]`, `[]`, "/source/key", "unique order"},
		{"a key without order", `{"name": "id", "kind": "int64"}]`, `{"name": "id", "kind": "float64"}]`, "/source/key/1/kind", "order"},
		{"no kind", `"kind": "decimal", "scale": 2`, `"title": "x"`, "/columns/1/kind", "is missing; allowed are string"},
		{"no promise", `"promise": "as read"`, `"promise": ""`, "/consistency/promise", "updates and deletes"},
		{"a mask for the wrong kind", `"scale": 2}`, `"mask": {"kind": "last4"}}`, "/columns/1/mask/kind", "null"},
		{"a masked key", `"kind": "int64", "filter": ["eq"]}`, `"kind": "int64", "mask": {"kind": "null"}}`, "/source/key/1/name", "open to everybody"},
		{"a restricted key", `"kind": "int64", "filter": ["eq"]}`, `"kind": "int64", "roles": ["hr"]}`, "/source/key/1/name", "open to everybody"},
		{"an order of booleans", `"kind": "decimal", "scale": 2`, `"kind": "bool", "filter": ["ge"]`, "/columns/1/filter/0", "eq, ne"},
		{"a comparison of documents", `"kind": "decimal", "scale": 2`, `"kind": "json", "filter": ["eq"]`, "/columns/1/filter/0", "is_null"},
		{"a bound that is too large", `{"name": "orders",`, `{"limits": {"link_seconds_max": 86400}, "name": "orders",`, "/limits/link_seconds_max", "30 to 3600"},
		{"an unknown field", `{"name": "orders",`, `{"colour": "red", "name": "orders",`, "/colour", "is not a field; allowed are schema, name"},
		{"an unknown field in a list", `"scale": 2}`, `"scale": 2, "tilte": "x"}`, "/columns/1/tilte", "title"},
		{"a field in another case", `{"name": "orders",`, `{"Lane": "bulk", "name": "orders",`, "/Lane", "is not a field"},
		{"a field twice", `{"name": "orders",`, `{"name": "a", "name": "orders",`, "/name", "twice"},
		{"text for a list", `["eq"]`, `"eq"`, "/columns/0/filter", "is text, must be a list"},
		{"an object for text", `"shop"`, `{"a": [{}]}`, "/source/connection", "is an object, must be text"},
		{"a fraction", `"scale": 2`, `"scale": 2.5`, "/columns/1/scale", "is 2.5, must be a whole number"},
		{"kinds are listed with commas", `"kind": "decimal"`, `"kind": "money"`, "/columns/1/kind", "string, int64, decimal,"},
		{"text that ends early", `"scale": 2}]}`, `"scale": 2}]`, "", "in the middle"},
		{"text after it", `"scale": 2}]}`, `"scale": 2}]} {}`, "", "more text"},
		{"another type as a whole", valid, `[]`, "", "is a list, must be an object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(valid, c.from, c.to, 1)
			if text == valid {
				t.Fatal("the case changes nothing")
			}
			_, err := definition.Decode([]byte(text))
			var faults definition.Faults
			if !errors.As(err, &faults) || job.KindOf(err) != job.Invalid || job.CodeOf(err) != "definition_invalid" {
				t.Fatalf("error %v, want faults", err)
			}
			if strings.Contains(err.Error(), "hush") || strings.Contains(faults.Error(), "hush") {
				t.Errorf("the faults repeat a password: %v", faults)
			}
			for _, fault := range faults {
				if fault.Pointer == c.pointer && strings.Contains(fault.Detail, c.says) {
					return
				}
			}
			t.Errorf("no fault at %s says %q: %v", c.pointer, c.says, faults)
		})
	}
}

func TestATableMayHaveAnyNameWithoutADot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "Mein Schema.Sicht v1", "kunde's", "12\\\" TV", "a`b.c]d", "订单", "\\\"", "[a"} {
		if _, err := definition.Decode([]byte(strings.Replace(valid, "public.orders", name, 1))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAllFaultsComeTogether(t *testing.T) {
	t.Parallel()
	_, err := definition.Decode([]byte(`{}`))
	var faults definition.Faults
	if !errors.As(err, &faults) || len(faults) < 8 {
		t.Errorf("an empty definition has %d faults: %v", len(faults), err)
	}
}

func TestAnUnknownFieldHidesNoOtherFault(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer(`"scale": 2`, `"scale": "two", "tilte": 1`, `"orders"`, `"Orders"`, `"shop"`, `7`, `["eq"]`, `["like"]`).Replace(valid)
	_, err := definition.Decode([]byte(text))
	var faults definition.Faults
	errors.As(err, &faults)
	var pointers []string
	for _, fault := range faults {
		pointers = append(pointers, fault.Pointer)
	}
	want := []string{"/source/connection", "/columns/1/scale", "/columns/1/tilte", "/name", "/columns/0/filter/0"}
	if diff := cmp.Diff(want, pointers); diff != "" {
		t.Errorf("%s\n%v", diff, faults)
	}
}
