//go:build unix

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

// odd is an HTTP server that answers tools/call as on tells it to; the rest it does by the book.
type odd struct {
	*httptest.Server
	on      func(w http.ResponseWriter, r *http.Request, id string, m in)
	get     http.HandlerFunc // nil: 405
	init    http.HandlerFunc // nil: by the book
	modern  bool             // answers discover
	told    func(in)         // of a cancellation; may be nil
	mu      sync.Mutex
	heads   []http.Header // of every request but the first
	deleted atomic.Int64
	gets    atomic.Int64
	inits   atomic.Int64
	cancels atomic.Int64
	replies atomic.Int64
}

func newOdd(t testing.TB) *odd {
	o := &odd{}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	return o
}

func jsonReply(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func events(w http.ResponseWriter, s string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, s)
	w.(http.Flusher).Flush()
}

func (o *odd) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodDelete:
		o.deleted.Add(1)
		return
	case http.MethodGet:
		o.gets.Add(1)
		if o.get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
		} else {
			o.get(w, r)
		}
		return
	}
	var m in
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, "bad JSON", http.StatusBadRequest)
		return
	}
	if m.Method != "initialize" {
		o.mu.Lock()
		o.heads = append(o.heads, r.Header.Clone())
		o.mu.Unlock()
	}
	id := string(m.ID)
	switch m.Method {
	case "initialize":
		o.inits.Add(1)
		if o.init != nil {
			o.init(w, r)
			return
		}
		w.Header().Set(headerSession, "s-1")
		jsonReply(w, id, helloResult)
	case "server/discover":
		if o.modern {
			jsonReply(w, id, discoverResult)
		} else {
			w.WriteHeader(http.StatusAccepted)
		}
	case "tools/list":
		jsonReply(w, id, listResult)
	case "tools/call":
		switch {
		case m.Params.Name == "echo":
			jsonReply(w, id, text(string(m.Params.Arguments)))
		case m.Params.Name == "echo-events":
			events(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":"+text(string(m.Params.Arguments))+"}\n\n")
		default:
			o.on(w, r, id, m)
		}
	case "notifications/cancelled":
		o.cancels.Add(1)
		if o.told != nil {
			o.told(m)
		}
		w.WriteHeader(http.StatusAccepted)
	case "":
		o.replies.Add(1)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (o *odd) dial(t testing.TB, cfg HTTPConfig, opts Options) *peer {
	t.Helper()
	cfg.URL = o.URL
	p, err := connect(t, NewHTTP(cfg, opts), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHTTPListAndCallAreRaw(t *testing.T) {
	o := newOdd(t)
	cfg := HTTPConfig{Headers: func(context.Context) (http.Header, error) {
		return http.Header{"X-Api-Key": {"k"}, "Accept": {"nonsense"}}, nil
	}}
	p := o.dial(t, cfg, Options{})
	s := &Slot{}
	_, err := p.ListTools(WithSlot(t.Context(), s), nil)
	if got := (*Slot)(nil); !errors.As(err, &got) || string(s.Raw) != listResult {
		t.Fatalf("%v %s", err, s.Raw)
	}
	p.mustEcho(t, `{"b":9007199254740993,"a":"\u00e9"}`)
	s, err = p.call(t.Context(), "echo-events", `{"z":1.0}`)
	if err != nil || textOf(t, s) != `{"z":1.0}` {
		t.Fatal(err)
	}
	closed(t, p.conn)
	if o.deleted.Load() != 1 {
		t.Errorf("%d DELETEs", o.deleted.Load())
	}
	for _, h := range o.heads {
		if h.Get("X-Api-Key") != "k" || h.Get(headerSession) != "s-1" || h.Get(headerVersion) != legacy ||
			h.Get("Accept") != "application/json, text/event-stream" || h.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", h)
		}
	}
	if p.conn.SessionID() != "s-1" {
		t.Error("no session id")
	}
}

func TestHTTPDeadlineCancelAndClose(t *testing.T) {
	for _, tt := range []struct {
		why string
		on  func(http.ResponseWriter, *http.Request)
	}{
		{"no headers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"half a JSON body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"a silent stream", func(w http.ResponseWriter, r *http.Request) {
			events(w, ": hello\n\n")
			<-r.Context().Done()
		}},
	} {
		o := newOdd(t)
		o.on = func(w http.ResponseWriter, r *http.Request, _ string, _ in) { tt.on(w, r) }
		p := o.dial(t, HTTPConfig{}, Options{})
		var s *Slot
		var err error
		late := overshoot(200*time.Millisecond, func(ctx context.Context) { s, err = p.call(ctx, "hang", `{}`) })
		if !errors.Is(err, context.DeadlineExceeded) || late > slack || !s.Sent() {
			t.Errorf("%s: %v, %v late", tt.why, err, late)
		}
		waitFor(t, func() bool { return o.cancels.Load() == 1 })
		p.mustEcho(t, `{}`)

		freed := make(chan error, 1)
		go func() {
			_, err := p.call(context.Background(), "hang", `{}`)
			freed <- err
		}()
		waitFor(t, func() bool { return p.conn.(*httpConn).calls.len() == 1 })
		closed(t, p.conn)
		select {
		case err := <-freed:
			if err == nil {
				t.Errorf("%s: no error", tt.why)
			}
		case <-time.After(time.Second):
			t.Fatalf("%s: Close did not free the call", tt.why)
		}
	}
}

func TestHTTPBoundedDelete(t *testing.T) {
	o := newOdd(t)
	inner := o.Server.Config.Handler
	o.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	})
	p := o.dial(t, HTTPConfig{}, Options{})
	began := time.Now()
	closed(t, p.conn)
	if d := time.Since(began); d > 1500*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

func TestHTTPParallelAndMegabyte(t *testing.T) {
	o := newOdd(t)
	p := o.dial(t, HTTPConfig{}, Options{})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			name := []string{"echo", "echo-events"}[i%2]
			for j := range 10 {
				args := fmt.Sprintf(`{"i":%d,"j":%d}`, i, j)
				s, err := p.call(t.Context(), name, args)
				if err != nil {
					t.Error(err)
					return
				}
				if got := textOf(t, s); got != args {
					t.Errorf("%s got %s", args, got)
				}
			}
		})
	}
	wg.Wait()
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, name := range []string{"echo", "echo-events"} {
		s, err := p.call(t.Context(), name, big)
		if err != nil || textOf(t, s) != big {
			t.Fatal(name, err)
		}
	}
}

