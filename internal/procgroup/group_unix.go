//go:build unix

package procgroup

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// child is one that was started and is not yet waited for, which keeps its number its own. Unlike an
// os.Process it holds nothing.
type child int

func childOf(p *os.Process) child {
	c := child(p.Pid)
	_ = p.Release()
	return c
}

func (c child) pid() int { return int(c) }

func (c child) terminate() { _ = syscall.Kill(-int(c), syscall.SIGTERM) }
func (c child) kill()      { _ = syscall.Kill(-int(c), syscall.SIGKILL) }

// wait reaps the child. The code is -1 if a signal ended it.
func (c child) wait() (code int, err error) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(int(c), &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // somebody else in this process reaps what is ours
			return -1, os.NewSyscallError("wait4", err)
		case status.Signaled():
			return -1, fmt.Errorf("signal: %v", status.Signal())
		case status.ExitStatus() != 0:
			return status.ExitStatus(), fmt.Errorf("exit status %d", status.ExitStatus())
		default:
			return 0, nil
		}
	}
}

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
