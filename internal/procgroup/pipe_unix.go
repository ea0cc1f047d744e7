//go:build unix

package procgroup

import (
	"io"
	"os"
	"syscall"
)

// CanTry says that TryRead works here.
const CanTry = true

// TryRead reads what the pipe fd holds and does not wait: 0 and nil if that is nothing, io.EOF at its end. It
// is for use in the Read of a [syscall.RawConn], which waits until there is something, so that nobody holds a
// buffer meanwhile.
func TryRead(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, nil
		case n == 0 && err == nil:
			return 0, io.EOF
		default:
			return max(n, 0), err
		}
	}
}

// drainInto keeps the tail of what comes out of a pipe until it ends or is closed.
func drainInto(t *tail, f *os.File) {
	rc, err := f.SyscallConn()
	if err != nil {
		return
	}
	attempt := func(fd uintptr) bool {
		var buf [1024]byte // here, so that the waiting goroutine's stack does not hold it
		var n int
		n, err = TryRead(fd, buf[:])
		t.add(buf[:n])
		return n > 0 || err != nil
	}
	for err == nil {
		if werr := rc.Read(attempt); werr != nil {
			return
		}
	}
}
