//go:build unix

package procgroup

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// unblock closes a pipe, which frees whoever reads or writes it, and reports whether it does.
func unblock(f *os.File) bool {
	_ = f.Close()
	return true
}

// groupEmpty reports whether the group has no live member. A zombie that its new parent does not reap,
// as in a container without an init, counts as gone.
func groupEmpty(pid int) bool {
	err := syscall.Kill(-pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return true
	}
	if runtime.GOOS == "darwin" && errors.Is(err, syscall.EPERM) {
		return true // what darwin says of a group of zombies
	}
	return onlyZombies(pid)
}
