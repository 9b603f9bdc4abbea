package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManyFilesOfEveryFormatAreVerified(t *testing.T) {
	t.Parallel()
	// A workbook's shards are larger, so the orders fit into one.
	cases := map[string]string{"csv": "csv.gz", "jsonl": "jsonl.gz", "xlsx": "xlsx", "parquet": "parquet"}
	for format, ending := range cases {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, ana, export := manyFiles(t, "--format", format)
			ana.ok("export", "download", export, "--output", s.path("all"))
			listed := fileNames(ending)
			if diff := cmp.Diff(listed, names(t, s.path("all"))); diff != "" {
				t.Errorf("the folder holds (-want +got):\n%s", diff)
			}
			if got := ana.ok("export", "verify", s.path("all"), "--job", export); !strings.Contains(got.stdout, counted(fileCount)+", 2,500 rows, ") {
				t.Errorf("%s", got.stdout)
			}
			for _, name := range listed[:fileCount] {
				ana.ok("export", "verify", filepath.Join(s.path("all"), name), "--job", export)
			}
		})
	}
}

func counted(files int) string {
	if files == 1 {
		return "1 file"
	}
	return "3 files"
}

func TestAFolderThatDiffersIsTold(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	folder := s.path("all")
	ana.ok("export", "download", export, "--output", folder, "--receipt", s.path("r.json"))
	if err := os.Rename(filepath.Join(folder, "orders-20260329-00001.csv.gz"), filepath.Join(folder, "first.csv.gz")); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(folder, "orders-20260329-00003.csv.gz")
	data := read(t, damaged)
	data[len(data)/2] ^= 1
	if err := os.WriteFile(damaged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got := ana.run("export", "verify", folder, "--receipt", s.path("r.json"))
	for _, want := range []string{
		"DIFFERS  files ", "1 of 3 are there and right", "DIFFERS  orders-20260329-00001.csv.gz: file ", "is missing", "ok       orders-20260329-00002.csv.gz ",
		"DIFFERS  orders-20260329-00003.csv.gz: checksum (CRC-64/NVME)", "also there, and not of the export: first.csv.gz\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("lacks %q:\n%s", want, got.stdout)
		}
	}
	if got.code != 7 || strings.Contains(got.stdout, "holds all") || !strings.Contains(got.stderr, "download it again with `sealift export download "+export+"`") {
		t.Errorf("%d %s", got.code, got.stderr)
	}
}
