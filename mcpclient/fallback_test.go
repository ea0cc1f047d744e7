package mcpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// bothDoors serves the older transport, except that requests to the address itself get an answer of the
// test's. It notes the requests to the address.
type bothDoors struct {
	post, get http.HandlerFunc // nil: the older transport's

	mu   sync.Mutex
	seen []string
	sse  http.Handler
}

func (h *bothDoors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/message" && r.Method != http.MethodDelete {
		h.mu.Lock()
		h.seen = append(h.seen, r.Method)
		h.mu.Unlock()
		if f := map[string]http.HandlerFunc{"POST": h.post, "GET": h.get}[r.Method]; f != nil {
			f(w, r)
			return
		}
	}
	h.sse.ServeHTTP(w, r)
}

func (h *bothDoors) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.seen...)
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, body, status)
	}
}

func TestCase72Fallback(t *testing.T) {
	for _, tc := range []struct {
		why      string
		status   int
		fallback bool
		is       error
	}{
		{"bad request", 400, true, nil},
		{"not found", 404, true, nil},
		{"no POST there", 405, true, nil},
		{"needs a token", 401, false, toolsource.ErrNeedsAuth},
		{"forbidden", 403, false, toolsource.ErrForbidden},
		{"not acceptable", 406, false, toolsource.ErrPermanent},
		{"too many", 429, false, toolsource.ErrUnavailable},
		{"fault", 500, false, toolsource.ErrUnavailable},
		{"bad gateway", 502, false, toolsource.ErrUnavailable},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			h := &bothDoors{post: answers(tc.status, "no"), sse: mcptest.SSEHandler(mcptest.Behaviour{})}
			s := newHTTPServer(t, h)
			l, err := s.List(t.Context())
			if !tc.fallback {
				if !errors.Is(err, tc.is) || !cmp.Equal(h.requests()[:1], []string{"POST"}) || strings.Contains(strings.Join(h.requests(), " "), "GET") {
					t.Errorf("%v, requests %v", err, h.requests())
				}
				return
			}
			if err != nil || len(l.Tools) == 0 || s.Status().Transport != TransportSSE || s.Config().Transport != TransportHTTP {
				t.Fatalf("%v, status %+v", err, s.Status())
			}
			if st := s.Status(); st.Epoch != 1 || st.Attempts != 0 {
				t.Errorf("it cost more than one attempt: %+v", st)
			}
			if err := reconnectHTTP(t, s); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"POST", "POST", "GET", "GET"}, h.requests()); diff != "" {
				t.Errorf("what works is not remembered: %s", diff)
			}
		})
	}
}

func reconnectHTTP(t *testing.T, s *Server) error {
	t.Helper()
	sess, epoch := s.live(), s.Status().Epoch
	_ = sess.conn.Close()
	waitFor(t, func() bool { return s.Status().Epoch > epoch })
	_, err := s.Call(t.Context(), "echo", map[string]any{"text": "x"}, CallOptions{})
	return err
}

// No answer at all, and an address where nobody listens, are no reason for the other transport.
func TestCase72NoFallback(t *testing.T) {
	h := &bothDoors{sse: mcptest.SSEHandler(mcptest.Behaviour{}), post: func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}}
	s := newHTTPServer(t, h, func(c *ServerConfig) { c.Connect = 200 * time.Millisecond })
	if _, err := s.List(t.Context()); err == nil || strings.Contains(strings.Join(h.requests(), " "), "GET") {
		t.Errorf("after silence: %v, %v", err, h.requests())
	}
	_ = s.Close()

	h = &bothDoors{post: answers(404, ""), sse: mcptest.SSEHandler(mcptest.Behaviour{})}
	s = newHTTPServer(t, h, func(c *ServerConfig) { c.NoSSEFallback = true })
	if _, err := s.List(t.Context()); !errors.Is(err, toolsource.ErrPermanent) || strings.Contains(strings.Join(h.requests(), " "), "GET") {
		t.Errorf("switched off: %v, %v", err, h.requests())
	}

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s = newHTTPServer(t, nil, func(c *ServerConfig) { c.URL = gone.URL })
	if _, err := s.List(t.Context()); err == nil || strings.Contains(err.Error(), "older transport") || errors.Is(err, toolsource.ErrPermanent) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A session that was there before is lost to a fault of the server, not to a change of its transport.
