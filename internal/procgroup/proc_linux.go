package procgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// dieWithParent reports whether the system can.
func dieWithParent(a *syscall.SysProcAttr) bool {
	a.Pdeathsig = syscall.SIGKILL
	return true
}

// onlyZombies reports whether every member of the group has ended and only waits to be reaped.
func onlyZombies(pgid int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (command) state ppid pgrp ...; the command may hold anything
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(f) < 3 || string(f[2]) != strconv.Itoa(pgid) {
			continue
		}
		if s := f[0][0]; s != 'Z' && s != 'X' {
			return false
		}
	}
	return true
}

// holders finds the other processes that have a pipe open.
func holders(pipe *os.File) []int {
	rc, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	var want string
	_ = rc.Control(func(fd uintptr) {
		want, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	if want == "" {
		return nil
	}
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if pid == os.Getpid() {
			continue
		}
		fds, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if to, _ := os.Readlink(filepath.Join(dir, fd.Name())); to == want {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
