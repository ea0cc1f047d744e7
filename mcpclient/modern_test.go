package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// modernHTTP knows 2026-07-28 only, and checks the headers.
type modernHTTP struct {
	mu     sync.Mutex
	tools  string
	region string // header that tools/call wants to have the argument region; "": none
	seen   []string
	faults []string
}

func (h *modernHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments map[string]any
		}
	}
	_ = json.Unmarshal(body, &m)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, m.Method)
	answer := func(status int, key, raw string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, key, raw)
	}
	if m.Method != "initialize" && (r.Header.Get("Mcp-Method") != m.Method || r.Header.Get("Mcp-Protocol-Version") != Era20260728 ||
		r.Header.Get("Mcp-Name") != m.Params.Name || r.Header.Get("Mcp-Session-Id") != "") {
		h.faults = append(h.faults, fmt.Sprint(m.Method, r.Header))
	}
	switch m.Method {
	case "server/discover":
		w.Header().Set("Mcp-Session-Id", "not to be kept")
		answer(200, "result", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case "tools/list":
		answer(200, "result", `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[`+h.tools+`]}`)
	case "tools/call":
		if h.region != "" && r.Header.Get(h.region) != m.Params.Arguments["region"] {
			answer(400, "error", `{"code":-32020,"message":"header mismatch"}`)
			return
		}
		answer(200, "result", `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`)
	default:
		answer(404, "error", `{"code":-32601,"message":"method not found"}`)
	}
}

func (h *modernHTTP) requests() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := strings.Join(h.seen, " ")
	h.seen = nil
	return seen
}

func headerTool(header string) string {
	return `{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"` + header + `"}}}}`
}

func TestCase80OverHTTP(t *testing.T) {
	h := &modernHTTP{tools: headerTool("Region") + `,{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}},{"name":"plain"}`, region: "Mcp-Param-Region"}
	s := newHTTPServer(t, h)
	l, err := s.List(t.Context())
	if err != nil || !cmp.Equal(names(l), []string{"x", "plain"}) {
		t.Fatalf("%v, %v", names(l), err)
	}
	if p := problems(l); !strings.Contains(p, `tool "bad" left out`) {
		t.Errorf("problems: %s", p)
	}
	call := func() error {
		_, err := s.Call(t.Context(), "x", map[string]any{"region": "eu-1"}, CallOptions{})
		return err
	}
	if err := call(); err != nil {
		t.Error(err)
	}
	if st := s.Status(); st.Era != Era20260728 || st.Transport != TransportHTTP {
		t.Errorf("%+v", st)
	}
	if got := h.requests(); got != "server/discover tools/list tools/call" {
		t.Errorf("it cost %s", got)
	}
	// The tool has another header from now on: the call is refused, the list read again, and the call made.
	h.mu.Lock()
	h.tools, h.region = headerTool("Place"), "Mcp-Param-Place"
	h.mu.Unlock()
	if err := call(); err != nil {
		t.Error(err)
	}
	if got := h.requests(); got != "tools/call tools/list tools/call" {
		t.Errorf("it cost %s", got)
	}
	// A server that never agrees is asked twice and no more; the call has not run.
	h.mu.Lock()
	h.region = "Mcp-Param-Nowhere"
	h.mu.Unlock()
	var e *toolsource.CallError
	if err := call(); !errors.As(err, &e) || e.MayHaveRun {
		t.Errorf("error %v", err)
	}
	if got := h.requests(); got != "tools/call tools/list tools/call" {
		t.Errorf("it cost %s", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.faults) > 0 {
		t.Errorf("headers that are wrong: %v", h.faults)
	}
}

// A server of the older kind is found out by one trip, whatever it says to server/discover, and asked for
// nothing else afterwards; a refusal for want of a token is no sign of its age.
func TestCase80LegacyOverHTTP(t *testing.T) {
	good := mcptest.Handler(mcptest.Behaviour{})
	for _, tc := range []struct {
		why string
		no  http.HandlerFunc
	}{
		{"method not found", nil},
		{"400", answers(400, "Bad Request: No valid session ID provided")},
		{"404", answers(404, "no")},
		{"a page", answers(200, "<html>")},
		{"500", answers(500, "oops")},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = bodyOf(body)
				var m struct{ Method string }
				_ = json.Unmarshal(body, &m)
				mu.Lock()
				seen[m.Method]++
				mu.Unlock()
				if m.Method == "server/discover" && tc.no != nil {
					tc.no(w, r)
					return
				}
				good.ServeHTTP(w, r)
			}))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := reconnectHTTP(t, s); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen["server/discover"] != 1 || seen["initialize"] != 2 || s.Status().Era != Era20251125 || s.Status().Transport != TransportHTTP {
				t.Errorf("%v, %+v", seen, s.Status())
			}
		})
	}
	s := newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{Authorization: "Bearer x"}))
	if err := s.Start(t.Context()); !errors.Is(err, toolsource.ErrNeedsAuth) {
		t.Errorf("no token: %v", err)
	}
}

// Silence to server/discover costs the probe's limit once; the same server answers initialize.
func TestSilentDiscoverOverHTTP(t *testing.T) {
	good := mcptest.Handler(mcptest.Behaviour{})
	var mu sync.Mutex
	silent := 0
	s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = bodyOf(body)
		if strings.Contains(string(body), "server/discover") {
			mu.Lock()
			silent++
			mu.Unlock()
			<-r.Context().Done()
			return
		}
		good.ServeHTTP(w, r)
	}), func(c *ServerConfig) { c.EraProbe = 100 * time.Millisecond })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := reconnectHTTP(t, s); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if st := s.Status(); silent != 1 || st.Epoch != 2 || st.Err != nil {
		t.Errorf("%d probes, %+v", silent, st)
	}
}

// The SDK's own servers over HTTP: one without sessions speaks the newest revision, one with them does not.
// A change of the list is told in both.
func TestSDKServerOverHTTP(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		srv := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
		type in struct {
			N int64 `json:"n"`
		}
		same := func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, in, error) {
			return nil, i, nil
		}
		mcp.AddTool(srv, &mcp.Tool{Name: "same"}, same)
		hs := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		s := newHTTPServer(t, nil, func(c *ServerConfig) { c.URL = hs.URL })
		l, err := s.List(t.Context())
		if err != nil || !cmp.Equal(names(l), []string{"same"}) {
			t.Fatalf("stateless %v: %v, %v", stateless, names(l), err)
		}
		want := Era20251125
		if stateless {
			want = Era20260728
		}
		if got := s.Status().Era; got != want {
			t.Errorf("stateless %v: era %s", stateless, got)
		}
		res, err := s.Call(t.Context(), "same", map[string]any{"n": 5}, CallOptions{})
		if diff := cmp.Diff(map[string]any{"n": int64(5)}, res.Value); err != nil || diff != "" {
			t.Errorf("stateless %v: %v, %s", stateless, err, diff)
		}
		time.Sleep(100 * time.Millisecond) // for the stream that carries changes
		mcp.AddTool(srv, &mcp.Tool{Name: "more"}, same)
		waitFor(t, func() bool { l, _ := s.Last(); return len(l.Tools) == 2 })
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		hs.Close()
	}
}
