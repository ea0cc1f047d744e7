package wire

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport makes a connection of one of the kinds over HTTP.
type httpTransport struct {
	cfg  HTTPConfig
	opts Options
	over func(*httpBase) httpKind
	made made
}

// httpKind is a connection before it is opened.
type httpKind interface {
	Conn
	open(ctx context.Context) error
}

// Conn implements Transport.
func (t *httpTransport) Conn() Conn { return t.made.get() }

// Connect implements mcp.Transport.
func (t *httpTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := t.made.begin(ctx); err != nil {
		return nil, err
	}
	b, err := newHTTPBase(t.cfg, t.opts)
	if err != nil {
		return nil, err
	}
	b.greeted = b.greet
	c := t.over(b)
	b.self = c
	t.made.set(c)
	if err := c.open(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

const (
	idlePerHost  = 64
	idleTime     = 90 * time.Second
	tlsHandshake = 10 * time.Second
	dialTime     = 30 * time.Second
)

// newTransport makes the transport of a connection that brings none of its own.
func newTransport(cfg HTTPConfig) *http.Transport {
	t := &http.Transport{
		Proxy:               proxyFor(cfg),
		MaxIdleConnsPerHost: idlePerHost,
		IdleConnTimeout:     idleTime,
		TLSHandshakeTimeout: tlsHandshake,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // see decompress
	}
	if cfg.TLS != nil {
		t.TLSClientConfig = cfg.TLS.Clone() // net/http writes to it
	}
	if cfg.Unix != "" {
		d := &net.Dialer{Timeout: dialTime}
		path := cfg.Unix
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	}
	return t
}

// proxyFor never names a proxy for this machine itself: what listens on loopback or on a socket is not to
// be seen by anybody else, and a proxy elsewhere could not reach it.
func proxyFor(cfg HTTPConfig) func(*http.Request) (*url.URL, error) {
	if cfg.Unix != "" {
		return nil
	}
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return func(req *http.Request) (*url.URL, error) {
		if loopback(req.URL.Hostname()) {
			return nil, nil
		}
		return proxy(req)
	}
}

func loopback(host string) bool {
	if host = strings.TrimSuffix(strings.ToLower(host), "."); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
