package mytest

import "syscall"

// diesWithParent has the kernel shut the server down when the test process is gone.
func diesWithParent(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
