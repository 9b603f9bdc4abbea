package definition_test

import (
	"errors"
	"strings"
	"testing"

	"sealift/shared/definition"
	"sealift/shared/row"
)

const placed = `{"name": "placed_at", "kind": "timestamp"}`

func TestAUnitIsKeptAndItsAbsenceChangesNothing(t *testing.T) {
	t.Parallel()
	counted := strings.Replace(valid, `"columns": [`, `"columns": [`+placed+`, `, 1)
	counted = strings.ReplaceAll(counted, placed, `{"name": "placed_at", "kind": "timestamp", "unit": "ms"}`)
	d, err := definition.Decode([]byte(counted))
	if err != nil {
		t.Fatal(err)
	}
	for place, unit := range map[string]row.Unit{
		"time column": d.Source.TimeColumn.Row().Unit, "key": d.Source.Key[0].Row().Unit, "column": d.Columns[0].Row().Unit,
	} {
		if unit != row.Milliseconds {
			t.Errorf("the %s has unit %q, want ms", place, unit)
		}
	}
	if again, err := definition.Decode([]byte(d.Encode())); err != nil || again.Encode() != d.Encode() {
		t.Errorf("read back: %v", err)
	}
	plain, err := definition.Decode([]byte(valid))
	if err != nil || strings.Contains(plain.Encode(), "unit") {
		t.Errorf("a definition without units is written with one (%v): %s", err, plain.Encode())
	}
}

func TestUnitsAreForTimesAndAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, pointer, says string }{
		{"an unknown unit", placed, `{"name": "placed_at", "kind": "timestamp", "unit": "ns"}`, "/source/time_column/unit", "s, ms and us"},
		{"a unit of a decimal", `"scale": 2}`, `"unit": "s"}`, "/columns/1/unit", "only timestamp and datetime"},
		{"a unit of a tenant", `"tenant_id", "kind": "string"`, `"tenant_id", "kind": "string", "unit": "s"`, "/source/tenant_column/unit", "only timestamp"},
		{"a unit in one place only", placed, `{"name": "placed_at", "kind": "timestamp", "unit": "s"}`, "/source/key/0/unit", "/source/time_column/unit"},
		{"a column of another unit", `"scale": 2}`, `"scale": 2}, {"name": "at", "source": "placed_at", "kind": "timestamp", "unit": "us"}`,
			"/columns/2/unit", "placed_at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(valid, c.from, c.to, 1)
			if text == valid {
				t.Fatal("the case changes nothing")
			}
			_, err := definition.Decode([]byte(text))
			var faults definition.Faults
			if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pointer != c.pointer || !strings.Contains(faults[0].Detail, c.says) {
				t.Errorf("faults %v, want one at %s that says %q", err, c.pointer, c.says)
			}
		})
	}
}
