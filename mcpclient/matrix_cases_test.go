package mcpclient_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// serve starts a server that behaves so, and the client for it. Both are closed with the test.
func serve(t testing.TB, transport string, b mcptest.Behaviour, change ...func(*mcpclient.ServerConfig)) (*mcpclient.Server, *mcptest.Place) {
	t.Helper()
	p, err := mcptest.Start(transport, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	cfg := mcpclient.ServerConfig{ID: "srv", Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, CloseBound: closeBound}
	if transport == mcptest.SSE {
		cfg.Transport = mcpclient.TransportSSE
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := mcpclient.New(cfg, &mcpclient.Options{HTTPTransport: p.HTTP})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, p
}

// A server that is not there any more makes calls unavailable: they were not sent.
func TestServerGoesDown(t *testing.T) {
	for _, transport := range []string{mcptest.Memory, mcptest.HTTP} {
		s, p := serve(t, transport, mcptest.Behaviour{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Call(ctx, "echo", nil, mcpclient.CallOptions{})
		cancel()
		var e *toolsource.CallError
		if !errors.As(err, &e) || e.Kind != toolsource.KindUnavailable || e.MayHaveRun || !errors.Is(err, toolsource.ErrUnavailable) {
			t.Errorf("%s: %v", transport, err)
		}
	}
}
