package mcpclient

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// childPID finds the one child of this process that was started for the server.
func childPID(t testing.TB, s *Server) int {
	t.Helper()
	want := "MCPTEST_BEHAVIOUR=" + s.cfg.Env["MCPTEST_BEHAVIOUR"].Reveal()
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, d := range dirs {
		raw, err := os.ReadFile(d)
		if err != nil || !strings.Contains("\x00"+string(raw), "\x00"+want+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(d, "/proc/%d/environ", &pid); err == nil && pid != os.Getpid() {
			return pid
		}
	}
	t.Fatal("the child is not to be found")
	return 0
}
