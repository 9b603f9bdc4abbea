package lambda

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// attributes put a process into its own group, so that an interrupt at the terminal reaches the host only, and let it die with the host.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentPeak is the highest resident set that a process has had (VmHWM of proc(5)); it is false when the process is gone.
func residentPeak(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		value, found := bytes.CutPrefix(lines.Bytes(), []byte("VmHWM:"))
		if !found {
			continue
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(value, []byte("kB")))), 10, 64)
		return kib << 10, err == nil
	}
	return 0, false
}

// signal reaches the process and what it has started.
func (p *process) signal(signal syscall.Signal) {
	if p.alive() {
		_ = syscall.Kill(-p.cmd.Process.Pid, signal) // it may have ended on its own
	}
}

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
