package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// A call that cannot be written, since the child does not read, frees its caller at its deadline, and
// leaves no process.
func TestChildThatNeverReads(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	s := newServer(t, mcptest.Behaviour{NeverRead: true, Journal: journal})
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := childPID(t, s)
	text := strings.Repeat("x", 1<<20)
	late := overshoot(t, 500*time.Millisecond, func(ctx context.Context) {
		if _, err := s.Call(ctx, "echo", map[string]any{"text": text}, CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) {
			t.Error(err)
		}
	})
	if late > 50*time.Millisecond {
		t.Errorf("the caller was freed %v too late", late)
	}
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("closing took %v", took)
	}
	if alive(pid) {
		t.Error("the child is still there")
	}
}

func TestCase62ProcessTree(t *testing.T) {
	for _, tc := range []struct {
		why string
		b   mcptest.Behaviour
	}{
		{"a grandchild", mcptest.Behaviour{Grandchild: true}},
		{"that holds the pipes", mcptest.Behaviour{Grandchild: true, GrandchildHoldsPipes: true}},
		{"and ignores signals", mcptest.Behaviour{Grandchild: true, GrandchildHoldsPipes: true, IgnoreTerm: true, IgnoreEOF: true}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tc.b, func(c *ServerConfig) { c.CloseBound = 2 * time.Second })
			res, err := s.Call(t.Context(), "pid", nil, CallOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m := res.Value.(map[string]any)
			pid, grandchild := int(m["pid"].(int64)), int(m["grandchild"].(int64))
			if !alive(pid) || !alive(grandchild) {
				t.Fatal("they are not there to begin with")
			}
			begin := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("closing took %v", took)
			}
			if alive(pid) || alive(grandchild) {
				t.Errorf("left: child %v, grandchild %v", alive(pid), alive(grandchild))
			}
		})
	}
}

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
	want := "MCPTEST_BEHAVIOUR=" + s.Config().Env["MCPTEST_BEHAVIOUR"].Reveal()
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
