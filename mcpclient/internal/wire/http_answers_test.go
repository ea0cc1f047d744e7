//go:build unix

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
)

// Every answer costs at most its own call: the session lives on, unless the server says that it is lost.
func TestHTTPOddAnswers(t *testing.T) {
	const ok = `{"content":[{"type":"text","text":"ok"}]}`
	const declared = "the length"
	plain := func(status int, ct, body string, h ...string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			text := strings.ReplaceAll(body, "ID", id)
			for i := 0; i < len(h); i += 2 {
				w.Header().Set(h[i], h[i+1])
				if h[i+1] == declared {
					w.Header().Set(h[i], strconv.Itoa(len(text)))
				}
			}
			w.Header().Set("Content-Type", ct)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	sse := func(body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) { events(w, strings.ReplaceAll(body, "ID", id)) }
	}
	inPieces := func(body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for text := strings.ReplaceAll(body, "ID", id); text != ""; {
				n := min(len(text), 5000)
				_, _ = io.WriteString(w, text[:n])
				_ = http.NewResponseController(w).Flush()
				text = text[n:]
			}
		}
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
		{plain(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":"`+strings.Repeat("x", 70<<10)+`"}`, "Content-Length", declared), false, 0, []error{toolsource.ErrProtocol}, nil, "more than 65536", false, "over the cap, and it says so before"},
		{inPieces(`data: {"jsonrpc":"2.0","id":ID,"result":"` + strings.Repeat("x", 70<<10) + "\"}\n\n"), false, 0, []error{toolsource.ErrProtocol}, nil, "more than 65536", false, "an event over the cap in pieces"},
		{sse(strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\""+strings.Repeat("x", 10<<10)+"\"}}\n\n", 30) + "data: " + reply + "\n\n"), true, 0, nil, nil, "", false, "many events, none of them over the cap, all together far over it"},
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
		{plain(400, "text/plain", "Invalid params: Invalid or expired session"), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "invalid or expired"},
		{plain(400, "text/plain", "Session expired"), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "expired"},
		{plain(400, "text/plain", "expired session: abc"), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "which one has expired"},
		{plain(400, "text/plain", "session not found"), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "not found"},
		{plain(400, "text/plain", "Unknown session: abc123"), false, 400, append(notReached, toolsource.ErrSessionLost), nil, "", true, "unknown"},

		{plain(400, "text/plain", "the licence expired"), false, 400, nil, toolsource.ErrSessionLost, "", false, "something else has expired"},
		{plain(400, "text/plain", "unexpected end of file, connection closed"), false, 400, nil, toolsource.ErrSessionLost, "", false, "words of a broken connection"},
		{plain(500, "text/plain", "session not found"), false, 500, nil, toolsource.ErrSessionLost, "", false, "a fault of the server, whatever it says"},
		{plain(200, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"Invalid params: Invalid or expired session"}}`), false, 0, nil, toolsource.ErrSessionLost, "expired session", false, "an answer to the call: it may speak of a session of the tool's own"},
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
				if r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Authorization") != "Bearer t" || r.Header.Get("Accept") == "" && r.Method == http.MethodPost {
					t.Errorf("headers got lost on the way: %v", r.Header)
				}
				inner.serve(w, r)
				return
			}
			http.Redirect(w, r, tt.to, tt.status)
		}))
		cfg := HTTPConfig{URL: srv.URL + "/mcp", Headers: func(context.Context) (http.Header, error) {
			return http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}}, nil
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

// What is the same origin, and so gets headers and is followed.
func TestSameOrigin(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
		why  string
	}{
		{"https://h/mcp", "https://h/other?x#y", true, "another path"},
		{"https://h/", "https://H:443/", true, "the same port, said aloud, and other letters"},
		{"http://h/", "http://h:80/", true, "likewise"},
		{"https://h/", "https://user:pass@h/", true, "a user is no part of it"},
		{"https://h:8443/", "https://h/", false, "another port"},
		{"http://h:8080/", "http://h:8081/", false, "another port"},
		{"http://h/", "https://h/", false, "another scheme"},
		{"https://h/", "http://h/", false, "another scheme, less safe"},
		{"http://h:443/", "https://h:443/", false, "another scheme on the same port"},
		{"https://h.example/", "https://a.h.example/", false, "a subdomain"},
		{"https://a.h.example/", "https://h.example/", false, "the domain above"},
		{"https://h/", "https://h.evil/", false, "a name that begins alike"},
		{"http://127.0.0.1:1/", "http://localhost:1/", false, "another name of the same machine"},
	} {
		a, err := url.Parse(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if sameOrigin(a, b) != tt.same || sameOrigin(b, a) != tt.same {
			t.Errorf("%s, %s: %s: want %v", tt.a, tt.b, tt.why, tt.same)
		}
	}
}
