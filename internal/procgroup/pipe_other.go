//go:build !unix

package procgroup

import (
	"errors"
	"os"
)

// CanTry says that TryRead works here.
const CanTry = false

// TryRead is for pipes that need not block.
func TryRead(uintptr, []byte) (n int, err error) { return 0, errors.ErrUnsupported }

// drainInto keeps the tail of what comes out of a pipe until it ends or is closed.
func drainInto(t *tail, f *os.File) {
	buf := make([]byte, 1024)
	for {
		n, err := f.Read(buf)
		t.add(buf[:n])
		if err != nil {
			return
		}
	}
}
