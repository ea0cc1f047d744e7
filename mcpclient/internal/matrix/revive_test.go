package matrix

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// wayTo is the way to a server in memory, at which a test stands.
type wayTo struct {
	http.RoundTripper
	down  atomic.Bool                                         // nothing gets through
	reply atomic.Pointer[func(message string) *http.Response] // in place of the server's, unless it gives nil
}

var errWayDown = errors.New("connect: no route to host")

func (w *wayTo) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.down.Load() {
		return nil, errWayDown
	}
	if reply := w.reply.Load(); reply != nil && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if resp := (*reply)(string(body)); resp != nil {
			resp.Request = r
			return resp, nil
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return w.RoundTripper.RoundTrip(r)
}

// answer is an HTTP answer.
func answer(status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// serveOver is serve over memory, with somebody on the way, and no chance in the pauses.
func serveOver(t *testing.T, b mcptest.Behaviour, change ...func(*mcpclient.ServerConfig)) (*mcpclient.Server, *wayTo) {
	t.Helper()
	p, err := mcptest.Start(mcptest.Memory, b)
	if err != nil {
		t.Fatal(err)
	}
	w := &wayTo{RoundTripper: p.HTTP}
	cfg := mcpclient.ServerConfig{ID: "srv", URL: p.URL, CloseBound: closeBound, Era: mcpclient.Era20251125}
	for _, c := range change {
		c(&cfg)
	}
	s, err := mcpclient.New(cfg, &mcpclient.Options{HTTPTransport: w, Jitter: func(d time.Duration) time.Duration { return d }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		p.Close()
	})
	return s, w
}

// A server that cannot be reached is tried at 0, 1, 3 and 7 seconds and then given up; while it is, nobody
// who asks for it has it tried again. It is back by the probe that comes by itself, and told of.
func TestGivenUpAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := serveOver(t, mcptest.Behaviour{})
		w.down.Store(true)
		var told atomic.Int32
		defer s.Watch(func() { told.Add(1) })()
		if err := s.Start(t.Context()); !errors.Is(err, toolsource.ErrUnavailable) || !strings.Contains(err.Error(), errWayDown.Error()) {
			t.Errorf("first: %v", err)
		}
		time.Sleep(7*time.Second + time.Millisecond)
		st := s.Status()
		if st.State != toolsource.StateParked || st.Attempts != 4 || st.Err == nil || !strings.Contains(st.Err.Error(), errWayDown.Error()) {
			t.Fatalf("after seven seconds: %+v", st)
		}
		for range 3 {
			_, err := s.List(t.Context())
			_, cerr := s.Call(t.Context(), "echo", nil, mcpclient.CallOptions{})
			if !errors.Is(err, toolsource.ErrUnavailable) || !errors.Is(cerr, toolsource.ErrUnavailable) {
				t.Errorf("given up: %v, %v", err, cerr)
			}
		}
		if n := s.Status().Attempts; n != 4 {
			t.Errorf("asking had it tried again: %d attempts", n)
		}
		w.down.Store(false)
		before := told.Load()
		time.Sleep(300 * time.Second)
		synctest.Wait()
		if st := s.Status(); st.State != toolsource.StateReady || st.Tools == 0 || told.Load() == before {
			t.Errorf("back: %+v, told %d times", st, told.Load()-before)
		}
		echoes(t, s)
		if st := s.Status(); st.Err != nil {
			t.Errorf("proven, and an error still stands: %v", st.Err)
		}
	})
}

// One that was given up is tried at once when it is asked for expressly, and is the same server then.
func TestGivenUpAndReconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := serveOver(t, mcptest.Behaviour{})
		w.down.Store(true)
		_ = s.Start(t.Context())
		time.Sleep(8 * time.Second)
		w.down.Store(false)
		s.Reconnect()
		synctest.Wait()
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := s.Status(); st.State != toolsource.StateReady || st.Epoch != 1 {
			t.Errorf("%+v", st)
		}
		echoes(t, s)
		if st := s.Status(); st.Err != nil {
			t.Errorf("an error still stands: %v", st.Err)
		}
	})
}

