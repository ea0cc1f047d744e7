//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// child is one that was started.
type child struct{ proc *os.Process }

func childOf(p *os.Process) child { return child{p} }

func (c child) pid() int { return c.proc.Pid }

func (c child) terminate() {}
func (c child) kill()      { _ = c.proc.Kill() }

// wait waits for the child's end.
func (c child) wait() (code int, err error) {
	state, err := c.proc.Wait()
	if err != nil {
		return -1, err
	}
	if !state.Success() {
		return state.ExitCode(), &exec.ExitError{ProcessState: state}
	}
	return 0, nil
}

// unblock closes a pipe on a goroutine of its own, since a read under way can hold the close up here until
// the last process that has the other end is gone.
func unblock(f *os.File) bool {
	go func() { _ = f.Close() }()
	return false
}

// groupEmpty is only asked about a child that has been reaped.
func groupEmpty(int) bool { return true }
