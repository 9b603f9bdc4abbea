package process

import "syscall"

// diesWithParent lets the kernel kill the child when the thread that started it is gone, which is when the parent is.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
