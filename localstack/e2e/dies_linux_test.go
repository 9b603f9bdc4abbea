package e2e

import "syscall"

// diesWithParent makes a child end when the thread that started it ends, even by SIGKILL.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
