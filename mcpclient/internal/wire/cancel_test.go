//go:build unix

package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A call that is cancelled is taken back at the server, by a notification that names it. If the server
// answers all the same, the answer is dropped and counted, and the next call is not disturbed.
func TestCancelReachesTheServerAndLateRepliesAreDropped(t *testing.T) {
	const reply = `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"too late"}]}}` + "\n\n"
	type setup struct {
		p         *peer
		core      *core
		began     func() bool // the call is at the server
		cancelled func() bool
	}
	for name, set := range map[string]func(t *testing.T) setup{
		"stdio": func(t *testing.T) setup {
			p := stdio(t, "plain", Options{})
			c := p.conn.(*stdioConn).core
			return setup{p, c, func() bool { return c.calls.len() == 1 }, func() bool { return strings.Contains(p.conn.Stderr(), "cancelled") }}
		},
		"HTTP": func(t *testing.T) setup {
			o := newOdd(t)
			late := make(chan string, 1)
			o.get = func(w http.ResponseWriter, r *http.Request) {
				events(w, ": hello\n\n")
				for {
					select {
					case id := <-late:
						events(w, fmt.Sprintf(reply, id))
					case <-r.Context().Done():
						return
					}
				}
			}
			var began atomic.Value
			o.on = func(_ http.ResponseWriter, r *http.Request, id string, _ in) {
				began.Store(id)
				<-r.Context().Done()
			}
			o.told = func(m in) {
				if string(m.Params.RequestID) == began.Load() {
					late <- string(m.Params.RequestID)
				}
			}
			p := o.dial(t, HTTPConfig{}, Options{})
			waitFor(t, func() bool { return o.gets.Load() == 1 })
			return setup{p, p.conn.(*httpConn).core, func() bool { return began.Load() != nil }, func() bool { return o.cancels.Load() == 1 }}
		},
		"SSE": func(t *testing.T) setup {
			o := newOddSSE(t)
			var began, cancelled atomic.Value
			o.on = func(_ func(string), w http.ResponseWriter, _ *http.Request, id string, _ in) {
				began.Store(id)
				w.WriteHeader(http.StatusAccepted)
			}
			o.told = func(write func(string), m in) {
				if string(m.Params.RequestID) == began.Load() {
					cancelled.Store(true)
					write(fmt.Sprintf(reply, m.Params.RequestID))
				}
			}
			p, err := o.dial(t, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return setup{p, p.conn.(*sseConn).core, func() bool { return began.Load() != nil }, func() bool { return cancelled.Load() != nil }}
		},
	} {
		s := set(t)
		ctx, cancel := context.WithCancel(t.Context())
		type end struct {
			s   *Slot
			err error
		}
		done := async(func() end { slot, err := s.p.call(ctx, "hang", `{}`); return end{slot, err} })
		waitFor(t, s.began)
		cancel()
		var e end
		select {
		case e = <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the caller is not free", name)
		}
		if !errors.Is(e.err, context.Canceled) || !e.s.Sent() {
			t.Errorf("%s: %v, sent %v", name, e.err, e.s.Sent())
		}
		waitFor(t, s.cancelled)
		waitFor(t, func() bool { return s.core.late.Load() == 1 })
		s.p.mustEcho(t, `{"next":1}`)
		if e.s.Raw != nil || e.s.RPC != nil || e.s.Bad != nil || s.core.calls.len() != 0 || s.core.noise.count.Load() != 0 {
			t.Errorf("%s: slot %s %v %v, %d calls left, %d times noise", name, e.s.Raw, e.s.RPC, e.s.Bad, s.core.calls.len(), s.core.noise.count.Load())
		}
		closed(t, s.p.conn)
	}
}

func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}
