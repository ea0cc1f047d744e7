package wire

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// StdioConfig says which child to run. A bare Command is looked for on the PATH of Env only.
type StdioConfig struct {
	Command string
	Args    []string
	Env     []string // the child's whole environment, "K=V"
	Dir     string   // its working directory; "": the process's own
}

// HTTPConfig says where a server is and how to reach it.
type HTTPConfig struct {
	URL string // absolute, http or https
	// Headers gives the headers of one request; ctx is that of the call it carries. It is asked for
	// requests to the endpoint's own origin only, there are no others. It must return soon after ctx ends.
	// The caller keeps what it returns. nil: none.
	Headers func(ctx context.Context) (http.Header, error)
	// OAuth is asked for a token before each request, and once to authorise after a 401 or 403, whereupon
	// the request is sent once more. nil: none.
	OAuth auth.OAuthHandler
	// Transport carries the requests. nil: one of our own, made from TLS, Proxy and Unix, which the
	// connection closes at its end. A Transport that is given makes no use of these three.
	Transport http.RoundTripper
	// TLS is copied: roots, client certificates, server name, lowest version. nil: the system's roots.
	TLS *tls.Config
	// Proxy names the proxy for a request; a nil URL: none. nil: what the environment names. A loopback
	// address is never asked for through a proxy, whatever it says.
	Proxy func(*http.Request) (*url.URL, error)
	// Unix is the path of a socket to connect to instead of the URL's host, which then is only a name (for
	// the Host header, TLS and the origin). There is no proxy then. "": none.
	Unix string
	// NoGetStream leaves out the standing GET stream of streamable HTTP.
	NoGetStream bool
	// AwaitStream has streamable HTTP wait a moment, before the first call, until the peer has answered the
	// request for the standing GET stream: a peer that asks during that call asks there, and what it asks
	// before somebody listens may be lost.
	AwaitStream bool
}
