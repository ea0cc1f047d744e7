//go:build unix

package mcpclient

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What is no plain file is not opened: a pipe would hold the reader for ever.
func TestFileCacheOnAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "abc.json"), 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := FileCache(dir).Load("abc")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe was read")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits")
	}
}
