package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

// made are the folders that builds and tools fill.
var made = []string{".git", ".tools", ".sealift", "bin", "node_modules", "testdata"}

// tree lists the repository's own files whose names end in one of the endings, by their slash-separated path.
func tree(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(made, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(entry.Name(), ending) }) {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("there is no file %v; the tests look at the wrong place", endings)
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}
