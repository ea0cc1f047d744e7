//go:build unix

package procgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own child: PROCGROUP_DO says what it does as one.
func TestMain(m *testing.M) {
	if do := os.Getenv("PROCGROUP_DO"); do != "" {
		serveAs(do)
		return
	}
	goleak.VerifyTestMain(m)
}

func serveAs(do string) {
	switch do {
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "exit3":
		fmt.Fprint(os.Stderr, "missing API key")
		os.Exit(3)
	case "flood": // without a newline
		fmt.Fprint(os.Stderr, strings.Repeat("x", 256<<10)+"the end")
		fmt.Println("ready")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "sleep":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "host": // starts a child that only a signal ends, from a thread that ends
		self, _ := os.Executable()
		var p *Process
		done := make(chan error)
		var onThread func()
		onThread = func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			if onMainThread() {    // but the first one, which is kept here
				go onThread()
				select {}
			}
			var err error
			p, err = Start(Cmd{Path: self, Env: []string{"PROCGROUP_DO=stubborn"}, DieWithParent: os.Getenv("PINNED") != ""})
			done <- err
		}
		go onThread()
		if err := <-done; err != nil {
			os.Exit(9)
		}
		_, _ = bufio.NewReader(p.Stdout).ReadString('\n') // it is deaf to signals by now
		for range 20 {                                    // whatever thread started it may end now
			go func() { runtime.LockOSThread(); done <- nil }()
			<-done
		}
		time.Sleep(50 * time.Millisecond)
		select {
		case <-p.Done():
			fmt.Println(-1)
		default:
			fmt.Println(p.PID())
		}
		time.Sleep(time.Hour)
	case "parent", "deserter", "stubborn-parent":
		// starts a grandchild that keeps every pipe, says its pid and waits, or ends if told so
		what := map[string]string{"parent": "sleep", "deserter": "sleep", "stubborn-parent": "stubborn"}[do]
		self, _ := os.Executable()
		c := exec.Command(self)
		c.Env = append(os.Environ(), "PROCGROUP_DO="+what)
		c.Stderr = os.Stderr
		c.Stdout = os.Stderr
		if do == "deserter" {
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := c.Start(); err != nil {
			os.Exit(9)
		}
		fmt.Println(c.Process.Pid)
		if os.Getenv("THEN") == "exit" {
			os.Exit(0)
		}
		time.Sleep(time.Hour)
	}
}

func start(t *testing.T, do string, env ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Cmd{Path: self, Env: append([]string{"PROCGROUP_DO=" + do}, env...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); _ = p.Stop(context.Background(), 5*time.Second) })
	return p
}

func line(t *testing.T, p *Process) string {
	t.Helper()
	s, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no line: %v, stderr %q", err, p.Stderr())
	}
	return strings.TrimSpace(s)
}

