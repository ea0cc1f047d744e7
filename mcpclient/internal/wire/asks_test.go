//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A peer that asks on the GET stream during the first call is heard, where somebody wants to hear it: the call
// goes out only when the stream was answered, or after a second.
func TestHTTPFirstCallAwaitsTheGetStream(t *testing.T) {
	for _, tt := range []struct {
		why    string
		await  bool
		status int
		opens  time.Duration // from the GET to its answer
		waits  time.Duration // of the handshake for it
	}{
		{"the stream opens", true, 200, 300 * time.Millisecond, 300 * time.Millisecond},
		{"there is none", true, 405, 200 * time.Millisecond, 200 * time.Millisecond},
		{"it takes too long", true, 200, time.Minute, time.Second},
		{"nobody wants to hear", false, 200, time.Minute, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			rt := tripper(func(r *http.Request) (*http.Response, error) {
				switch r.Method {
				case http.MethodGet:
					if !pause(r.Context(), tt.opens) {
						return nil, r.Context().Err()
					}
					resp := respond(r, tt.status, typeEvents, "")
					resp.Body = &untilDone{r.Context()}
					return resp, nil
				case http.MethodDelete:
					return respond(r, 200, typeJSON, ""), nil
				}
				body, _ := io.ReadAll(r.Body)
				var m in
				_ = json.Unmarshal(body, &m)
				if m.Method == methodInitialize {
					return respond(r, 200, typeJSON, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+helloResult+`}`), nil
				}
				return respond(r, 202, "", ""), nil
			})
			began := time.Now()
			p, err := connect(t, NewHTTP(HTTPConfig{URL: "http://h/mcp", Transport: rt, AwaitStream: tt.await}, Options{}), legacy, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d != tt.waits {
				t.Errorf("%s: the handshake waited %v, want %v", tt.why, d, tt.waits)
			}
			closed(t, p.conn)
			_ = p.Close()
		})
	}
}

// untilDone is the body of a stream on which nothing comes.
type untilDone struct{ ctx context.Context }

func (u *untilDone) Read([]byte) (int, error) { <-u.ctx.Done(); return 0, u.ctx.Err() }
func (u *untilDone) Close() error             { return nil }

// A request of the peer that is taken comes as it was sent, with the call on whose stream it came, and its
// answer goes out under its own id.
func TestHTTPAskTakesRequests(t *testing.T) {
	o := newOdd(t)
	answers := make(chan in, 2)
	o.on = func(w http.ResponseWriter, r *http.Request, id string, _ in) {
		events(w, `data: {"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"b":1,"a":9007199254740993}}`+"\n\n")
		events(w, `data: {"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n\n")
		select {
		case <-answers:
		case <-r.Context().Done():
		}
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n")
	}
	var mu sync.Mutex
	var asked []PeerRequest
	opts := Options{Ask: func(r PeerRequest) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r)
		if r.Method == "ping" {
			return false // the SDK's
		}
		go func() {
			if err := r.Reply(t.Context(), json.RawMessage(`{"roots":[]}`), nil); err != nil {
				t.Error(err)
			}
			answers <- in{}
		}()
		return true
	}}
	p := o.dial(t, HTTPConfig{}, opts)
	s, err := p.call(t.Context(), "asks", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 2 || string(asked[0].ID) != `"q"` || string(asked[0].Params) != `{"b":1,"a":9007199254740993}` || asked[0].Slot != s {
		t.Errorf("%+v", asked)
	}
	waitFor(t, func() bool { return o.replies.Load() == 2 })
	waitFor(t, func() bool { return p.conn.(*httpConn).core.asked.Load() == 0 })
}

// Rounds that the caller makes itself: the reply that asks for input comes back raw, and the next round has
// the same arguments and what it adds.
func TestOwnRounds(t *testing.T) {
	dials := map[string]func(t *testing.T) *peer{
		"http": func(t *testing.T) *peer { return newModern(t, mcp.StreamableHTTPOptions{}).dial(t, Options{}, roots()) },
		"json": func(t *testing.T) *peer {
			return newModern(t, mcp.StreamableHTTPOptions{JSONResponse: true}).dial(t, Options{}, roots())
		},
		"stdio": func(t *testing.T) *peer {
			p, err := connect(t, stdioTransport4(t, "sdk", Options{}), "", roots())
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	}
	for name, dial := range dials {
		t.Run(name, func(t *testing.T) {
			p := dial(t)
			const args = `{"n":9007199254740993}`
			s := &Slot{Args: []byte(args), Token: "tok"}
			s.OwnRounds()
			for round := 0; ; round++ {
				_, err := p.CallTool(WithSlot(t.Context(), s), &mcp.CallToolParams{Name: "rounds", Arguments: Marker})
				var got *Slot
				if !errors.As(err, &got) || got != s || s.Raw == nil {
					t.Fatal(round, err)
				}
				if !s.Asks() {
					if round != 2 || textOf(t, s) != args+args+args {
						t.Fatalf("round %d: %s", round, s.Raw)
					}
					return
				}
				var r struct {
					RequestState  json.RawMessage
					InputRequests map[string]json.RawMessage
				}
				if err := json.Unmarshal(s.Raw, &r); err != nil || len(r.InputRequests) != 1 || round > 2 {
					t.Fatalf("round %d: %s", round, s.Raw)
				}
				s.NextRound(fmt.Appendf(nil, `"inputResponses":{"roots":{"roots":[]}},"requestState":%s`, r.RequestState))
				if !s.Sent() || s.Asks() {
					t.Fatal("the next round counts as not sent, or as answered")
				}
			}
		})
	}
}

func TestRoundsJoinParams(t *testing.T) {
	for _, tt := range []struct{ params, more, want string }{
		{`{"a":1}`, `"m":2`, `{"m":2,"a":1}`},
		{`{}`, `"m":2`, `{"m":2}`},
		{`{ }`, `"m":2`, `{"m":2}`},
		{``, `"m":2`, `{"m":2}`},
		{`{"a":1}`, ``, `{"a":1}`},
	} {
		s := &Slot{}
		s.NextRound([]byte(tt.more))
		if got := string(s.rounds([]byte(tt.params))); got != tt.want {
			t.Errorf("%s with %s: %s", tt.params, tt.more, got)
		}
	}
	if got := string((*Slot)(nil).rounds([]byte(`{"a":1}`))); got != `{"a":1}` {
		t.Error(got)
	}
}

// Subscriptions to resources are told of as changed after a cut, too.
func TestNotificationsOfResources(t *testing.T) {
	notes, any := notifications([]byte(`{"notifications":{"resourceSubscriptions":["file:///a\"b"],"promptsListChanged":true}}`))
	if !any || len(notes) != 2 {
		t.Fatalf("%s %v", notes, any)
	}
	for _, n := range notes {
		env, err := scan(n)
		if err != nil || env.method.absent() {
			t.Errorf("%s: %v", n, err)
		}
	}
	if !strings.Contains(string(notes[1]), `"uri":"file:///a\"b"`) {
		t.Errorf("%s", notes[1])
	}
}
