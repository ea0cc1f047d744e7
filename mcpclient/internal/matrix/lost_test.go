package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// A server that is not there any more makes calls unavailable: they were not sent.
func TestServerGoesDown(t *testing.T) {
	for _, transport := range []string{mcptest.Memory, mcptest.HTTP} {
		s, p := serve(t, transport, mcptest.Behaviour{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		// a connection kept from before may take a first call, and break under it
		if _, err := s.Call(ctx, "echo", nil, mcpclient.CallOptions{}); toolsource.KindOf(err) != toolsource.KindUnavailable && toolsource.KindOf(err) != toolsource.KindOutcomeUnknown {
			t.Errorf("%s: %v", transport, err)
		}
		_, err := s.Call(ctx, "echo", nil, mcpclient.CallOptions{})
		cancel()
		var e *toolsource.CallError
		if !errors.As(err, &e) || e.Kind != toolsource.KindUnavailable || e.MayHaveRun || !errors.Is(err, toolsource.ErrUnavailable) {
			t.Errorf("%s: %v", transport, err)
		}
	}
}

// A connection that ends in the middle of a reply loses the call; the reply is not malformed.
func TestConnectionEndsInMidReply(t *testing.T) {
	for _, transport := range mcptest.Transports() {
		s, _ := serve(t, transport, mcptest.Behaviour{SSE: true})
		_, err := s.Call(t.Context(), "half", map[string]any{"cut": true}, mcpclient.CallOptions{})
		if !errors.Is(err, toolsource.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", transport, err)
		}
		echoes(t, s)
	}
}

// A server that is slow, dies, and comes back with one tool under another name: the program's callable never
// runs another tool, and the Toolbox learns the new name.
func TestSlowDiesComesBackRenamed(t *testing.T) {
	for _, transport := range mcptest.Transports() {
		s, _ := serve(t, transport, mcptest.Behaviour{
			LivesFile: filepath.Join(t.TempDir(), "lives"),
			Lives: []mcptest.Behaviour{
				{CallDelay: 50 * time.Millisecond, DieAt: 2},
				{Renamed: map[string]string{"echo": "echo_new"}},
			},
		})
		tb := toolsource.NewToolbox(nil)
		if err := tb.Add(t.Context(), toolsource.Layer{Source: mcpsource.New(s, nil), Precedence: toolsource.PrecedenceMCP}); err != nil {
			t.Fatal(transport, err)
		}
		call, err := tb.Resolve("echo")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if res, err := call(t.Context(), map[string]any{"text": "a"}); err != nil || res.Value != "a" || time.Since(begin) < 50*time.Millisecond {
			t.Errorf("%s: slow: %v, %v", transport, res.Value, err)
		}
		// it dies at this call, which reads only, so that it may be sent again, to a server that has it no more
		if res, err := call(t.Context(), map[string]any{"text": "b"}); !errors.Is(err, toolsource.ErrUnavailable) && !errors.Is(err, toolsource.ErrSessionLost) {
			t.Errorf("%s: dies: %v, %v", transport, res.Value, err)
		}
		eventually(t, "the new name on "+transport, func() bool { _, ok := tb.Spec("echo_new"); return ok })
		if res, err := tb.Call(t.Context(), "echo_new", map[string]any{"text": "c"}); err != nil || res.Value != "c" {
			t.Errorf("%s: comes back: %v, %v", transport, res.Value, err)
		}
		if _, ok := tb.Spec("echo"); ok {
			t.Errorf("%s: the old name is still there", transport)
		}
		if err := tb.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCase70SessionLost(t *testing.T) {
	var c struct {
		Rows []struct {
			Status int
			Body   json.RawMessage
			SSE    string
		}
	}
	readCase(t, "70-session-lost.json", &c)
	for _, row := range c.Rows {
		h := mcptest.HTTPFault{Status: row.Status, Header: map[string]string{"Content-Type": "application/json"}, Body: string(row.Body)}
		var text string
		if json.Unmarshal(row.Body, &text) == nil {
			h.Header, h.Body = map[string]string{"Content-Type": "text/plain"}, strings.TrimPrefix(text, "text/plain: ")
		}
		if row.SSE != "" {
			h.Header, h.Body = map[string]string{"Content-Type": "text/event-stream"}, row.SSE
		}
		lost := row.Status != 200
		for _, always := range []bool{false, true} {
			if !always {
				h.Count = 1
			} else {
				h.Count = 0
			}
			name := fmt.Sprintf("%d, %.40q, always %v", row.Status, h.Body, always)
			journal := filepath.Join(t.TempDir(), "journal")
			s, _ := serve(t, mcptest.Memory, mcptest.Behaviour{Journal: journal, HTTP: []mcptest.HTTPFault{h}})
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			res, err := s.Call(ctx, "add", map[string]any{"a": 1, "b": 1}, mcpclient.CallOptions{})
			cancel()
			sessions, ran := lines(t, journal, "initialize"), lines(t, journal, "tools/call add")
			switch {
			case lost && !always:
				if err != nil || res.Value != int64(2) || sessions != 2 || ran != 1 || lines(t, journal, "tools/list") != 2 {
					t.Errorf("%s: %v, %v, %d sessions, ran %d times", name, res.Value, err, sessions, ran)
				}
			case lost:
				time.Sleep(100 * time.Millisecond)
				if n := lines(t, journal, "initialize"); err == nil || errors.Is(err, toolsource.ErrTimeout) || n > 3 || ran != 0 {
					t.Errorf("%s: %v, %d sessions, ran %d times", name, err, n, ran)
				}
			case err == nil || errors.Is(err, toolsource.ErrTimeout) || sessions != 1 || !strings.Contains(err.Error(), "ession not found") && !strings.Contains(err.Error(), "Invalid Request"):
				t.Errorf("%s: %v, %d sessions", name, err, sessions)
			}
		}
	}
}

// A call that runs while another one learns that the session is lost may have run: the refusal is not its own.
func TestCase70LostUnderAnotherCall(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, mcptest.Memory, mcptest.Behaviour{Journal: journal, HTTP: []mcptest.HTTPFault{{From: 2, Count: 1, Status: 404}}})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Call(t.Context(), "record", map[string]any{"token": "a", "ms": 1000}, mcpclient.CallOptions{})
			var e *toolsource.CallError
			if !errors.As(err, &e) || e.Kind != toolsource.KindOutcomeUnknown || !e.MayHaveRun || errors.Is(err, toolsource.ErrNotReached) || strings.Contains(err.Error(), "did not reach") {
				t.Errorf("the call that ran: %v", err)
			}
		})
		time.Sleep(50 * time.Millisecond)
		echoes(t, s)
		wg.Wait()
	})
	if n := lines(t, journal, "record a"); n != 1 {
		t.Errorf("ran %d times", n)
	}
}
