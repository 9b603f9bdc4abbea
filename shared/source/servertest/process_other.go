//go:build unix && !linux

package servertest

import "syscall"

// diesWithParent can't be asked of this kernel; a killed test leaves its server to the user.
func diesWithParent(owner *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Setpgid: true}
}
