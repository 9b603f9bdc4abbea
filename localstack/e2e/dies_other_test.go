//go:build !linux

package e2e

import "syscall"

// diesWithParent is nothing where the kernel has no such tie; the child ends with the test's cleanup.
func diesWithParent() *syscall.SysProcAttr { return nil }
