//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
)

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
