package mcpclient

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// newServer makes a server that is a child which behaves so. It is closed with the test.
func newServer(t testing.TB, b mcptest.Behaviour, change ...func(*ServerConfig)) *Server {
	t.Helper()
	return newServerWith(t, b, nil, change...)
}

func newServerWith(t testing.TB, b mcptest.Behaviour, o *Options, change ...func(*ServerConfig)) *Server {
	t.Helper()
	cfg := ServerConfig{ID: "srv"}
	cfg.Command, cfg.Args, cfg.Env = mcptest.Command(t, b)
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
