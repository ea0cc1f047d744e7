package wire

import (
	"context"
	"net/http"

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
	// Transport carries the requests. nil: one of our own, with the proxy that the environment names, which
	// the connection closes at its end.
	Transport http.RoundTripper
	// NoGetStream leaves out the standing GET stream of streamable HTTP.
	NoGetStream bool
}
