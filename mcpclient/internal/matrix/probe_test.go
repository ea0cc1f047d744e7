package matrix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// A probe tells how a server is and leaves nothing, whether it works or not.
func TestProbe(t *testing.T) {
	seven := 7
	for _, tc := range []struct {
		why       string
		transport string
		b         mcptest.Behaviour
		limit     time.Duration // of Connect
		err       error         // nil: it works
		text      string        // in the error
	}{
		{"works", mcptest.Stdio, mcptest.Behaviour{Name: "seven"}, 0, nil, ""},
		{"works over HTTP", mcptest.HTTP, mcptest.Behaviour{Name: "seven"}, 0, nil, ""},
		{"works over SSE", mcptest.SSE, mcptest.Behaviour{Name: "seven"}, 0, nil, ""},
		{"exits", mcptest.Stdio, mcptest.Behaviour{Exit: &seven, Stderr: "no key\n"}, 0, toolsource.ErrUnavailable, "no key"},
		{"says nothing", mcptest.Stdio, mcptest.Behaviour{SilentInit: true, IgnoreEOF: true, IgnoreTerm: true, Grandchild: true}, 200 * time.Millisecond, context.DeadlineExceeded, "200ms"},
		{"does not list", mcptest.Stdio, mcptest.Behaviour{SilentList: true}, 3 * time.Second, context.DeadlineExceeded, "tools/list"},
		{"refuses", mcptest.HTTP, mcptest.Behaviour{Authorization: "Bearer x"}, 0, toolsource.ErrNeedsAuth, "sign in"},
	} {
		before := census(t)
		p, err := mcptest.Start(tc.transport, tc.b)
		if err != nil {
			t.Fatal(err)
		}
		journal := filepath.Join(t.TempDir(), "cache")
		cfg := mcpclient.ServerConfig{ID: "srv", Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, Connect: tc.limit, CloseBound: closeBound, Lazy: true}
		if tc.transport == mcptest.SSE {
			cfg.Transport = mcpclient.TransportSSE
		}
		if p.Command != "" {
			cfg.Env[markName] = toolsource.Secret(before.mark)
		}
		begin := time.Now()
		r, err := mcpclient.Probe(t.Context(), cfg, &mcpclient.Options{HTTPTransport: p.HTTP, Cache: mcpclient.FileCache(journal)})
		took := time.Since(begin)
		p.Close()
		switch {
		case tc.err == nil && (err != nil || len(r.Listing.Tools) == 0 || !strings.HasPrefix(r.Status.ServerInfo, "seven") || r.Status.Era == "" || r.Status.State != toolsource.StateReady):
			t.Errorf("%s: %v, %+v", tc.why, err, r.Status)
		case tc.err != nil && (!errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.text) || len(r.Listing.Tools) != 0 || r.Status.Err == nil || r.Status.Attempts != 1):
			t.Errorf("%s: %v, %+v", tc.why, err, r.Status)
		case took > max(tc.limit, time.Second)+closeBound+2*time.Second || r.Connect > took || r.Connect <= 0:
			t.Errorf("%s: took %v, of which connecting %v", tc.why, took, r.Connect)
		}
		if _, err := os.Stat(journal); err == nil {
			t.Errorf("%s: it wrote the cache", tc.why)
		}
		if left := before.left(t); left != "" {
			t.Errorf("%s: %s", tc.why, left)
		}
	}
	var ce *mcpclient.ConfigError
	if _, err := mcpclient.Probe(t.Context(), mcpclient.ServerConfig{ID: "a"}, nil); !errors.As(err, &ce) {
		t.Errorf("a bad configuration: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcpclient.Probe(ctx, mcpclient.ServerConfig{ID: "a", URL: "http://127.0.0.1:1"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
