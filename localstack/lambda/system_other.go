//go:build unix && !linux

package lambda

import (
	"errors"
	"syscall"
)

// New refuses systems other than Linux; what follows lets the package compile there, for tools and editors.

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func residentPeak(int) (int64, bool) { return 0, false }

func (p *process) signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
