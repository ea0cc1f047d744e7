package mcpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func newHTTPServer(t testing.TB, h http.Handler, change ...func(*ServerConfig)) *Server {
	t.Helper()
	hs := httptest.NewServer(h)
	t.Cleanup(hs.Close)
	cfg := ServerConfig{ID: "web", URL: hs.URL + "/mcp", CloseBound: 2 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestHTTPCalls(t *testing.T) {
	for _, tc := range []struct {
		why string
		b   mcptest.Behaviour
	}{
		{"JSON", mcptest.Behaviour{}},
		{"events", mcptest.Behaviour{SSE: true}},
		{"with a token", mcptest.Behaviour{Authorization: "Bearer t0ken-value"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := newHTTPServer(t, mcptest.Handler(tc.b), func(c *ServerConfig) {
				if a := tc.b.Authorization; a != "" {
					c.Headers = map[string]toolsource.Secret{"Authorization": toolsource.Secret(a)}
				}
			})
			l, err := s.List(t.Context())
			if err != nil || len(l.Tools) != len(mcptest.Tools()) {
				t.Fatalf("%d tools, %v", len(l.Tools), err)
			}
			res, err := s.Call(t.Context(), "add", map[string]any{"a": int64(9007199254740993), "b": 1}, CallOptions{})
			if err != nil || res.Value != int64(9007199254740994) {
				t.Errorf("%v, %v", res.Value, err)
			}
			res, err = s.Call(t.Context(), "bigint", nil, CallOptions{})
			if m, _ := res.Value.(map[string]any); err != nil || m["n"] != int64(9007199254740993) {
				t.Errorf("%v, %v", res.Value, err)
			}
			if _, err := s.Call(t.Context(), "fail", nil, CallOptions{}); toolsource.KindOf(err) != toolsource.KindTool {
				t.Errorf("%v", err)
			}
			if tc.b.SSE {
				var n atomic.Int32
				ctx := toolsource.WithProgress(t.Context(), func(toolsource.Progress) { n.Add(1) })
				if _, err := s.Call(ctx, "progress", map[string]any{"n": 5}, CallOptions{}); err != nil || n.Load() != 5 {
					t.Errorf("progress %d, %v", n.Load(), err)
				}
			}
			if st := s.Status(); st.Transport != "http" || st.Era != Era20251125 || st.Epoch != 1 {
				t.Errorf("status %+v", st)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHTTPListIsExact(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{Pages: map[string]string{"": `{"tools":[{"name":"x","inputSchema":` + schema + `,"annotations":{"readOnlyHint":false}},null]}`}}))
	l, err := s.List(t.Context())
	if err != nil || len(l.Tools) != 1 || string(l.Tools[0].InputSchema) != schema || len(l.Problems) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if diff := cmp.Diff(&grade.Hints{ReadOnly: flag(false)}, l.Tools[0].Hints); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPRefusals(t *testing.T) {
	for _, tc := range []struct {
		status int
		kind   toolsource.Kind
		ran    bool
	}{
		{400, toolsource.KindProtocol, false},
		{401, toolsource.KindNeedsAuth, false},
		{403, toolsource.KindInsufficientScope, false},
		{405, toolsource.KindProtocol, false},
		{413, toolsource.KindProtocol, false},
		{429, toolsource.KindUnavailable, false},
		{500, toolsource.KindOutcomeUnknown, true},
		{503, toolsource.KindUnavailable, true},
		{200, toolsource.KindProtocol, true},
	} {
		s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{CallStatus: tc.status, CallBody: "<h1>why</h1>", CallContentType: "text/html"}))
		_, err := s.Call(t.Context(), "echo", nil, CallOptions{})
		var e *toolsource.CallError
		var st *StatusError
		if !errors.As(err, &e) || e.Kind != tc.kind || e.MayHaveRun != tc.ran || !errors.As(err, &st) || st.Status != tc.status {
			t.Errorf("%d: %v", tc.status, err)
		}
		if tc.status == 401 && !strings.Contains(st.WWWAuthenticate, "Bearer") {
			t.Errorf("the challenge is lost: %+v", st)
		}
		if st := s.Status(); st.Epoch != 1 || st.State != toolsource.StateReady {
			t.Errorf("%d cost the session: %+v", tc.status, st)
		}
		_ = s.Close()
	}
}

func TestHTTPConnectRefused(t *testing.T) {
	plain := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) })
	}
	for _, tc := range []struct {
		why string
		h   http.Handler
		is  error
	}{
		{"no token", mcptest.Handler(mcptest.Behaviour{Authorization: "Bearer x"}), toolsource.ErrNeedsAuth},
		{"forbidden", plain(403, "no"), toolsource.ErrForbidden},
		{"nothing there", plain(404, "no"), toolsource.ErrPermanent},
		{"no POST there", plain(405, "no"), toolsource.ErrPermanent},
		{"a web page", plain(200, "<html>"), toolsource.ErrPermanent},
	} {
		s := newHTTPServer(t, tc.h)
		_, err := s.List(t.Context())
		if !errors.Is(err, tc.is) || !errors.Is(err, toolsource.ErrUnavailable) || !strings.Contains(err.Error(), `server "web"`) {
			t.Errorf("%s: %v", tc.why, err)
		}
		waitFor(t, func() bool { return s.Status().State == toolsource.StateParked })
		_ = s.Close()
	}
}