// The canary for HTTP.
func TestCanaryTappedHTTPCallIsLight(t *testing.T) {
	answer := []byte(`{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`)
	o := newOdd(t)
	rt := &cannedTransport{inner: http.DefaultTransport, answer: answer}
	p := o.dial(t, HTTPConfig{Transport: rt, NoGetStream: true}, Options{})
	const n = 200
	var before, after runtime.MemStats
	for round := range 2 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			s, err := p.call(context.Background(), "canned", `{"x":"thirty bytes of an argument"}`)
			if err != nil || s.Raw == nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		per := (after.TotalAlloc - before.TotalAlloc) / n
		t.Logf("%d bytes a call, without net/http's own", per)
		if round == 1 && per > 4500 {
			t.Errorf("%d bytes a call", per)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// cannedTransport answers tools/call without a server, so that only the client's side is measured.
type cannedTransport struct {
	inner  http.RoundTripper
	answer []byte
}

func (c *cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return c.inner.RoundTrip(r)
	}
	body, _ := io.ReadAll(r.Body)
	if !bytes.Contains(body, []byte(`"canned"`)) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return c.inner.RoundTrip(r)
	}
	env, _ := scan(body)
	b := bytes.Replace(c.answer, []byte("ID"), env.id.of(body), 1)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(b)), Body: io.NopCloser(bytes.NewReader(b)), Request: r}, nil
}

func TestHTTPWithTheSDKsServer(t *testing.T) {
	for _, opts := range []*mcp.StreamableHTTPOptions{nil, {JSONResponse: true}, {EventStore: mcp.NewMemoryEventStore(nil)}, {Stateless: true}} {
		srv := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		srv.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
		hs := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, opts))
		p, err := connect(t, NewHTTP(HTTPConfig{URL: hs.URL}, Options{}), legacy, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			p.mustEcho(t, `{"n":9007199254740993}`)
		}
		closed(t, p.conn)
		hs.CloseClientConnections()
		hs.Close()
	}
}

// cancellingTransport fails as net/http does when it hands on a connection that another request's end closes.
type cancellingTransport struct {
	http.RoundTripper
	times atomic.Int64
	read  bool // the body has begun to leave
}

func (c *cancellingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.times.Add(-1) < 0 {
		return c.RoundTripper.RoundTrip(r)
	}
	if c.read {
		_, _ = r.Body.Read(make([]byte, 1))
	}
	return nil, context.Canceled
}

func TestHTTPCancelOfAnotherRequest(t *testing.T) {
	for _, tt := range []struct {
		times int64
		read  bool
		ok    bool
		why   string
	}{
		{maxForeignCancels, false, true, "nothing had left: sent again"},
		{maxForeignCancels + 1, false, false, "not for ever"},
		{1, true, false, "it may have left: not sent again"},
	} {
		o := newOdd(t)
		tr := &http.Transport{}
		rt := &cancellingTransport{RoundTripper: tr, read: tt.read}
		p := o.dial(t, HTTPConfig{Transport: rt, NoGetStream: true}, Options{})
		rt.times.Store(tt.times)
		s, err := p.call(t.Context(), "echo", `{}`)
		if tt.ok != (err == nil) || s.Sent() != (tt.read || tt.ok) || err != nil && errors.Is(err, toolsource.ErrNotReached) == tt.read {
			t.Errorf("%s: %v, sent %v", tt.why, err, s.Sent())
		}
		rt.times.Store(0)
		closed(t, p.conn)
		tr.CloseIdleConnections()
	}
}
