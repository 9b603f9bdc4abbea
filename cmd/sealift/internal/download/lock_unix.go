//go:build unix

package download

import (
	"os"
	"syscall"
)

// lock keeps other downloads away until the file is closed.
func lock(file *os.File, flag string) error {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return &Busy{"another download writes to it; wait for that one or choose another name with " + flag}
	}
	return nil
}
