//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

// oddSSE is a server of the legacy transport.
type oddSSE struct {
	*httptest.Server
	first  string // what the stream begins with
	then   string // "end": the stream ends after it; "silence": no endpoint is wanted
	on     func(write func(string), w http.ResponseWriter, r *http.Request, id string, m in)
	told   func(write func(string), m in) // of a cancellation; may be nil
	posted atomic.Int64
}

func newOddSSE(t testing.TB) *oddSSE {
	o := &oddSSE{first: "event: endpoint\ndata: /message?sessionId=abc\n\n"}
	var mu sync.Mutex
	var stream http.ResponseWriter
	write := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		if stream != nil {
			_, _ = io.WriteString(stream, s)
			stream.(http.Flusher).Flush()
		}
	}
	send := func(id, result string) {
		write("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":" + result + "}\n\n")
	}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			mu.Lock()
			stream = w
			_, _ = io.WriteString(w, o.first)
			w.(http.Flusher).Flush()
			mu.Unlock()
			if o.then != "end" {
				<-r.Context().Done()
			}
			mu.Lock()
			defer mu.Unlock()
			stream = nil
			return
		}
		o.posted.Add(1)
		if r.URL.Path != "/message" || !strings.HasPrefix(r.URL.RawQuery, "sessionId=abc") || r.Header.Get("X-Api-Key") != "k" {
			http.Error(w, "wrong place", http.StatusTeapot)
			return
		}
		var m in
		_ = json.NewDecoder(r.Body).Decode(&m)
		id := string(m.ID)
		switch {
		case m.Method == "initialize":
			send(id, helloResult)
		case m.Method == "tools/list":
			send(id, listResult)
		case m.Method == "tools/call" && m.Params.Name == "echo":
			send(id, text(string(m.Params.Arguments)))
		case m.Method == "notifications/cancelled" && o.told != nil:
			o.told(write, m)
		case m.Method == "tools/call":
			o.on(write, w, r, id, m)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
	}))
	t.Cleanup(func() { o.CloseClientConnections(); o.Close() })
	return o
}

func (o *oddSSE) dial(t testing.TB, opts Options) (*peer, error) {
	t.Helper()
	return connect(t, NewSSE(HTTPConfig{URL: o.URL + "/sse", Headers: func(context.Context) (http.Header, error) {
		return http.Header{"X-Api-Key": {"k"}}, nil
	}}, opts), legacy, nil)
}

func TestSSEEndpoints(t *testing.T) {
	for _, tt := range []struct {
		first, then string
		ok          bool
		says        string
		why         string
	}{
		{"event: endpoint\ndata: /message?sessionId=abc\n\n", "", true, "", "absolute path"},
		{"event: endpoint\ndata: message?sessionId=abc\n\n", "", true, "", "relative path"},
		{"event: endpoint\ndata: URL/message?sessionId=abc\n\n", "", true, "", "whole URL"},
		{"\xEF\xBB\xBF: ping\r\n\r\nevent: endpoint\r\ndata: /message?sessionId=abc\r\n\r\n", "", true, "", "BOM, comment, CRLF"},
		{"event: endpoint\ndata: http://other.test/message\n\n", "", false, "another origin", "another host"},
		{"event: endpoint\ndata: //other.test/m\n\n", "", false, "another origin", "another host without a scheme"},
		{"event: endpoint\ndata: http://127.0.0.1:9/message\n\n", "", false, "another origin", "another port"},
		{"event: endpoint\ndata:\n\n", "", false, "no usable endpoint", "empty"},
		{": nothing\n\n", "end", false, "before it named an endpoint", "ends too early"},
	} {
		o := newOddSSE(t)
		o.first, o.then = strings.ReplaceAll(tt.first, "URL", o.URL), tt.then
		p, err := o.dial(t, Options{})
		if tt.ok && err != nil || !tt.ok && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		if tt.ok {
			p.mustEcho(t, `{"a":9007199254740993}`)
			closed(t, p.conn)
			if p.conn.Err() != nil {
				t.Error(p.conn.Err())
			}
		} else if o.posted.Load() != 0 {
			t.Errorf("%s: something was posted", tt.why)
		}
	}
}

func TestSSENoEndpointEndsAtTheDeadline(t *testing.T) {
	o := newOddSSE(t)
	o.first = ": still nothing\n\n"
	tr := NewSSE(HTTPConfig{URL: o.URL}, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := tr.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	closed(t, tr.Conn())
}

func TestSSERefused(t *testing.T) {
	for _, status := range []int{401, 403, 404, 500} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := connect(t, NewSSE(HTTPConfig{URL: srv.URL}, Options{}), legacy, nil)
		var st *StatusError
		if !errors.As(err, &st) || st.Status != status {
			t.Errorf("%d: %v", status, err)
		}
		srv.Close()
	}
}

