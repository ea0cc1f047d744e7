package mcpclient

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestCase60EarlyExit(t *testing.T) {
	one, zero := 1, 0
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		why       string
		b         mcptest.Behaviour
		change    func(*ServerConfig)
		permanent bool
		words     []string
	}{
		{"exits with a message", mcptest.Behaviour{Exit: &one, Stderr: "missing API key\n"}, nil, false, []string{"code 1", "missing API key"}},
		{"exits without one", mcptest.Behaviour{Exit: &zero}, nil, false, []string{"code 0"}},
		{"no such command", mcptest.Behaviour{}, func(c *ServerConfig) { c.Command = "no-such-command-here" }, true, []string{"no-such-command-here", "PATH"}},
		{"no such file", mcptest.Behaviour{}, func(c *ServerConfig) { c.Command = filepath.Join(dir, "nope") }, true, []string{"nope"}},
		{"no program", mcptest.Behaviour{}, func(c *ServerConfig) { c.Command = plain }, true, []string{"plain"}},
		{"no such folder", mcptest.Behaviour{}, func(c *ServerConfig) { c.Dir = filepath.Join(dir, "gone") }, true, []string{"working directory"}},
		{"answers initialize, then exits", mcptest.Behaviour{ExitOnInit: true}, nil, false, []string{"code 0"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			changes := []func(*ServerConfig){}
			if tc.change != nil {
				changes = append(changes, tc.change)
			}
			s := newServer(t, tc.b, changes...)
			begin := time.Now()
			_, err := s.List(t.Context())
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
			var ce *ConnectError
			if !errors.As(err, &ce) || ce.Server != "srv" {
				t.Fatalf("error %#v", err)
			}
			if k := toolsource.KindOf(err); k != toolsource.KindUnavailable {
				t.Errorf("kind %s", k)
			}
			if errors.Is(err, toolsource.ErrPermanent) != tc.permanent || tc.permanent && ce.Remedy == "" {
				t.Errorf("permanent is wrong: %v", err)
			}
			for _, w := range append(tc.words, `server "srv"`) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing from: %v", w, err)
				}
			}
			if tc.permanent {
				waitFor(t, func() bool { return s.Status().State == toolsource.StateParked })
			}
		})
	}
}

func TestDiesInMidCall(t *testing.T) {
	for _, tc := range []struct {
		why    string
		tool   string
		o      CallOptions
		trust  toolsource.Trust
		change func(*ServerConfig)
		calls  int
		kind   toolsource.Kind
	}{
		{"a write runs once", "die", CallOptions{}, 0, nil, 1, toolsource.KindOutcomeUnknown},
		{"a read is sent again", "die_reading", CallOptions{Grade: grade.W1D0}, 0, nil, 2, toolsource.KindSessionLost},
		{"D of 1 is sent again", "die", CallOptions{Grade: grade.W2D1}, 0, nil, 2, toolsource.KindSessionLost},
		{"D of 2 is not", "die", CallOptions{Grade: grade.W3D2}, 0, nil, 1, toolsource.KindOutcomeUnknown},
		{"an idempotent hint counts with full trust", "die", CallOptions{Idempotent: true}, toolsource.TrustFull, nil, 2, toolsource.KindSessionLost},
		{"an idempotent hint alone does not", "die", CallOptions{Idempotent: true}, 0, nil, 1, toolsource.KindOutcomeUnknown},
		{"the configuration allows it", "die", CallOptions{}, 0, func(c *ServerConfig) { c.Replay = true }, 2, toolsource.KindSessionLost},
		{"the tool's own setting goes before", "die", CallOptions{Grade: grade.W1D0}, 0, func(c *ServerConfig) {
			c.Replay, c.Tools = true, map[string]ToolConfig{"die": {Replay: flag(false)}}
		}, 1, toolsource.KindOutcomeUnknown},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			journal := filepath.Join(t.TempDir(), "journal")
			s := newServer(t, mcptest.Behaviour{Journal: journal}, func(c *ServerConfig) {
				c.Trust = tc.trust
				if tc.change != nil {
					tc.change(c)
				}
			})
			_, err := s.Call(t.Context(), tc.tool, nil, tc.o)
			var e *toolsource.CallError
			if !errors.As(err, &e) || e.Kind != tc.kind || !e.MayHaveRun || !errors.Is(err, toolsource.ErrSessionLost) {
				t.Fatalf("error %v", err)
			}
			if tc.kind == toolsource.KindOutcomeUnknown && (!errors.Is(err, toolsource.ErrOutcomeUnknown) || !strings.Contains(e.Remedy, tc.tool)) {
				t.Errorf("error %+v", e)
			}
			if !strings.Contains(err.Error(), "code 3") || !strings.Contains(err.Error(), "dying in mid call") {
				t.Errorf("no exit code or standard error in: %v", err)
			}
			if n := countLines(t, journal, "tools/call "+tc.tool); n != tc.calls {
				t.Errorf("the server saw %d calls, want %d", n, tc.calls)
			}
			if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "back"}, CallOptions{}); err != nil || res.Value != "back" {
				t.Errorf("afterwards: %v, %v", res.Value, err)
			}
		})
	}
}

