//go:build unix

package wire

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolsource/toolsource"
)

func TestHTTPOAuth(t *testing.T) {
	for _, tt := range []struct {
		why       string
		authorise func(h *handler) error
		ok        bool
		flows     int64
	}{
		{"a fresh token: one retry", func(h *handler) error { h.token.Store("good"); return nil }, true, 1},
		{"still a bad one: one retry, then stop", func(h *handler) error { h.token.Store("bad"); return nil }, false, 1},
		{"refused", func(*handler) error { return errors.New("the user said no to secret") }, false, 1},
	} {
		inner := newOdd(t)
		var refused atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer good" {
				refused.Add(1)
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			inner.serve(w, r)
		}))
		h := &handler{authorise: tt.authorise}
		h.token.Store("stale")
		o := Options{Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }}
		p, err := connect(t, NewHTTP(HTTPConfig{URL: srv.URL, OAuth: h, NoGetStream: true}, o), legacy, nil)
		if tt.ok {
			if err != nil {
				t.Fatal(err)
			}
			p.mustEcho(t, `{}`)
			closed(t, p.conn)
			if inner.deleted.Load() != 1 {
				t.Errorf("%s: the DELETE went without the token", tt.why)
			}
		} else if !errors.Is(err, toolsource.ErrNeedsAuth) || !errors.Is(err, toolsource.ErrNotReached) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", tt.why, err)
		}
		if h.flows.Load() != tt.flows {
			t.Errorf("%s: %d flows", tt.why, h.flows.Load())
		}
		if want := int64(map[bool]int{true: 1, false: 2}[tt.ok || tt.why == "refused"]); refused.Load() != want {
			t.Errorf("%s: %d requests were refused, want %d", tt.why, refused.Load(), want)
		}
		srv.Close()
	}
}

func TestHTTPSlowTokenDoesNotOutliveTheCall(t *testing.T) {
	o := newOdd(t)
	h := &handler{}
	h.token.Store("x")
	p := o.dial(t, HTTPConfig{OAuth: h, NoGetStream: true}, Options{})
	release := make(chan struct{})
	h.wait.Store(&release)
	var s *Slot
	var err error
	late := overshoot(100*time.Millisecond, func(ctx context.Context) { s, err = p.call(ctx, "echo", `{}`) })
	if !errors.Is(err, context.DeadlineExceeded) || s.Sent() || late > slack {
		t.Errorf("%v, %v late, sent %v", err, late, s.Sent())
	}
	h.wait.Store(nil)
	close(release)
	p.mustEcho(t, `{}`)
}

type handler struct {
	token     atomic.Value
	wait      atomic.Pointer[chan struct{}]
	flows     atomic.Int64
	authorise func(*handler) error
}

func (h *handler) TokenSource(context.Context) (oauth2.TokenSource, error) { return source{h}, nil }

func (h *handler) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	h.flows.Add(1)
	return h.authorise(h)
}

type source struct{ h *handler }

func (s source) Token() (*oauth2.Token, error) {
	if w := s.h.wait.Load(); w != nil {
		<-*w
	}
	return &oauth2.Token{AccessToken: s.h.token.Load().(string)}, nil
}
