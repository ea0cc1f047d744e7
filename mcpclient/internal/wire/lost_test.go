//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

func respond(r *http.Request, status int, ct, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {ct}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// amnesiac is a server that has forgotten its session when the calls come: it refuses the first after 10 ms,
// the next after 20, and so on, and never answers one that is named "stuck".
type amnesiac struct {
	stream *io.PipeWriter // of the legacy transport
	mu     sync.Mutex
	calls  int
}

func (a *amnesiac) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		pr, pw := io.Pipe()
		a.stream = pw
		context.AfterFunc(r.Context(), func() { _ = pw.CloseWithError(context.Canceled) })
		go func() { _, _ = io.WriteString(pw, "event: endpoint\ndata: /m?sessionId=1\n\n") }()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {typeEvents}}, ContentLength: -1, Body: pr, Request: r}, nil
	}
	if r.Body == nil {
		return respond(r, 200, "", ""), nil
	}
	body, _ := io.ReadAll(r.Body)
	var m in
	_ = json.Unmarshal(body, &m)
	switch {
	case m.Method == "initialize" && a.stream != nil:
		go func() {
			_, _ = io.WriteString(a.stream, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+helloResult+"}\n\n")
		}()
		return respond(r, 202, "", ""), nil
	case m.Method == "initialize":
		resp := respond(r, 200, typeJSON, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+helloResult+`}`)
		resp.Header.Set(headerSession, "s")
		return resp, nil
	case m.Method != "tools/call":
		return respond(r, 202, "", ""), nil
	case m.Params.Name == "stuck":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	a.mu.Lock()
	a.calls++
	wait := time.Duration(a.calls) * 10 * time.Millisecond
	a.mu.Unlock()
	select {
	case <-time.After(wait):
		return respond(r, 404, "text/plain", "no such session"), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Each call that the server refuses because the session is lost says so, though the first one ends the
// connection: it may be sent once more whatever it does, which a call that was cut off may not.
func TestLostSessionRefusesEachCall(t *testing.T) {
	for name, make := range map[string]func(HTTPConfig, Options) Transport{"HTTP": NewHTTP, "SSE": NewSSE} {
		for _, stuck := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				tr := make(HTTPConfig{URL: "http://h/mcp", Transport: &amnesiac{}, NoGetStream: true}, Options{})
				cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
				if err != nil {
					t.Fatal(name, err)
				}
				p := &peer{cs, tr.Conn()}
				began := time.Now()
				var wg sync.WaitGroup
				if stuck {
					wg.Go(func() {
						_, err := p.call(t.Context(), "stuck", `{}`)
						if !errors.Is(err, toolsource.ErrSessionLost) || errors.Is(err, toolsource.ErrNotReached) {
							t.Errorf("%s: a call that may have run ended with %v", name, err)
						}
					})
				}
				for range 6 {
					wg.Go(func() {
						_, err := p.call(t.Context(), "write", `{}`)
						var st *StatusError
						if !errors.Is(err, toolsource.ErrNotReached) || !errors.Is(err, toolsource.ErrSessionLost) || !errors.As(err, &st) {
							t.Errorf("%s: %v", name, err)
						}
						select {
						case <-p.conn.Done():
						default:
							t.Errorf("%s: a second attempt would meet the same session", name)
						}
					})
				}
				wg.Wait()
				want := 60 * time.Millisecond
				if stuck {
					want = 10*time.Millisecond + lastAnswers
				}
				if d := time.Since(began); d != want {
					t.Errorf("%s, stuck %v: the connection ended after %v, want %v", name, stuck, d, want)
				}
				if _, err := p.call(t.Context(), "write", `{}`); err == nil {
					t.Errorf("%s: a call after the end", name)
				}
				_ = cs.Close()
				if err := p.conn.Gone(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A call that begins after the session was lost, and before the connection has ended, is not sent.
func TestLostSessionSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &amnesiac{}
		tr := NewHTTP(HTTPConfig{URL: "http://h/mcp", Transport: srv, NoGetStream: true}, Options{})
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{cs, tr.Conn()}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = p.call(t.Context(), "stuck", `{}`) })
		wg.Go(func() { _, _ = p.call(t.Context(), "write", `{}`) })
		time.Sleep(20 * time.Millisecond)
		s, err := p.call(t.Context(), "write", `{}`)
		if !errors.Is(err, toolsource.ErrNotReached) || s.Sent() || srv.calls != 1 {
			t.Errorf("%v, sent %v, %d calls came", err, s.Sent(), srv.calls)
		}
		wg.Wait()
		_ = cs.Close()
		_ = p.conn.Gone(t.Context())
	})
}
