package download_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sealift/cmd/sealift/internal/download"
)

func TestManyFilesGoToAFolderOfTheExportsNameWhenNoneIsGiven(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	file := filepath.Join(there, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ output, manifest, want, says string }{
		"none given":         {"", "订单 3.manifest.json", "订单 3", ""},
		"one that is there":  {there, "a.manifest.json", there, ""},
		"one to be made":     {filepath.Join(there, "new"), "a.manifest.json", filepath.Join(there, "new"), ""},
		"with a slash":       {there + "/new/", "a.manifest.json", there + "/new/", ""},
		"too deep":           {there + "/new/newer", "a.manifest.json", "", "the folder " + there + "/new does not exist; make it, or choose another place with --output"},
		"a file":             {file, "a.manifest.json", "", file + " is a file, and the export has many"},
		"stdout":             {"-", "a.manifest.json", "", "--output - : a download is checked"},
		"a name with a path": {"", "../a.manifest.json", "", "is no plain file name"},
	}
	for name, c := range cases {
		got, err := download.FreeFolder(c.output, c.manifest, "--output", false)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