func TestSSECalls(t *testing.T) {
	o := newOddSSE(t)
	o.on = func(write func(string), w http.ResponseWriter, r *http.Request, id string, m in) {
		reply := `{"jsonrpc":"2.0","id":` + id + `,"result":{"ok":1}}`
		switch m.Params.Name {
		case "split":
			write("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":" + id + ",\ndata: \"result\":{\"ok\":1}}\n\n")
		case "big":
			write("data: " + strings.Replace(reply, "1}}", `"`+strings.Repeat("x", 5<<20)+`"}}`, 1) + "\n\n")
		case "toobig":
			write("data: " + strings.Replace(reply, "1}}", `"`+strings.Repeat("x", 11<<20)+`"}}`, 1) + "\n\n")
		case "broken":
			write("data: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"res\n\n")
		case "early": // the reply comes, the POST is never answered
			write("data: " + reply + "\n\n")
			<-r.Context().Done()
			return
		case "slow", "deaf":
			if m.Params.Name == "deaf" {
				<-r.Context().Done()
				return
			}
		case "teapot":
			w.WriteHeader(http.StatusTeapot)
			return
		case "lost":
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
	p, err := o.dial(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		ok   bool
		says string
	}{
		{"split", true, ""}, {"big", true, ""}, {"early", true, ""},
		{"toobig", false, "more than 10485760 bytes"}, {"broken", false, "malformed"}, {"teapot", false, "HTTP 418"},
		{"slow", false, "deadline"}, {"deaf", false, "deadline"},
		{"lost", false, "session lost"},
	} {
		var s *Slot
		var err error
		if tt.says == "deadline" {
			late := overshoot(100*time.Millisecond, func(ctx context.Context) { s, err = p.call(ctx, tt.name, `{}`) })
			if late > slack {
				t.Errorf("%s: %v late", tt.name, late)
			}
		} else {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			s, err = p.call(ctx, tt.name, `{}`)
			cancel()
		}
		if tt.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v %s", tt.name, err, cut(string(s.Raw), 100))
		}
		if tt.name == "lost" {
			if !errors.Is(err, toolsource.ErrSessionLost) || !errors.Is(err, toolsource.ErrNotReached) || !errors.Is(p.conn.Err(), toolsource.ErrSessionLost) {
				t.Errorf("lost: %v, %v", err, p.conn.Err())
			}
		} else {
			p.mustEcho(t, `{"alive":true}`)
		}
	}
	closed(t, p.conn)
}

func TestSSEStreamEnds(t *testing.T) {
	o := newOddSSE(t)
	p, err := o.dial(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	o.on = func(_ func(string), w http.ResponseWriter, _ *http.Request, _ string, _ in) {
		w.WriteHeader(http.StatusAccepted)
		o.CloseClientConnections()
	}
	go func() {
		_, err := p.call(context.Background(), "cut", `{}`)
		freed <- err
	}()
	select {
	case err := <-freed:
		if err == nil || errors.Is(err, toolsource.ErrNotReached) {
			t.Errorf("got %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Fatal("the call still waits")
	}
	<-p.conn.Done()
	if err := p.conn.Err(); err == nil || !strings.Contains(err.Error(), "event stream") {
		t.Errorf("Err is %v", err)
	}
}

func TestSSEWithTheSDKsServer(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	srv.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	hs := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return srv }, nil))
	defer hs.Close()
	p, err := connect(t, NewSSE(HTTPConfig{URL: hs.URL}, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() { p.mustEcho(t, fmt.Sprintf(`{"n":%d}`, i)) })
	}
	wg.Wait()
	closed(t, p.conn)
}

// A call that is given up must not harm its neighbours: net/http may close a connection that it has handed
// on already (see maxForeignCancels).
func TestRandomDeadlinesCostNobodyElse(t *testing.T) {
	sse := newOddSSE(t)
	web := newOdd(t)
	viaSSE, err := sse.dial(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*peer{"SSE": viaSSE, "HTTP": web.dial(t, HTTPConfig{}, Options{})} {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 40 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
					args := fmt.Sprintf(`{"i":%d,"j":%d}`, i, j)
					s, err := p.call(ctx, "echo", args)
					if err == nil && textOf(t, s) != args || err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v %s", name, err, s.Raw)
					}
					cancel()
				}
			})
			wg.Go(func() {
				for j := range 20 {
					p.mustEcho(t, fmt.Sprintf(`{"patient":%d}`, 100*i+j))
				}
			})
		}
		wg.Wait()
		p.mustEcho(t, `{}`)
		closed(t, p.conn)
	}
}
