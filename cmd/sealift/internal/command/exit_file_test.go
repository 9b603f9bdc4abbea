package command

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
)

func TestADownloadThatTheDiskStopsIsNotTheServicesFault(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EIO} {
		fault := disk.Explain("written", "a.csv.part", &fs.PathError{Op: "write", Path: "a.csv.part", Err: cause})
		for name, err := range map[string]error{
			"at its start": fault,
			"on its way":   &download.Stopped{Part: "a.csv.part", Have: 1, Total: 2, Err: fault},
			"of many":      fmt.Errorf("%w\n1 of 2 files are whole", &download.Stopped{Part: "a.csv.part", Have: 1, Total: 2, Err: fault}),
		} {
			if got := exitOf(err); got != exitLocal {
				t.Errorf("%v, %s: exit %d, want %d", cause, name, got, exitLocal)
			}
		}
	}
}
