package servertest

import "syscall"

// diesWithParent has the kernel send the server a signal when the test process is gone.
func diesWithParent(owner *syscall.Credential, death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: death, Setpgid: true}
}
