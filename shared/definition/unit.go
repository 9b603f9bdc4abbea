package definition

import (
	"sealift/shared/row"
)

// unitPlace is one mention of a source column, which may say the unit of its numbers.
type unitPlace struct {
	pointer, source string
	kind            row.Kind
	unit            row.Unit
}

// unitPlaces lists the mentions in the order of the definition's fields.
func (d Definition) unitPlaces() []unitPlace {
	t := d.Source.TimeColumn
	n := d.Source.TenantColumn
	places := []unitPlace{
		{"/source/tenant_column", n.Name, n.Kind, n.Unit},
		{"/source/time_column", t.Name, t.Kind, t.Unit},
	}
	for i, key := range d.Source.Key {
		places = append(places, unitPlace{at("/source/key", i), key.Name, key.Kind, key.Unit})
	}
	for i, column := range d.Columns {
		places = append(places, unitPlace{at("/columns", i), column.SourceName(), column.Kind, column.Unit})
	}
	return places
}

// validateUnits lets only times have a unit, and one source column the same unit wherever it is read as a time.
func (d Definition) validateUnits(c *checker) {
	first := map[string]unitPlace{}
	for _, place := range d.unitPlaces() {
		where := place.pointer + "/unit"
		if !place.kind.Timed() {
			c.must(place.unit == "", where, "is %q, and only timestamp and datetime columns have a unit; remove it or change the kind",
				place.unit)
			continue
		}
		switch place.unit {
		case "", row.Seconds, row.Milliseconds, row.Microseconds:
		default:
			c.must(false, where, "is %q; allowed are s, ms and us, the seconds, milliseconds or microseconds since 1970 that a "+
				"whole number counts", place.unit)
			continue
		}
		before, seen := first[place.source]
		if !seen {
			first[place.source] = place
			continue
		}
		c.must(place.unit == before.unit, where, "is %q, and %s/unit says %q of the same source column %s; declare the same unit in "+
			"both places, or in neither", place.unit, before.pointer, before.unit, place.source)
	}
}
