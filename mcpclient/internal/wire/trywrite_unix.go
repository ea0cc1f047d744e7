//go:build unix

package wire

import (
	"errors"
	"os"
	"syscall"
)

// tryWrite writes what fits into the pipe now. n is 0 and err nil if nothing does.
func tryWrite(f *os.File, b []byte) (n int, err error) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := rc.Write(func(fd uintptr) bool {
		for {
			n, err = syscall.Write(int(fd), b)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	if cerr != nil {
		return 0, cerr
	}
	if errors.Is(err, syscall.EAGAIN) {
		err = nil
	}
	return max(n, 0), err
}

// awaitRoom waits until the pipe takes bytes again or is closed.
func awaitRoom(f *os.File) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	asked := false
	return rc.Write(func(uintptr) bool {
		was := asked
		asked = true
		return was
	})
}

const canTry = true