// alive is false for a zombie: whoever has to reap it may be slow.
func alive(pid int) bool {
	if runtime.GOOS == "linux" {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && !strings.Contains(string(b), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

func TestExitCodeAndStderrTail(t *testing.T) {
	p := start(t, "exit3")
	<-p.Done()
	<-p.Drained()
	if p.ExitCode() != 3 || p.Stderr() != "missing API key" || p.Err() == nil {
		t.Fatalf("code %d, stderr %q, err %v", p.ExitCode(), p.Stderr(), p.Err())
	}
	if err := p.Stop(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestStderrIsDrainedWithoutNewlines(t *testing.T) {
	p := start(t, "flood")
	line(t, p) // comes only once all of standard error was taken
	<-p.Drained()
	if s := p.Stderr(); len(s) != defaultTail || !strings.HasSuffix(s, "the end") {
		t.Fatalf("kept %d bytes, ending %q", len(s), s[len(s)-10:])
	}
	if n := cap(p.tail.buf); n > 3*defaultTail {
		t.Fatalf("the tail holds %d bytes", n)
	}
}

func TestStop(t *testing.T) {
	for _, tt := range []struct {
		do       string
		min, max time.Duration
		why      string
	}{
		{"cat", 0, 900 * time.Millisecond, "ends by itself or by TERM, at once"},
		{"sleep", 0, 900 * time.Millisecond, "does not read stdin: TERM ends it at once"},
		{"stubborn", time.Second, 2 * time.Second, "ignores TERM: KILL at half of the bound"},
	} {
		t.Run(tt.do, func(t *testing.T) {
			p := start(t, tt.do)
			if tt.do != "cat" {
				line(t, p)
			}
			began := time.Now()
			if err := p.Stop(t.Context(), 2*time.Second); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d < tt.min || d > tt.max {
				t.Errorf("%s: took %v, want %v to %v", tt.why, d, tt.min, tt.max)
			}
			if alive(p.PID()) || syscall.Kill(p.PID(), 0) == nil {
				t.Error("the child or its zombie is still there")
			}
		})
	}
}

func TestStopStoppedChild(t *testing.T) {
	p := start(t, "sleep")
	line(t, p)
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), 400*time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

func TestStopContextBringsKillForward(t *testing.T) {
	p := start(t, "stubborn")
	line(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := p.Stop(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > time.Second {
		t.Fatalf("took %v", d)
	}
}

func TestGrandchildrenGo(t *testing.T) {
	for _, tt := range []struct{ do, then, why string }{
		{"parent", "", "parent and grandchild alive"},
		{"parent", "exit", "the wrapper is gone, its child holds the pipes"},
		{"stubborn-parent", "exit", "and ignores TERM"},
	} {
		t.Run(tt.do+tt.then, func(t *testing.T) {
			p := start(t, tt.do, "THEN="+tt.then)
			pid, err := strconv.Atoi(line(t, p))
			if err != nil {
				t.Fatal(err)
			}
			if tt.then == "exit" {
				<-p.Done() // although the grandchild holds standard error
			}
			if !alive(pid) {
				t.Fatal("the grandchild is gone before the test")
			}
			if err := p.Stop(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
			if alive(pid) {
				t.Errorf("%s: the grandchild outlived Stop", tt.why)
			}
		})
	}
}

func TestChildDiesWithItsParentOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child of its parent's end")
	}
	for _, pinned := range []string{"", "1"} {
		p := start(t, "host", "PINNED="+pinned)
		pid, _ := strconv.Atoi(line(t, p))
		if pid <= 0 {
			t.Fatalf("pinned %q: the child died while its parent lived", pinned)
		}
		_ = syscall.Kill(p.PID(), syscall.SIGKILL)
		<-p.Done()
		if pinned == "" {
			if time.Sleep(50 * time.Millisecond); !alive(pid) {
				t.Error("this child does not need the option: the test shows nothing")
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for end := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Fatal("the child outlives its parent")
			}
		}
		_ = p.Stop(t.Context(), time.Second)
	}
}

func TestDeserterIsReported(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tell who holds a pipe")
	}
	p := start(t, "deserter")
	pid, err := strconv.Atoi(line(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	err = p.Stop(t.Context(), time.Second)
	if !errors.Is(err, ErrStillRunning) || !strings.Contains(err.Error(), strconv.Itoa(pid)) {
		t.Fatalf("got %v, want the deserter's pid %d", err, pid)
	}
}

func fds(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(names)
}

func TestFailedStartsLeaveNothing(t *testing.T) {
	_, _ = Start(Cmd{Path: "/no/such/file"}) // whatever the runtime opens once
	before := fds(t)
	for range 200 {
		if _, err := Start(Cmd{Path: "/no/such/file"}); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if after := fds(t); after > before {
		t.Fatalf("%d descriptors before, %d after", before, after)
	}
}

func TestStartedAndStoppedLeavesNothing(t *testing.T) {
	_ = start(t, "cat").Stop(t.Context(), time.Second)
	before := fds(t)
	for range 10 {
		if err := start(t, "cat").Stop(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if after := fds(t); after > before {
		t.Fatalf("%d descriptors before, %d after", before, after)
	}
}

func TestBadFolderIsNamed(t *testing.T) {
	self, _ := os.Executable()
	_, err := Start(Cmd{Path: self, Dir: "/no/such/folder"})
	if err == nil || !strings.Contains(err.Error(), "working directory") {
		t.Fatalf("got %v", err)
	}
}

func TestLookPath(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write := func(d, name string, mode os.FileMode) string {
		f := filepath.Join(d, name)
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return f
	}
	here, there := write(dir, "tool", 0o755), write(other, "tool", 0o755)
	write(dir, "plain", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir) // never used
	for _, tt := range []struct {
		name string
		env  []string
		want string
		err  error
		why  string
	}{
		{"tool", []string{"PATH=" + other}, there, nil, "the child's PATH"},
		{"tool", []string{"PATH=/nowhere:" + dir + ":" + other}, here, nil, "first hit"},
		{"tool", []string{"PATH=" + dir, "PATH=" + other}, there, nil, "last setting wins"},
		{"tool", nil, "", exec.ErrNotFound, "no PATH, never ours"},
		{"tool", []string{"PATH="}, here, nil, "an empty PATH is the working directory"},
		{"./tool", nil, here, nil, "a path is taken as it is, relative to the working directory"},
		{there, nil, there, nil, "absolute"},
		{"./none", nil, "", os.ErrNotExist, "missing"},
		{"./plain", nil, "", os.ErrPermission, "not executable"},
		{"plain", []string{"PATH=" + dir}, "", os.ErrPermission, "found, but not executable: say so"},
		{"./bin", nil, "", os.ErrPermission, "a folder"},
		{"absent", []string{"PATH=" + dir}, "", exec.ErrNotFound, "not on PATH"},
		{"", nil, "", exec.ErrNotFound, "no name"},
	} {
		got, err := LookPath(tt.name, tt.env, dir)
		if got != tt.want && tt.err == nil || !errors.Is(err, tt.err) {
			t.Errorf("%s: LookPath(%q) = %q, %v; want %q, %v", tt.why, tt.name, got, err, tt.want, tt.err)
		}
		if err != nil && tt.name != "" && !strings.Contains(err.Error(), filepath.Base(tt.name)) {
			t.Errorf("%s: %v does not name the command", tt.why, err)
		}
	}
}

func TestOnExitIsCalledOnce(t *testing.T) {
	p := start(t, "exit3")
	calls := make(chan int, 2) // the exit code at each call
	p.OnExit(func() { calls <- p.ExitCode() })
	<-p.Done()
	if code := <-calls; code != 3 {
		t.Fatalf("called with exit code %d", code)
	}
	p.OnExit(func() { calls <- p.ExitCode() }) // it has ended by now, and has told so
	if code := <-calls; code != 3 {
		t.Fatalf("called late with exit code %d", code)
	}
	if err := p.Stop(t.Context(), time.Second); err != nil || len(calls) != 0 {
		t.Fatal(err, len(calls))
	}
}

func TestErrNamesTheSignal(t *testing.T) {
	p := start(t, "stubborn")
	line(t, p)
	p.Kill()
	<-p.Done()
	if p.ExitCode() != -1 || p.Err() == nil || p.Err().Error() != "signal: killed" {
		t.Errorf("%d, %v", p.ExitCode(), p.Err())
	}
	if err := p.Stop(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}
