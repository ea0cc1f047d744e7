//go:build unix

package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// POSTs share their headers as long as nothing changes, and no longer: neither what the host wants nor what
// the host's own transport writes may reach another request.
func TestHTTPHeadersOfEachRequest(t *testing.T) {
	o := newOdd(t)
	var key atomic.Value
	key.Store("k1")
	mine := http.Header{}
	p := o.dial(t, HTTPConfig{NoGetStream: true, Headers: func(ctx context.Context) (http.Header, error) {
		if v, ok := ctx.Value(testKey{}).(string); ok {
			return http.Header{"x-user": {v}, "Host": {"tools.internal"}}, nil
		}
		mine["X-Api-Key"] = []string{key.Load().(string)} // the host goes on writing to what it has given
		return mine, nil
	}}, Options{})
	p.mustEcho(t, `{}`)
	shared := p.conn.(*httpConn).shared
	p.mustEcho(t, `{}`)
	if p.conn.(*httpConn).shared != shared {
		t.Error("equal headers are not shared")
	}
	key.Store("k2")
	p.mustEcho(t, `{}`)
	if _, err := p.call(context.WithValue(t.Context(), testKey{}, "ann"), "echo", `{}`); err != nil {
		t.Fatal(err)
	}
	p.mustEcho(t, `{}`)
	closed(t, p.conn)
	var got []string
	for _, h := range o.heads[1:] { // the first is the notification
		got = append(got, h.Get("X-Api-Key")+h.Get("X-User"))
		if h.Get(headerSession) != "s-1" || h.Get(headerVersion) != legacy || h.Get("Content-Type") != typeJSON {
			t.Errorf("headers %v", h)
		}
	}
	if fmt.Sprint(got) != "[k1 k1 k2 ann k2]" {
		t.Errorf("got %v", got)
	}

	var n atomic.Int64
	writes := tripper(func(r *http.Request) (*http.Response, error) {
		r.Header.Set("X-Count", fmt.Sprint(n.Add(1))) // against the rules, and seen all the time
		return http.DefaultTransport.RoundTrip(r)
	})
	p = o.dial(t, HTTPConfig{NoGetStream: true, Transport: writes}, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { p.mustEcho(t, `{}`) })
	}
	wg.Wait()
	closed(t, p.conn)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type testKey struct{}

func TestHTTPCompressedAnswers(t *testing.T) {
	o := newOdd(t)
	zip := func(w http.ResponseWriter, ct, body string) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
		w.Header().Set("Content-Type", ct)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes())
	}
	big := strings.Repeat("x", 100<<10)
	o.on = func(w http.ResponseWriter, r *http.Request, id string, m in) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("it accepts %q", r.Header.Get("Accept-Encoding"))
		}
		reply := `{"jsonrpc":"2.0","id":` + id + `,"result":` + text(big) + `}`
		switch m.Params.Name {
		case "json":
			zip(w, typeJSON, reply)
		case "events":
			zip(w, typeEvents, "data: "+reply+"\n\n")
		case "bomb":
			zip(w, typeJSON, strings.Repeat(" ", 2<<20))
		case "broken":
			w.Header().Set("Content-Type", typeJSON)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, reply)
		}
	}
	p := o.dial(t, HTTPConfig{NoGetStream: true}, Options{MaxMessage: 1 << 20})
	for _, tt := range []struct {
		name, says string
	}{{"json", ""}, {"events", ""}, {"bomb", "more than 1048576 bytes"}, {"broken", "gzip"}} {
		s, err := p.call(t.Context(), tt.name, `{}`)
		switch {
		case tt.says == "" && (err != nil || textOf(t, s) != big):
			t.Errorf("%s: %v", tt.name, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v", tt.name, err)
		}
		p.mustEcho(t, `{}`)
	}
}

// A result that stays in the body it was read into is not disturbed by what is read later.
func TestHTTPResultsAreTheirOwn(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc((&odd{on: func(w http.ResponseWriter, _ *http.Request, id string, m in) {
		w.Header().Set("Content-Type", typeJSON)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, id)
		if m.Params.Name == "chunked" {
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, `"result":%s}`, text(string(m.Params.Arguments)))
	}}).serve))
	t.Cleanup(srv.Close)
	p, err := connect(t, NewHTTP(HTTPConfig{URL: srv.URL, NoGetStream: true}, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	var slots []*Slot
	for i := range 40 {
		s, err := p.call(t.Context(), []string{"chunked", "whole", "echo", "echo-events"}[i%4], fmt.Sprintf(`{"i":%d}`, i))
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, s)
	}
	for i, s := range slots {
		if textOf(t, s) != fmt.Sprintf(`{"i":%d}`, i) {
			t.Errorf("%d became %s", i, s.Raw)
		}
	}
}
