package matrix

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

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

func readCase(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// lines counts the lines of a journal that are equal to one.
func lines(t testing.TB, file, line string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(raw)) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

// eventually polls what a real process will do.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func echoes(t testing.TB, s *mcpclient.Server) {
	t.Helper()
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, mcpclient.CallOptions{}); err != nil || res.Value != "on" {
		t.Errorf("afterwards: %v, %v", res.Value, err)
	}
}