// A session that the server has forgotten is made anew, and the call, which it refused, goes once more
// whatever its grade.
func TestHTTPSessionLost(t *testing.T) {
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{LoseAfter: 2}))
	for i := range 3 {
		if res, err := s.Call(t.Context(), "add", map[string]any{"a": i, "b": 1}, CallOptions{}); err != nil || res.Value != int64(i+1) {
			t.Errorf("call %d: %v, %v", i, res.Value, err)
		}
	}
	if st := s.Status(); st.Epoch != 2 {
		t.Errorf("%d sessions", st.Epoch)
	}
}

// A connection that breaks in mid call is no session lost: its neighbours live. A write is not sent again.
func TestHTTPBrokenConnection(t *testing.T) {
	var calls atomic.Int32
	inner := mcptest.Handler(mcptest.Behaviour{})
	cut := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Cut") != "" && r.Method == http.MethodPost {
			body := make([]byte, 512)
			n, _ := r.Body.Read(body)
			if strings.Contains(string(body[:n]), `"tools/call"`) {
				calls.Add(1)
				panic(http.ErrAbortHandler)
			}
			r.Body = http.NoBody
			r = r.Clone(r.Context())
			r.Body = bodyOf(body[:n])
		}
		inner.ServeHTTP(w, r)
	})
	for _, tc := range []struct {
		why   string
		o     CallOptions
		calls int32
		kind  toolsource.Kind
	}{
		{"a write", CallOptions{}, 1, toolsource.KindOutcomeUnknown},
		{"a read", CallOptions{Grade: grade.W1D0}, 2, toolsource.KindUnavailable},
	} {
		calls.Store(0)
		s := newHTTPServer(t, cut, func(c *ServerConfig) { c.Headers = map[string]toolsource.Secret{"X-Cut": "1"} })
		_, err := s.Call(t.Context(), "echo", nil, tc.o)
		var e *toolsource.CallError
		if !errors.As(err, &e) || e.Kind != tc.kind || !e.MayHaveRun || calls.Load() != tc.calls {
			t.Errorf("%s: %d calls, %v", tc.why, calls.Load(), err)
		}
		if s.Status().Epoch != 1 {
			t.Errorf("%s cost the session", tc.why)
		}
		_ = s.Close()
	}
}

func TestHTTPBlackHole(t *testing.T) {
	free := make(chan struct{})
	s := newHTTPServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}), func(c *ServerConfig) { c.Connect = 200 * time.Millisecond })
	defer close(free)
	begin := time.Now()
	_, err := s.List(t.Context())
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took > 400*time.Millisecond {
		t.Errorf("after %v: %v", took, err)
	}
	begin = time.Now()
	if err := s.Close(); err != nil || time.Since(begin) > time.Second {
		t.Errorf("close after %v: %v", time.Since(begin), err)
	}
}

func TestHTTPDeadline(t *testing.T) {
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{}))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := overshoot(t, 200*time.Millisecond, func(ctx context.Context) {
		if _, err := s.Call(ctx, "mute", nil, CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) {
			t.Error(err)
		}
	})
	if late > 50*time.Millisecond {
		t.Errorf("the caller was freed %v too late", late)
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, CallOptions{}); err != nil || res.Value != "on" || s.Status().Epoch != 1 {
		t.Errorf("afterwards: %v, %v", res.Value, err)
	}
}

func TestSSECalls(t *testing.T) {
	s := newHTTPServer(t, mcptest.SSEHandler(mcptest.Behaviour{}), func(c *ServerConfig) { c.Transport = TransportSSE })
	l, err := s.List(t.Context())
	if err != nil || len(l.Tools) != len(mcptest.Tools()) {
		t.Fatalf("%d tools, %v", len(l.Tools), err)
	}
	res, err := s.Call(t.Context(), "add", map[string]any{"a": int64(9007199254740993), "b": 1}, CallOptions{})
	if err != nil || res.Value != int64(9007199254740994) {
		t.Errorf("%v, %v", res.Value, err)
	}
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo_new"}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { l, _ := s.Last(); return slices.Contains(names(l), "echo_new") })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "mute", nil, CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) {
		t.Errorf("%v", err)
	}
	if st := s.Status(); st.Transport != "sse" || st.Epoch != 1 {
		t.Errorf("status %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestHTTPListChanged(t *testing.T) {
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{Stream: true}))
	if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo_new"}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	// the stream may not have been open yet at the first change
	waitFor(t, func() bool {
		_, err := s.Call(t.Context(), "storm", map[string]any{"n": 1}, CallOptions{})
		l, _ := s.Last()
		return err == nil && slices.Contains(names(l), "echo_new")
	})
}