// Closing ends the tries: nobody is tried for afterwards, and who waits learns why there was no session.
func TestClosedWhileItIsTriedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := serveOver(t, mcptest.Behaviour{})
		w.down.Store(true)
		_ = s.Start(t.Context())
		attempts := s.Status().Attempts
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if st := s.Status(); st.Attempts != attempts || st.State != toolsource.StateClosed {
			t.Errorf("%+v", st)
		}
		if err := s.Start(t.Context()); !errors.Is(err, toolsource.ErrClosed) {
			t.Error(err)
		}
	})
}

// A ping is asked once a period, whatever the server offers, and no listing in its place. That the session
// is gone is the end of it; any other answer, whatever its words, is one of a server that is alive.
func TestKeepaliveAnswers(t *testing.T) {
	const period = 10 * time.Second
	refusal := func(code, text string) func(string) *http.Response {
		return func(message string) *http.Response {
			id, _, _ := strings.Cut(message[strings.Index(message, `"id":`)+len(`"id":`):], ",")
			return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+strings.TrimRight(id, "}")+`,"error":{"code":`+code+`,"message":"`+text+`"}}`)
		}
	}
	for _, tc := range []struct {
		why    string
		b      mcptest.Behaviour
		ping   func(message string) *http.Response // of the first period; nil: the server's own
		epochs uint64
		pings  int // in two periods
		lists  int
	}{
		{"tools", mcptest.Behaviour{}, nil, 1, 2, 1},
		{"no tools", mcptest.Behaviour{NoTools: true}, nil, 1, 2, 0},
		{"no ping", mcptest.Behaviour{}, refusal("-32601", "Method not found"), 1, 1, 1},
		{"no ping, in words", mcptest.Behaviour{}, refusal("-32603", "Unknown method: ping"), 1, 1, 1},
		{"words about sessions", mcptest.Behaviour{}, refusal("-32603", "session terminated"), 1, 1, 1},
		{"the session is gone", mcptest.Behaviour{}, func(string) *http.Response { return answer(404, "text/plain", "session terminated") }, 2, 1, 2},
	} {
		journal := filepath.Join(t.TempDir(), "journal")
		synctest.Test(t, func(t *testing.T) {
			tc.b.Journal = journal
			s, w := serveOver(t, tc.b, func(c *mcpclient.ServerConfig) { c.Keepalive = period })
			if tc.ping != nil {
				var done atomic.Bool
				reply := func(message string) *http.Response {
					if strings.Contains(message, `"method":"ping"`) && done.CompareAndSwap(false, true) {
						return tc.ping(message)
					}
					return nil
				}
				w.reply.Store(&reply)
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(tc.why, err)
			}
			time.Sleep(2*period + period/2)
			synctest.Wait()
			if st := s.Status(); st.State != toolsource.StateReady || st.Epoch != tc.epochs {
				t.Errorf("%s: %+v", tc.why, st)
			}
		})
		if p, l := lines(t, journal, "ping"), lines(t, journal, "tools/list"); p != tc.pings || l != tc.lists {
			t.Errorf("%s: %d pings and %d listings, want %d and %d", tc.why, p, l, tc.pings, tc.lists)
		}
	}
}

// A tool that runs out of time fails alone: the session, its listing and other calls stay.
func TestTimeoutCostsOnlyItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serveOver(t, mcptest.Behaviour{}, func(c *mcpclient.ServerConfig) {
			c.Tools = map[string]mcpclient.ToolConfig{"mute": {Limits: toolsource.Limits{Silence: time.Second}}}
		})
		before, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			begin := time.Now()
			if _, err := s.Call(t.Context(), "mute", nil, mcpclient.CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			echoes(t, s)
		}
		after, ok := s.Last()
		if st := s.Status(); !ok || st.Epoch != 1 || st.State != toolsource.StateReady || len(after.Tools) != len(before.Tools) {
			t.Errorf("%+v, %d tools of %d", st, len(after.Tools), len(before.Tools))
		}
	})
}
