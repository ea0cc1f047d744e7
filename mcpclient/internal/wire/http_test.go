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

// Every answer costs at most its own call: the session lives on, unless the server says that it is lost.
func TestHTTPOddAnswers(t *testing.T) {
	const ok = `{"content":[{"type":"text","text":"ok"}]}`
	plain := func(status int, ct, body string, h ...string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			for i := 0; i < len(h); i += 2 {
				w.Header().Set(h[i], h[i+1])
			}
			w.Header().Set("Content-Type", ct)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
		}
	}
	sse := func(body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) { events(w, strings.ReplaceAll(body, "ID", id)) }
	}
	reply := `{"jsonrpc":"2.0","id":ID,"result":` + ok + `}`
	notReached := []error{toolsource.ErrNotReached}
	for _, tt := range []struct {
		answer func(http.ResponseWriter, string)
		ok     bool
		status int     // of the StatusError; 0: none
		is     []error // in the chain
		not    error   // not in it
		says   string
		lost   bool
		why    string
	}{
		{plain(200, "application/json", reply), true, 0, nil, nil, "", false, "JSON"},
		{plain(200, "application/json", "\xEF\xBB\xBF "+reply+"\r\n"), true, 0, nil, nil, "", false, "BOM and spaces"},
		{plain(200, "application/json", "["+reply+"]"), true, 0, nil, nil, "", false, "a batch"},
		{plain(200, "Application/JSON;charset=utf-8", reply), true, 0, nil, nil, "", false, "content type in other words"},
		{sse("data: " + reply + "\n\n"), true, 0, nil, nil, "", false, "an event"},
		{sse("\xEF\xBB\xBF: hello\r\n\r\nid: 7\r\nretry: 10\r\ndata:\r\n\r\nevent: message\r\ndata: " + reply + "\r\n\r\n"), true, 0, nil, nil, "", false, "CRLF, comment, priming event, BOM"},
		{sse("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\rdata:\"result\":" + ok + "}\r\r"), true, 0, nil, nil, "", false, "data over several lines, CR line ends"},
		{sse("data: " + reply + "\n\ndata: " + reply + "\n\n"), true, 0, nil, nil, "", false, "the reply comes twice"},
		{sse("event: other\ndata: {\"x\":1}\n\nno colon here\n\ndata: " + reply + "\n\n"), true, 0, nil, nil, "", false, "other events and lines without a colon"},
		{sse("data: [" + reply + "]\n\n"), true, 0, nil, nil, "", false, "a batch in an event"},

		{sse("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"resu\n\n"), false, 0, []error{toolsource.ErrProtocol}, toolsource.ErrNotReached, "malformed", false, "broken event"},
		{sse("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"resu"), false, 0, []error{io.ErrUnexpectedEOF}, toolsource.ErrNotReached, "without the reply", false, "cut event"},
		{sse(": nothing\n\n"), false, 0, []error{io.ErrUnexpectedEOF}, toolsource.ErrNotReached, "without the reply", false, "stream without the reply"},
		{sse("event: message\ndata: {\"error\":\"Session not found\"}\n\n"), false, 0, nil, nil, "Session not found", false, "an error in words"},
		{plain(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`), false, 0, nil, nil, "Invalid Request (JSON-RPC error -32600)", false, "an error without id"},
		{plain(200, "application/json", ``), false, 0, []error{toolsource.ErrProtocol}, toolsource.ErrNotReached, "", false, "empty body"},
		{plain(200, "application/json", `{"jsonrpc":"2.0","id":ID,`), false, 0, []error{toolsource.ErrProtocol}, nil, "malformed", false, "broken JSON"},
		{plain(200, "application/json", `{"jsonrpc":"2.0","id":4711,"result":{}}`), false, 0, []error{toolsource.ErrProtocol}, nil, "not a reply", false, "a reply to another call"},
		{plain(200, "application/json", `"`+strings.Repeat("x", 70<<10)+`"`), false, 0, []error{toolsource.ErrProtocol}, nil, "more than 65536", false, "over the cap"},
		{sse("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"" + strings.Repeat("x", 70<<10) + "\"}\n\n"), false, 0, []error{toolsource.ErrProtocol}, nil, "more than 65536", false, "an event over the cap"},
		{plain(200, "text/html", "<!doctype html>\n<title>Login</title>"), false, 200, []error{toolsource.ErrProtocol}, toolsource.ErrNotReached, "<!doctype html>", false, "a login page"},
		{plain(202, "", ""), false, 202, []error{toolsource.ErrProtocol}, nil, "an empty body", false, "accepted without a reply"},

		{plain(400, "text/plain", "nope"), false, 400, nil, toolsource.ErrNotReached, "nope", false, "400"},
		{plain(400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad argument: session id"}}`), false, 0, nil, toolsource.ErrSessionLost, "bad argument", false, "400 with the call's own error"},
		{plain(401, "text/plain", "", "WWW-Authenticate", `Bearer resource_metadata="u"`), false, 401, append(notReached, toolsource.ErrNeedsAuth), nil, "", false, "401"},
		{plain(403, "text/plain", ""), false, 403, append(notReached, toolsource.ErrForbidden), nil, "", false, "403"},
		{plain(403, "text/plain", "", "WWW-Authenticate", `Bearer error="insufficient_scope"`), false, 403, append(notReached, toolsource.ErrInsufficientScope), toolsource.ErrForbidden, "", false, "403, scope"},
		{plain(405, "text/plain", ""), false, 405, nil, toolsource.ErrNotReached, "", false, "405"},
		{plain(408, "", ""), false, 408, nil, toolsource.ErrNotReached, "", false, "408"},
		{plain(409, "", ""), false, 409, nil, toolsource.ErrNotReached, "", false, "409"},
		{plain(413, "", ""), false, 413, nil, toolsource.ErrNotReached, "", false, "413"},
		{plain(429, "text/plain", "", "Retry-After", "7"), false, 429, nil, nil, "", false, "429"},
		{plain(500, "text/plain", "boom"), false, 500, nil, toolsource.ErrNotReached, "boom", false, "500"},
		{plain(502, "text/html", "<html>bad gateway"), false, 502, nil, toolsource.ErrNotReached, "", false, "502"},
		{plain(503, "", ""), false, 503, nil, nil, "", false, "503"},

		{plain(404, "text/plain", "not found"), false, 404, append(notReached, toolsource.ErrSessionLost), nil, "", true, "404 with a session"},
		{plain(404, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`), false, 404, append(notReached, toolsource.ErrSessionLost), nil, "", true, "as the Python SDK says it"},
		{plain(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "as server-everything says it"},
		{plain(410, "", ""), false, 410, append(notReached, toolsource.ErrSessionLost), nil, "", true, "gone"},
	} {
		o := newOdd(t)
		o.on = func(w http.ResponseWriter, _ *http.Request, id string, _ in) { tt.answer(w, id) }
		p := o.dial(t, HTTPConfig{}, Options{MaxMessage: 64 << 10})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		began := time.Now()
		s, err := p.call(ctx, "odd", `{}`)
		cancel()
		if d := time.Since(began); d > time.Second {
			t.Errorf("%s: took %v", tt.why, d)
		}
		if tt.ok != (err == nil) || tt.ok && string(s.Raw) != ok {
			t.Errorf("%s: got %s, %v", tt.why, s.Raw, err)
		}
		var st *StatusError
		if errors.As(err, &st); tt.status != 0 && (st == nil || st.Status != tt.status) || tt.status == 0 && st != nil {
			t.Errorf("%s: want status %d in %v", tt.why, tt.status, err)
		}
		if st != nil && st.Status == 429 && st.RetryAfter != 7*time.Second {
			t.Errorf("%s: RetryAfter is %v", tt.why, st.RetryAfter)
		}
		for _, is := range tt.is {
			if !errors.Is(err, is) {
				t.Errorf("%s: %v does not wrap %v", tt.why, err, is)
			}
		}
		if tt.not != nil && errors.Is(err, tt.not) {
			t.Errorf("%s: %v wraps %v", tt.why, err, tt.not)
		}
		if err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q lacks %q", tt.why, err, tt.says)
		}
		if tt.lost {
			select {
			case <-p.conn.Done():
			default:
				t.Errorf("%s: Done is open", tt.why)
			}
			if !errors.Is(p.conn.Err(), toolsource.ErrSessionLost) {
				t.Errorf("%s: Err is %v", tt.why, p.conn.Err())
			}
		} else {
			p.mustEcho(t, `{"still":"alive"}`)
		}
		if n := p.conn.(*httpConn).calls.len(); n != 0 {
			t.Errorf("%s: %d calls left in the table", tt.why, n)
		}
		closed(t, p.conn)
		if tt.lost == (o.deleted.Load() == 1) {
			t.Errorf("%s: %d DELETEs", tt.why, o.deleted.Load())
		}
	}
}

func TestHTTPInitializeRefused(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 429, 500} {
		o := newOdd(t)
		o.init = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
		tr := NewHTTP(HTTPConfig{URL: o.URL}, Options{})
		_, err := connect(t, tr, legacy, nil)
		var st *StatusError
		if !errors.As(err, &st) || st.Status != status {
			t.Errorf("%d: got %v", status, err)
		}
		if errors.Is(err, toolsource.ErrSessionLost) {
			t.Errorf("%d: there was no session to lose", status)
		}
	}
}

func TestHTTPNotReached(t *testing.T) {
	o := newOdd(t)
	p := o.dial(t, HTTPConfig{NoGetStream: true}, Options{})
	p.conn.(*httpConn).own.CloseIdleConnections() // into one of them something might still be written
	o.Server.CloseClientConnections()
	o.Server.Close()
	s, err := p.call(t.Context(), "echo", `{"a":1}`)
	if !errors.Is(err, toolsource.ErrNotReached) || s.Sent() || errors.Is(err, toolsource.ErrSessionLost) {
		t.Fatalf("%v, sent %v", err, s.Sent())
	}
	if strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
}

func TestHTTPErrorsHideTheURL(t *testing.T) {
	for _, u := range []string{
		"http://user:secret@127.0.0.1:1/secret?key=secret", "http://127.0.0.1:1/%zz?secret", "ftp://secret/", "secret", "http://[secret",
	} {
		_, err := connect(t, NewHTTP(HTTPConfig{URL: u}, Options{}), legacy, nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestHTTPRedirects(t *testing.T) {
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for _, tt := range []struct {
		status int
		to     string
		ok     bool
		says   string
	}{
		{307, "/mcp/", true, ""},
		{308, "/mcp/", true, ""},
		{301, "/mcp/", false, "would become a GET"},
		{302, "/login", false, "would become a GET"},
		{303, "/login", false, "would become a GET"},
		{307, other.URL + "/x?secret", false, "another origin"},
		{308, other.URL + "/x?secret", false, "another origin"},
		{302, other.URL + "/x?secret", false, "another origin"},
	} {
		inner := newOdd(t)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp/" {
				if r.Header.Get("X-Api-Key") != "k" {
					t.Error("the header got lost on the way")
				}
				inner.serve(w, r)
				return
			}
			http.Redirect(w, r, tt.to, tt.status)
		}))
		cfg := HTTPConfig{URL: srv.URL + "/mcp", Headers: func(context.Context) (http.Header, error) {
			return http.Header{"X-Api-Key": {"k"}}, nil
		}}
		p, err := connect(t, NewHTTP(cfg, Options{}), legacy, nil)
		if tt.ok {
			if err != nil {
				t.Fatal(err)
			}
			p.mustEcho(t, `{"x":"`+strings.Repeat("y", 40000)+`"}`)
			closed(t, p.conn)
		} else if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), fmt.Sprint(tt.status)) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d to %s: %v", tt.status, tt.to, err)
		}
		srv.Close()
	}
	if strayed.Load() != 0 {
		t.Errorf("%d requests reached the other origin", strayed.Load())
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

func TestHTTPStreamHeldOpenAfterTheReply(t *testing.T) {
	o := newOdd(t)
	var open atomic.Int64
	o.on = func(w http.ResponseWriter, r *http.Request, id string, _ in) {
		open.Add(1)
		defer open.Add(-1)
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n")
		<-r.Context().Done()
	}
	p := o.dial(t, HTTPConfig{}, Options{})
	for range 10 {
		var err error
		if late := overshoot(200*time.Millisecond, func(context.Context) { _, err = p.call(context.Background(), "held", `{}`) }); err != nil || late > 0 {
			t.Fatalf("%v, %v after the stream should have been let go", err, late)
		}
	}
	waitFor(t, func() bool { return open.Load() == 0 })
	p.mustEcho(t, `{}`)
}

func TestHTTPServerRequestsAndProgressOnTheCallsStream(t *testing.T) {
	var seen atomic.Int64
	o := newOdd(t)
	o.on = func(w http.ResponseWriter, _ *http.Request, id string, m in) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"method\":\"ping\"}\n\n") // the server counts for itself
		for i := range 5 {
			events(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", m.Params.Meta.Token, i))
		}
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n")
	}
	p := o.dial(t, HTTPConfig{}, Options{Progress: func(token string, _ toolsource.Progress) {
		if token == "tok" {
			seen.Add(1)
		}
	}})
	for i := range int64(50) {
		if _, err := p.call(t.Context(), "progress", `{}`); err != nil {
			t.Fatal(err)
		}
		if n := seen.Load(); n != 5*(i+1) {
			t.Fatalf("call %d returned after %d reports", i, n)
		}
	}
	waitFor(t, func() bool { return o.replies.Load() == 50 })
}

func TestHTTPResume(t *testing.T) {
	o := newOdd(t)
	var id atomic.Value
	o.on = func(w http.ResponseWriter, _ *http.Request, i string, _ in) {
		id.Store(i)
		events(w, "id: e1\nretry: 1\ndata:\n\n")
	}
	var polls atomic.Int64
	o.get = func(w http.ResponseWriter, r *http.Request) {
		switch last := r.Header.Get(headerEventID); last {
		case "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case "e1":
			if polls.Add(1) == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			events(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
		case "e2":
			events(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id.Load().(string)+",\"result\":{\"late\":true}}\n\n")
		}
	}
	p := o.dial(t, HTTPConfig{}, Options{})
	s, err := p.call(t.Context(), "cut", `{}`)
	if err != nil || string(s.Raw) != `{"late":true}` {
		t.Fatal(err, string(s.Raw))
	}
	o.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	_, err = p.call(t.Context(), "cut", `{}`)
	if err == nil || errors.Is(err, toolsource.ErrNotReached) || !errors.Is(err, toolsource.ErrNeedsAuth) {
		t.Fatalf("a call whose resumption is refused may have run: %v", err)
	}
}

func TestHTTPGetStreamNeverEndsTheSession(t *testing.T) {
	for _, tt := range []struct {
		why  string
		get  http.HandlerFunc
		gets int64
	}{
		{"405", nil, 1},
		{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 1},
		{"cut at once, again and again", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "retry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		}, 8},
		{"headers never come", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 1},
	} {
		o := newOdd(t)
		o.get = tt.get
		var changed atomic.Int64
		p := o.dial(t, HTTPConfig{}, Options{Notify: func(m string, _ json.RawMessage) {
			if m == "notifications/tools/list_changed" {
				changed.Add(1)
			}
		}})
		waitFor(t, func() bool { return o.gets.Load() >= tt.gets })
		p.mustEcho(t, `{}`)
		if tt.gets > 1 && changed.Load() == 0 {
			t.Errorf("%s: nothing was heard", tt.why)
		}
		closed(t, p.conn)
	}
	o := newOdd(t)
	p := o.dial(t, HTTPConfig{NoGetStream: true}, Options{})
	p.mustEcho(t, `{}`)
	closed(t, p.conn)
	if o.gets.Load() != 0 {
		t.Error("a GET although it was not wanted")
	}
}

func TestHTTPReplyOnTheGetStream(t *testing.T) {
	o := newOdd(t)
	ids := make(chan string, 1)
	o.get = func(w http.ResponseWriter, r *http.Request) {
		events(w, ": open\n\n")
		select {
		case id := <-ids:
			events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{\"other\":\"way\"}}\n\n")
		case <-r.Context().Done():
		}
	}
	o.on = func(w http.ResponseWriter, r *http.Request, id string, _ in) {
		events(w, ": wait\n\n")
		ids <- id
		<-r.Context().Done()
	}
	p := o.dial(t, HTTPConfig{}, Options{})
	s, err := p.call(t.Context(), "x", `{}`)
	if err != nil || string(s.Raw) != `{"other":"way"}` {
		t.Fatal(err)
	}
	closed(t, p.conn)
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
