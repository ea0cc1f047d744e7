//go:build !unix

package wire

import "os"

type writer func(b []byte) (n int, err error)

// Without non-blocking pipes the queue's goroutine does all writing, and waits in it.
func whenRoom(f *os.File, attempt func(writer) bool) error {
	for !attempt(f.Write) {
	}
	return nil
}

const canTry = false
