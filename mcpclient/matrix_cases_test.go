package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// serve starts a server that behaves so, and the client for it. Both are closed with the test.
func serve(t testing.TB, transport string, b mcptest.Behaviour, change ...func(*mcpclient.ServerConfig)) (*mcpclient.Server, *mcptest.Place) {
	t.Helper()
	p, err := mcptest.Start(transport, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	cfg := mcpclient.ServerConfig{ID: "srv", Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, CloseBound: closeBound}
	if transport == mcptest.SSE {
		cfg.Transport = mcpclient.TransportSSE
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := mcpclient.New(cfg, &mcpclient.Options{HTTPTransport: p.HTTP})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, p
}

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

func readCase(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// lines counts the lines of a journal that are equal to one.
func lines(t testing.TB, file, line string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(raw)) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

// eventually polls what a real process will do.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func echoes(t testing.TB, s *mcpclient.Server) {
	t.Helper()
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, mcpclient.CallOptions{}); err != nil || res.Value != "on" {
		t.Errorf("afterwards: %v, %v", res.Value, err)
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

func TestCase73LegacySSE(t *testing.T) {
	for _, status := range []int{200, 202} {
		s, _ := serve(t, mcptest.SSE, mcptest.Behaviour{HTTP: []mcptest.HTTPFault{{Status: status, Header: map[string]string{"Content-Type": "text/html"}, Body: "<p>fine{reply}</p>"}}})
		echoes(t, s)
	}
	s, _ := serve(t, mcptest.SSE, mcptest.Behaviour{})
	if res, err := s.Call(t.Context(), "big", map[string]any{"bytes": 5 << 20}, mcpclient.CallOptions{}); err != nil || len(res.Text()) != 5<<20 {
		t.Errorf("an event of 5 MiB: %d bytes, %v", len(res.Text()), err)
	}
	s, _ = serve(t, mcptest.SSE, mcptest.Behaviour{Endpoint: mcptest.NoEndpoint}, func(c *mcpclient.ServerConfig) { c.Connect = 200 * time.Millisecond })
	if err := s.Start(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no endpoint: %v", err)
	}
}

func TestCase75AuthAndRedirects(t *testing.T) {
	var c struct {
		Rows []struct {
			Status   int
			Auth     string `json:"www-authenticate"`
			Location string
			Kind     string `json:"content-type"`
			After    string
		}
	}
	readCase(t, "75-auth-and-redirect.json", &c)
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for _, row := range c.Rows {
		if row.After != "" {
			continue // the token hook: TestHTTPOAuth in internal/wire
		}
		name := fmt.Sprint(row.Status, " ", row.Location)
		var asked atomic.Int64
		inner := mcptest.Handler(mcptest.Behaviour{})
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.Header.Get("X-Api-Key") != "k3y-value" {
				t.Errorf("%s: the configured header is missing", name)
			}
			if r.URL.Path != "/mcp" {
				inner.ServeHTTP(w, r)
				return
			}
			switch {
			case strings.HasPrefix(row.Location, "same origin "):
				w.Header().Set("Location", strings.TrimPrefix(row.Location, "same origin "))
			case row.Location == "other origin":
				w.Header().Set("Location", other.URL+"/mcp")
			case row.Location == "https twin":
				w.Header().Set("Location", "https://"+r.Host+"/mcp")
			case row.Location != "":
				w.Header().Set("Location", "/login")
			}
			if row.Kind != "" {
				w.Header().Set("Content-Type", row.Kind)
			}
			if row.Auth != "" {
				w.Header().Set("WWW-Authenticate", row.Auth)
			}
			w.WriteHeader(row.Status)
			_, _ = io.WriteString(w, "<h1>the first line</h1>\nthe second")
		}))
		s, err := mcpclient.New(mcpclient.ServerConfig{ID: "web", URL: hs.URL + "/mcp", Headers: map[string]toolsource.Secret{"X-Api-Key": "k3y-value"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err = s.Start(t.Context())
		took := time.Since(begin)
		var st *mcpclient.StatusError
		switch {
		case row.Location == "same origin /mcp/":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			echoes(t, s)
		case err == nil || took > time.Second:
			t.Errorf("%s: after %v: %v", name, took, err)
		case row.Status == 401:
			if !errors.Is(err, toolsource.ErrNeedsAuth) || !errors.As(err, &st) || st.WWWAuthenticate != row.Auth {
				t.Errorf("%s: %v", name, err)
			}
			eventually(t, "it is parked", func() bool { return s.Status().State == toolsource.StateParked })
			if n := asked.Load(); n != 1 {
				t.Errorf("%s: %d requests", name, n)
			}
		case row.Status == 403:
			if !errors.Is(err, toolsource.ErrForbidden) || asked.Load() != 1 {
				t.Errorf("%s: %v, %d requests", name, err, asked.Load())
			}
		case row.Location != "":
			if !strings.Contains(err.Error(), fmt.Sprintf("redirected (%d)", row.Status)) {
				t.Errorf("%s: %v", name, err)
			}
		case !strings.Contains(err.Error(), "the first line") || strings.Contains(err.Error(), "the second"):
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		hs.Close()
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests reached the other origin", n)
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
