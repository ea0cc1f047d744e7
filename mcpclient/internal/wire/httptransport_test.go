//go:build unix

package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
)

func TestHTTPOverTLS(t *testing.T) {
	o := &odd{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(o.serve))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	own := srv.TLS.Certificates // any certificate will do for a client's
	for _, tt := range []struct {
		tls *tls.Config
		ok  bool
		why string
	}{
		{&tls.Config{RootCAs: roots, Certificates: own}, true, "known root and a client certificate"},
		{&tls.Config{RootCAs: roots}, false, "no client certificate"},
		{&tls.Config{Certificates: own}, false, "an unknown root"},
		{nil, false, "the system's roots"},
	} {
		p, err := connect(t, NewHTTP(HTTPConfig{URL: srv.URL, TLS: tt.tls}, Options{}), legacy, nil)
		if tt.ok != (err == nil) {
			t.Errorf("%s: %v", tt.why, err)
		}
		if err == nil {
			p.mustEcho(t, `{"a":1}`)
			closed(t, p.conn)
		}
	}
}

func TestHTTPOverAUnixSocket(t *testing.T) {
	o := &odd{}
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var host atomic.Value
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host.Store(r.Host)
		o.serve(w, r)
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	cfg := HTTPConfig{URL: "http://tools.internal/mcp", Unix: path, Proxy: func(*http.Request) (*url.URL, error) {
		return nil, errors.New("a socket has no proxy")
	}}
	p, err := connect(t, NewHTTP(cfg, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.mustEcho(t, `{"a":1}`)
	closed(t, p.conn)
	if host.Load() != "tools.internal" {
		t.Errorf("Host is %v", host.Load())
	}
}

func TestHTTPProxy(t *testing.T) {
	o := newOdd(t)
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		if r.URL.Host != "tools.internal" {
			http.Error(w, "not that", http.StatusBadGateway)
			return
		}
		o.serve(w, r)
	}))
	t.Cleanup(proxy.Close)
	to, _ := url.Parse(proxy.URL)
	cfg := HTTPConfig{URL: "http://tools.internal/mcp", Proxy: http.ProxyURL(to), NoGetStream: true}
	p, err := connect(t, NewHTTP(cfg, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.mustEcho(t, `{"a":1}`)
	closed(t, p.conn)
	if proxied.Load() == 0 {
		t.Error("nothing went through the proxy")
	}

	proxied.Store(0)
	cfg.URL = o.URL
	p, err = connect(t, NewHTTP(cfg, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, p.conn)
	if proxied.Load() != 0 {
		t.Error("a loopback address was asked for through the proxy")
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost.": true, "a.localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true,
		"::ffff:127.0.0.1": true, "localhost.example.com": false, "128.0.0.1": false, "::2": false, "": false,
	} {
		if loopback(host) != want {
			t.Errorf("%q: want %v", host, want)
		}
	}
}

// A connection's own transport must not write to the host's settings, and what is given is not touched.
func TestHTTPTransportIsGiven(t *testing.T) {
	o := newOdd(t)
	var trips atomic.Int64
	cfg := HTTPConfig{URL: o.URL, Unix: "/nowhere", Transport: tripper(func(r *http.Request) (*http.Response, error) {
		trips.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})}
	p, err := connect(t, NewHTTP(cfg, Options{}), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.call(context.Background(), "echo", `{}`)
	closed(t, p.conn)
	if trips.Load() < 3 {
		t.Errorf("%d requests", trips.Load())
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
