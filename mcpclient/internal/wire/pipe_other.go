//go:build !unix

package wire

import "errors"

// Without non-blocking pipes the queue's goroutine does all writing, and waits in it.
const canTry = false

func tryWrite(uintptr, []byte) (n int, err error) { return 0, errors.ErrUnsupported }
