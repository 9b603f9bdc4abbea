package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sealift/cmd/sealift/internal/disk"
)

func TestAFileThatCanNotBeUsedIsOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, none := filepath.Join(dir, "a"), filepath.Join(dir, "none")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(path string, most int64) error {
		_, err := disk.Read(path, most)
		return err
	}
	_, moved := os.Open(none + "/x")
	cases := map[string]struct {
		err  error
		want string
	}{
		"whole":      {read(file, 5), ""},
		"too large":  {read(file, 4), file + " can't be read: it has more than 4 bytes"},
		"missing":    {read(none, 4), "there is no file " + none},
		"folder":     {read(dir, 4), dir + " is a folder, not a file"},
		"no folder":  {disk.Explain("written", none+"/x", moved), none + "/x can't be written: its folder does not exist"},
		"permission": {disk.Explain("written", file, &fs.PathError{Op: "open", Path: file, Err: fs.ErrPermission}), file + " can't be written: you have no permission"},
		"no room":    {disk.Explain("written", file, &fs.PathError{Op: "write", Path: file, Err: syscall.ENOSPC}), file + " can't be written: no space left on device; make room there"},
		"a rename":   {disk.Explain("written", file, &os.LinkError{Op: "rename", Old: "b", New: file, Err: errors.New("cross-device link")}), file + " can't be written: cross-device link"},
	}
	for name, c := range cases {
		got := ""
		if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if !errors.Is(fmt.Errorf("w: %w", read(none, 1)), fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}