func TestCloseStdoutFailsPendingCalls(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err := s.Call(t.Context(), "close_stdout", nil, CallOptions{})
	if !errors.Is(err, toolsource.ErrOutcomeUnknown) || time.Since(begin) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

func TestCase61Silence(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{SilentInit: true}, func(c *ServerConfig) { c.Connect = 300 * time.Millisecond })
	begin := time.Now()
	_, err := s.List(t.Context())
	if took := time.Since(begin); took < 300*time.Millisecond || took > 600*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `server "srv": initialize: no answer to initialize within 300ms`) {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Twenty servers start side by side; the dead one costs one timeout, names itself, and holds up nobody.
func TestManyServersOneDead(t *testing.T) {
	const limit = 4 * time.Second
	var wg sync.WaitGroup
	errs := make([]error, 20)
	took := make([]time.Duration, 20)
	begin := time.Now()
	for i := range errs {
		b := mcptest.Behaviour{SilentInit: i == 7}
		s := newServer(t, b, func(c *ServerConfig) {
			c.ID = "server-" + string(rune('a'+i))
			c.Connect = limit
		})
		wg.Go(func() {
			_, errs[i] = s.List(t.Context())
			took[i] = time.Since(begin)
			_ = s.Close()
		})
	}
	wg.Wait()
	for i, err := range errs {
		if i == 7 {
			if err == nil || !strings.Contains(err.Error(), `"server-h"`) || took[i] > limit+limit/4 {
				t.Errorf("the dead one after %v: %v", took[i], err)
			}
			continue
		}
		if err != nil || took[i] >= limit {
			t.Errorf("server %d after %v: %v", i, took[i], err)
		}
	}
}

func TestNoToolsCapability(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{NoTools: true})
	l, err := s.List(t.Context())
	if err != nil || len(l.Tools) != 0 || len(l.Problems) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestCase76OlderVersion(t *testing.T) {
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
		s := newServer(t, mcptest.Behaviour{Version: v})
		if _, err := s.List(t.Context()); err != nil || s.Status().Era != v {
			t.Errorf("%s: %v, era %s", v, err, s.Status().Era)
		}
		_ = s.Close()
	}
	s := newServer(t, mcptest.Behaviour{Only: "2024-11-05"})
	if _, err := s.List(t.Context()); err != nil || s.Status().Era != "2024-11-05" {
		t.Errorf("refused with a list: %v, era %s", err, s.Status().Era)
	}
	_ = s.Close()
	s = newServer(t, mcptest.Behaviour{Only: "1999-01-01"})
	if _, err := s.List(t.Context()); err == nil || !strings.Contains(err.Error(), "Unsupported protocol version") {
		t.Errorf("refused with a list of none that we know: %v", err)
	}
	s = newServer(t, mcptest.Behaviour{Version: "2099-01-01"})
	if _, err := s.List(t.Context()); err == nil || !strings.Contains(err.Error(), "2099-01-01") {
		t.Errorf("an unknown version: %v", err)
	}
}

func TestCloseSideBySide(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{IgnoreEOF: true, IgnoreTerm: true}, func(c *ServerConfig) { c.CloseBound = time.Second })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	call := make(chan error, 1)
	go func() { _, err := s.Call(context.Background(), "mute", nil, CallOptions{}); call <- err }()
	waitFor(t, func() bool { return s.Status().InFlight == 1 })
	begin := time.Now()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := <-call; !errors.Is(err, toolsource.ErrClosed) {
		t.Errorf("the call: %v", err)
	}
	wg.Wait()
	if took := time.Since(begin); took > 1200*time.Millisecond {
		t.Errorf("closing took %v", took)
	}
}

func TestIdleStopAndWake(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.IdleStop = 100 * time.Millisecond })
	l, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Status().State == toolsource.StateDormant })
	if last, ok := s.Last(); !ok || len(last.Tools) != len(l.Tools) || s.Status().Tools != len(l.Tools) {
		t.Error("the tools went with the session")
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "awake"}, CallOptions{}); err != nil || res.Value != "awake" {
		t.Errorf("%v, %v", res.Value, err)
	}
	if e := s.Status().Epoch; e != 2 {
		t.Errorf("%d sessions", e)
	}
}

// A session that comes after its time is closed, and nothing of it is left.
func TestLateSession(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{InitDelay: 300 * time.Millisecond, IgnoreEOF: true}, func(c *ServerConfig) {
		c.Connect, c.CloseBound = 150*time.Millisecond, time.Second
	})
	begin := time.Now()
	if _, err := s.List(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 300*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The SDK's own server, in each revision.
func TestSDKServer(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{EraAuto, Era20241105, Era20250618, Era20251125, Era20260728} {
		s, err := New(ServerConfig{ID: "sdk", Command: exe, Env: map[string]toolsource.Secret{"TEST_SDK_SERVER": "1"}, Era: era}, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.List(t.Context())
		if err != nil || len(l.Tools) != 1 || l.Tools[0].Hints == nil {
			t.Errorf("%s: %+v, %v", era, l, err)
		}
		res, err := s.Call(t.Context(), "same", map[string]any{"n": 5}, CallOptions{})
		if diff := cmp.Diff(map[string]any{"n": int64(5)}, res.Value); err != nil || diff != "" {
			t.Errorf("%s: %s, %v", era, diff, err)
		}
		if _, err := s.Call(t.Context(), "same", map[string]any{"n": -1}, CallOptions{}); toolsource.KindOf(err) != toolsource.KindTool || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%s: %v", era, err)
		}
		want := era
		if era == EraAuto {
			want = Era20260728
		}
		if got := s.Status().Era; got != want {
			t.Errorf("era %s, want %s", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
