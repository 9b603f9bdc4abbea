package command_test

import (
	"os"
	"path/filepath"
	"regexp"
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

func TestOneOfAnythingIsNotSaidAsMany(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	many := regexp.MustCompile(`(?:^|[^0-9,.])1 (?:rows|files|columns|bytes|values|links|tries|arguments|were|are)\b|\b1 of 1 are\b`)
	for _, format := range []string{"csv", "jsonl", "xlsx", "parquet"} {
		for _, layout := range []string{"file", "files"} {
			made := ana.ok(ask("--filter", "order_id=1", "--column", "order_id", "--layout", layout, "--format", format, "--watch")...)
			export, at := id(t, made), s.path(format+layout)
			told := []ran{made, ana.ok("export", "show", export), ana.ok("export", "download", export, "--output", at), ana.ok("export", "verify", at, "--job", export)}
			if layout == "files" {
				told = append(told, ana.run("export", "download", export, "--file", "2", "--output", s.path("new")), ana.run("export", "verify", s.path("orders.db"), "--job", export, "--file", "2"),
					ana.ok("export", "download", export, "--output", at))
			}
			for _, got := range told {
				if found := many.FindString(got.stdout + got.stderr); found != "" {
					t.Errorf("%s, %s: %q in\n%s%s", format, layout, found, got.stdout, got.stderr)
				}
			}
			if verified := told[3].stdout; !strings.Contains(verified, "1 row, ") || !strings.Contains(verified, "1 column of the receipt") && layout == "file" {
				t.Errorf("%s, %s:\n%s", format, layout, verified)
			}
		}
	}
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
	advice := "sealift export download " + export + " --output " + folder
	want := "where files of it are damaged, move those away and fetch them again with `" + advice + "`, which keeps the others;"
	if got.code != 7 || strings.Contains(got.stdout, "holds all") || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "--force") {
		t.Errorf("%d %s", got.code, got.stderr)
	}
	// What is advised mends it.
	if err := os.Rename(damaged, s.path("damaged")); err != nil {
		t.Fatal(err)
	}
	ana.ok(strings.Fields(advice)[1:]...)
	ana.ok("export", "verify", folder, "--receipt", s.path("r.json"))
}

func TestAFolderWithoutItsManifestIsNotWhole(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	folder := s.path("all")
	ana.ok("export", "download", export, "--output", folder)
	manifest := filepath.Join(folder, "orders-20260329.manifest.json")
	if err := os.Rename(manifest, filepath.Join(folder, "list.json")); err != nil {
		t.Fatal(err)
	}
	got := ana.run("export", "verify", folder, "--job", export)
	lines := regexp.MustCompile(` +`).ReplaceAllString(got.stdout, " ")
	for _, want := range []string{"DIFFERS manifest orders-20260329.manifest.json is missing\n", "ok files 3 of 3 are there and right\n", "also there, and not of the export: list.json\n"} {
		if !strings.Contains(lines, want) {
			t.Errorf("lacks %q:\n%s", want, got.stdout)
		}
	}
	advice := "sealift export download " + export + " --output " + folder
	if got.code != 7 || !strings.Contains(got.stderr, "fetch what is missing with `"+advice+"`") || strings.Contains(got.stderr, "--force") {
		t.Errorf("%d %s", got.code, got.stderr)
	}
	ana.ok(strings.Fields(advice)[1:]...)
	ana.ok("export", "verify", folder, "--job", export)
}
