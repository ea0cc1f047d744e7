//go:build !unix

package procgroup

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func terminate(*os.Process) {}
func kill(p *os.Process)    { _ = p.Kill() }

// unblock closes a pipe on a goroutine of its own, since a read under way can hold the close up here until
// the last process that has the other end is gone.
func unblock(f *os.File) bool {
	go func() { _ = f.Close() }()
	return false
}

// groupEmpty is only asked about a child that has been reaped.
func groupEmpty(int) bool { return true }