// A call that goes again after its connection broke does so within the limits that it began with, and no
// more than once.
func TestSecondTryHasNoTimeOfItsOwn(t *testing.T) {
	h := mcptest.Handler(mcptest.Behaviour{})
	var calls atomic.Int32
	s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = bodyOf(body)
		if !strings.Contains(string(body), `"tools/call"`) {
			h.ServeHTTP(w, r)
			return
		}
		n := calls.Add(1)
		time.Sleep(150 * time.Millisecond)
		if n == 4 { // of the second call: its session is gone by then
			http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, http.StatusNotFound)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	over := overshoot(t, 250*time.Millisecond, func(ctx context.Context) {
		_, err := s.Call(context.WithoutCancel(ctx), "echo", nil, CallOptions{Replay: flag(true), Limits: toolsource.Limits{Silence: 250 * time.Millisecond}})
		if !errors.Is(err, toolsource.ErrTimeout) {
			t.Errorf("error %v", err)
		}
	})
	if over > 50*time.Millisecond || calls.Load() != 2 {
		t.Errorf("%v over the limit, %d calls", over, calls.Load())
	}
	_, err := s.Call(t.Context(), "echo", nil, CallOptions{Replay: flag(true)})
	var e *toolsource.CallError
	if !errors.As(err, &e) || e.Kind != toolsource.KindSessionLost || !e.MayHaveRun || calls.Load() != 4 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	if st := s.Status(); st.State != toolsource.StateReady {
		t.Errorf("the new session was blamed: %+v", st)
	}
}

// What answers with success and something else is no MCP server, and the error says what was found and what
// is looked for. Other failures are not called that.
func TestNoMCPEndpoint(t *testing.T) {
	const named = "application/json or text/event-stream"
	for _, tc := range []struct {
		why, contentType string
		status           int
		body             string
		foreign          bool
		permanent        bool
	}{
		{"a web page", "text/html; charset=utf-8", 200, "<html>", true, true},
		{"its name in capitals", "TEXT/HTML", 200, "<html>", true, true},
		{"a text", "text/plain", 200, "hello", true, true},
		{"XML", "application/xml", 200, "<a/>", true, true},
		{"created", "text/html", 201, "<html>", true, true},
		{"a page that refuses", "text/html", 500, "<html>", false, false},
		{"unavailable", "text/html", 503, "<html>", false, false},
		{"not there", "text/html", 404, "<html>", false, true},
		{"not for us", "text/html", 403, "<html>", false, false},
		{"no token", "text/html", 401, "<html>", false, false},
		{"JSON that is no reply", "application/json", 200, `{"hello":1}`, false, false},
		{"a stream without a reply", "text/event-stream", 200, ": hello\n\n", false, false},
	} {
		var methods []string
		var mu sync.Mutex
		s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			methods = append(methods, r.Method)
			mu.Unlock()
			w.Header().Set("Content-Type", tc.contentType)
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}), func(c *ServerConfig) { c.NoSSEFallback = true })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := s.Start(ctx)
		cancel()
		if err == nil || errors.Is(err, toolsource.ErrPermanent) != tc.permanent || strings.Contains(err.Error(), named) != tc.foreign {
			t.Errorf("%s: %v", tc.why, err)
			continue
		}
		if tc.foreign {
			kind, _, _ := strings.Cut(strings.ToLower(tc.contentType), ";")
			for _, want := range []string{`server "web"`, kind, "/mcp"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is not in %v", tc.why, want, err)
				}
			}
			var st *StatusError
			if !errors.As(err, &st) || st.ContentType != kind || s.Status().State != toolsource.StateParked {
				t.Errorf("%s: %+v, %v", tc.why, st, s.Status().State)
			}
			mu.Lock()
			if slices.Contains(methods, http.MethodHead) || len(methods) > 2 {
				t.Errorf("%s: it was asked %v", tc.why, methods)
			}
			mu.Unlock()
		}
		_ = s.Close()
	}
	s := newHTTPServer(t, http.NotFoundHandler(), func(c *ServerConfig) { c.URL = "http://127.0.0.1:1/mcp" })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Start(ctx); err == nil || errors.Is(err, toolsource.ErrPermanent) {
		t.Errorf("refused: %v", err)
	}
}
