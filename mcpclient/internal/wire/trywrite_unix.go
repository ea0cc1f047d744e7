//go:build unix

package wire

import (
	"errors"
	"os"
	"syscall"
)

// writer writes what fits and does not wait: nothing at all is 0 and nil.
type writer func(b []byte) (n int, err error)

// whenRoom calls attempt, again each time that the pipe takes bytes again, until it reports true. The
// attempt has to write, or to report true: only a write that finds no room arms the wait for it.
func whenRoom(f *os.File, attempt func(writer) bool) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Write(func(fd uintptr) bool {
		return attempt(func(b []byte) (int, error) {
			for {
				n, err := syscall.Write(int(fd), b)
				switch {
				case errors.Is(err, syscall.EINTR):
				case errors.Is(err, syscall.EAGAIN):
					return 0, nil
				default:
					return max(n, 0), err
				}
			}
		})
	})
}

const canTry = true