func TestNoFallbackOnceConnected(t *testing.T) {
	var broken atomic.Bool
	sse := mcptest.SSEHandler(mcptest.Behaviour{})
	good := mcptest.Handler(mcptest.Behaviour{})
	h := &bothDoors{sse: sse, post: func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			answers(404, "")(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}, get: func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() { // the older transport is there now
			sse.ServeHTTP(w, r)
			return
		}
		answers(405, "")(w, r)
	}}
	s := newHTTPServer(t, h)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	_ = s.live().conn.Close()
	waitFor(t, func() bool { return s.Status().State == toolsource.StateParked })
	if st := s.Status(); st.Transport != TransportHTTP {
		t.Errorf("%+v", st)
	}
}

func TestCase72BothFail(t *testing.T) {
	for _, tc := range []struct {
		why       string
		post, get http.HandlerFunc
		words     []string
		is        error
		isNot     error
	}{
		{"nothing there", answers(404, "no such page"), answers(404, "no such page"), []string{"404", "no such page"}, toolsource.ErrPermanent, toolsource.ErrNeedsAuth},
		{"the other wants a token", answers(405, ""), answers(401, ""), []string{"405", "401"}, toolsource.ErrNeedsAuth, toolsource.ErrPermanent},
		{"the other is broken for now", answers(404, ""), answers(503, "later"), []string{"404", "503", "later"}, toolsource.ErrUnavailable, toolsource.ErrPermanent},
		{"the other is a page", answers(404, ""), answers(200, "<html>"), []string{"404", "200"}, toolsource.ErrPermanent, toolsource.ErrNeedsAuth},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := newHTTPServer(t, &bothDoors{post: tc.post, get: tc.get})
			_, err := s.List(t.Context())
			if !errors.Is(err, tc.is) || errors.Is(err, tc.isNot) || !errors.Is(err, toolsource.ErrUnavailable) {
				t.Fatalf("error %v", err)
			}
			text := err.Error()
			first, second := strings.Index(text, "over streamable HTTP: "), strings.Index(text, "over the older transport with events: ")
			if first < 0 || second < first || strings.Contains(text, "\n") {
				t.Errorf("the causes are not both there in order: %s", text)
			}
			for _, w := range tc.words {
				if !strings.Contains(text, w) {
					t.Errorf("%q is missing from: %s", w, text)
				}
			}
			var st *StatusError
			if !errors.As(err, &st) {
				t.Error("no status")
			}
		})
	}
}

// An address that ends in /sse is taken for what it says, unless a transport is named; if it is not, the
// other one is tried.
func TestCase72Addresses(t *testing.T) {
	for _, tc := range []struct{ url, transport, want string }{
		{"http://127.0.0.1:9/sse", "", "sse http"},
		{"http://127.0.0.1:9/mcp/sse/", "", "sse http"},
		{"http://127.0.0.1:9/mcp/sse-events", "", "http sse"},
		{"http://127.0.0.1:9/mcp?x=/sse", "", "http sse"},
		{"http://127.0.0.1:9/sse", "http", "http sse"},
		{"http://127.0.0.1:9/mcp", "http", "http sse"},
		{"http://127.0.0.1:9/sse", "sse", "sse"},
	} {
		s, err := New(ServerConfig{ID: "a", URL: tc.url, Transport: tc.transport}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.settings().ways, " "); got != tc.want {
			t.Errorf("%s, transport %q: %s, want %s", tc.url, tc.transport, got, tc.want)
		}
		_ = s.Close()
	}
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{}), func(c *ServerConfig) { c.URL = strings.TrimSuffix(c.URL, "/mcp") + "/sse" })
	if _, err := s.List(t.Context()); err != nil || s.Status().Transport != TransportHTTP {
		t.Errorf("%v, %+v", err, s.Status())
	}
}

// A server that is too busy says when to come again, and is left alone until then.
func TestCase72RetryAfter(t *testing.T) {
	good := mcptest.Handler(mcptest.Behaviour{})
	var mu sync.Mutex
	var at []time.Time
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		first := len(at) == 1
		mu.Unlock()
		if first {
			w.Header().Set("Retry-After", "1")
			answers(429, "busy")(w, r)
			return
		}
		good.ServeHTTP(w, r)
	})
	hs := httptest.NewServer(h)
	defer hs.Close()
	s, err := New(ServerConfig{ID: "web", URL: hs.URL}, &Options{Jitter: func(time.Duration) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("error %v", err)
	}
	if _, err := s.Call(t.Context(), "echo", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if wait := at[1].Sub(at[0]); wait < 900*time.Millisecond {
		t.Errorf("it was tried again after %v", wait)
	}
}
