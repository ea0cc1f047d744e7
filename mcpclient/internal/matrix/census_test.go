package matrix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// markName is a variable in the environment of all children of a test, and of their children, by which they
// are found again.
const markName = "MATRIX_MARK"

var marks atomic.Int64

// counted is what there is before a test starts something.
type counted struct {
	goroutines  goleak.Option
	descriptors int
	mark        string
	patience    time.Duration
}

func census(t testing.TB) counted {
	t.Helper()
	return counted{
		goroutines:  goleak.IgnoreCurrent(),
		descriptors: len(descriptors()),
		patience:    2 * time.Second,
		mark:        fmt.Sprintf("%d-%d", os.Getpid(), marks.Add(1)),
	}
}

// left describes what is there too much, once it has had its time to go; "": nothing. Descriptors and
// processes are seen on Linux only.
func (c counted) left(t testing.TB) string {
	t.Helper()
	for deadline := time.Now().Add(c.patience); ; time.Sleep(5 * time.Millisecond) {
		var left []string
		if pids := marked(c.mark); len(pids) > 0 {
			left = append(left, fmt.Sprintf("processes %v", pids))
		}
		if fds := descriptors(); len(fds) > c.descriptors {
			left = append(left, fmt.Sprintf("%d descriptors, %d before: %q", len(fds), c.descriptors, fds))
		}
		if len(left) == 0 {
			if err := goleak.Find(c.goroutines); err != nil {
				left = append(left, err.Error())
			}
		}
		if len(left) == 0 {
			return ""
		}
		if time.Now().After(deadline) {
			return strings.Join(left, "\n")
		}
	}
}

// descriptors are our open files, as the system names them.
func descriptors() (names []string) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && !strings.HasPrefix(name, "/proc/") {
			names = append(names, name)
		}
	}
	return names
}

// marked are the processes with a mark, zombies too.
func marked(mark string) (pids []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, d := range dirs {
		raw, err := os.ReadFile(d)
		if err == nil && strings.Contains("\x00"+string(raw), "\x00"+markName+"="+mark+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(d)))
		}
	}
	return pids
}

// warmUp does once what opens descriptors and starts goroutines for good.
func warmUp(t *testing.T) {
	t.Helper()
	for _, transport := range mcptest.Transports() {
		runCells(t, &cell{fault: mcptest.Faults()[0], transport: transport, act: mcptest.Deadline})
	}
}

// runCells runs cells without looking at what they leave.
func runCells(t *testing.T, cells ...*cell) {
	t.Helper()
	place, err := mcptest.Start(mcptest.Memory, mcptest.Behaviour{})
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	clock := newMetronome()
	defer clock.end()
	for _, c := range cells {
		c.clock = clock
		c.setUp(t, "", place)
		if len(c.bad) == 0 {
			c.run()
		}
		c.close()
		for _, b := range c.bad {
			t.Errorf("%s: %s", c, b)
		}
	}
}

// The census sees what it is there for.
func TestCensus(t *testing.T) {
	stop := make(chan struct{})
	for _, tc := range []struct {
		what  string
		leave func(counted) (undo func())
		words string
	}{
		{"nothing", func(counted) func() { return func() {} }, ""},
		{"a goroutine", func(counted) func() { go func() { <-stop }(); return func() { close(stop) } }, "goroutine"},
		{"a descriptor", func(counted) func() {
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = f.Close() }
		}, "descriptors"},
		{"a process", func(c counted) func() {
			p, err := mcptest.Start(mcptest.Stdio, mcptest.Behaviour{DeafInit: true})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(p.Command)
			cmd.Env = []string{markName + "=" + c.mark}
			for k, v := range p.Env {
				cmd.Env = append(cmd.Env, k+"="+v.Reveal())
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		}, "processes"},
	} {
		if tc.words != "goroutine" && tc.words != "" && runtime.GOOS != "linux" {
			continue
		}
		c := census(t)
		c.patience = 50 * time.Millisecond
		undo := tc.leave(c)
		if left := c.left(t); (left == "") != (tc.words == "") || !strings.Contains(left, tc.words) {
			t.Errorf("%s: %q", tc.what, left)
		}
		undo()
	}
}
