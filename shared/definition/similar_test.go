package definition_test

import (
	"errors"
	"strings"
	"testing"

	"sealift/shared/definition"
)

func TestAFieldThatIsMisspeltIsOneFaultThatNamesTheRightOne(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ definition, pointer, says string }{
		"a letter left out":   {`{"nam": "orders"}`, "/nam", "is not a field; did you mean name? allowed are schema, name, "},
		"letters swapped":     {`{"name": "orders", "consitsency": {}}`, "/consitsency", "is not a field; did you mean consistency? allowed are "},
		"another case":        {`{"name": "orders", "Source": {}}`, "/Source", "is not a field; did you mean source? allowed are "},
		"one that is given":   {`{"name": "orders", "nam": "x"}`, "/nam", "is not a field; allowed are schema, name, "},
		"one that comes yet":  {`{"nam": "x", "name": "orders"}`, "/nam", "is not a field; allowed are schema, name, "},
		"nothing that is so":  {`{"name": "orders", "colour": 1}`, "/colour", "is not a field; allowed are schema, name, "},
		"a name without end":  {`{"` + strings.Repeat("n", 5000) + `": 1}`, "/" + strings.Repeat("n", 5000), "is not a field; allowed are schema, name, "},
		"below another field": {`{"name": "orders", "limits": {"row_max": 1}}`, "/limits/row_max", "is not a field; did you mean rows_max? allowed are "},
	}
	for name, c := range cases {
		_, err := definition.Decode([]byte(c.definition))
		var faults definition.Faults
		if !errors.As(err, &faults) || faults[0].Pointer != c.pointer || !strings.HasPrefix(faults[0].Detail, c.says) {
			t.Errorf("%s: %v; want first %s: %s", name, err, c.pointer, c.says)
			continue
		}
		// What was meant is not missing too.
		meant, _, _ := strings.Cut(strings.TrimPrefix(faults[0].Detail, "is not a field; did you mean "), "?")
		for _, fault := range faults[1:] {
			if top := "/" + meant; fault.Pointer == top || strings.HasPrefix(fault.Pointer, top+"/") {
				t.Errorf("%s: %s is told as well: %s", name, fault.Pointer, fault.Detail)
			}
		}
	}
}
