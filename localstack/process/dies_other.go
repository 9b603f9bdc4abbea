//go:build !linux

package process

import "syscall"

// diesWithParent does nothing: only Linux ends a child with its parent.
func diesWithParent() *syscall.SysProcAttr { return nil }
