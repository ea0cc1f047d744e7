package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// A server that was silent is given up at the limit, leaves nothing, and may be tried again.
func TestCase61SilenceThenRetry(t *testing.T) {
	before := census(t)
	s, _ := serve(t, mcptest.Stdio, mcptest.Behaviour{
		LivesFile: filepath.Join(t.TempDir(), "lives"),
		Lives:     []mcptest.Behaviour{{SilentInit: true, Grandchild: true, GrandchildHoldsPipes: true, IgnoreTerm: true}, {}},
	}, func(c *mcpclient.ServerConfig) {
		c.Connect = 2 * time.Second
		c.Env[markName] = toolsource.Secret(before.mark)
	})
	begin := time.Now()
	_, err := s.List(t.Context())
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took < 2*time.Second || took > 4*time.Second {
		t.Fatalf("after %v: %v", took, err)
	}
	eventually(t, "its processes are gone", func() bool { return len(marked(before.mark)) == 0 || s.Status().State == toolsource.StateReady })
	s.Reconnect()
	eventually(t, "it is ready", func() bool { return s.Status().State == toolsource.StateReady })
	echoes(t, s)
}

// One slow, one dead and one that crashes cost the fast one nothing, and themselves one limit.
func TestCase68ParallelStart(t *testing.T) {
	var c struct {
		Servers []struct {
			ID   string
			Init any
			MS   int `json:"init_ms"`
		}
	}
	readCase(t, "68-parallel-start.json", &c)
	const limit = 2 * time.Second // the case has 1 s; children under the race detector need more to start
	one := 1
	tb := toolsource.NewToolbox(nil)
	var layers []toolsource.Layer
	for _, sc := range c.Servers {
		b := mcptest.Behaviour{InitDelay: time.Duration(sc.MS) * 2 * time.Millisecond}
		switch sc.Init {
		case "never":
			b.SilentInit = true
		case "exit 1":
			b.Exit, b.Stderr = &one, "no key\n"
		}
		s, _ := serve(t, mcptest.Stdio, b, func(c *mcpclient.ServerConfig) { c.ID, c.Connect = sc.ID, limit })
		layers = append(layers, toolsource.Layer{Source: mcpsource.New(s, &mcpsource.Options{Qualified: true}), Precedence: toolsource.PrecedenceMCP})
	}
	begin := time.Now()
	err := tb.Add(t.Context(), layers...)
	if took := time.Since(begin); took < limit || took > limit+limit/2 {
		t.Errorf("Add took %v", took)
	}
	var failed []string
	for _, st := range tb.Sources() {
		if st.Err != nil {
			failed = append(failed, st.Source)
			if !strings.Contains(err.Error(), st.Source) {
				t.Errorf("%s is not in %v", st.Source, err)
			}
		}
	}
	if diff := cmp.Diff([]string{"mcp:slow", "mcp:dead", "mcp:crash"}, failed); diff != "" {
		t.Error(diff)
	}
	if res, err := tb.Call(t.Context(), "mcp__fast__echo", map[string]any{"text": "a"}); err != nil || res.Value != "a" {
		t.Errorf("the fast one: %v, %v", res.Value, err)
	}
	if err := tb.Close(); err != nil {
		t.Error(err)
	}
}

// Twenty callers at once start one process, and when it dies they fail with one cause and start one more.
func TestCase69ConcurrentConnect(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	s, _ := serve(t, mcptest.Stdio, mcptest.Behaviour{Journal: journal})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { echoes(t, s) })
	}
	wg.Wait()
	if n := lines(t, journal, "initialize"); n != 1 {
		t.Errorf("%d processes for the first calls", n)
	}
	var errs [20]error
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.Call(t.Context(), "mute", nil, mcpclient.CallOptions{}) })
	}
	eventually(t, "all are under way", func() bool { return s.Status().InFlight == len(errs) })
	_, _ = s.Call(t.Context(), "die", map[string]any{"code": 7}, mcpclient.CallOptions{})
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, toolsource.ErrSessionLost) || !errors.Is(err, toolsource.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "code 7") {
			t.Errorf("in flight: %v", err)
		}
	}
	for range 20 {
		wg.Go(func() { echoes(t, s) })
	}
	wg.Wait()
	if n := lines(t, journal, "initialize"); n != 2 || s.Status().Epoch != 2 {
		t.Errorf("%d processes in all, %d sessions", n, s.Status().Epoch)
	}
}

// A server of revision 2026-07-28 alone is found on stdio without being told, keeps no session, and says by
// its subscription that its list changed.
func TestCase80Modern(t *testing.T) {
	for _, transport := range []string{mcptest.Memory, mcptest.Stdio, mcptest.HTTP} {
		journal := filepath.Join(t.TempDir(), "journal")
		s, _ := serve(t, transport, mcptest.Behaviour{Modern: true, Journal: journal}, func(c *mcpclient.ServerConfig) {
		})
		if err := s.Start(t.Context()); err != nil {
			t.Errorf("%s: %v", transport, err)
			continue
		}
		if st := s.Status(); st.Era != mcpclient.Era20260728 {
			t.Errorf("%s: %+v", transport, st)
		}
		echoes(t, s)
		if n := lines(t, journal, "ping") + lines(t, journal, "initialize") + lines(t, journal, "notifications/initialized"); n > 1 {
			t.Errorf("%s: %d messages of the older revisions", transport, n)
		}
		eventually(t, "the subscription on "+transport, func() bool { return lines(t, journal, "subscriptions/listen") == 1 })
		eventually(t, "the new name on "+transport, func() bool {
			_, _ = s.Call(t.Context(), "rename", map[string]any{"from": "add", "to": "add_new"}, mcpclient.CallOptions{})
			l, _ := s.Last()
			for _, tool := range l.Tools {
				if tool.Name == "add_new" {
					return true
				}
			}
			return false
		})
	}
}
