package main

import (
	"path/filepath"
	"testing"
)

// TestEveryMistakeCanBePlanted keeps the list in step with the code.
func TestEveryMistakeCanBePlanted(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	names := map[string]bool{}
	for _, m := range mutants() {
		if names[m.name] {
			t.Errorf("%s is listed twice", m.name)
		}
		names[m.name] = true
		if _, err := plant(m, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	const least = 30
	if len(names) < least {
		t.Errorf("%d mistakes are listed, want %d at least", len(names), least)
	}
}
