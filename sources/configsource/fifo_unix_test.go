//go:build unix

package configsource

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe without a writer would hold whoever opens it for good.
func TestNamedPipe(t *testing.T) {
	s, dir := defaults(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	for tool, args := range map[string]map[string]any{
		"read_file": {"path": "pipe"}, "write_file": {"path": "pipe", "content": "x"}, "edit_file": {"path": "pipe", "old_str": "a", "new_str": "x"},
	} {
		if _, err := call(t, s, tool, args); err == nil || !strings.Contains(err.Error(), "pipe is not a regular file") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
