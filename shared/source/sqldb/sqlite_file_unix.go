//go:build unix

package sqldb

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileNumber names a file by its device and its number there, "" when the system doesn't say.
func fileNumber(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	}
	return ""
}
