//go:build unix && !linux

package mytest

import "syscall"

// diesWithParent can't be asked of this kernel; a killed test leaves its server to the user.
func diesWithParent(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Setpgid: true}
}
