//go:build unix

package hostconfig

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to is not waited for.
func TestPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pipe, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	f := parse(t, "x.json", fmt.Sprintf(`{"servers":{"a":{"command":"x","envFile":%q}}}`, pipe), nil)
	if _, _, err := entry(t, f, "a").Resolve(nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
