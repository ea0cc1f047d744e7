//go:build unix

package wire

import "syscall"

// tryWrite writes what fits into the pipe fd and does not wait: nothing at all is 0 and nil. It is for use in
// the Write of a [syscall.RawConn], which waits for room after an attempt that found none.
func tryWrite(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch err {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return max(n, 0), err
		}
	}
}

const canTry = true
