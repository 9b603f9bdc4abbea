package source_test

import (
	"testing"

	"sealift/shared/source"
)

func TestARightThatComesOrGoesMakesNoOtherSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, one, other string
		same             bool
	}{
		{"nothing more is told", "a", "a", true},
		{"another thing", "a", "b", false},
		{"another thing of which the same is told", "a x=1", "b x=1", false},
		{"the same is told", "a x=1 y=2", "a x=1 y=2", true},
		{"more is told", "a", "a x=1", true},
		{"more and other things are told", "a x=1", "a y=2", true},
		{"what both tell differs", "a x=1 y=2", "a y=3", false},
	} {
		for _, pair := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
			if same := source.Same(pair[0], pair[1]); same != c.same {
				t.Errorf("%s: %q and %q are the same: %t, want %t", c.name, pair[0], pair[1], same, c.same)
			}
		}
	}
}
