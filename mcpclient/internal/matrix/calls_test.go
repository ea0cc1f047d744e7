package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// The server's requests are answered at once, before the handshake and while nothing else happens.
func TestCase64RequestsAtAnyTime(t *testing.T) {
	for _, when := range []string{mcptest.AsksEarly, mcptest.AsksIdle} {
		for _, transport := range []string{mcptest.Stdio, mcptest.SSE} {
			s, _ := serve(t, transport, mcptest.Behaviour{Asks: when})
			if err := s.Start(t.Context()); err != nil {
				t.Errorf("%s on %s: %v", when, transport, err)
				continue
			}
			var res toolsource.Result
			eventually(t, when+" on "+transport, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				var err error
				res, err = s.Call(ctx, "asked", nil, mcpclient.CallOptions{})
				return err == nil
			})
			got, _ := res.Value.(map[string]any)
			if diff := cmp.Diff(map[string]any{}, got["ping"]); diff != "" {
				t.Errorf("%s on %s: ping: %s", when, transport, diff)
			}
			for _, method := range []string{"sampling/createMessage", "elicitation/create", "no/such"} {
				e, _ := got[method].(map[string]any)
				if code, _ := e["code"].(int64); code >= 0 {
					t.Errorf("%s on %s: %s: %v", when, transport, method, got[method])
				}
			}
			if st := s.Status(); st.Epoch != 1 {
				t.Errorf("%s on %s cost the session: %+v", when, transport, st)
			}
		}
	}
}

// a is cancelled, b goes on; the server answers b, then a, whose late reply nobody gets.
func TestCase66LateReply(t *testing.T) {
	for _, transport := range mcptest.Transports() {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s, _ := serve(t, transport, mcptest.Behaviour{})
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			clock := newMetronome()
			defer clock.end()
			var back, cancelled time.Time
			wg.Go(func() {
				_, err := s.Call(ctx, "late", map[string]any{"ms": 300}, mcpclient.CallOptions{})
				back = time.Now()
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a: %v", err)
				}
			})
			wg.Go(func() {
				if res, err := s.Call(t.Context(), "sleep", map[string]any{"ms": 200}, mcpclient.CallOptions{}); err != nil || res.Value != "slept" {
					t.Errorf("b: %v, %v", res.Value, err)
				}
			})
			time.Sleep(100 * time.Millisecond)
			cancelled = time.Now()
			cancel()
			wg.Wait()
			if late := back.Sub(cancelled) - clock.late(cancelled, back); late > mayBeLate && !raceEnabled {
				t.Errorf("a came back %v after it was cancelled", late)
			}
			eventually(t, "the server was told", func() bool {
				res, err := s.Call(t.Context(), "stats", nil, mcpclient.CallOptions{})
				return err == nil && res.Value.(map[string]any)["notifications/cancelled"] == int64(1)
			})
			time.Sleep(200 * time.Millisecond) // the late reply comes
			echoes(t, s)
			res, err := s.Call(t.Context(), "stats", nil, mcpclient.CallOptions{})
			if err != nil || res.Value.(map[string]any)["notifications/cancelled"] != int64(1) || s.Status().Epoch != 1 {
				t.Errorf("%v, %v, %+v", res.Value, err, s.Status())
			}
		})
	}
}

// The protocol forbids to cancel initialize.
func TestCase66InitializeIsNotCancelled(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	s, _ := serve(t, mcptest.Stdio, mcptest.Behaviour{InitDelay: 3 * time.Second, Journal: journal}, func(c *mcpclient.ServerConfig) { c.Connect = time.Second })
	if err := s.Start(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if lines(t, journal, "initialize") != 1 || lines(t, journal, "notifications/cancelled") != 0 {
		t.Error("initialize was cancelled by a notification")
	}
}

func TestCase67Progress(t *testing.T) {
	var c struct {
		CallTimeout string `json:"call_timeout"`
		MaxTotal    string `json:"max_total"`
	}
	readCase(t, "67-progress.json", &c)
	silence, err1 := time.ParseDuration(c.CallTimeout)
	ceiling, err2 := time.ParseDuration(c.MaxTotal)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for _, tc := range []struct {
		why      string
		tool     string
		args     map[string]any
		ends     time.Duration // of a call that runs into a limit; 0: it is answered
		progress int           // reports that the caller gets
	}{
		{"progress renews the limit", "progress", map[string]any{"n": 6, "ms": 100}, 0, 6},
		{"without progress the limit holds", "sleep", map[string]any{"ms": 600}, silence, 0},
		{"progress without end runs into the ceiling", "progress", map[string]any{"ms": 50, "unanswering": true}, ceiling, -1},
		{"progress of another call does not renew", "progress", map[string]any{"n": 6, "ms": 100, "foreign": true}, silence, 0},
		{"progress that is none does not", "progress", map[string]any{"n": 6, "ms": 100, "bad": true}, silence, 0},
		{"progress after the reply is ignored", "progress", map[string]any{"n": 3, "ms": 10, "after": true}, 0, 0},
	} {
		t.Run(tc.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in virtual time, to the millisecond
				s, _ := serve(t, mcptest.Memory, mcptest.Behaviour{SSE: true}, func(c *mcpclient.ServerConfig) { c.Silence, c.Ceiling = silence, ceiling })
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				var reports atomic.Int64
				ctx := toolsource.WithProgress(t.Context(), func(toolsource.Progress) { reports.Add(1) })
				begin := time.Now()
				_, err := s.Call(ctx, tc.tool, tc.args, mcpclient.CallOptions{})
				took := time.Since(begin)
				if tc.ends == 0 && err != nil || tc.ends > 0 && (!errors.Is(err, toolsource.ErrTimeout) || took != tc.ends) {
					t.Errorf("after %v: %v", took, err)
				}
				time.Sleep(50 * time.Millisecond)
				if n := reports.Load(); tc.progress >= 0 && n != int64(tc.progress) {
					t.Errorf("%d reports", n)
				}
				echoes(t, s)
				if s.Status().Epoch != 1 {
					t.Error("it cost the session")
				}
			})
		})
	}
}

// Notifications that nobody wants cost nothing later: a flood of them does not hold up Close.
func TestFloodOfNotificationsDoesNotHoldUpClose(t *testing.T) {
	for _, tool := range []string{"chatter", "storm"} {
		s, _ := serve(t, mcptest.Stdio, mcptest.Behaviour{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Call(ctx, tool, map[string]any{"n": 100000000}, mcpclient.CallOptions{})
		cancel()
		if !errors.Is(err, toolsource.ErrTimeout) {
			t.Errorf("%s: %v", tool, err)
		}
		begin := time.Now()
		if err := s.Close(); err != nil || time.Since(begin) > time.Second {
			t.Errorf("%s: Close after %v: %v", tool, time.Since(begin), err)
		}
	}
}
