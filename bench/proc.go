package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of processor time in proc(5), USER_HZ, which Linux fixes at 100 for programs.
const ticksPerSecond = 100

// process is what proc(5) says of one.
type process struct {
	pid, parent int
	// name is the path of the program.
	name string
	// own and reaped are seconds of processor time: of the process, and of its children that have ended and were waited for.
	own, reaped float64
}

// processes lists those that can be seen.
func processes() ([]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("list the processes in /proc: %w; measure on Linux", err)
	}
	var found []process
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		p, ok := parseStat(text)
		if !ok {
			continue
		}
		p.name, _ = os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		found = append(found, p)
	}
	return found, nil
}

// parseStat reads /proc/PID/stat. The command's name, in parentheses, may hold anything.
func parseStat(text []byte) (process, bool) {
	first, _, ok := bytes.Cut(text, []byte(" ("))
	end := bytes.LastIndexByte(text, ')')
	if !ok || end < 0 {
		return process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	const state, parent, userTime, childSystemTime = 0, 1, 11, 14
	if len(fields) <= childSystemTime {
		return process{}, false
	}
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i], 64)
		return n
	}
	pid, err := strconv.Atoi(string(first))
	return process{
		pid: pid, parent: int(number(parent)),
		own:    (number(userTime) + number(userTime+1)) / ticksPerSecond,
		reaped: (number(userTime+2) + number(childSystemTime)) / ticksPerSecond,
	}, err == nil && fields[state] != ""
}

// spent is the processor time of a server and, apart, that of all children it ever had, in seconds.
func spent(pid int) (own, children float64, err error) {
	all, err := processes()
	if err != nil {
		return 0, 0, err
	}
	for _, p := range all {
		switch {
		case p.pid == pid:
			own, children = own+p.own, children+p.reaped
		case p.parent == pid:
			children += p.own + p.reaped
		}
	}
	return own, children, nil
}

// functions is the processor time in seconds of a server's living children, by the folder of their program.
func functions(pid int) (map[string]float64, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	seconds := map[string]float64{}
	for _, p := range all {
		if p.parent == pid {
			seconds[filepath.Base(filepath.Dir(p.name))] += p.own + p.reaped
		}
	}
	return seconds, nil
}

// childNamed is the process id of a child of this process whose program has the name.
func childNamed(name string) (int, error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.parent == os.Getpid() && filepath.Base(p.name) == name {
			return p.pid, nil
		}
	}
	return 0, fmt.Errorf("this process has no child %s", name)
}

// residentPeak is the largest resident set that this process has had, 0 when the system doesn't say.
func residentPeak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, _ := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
			return kib << 10
		}
	}
	return 0
}
