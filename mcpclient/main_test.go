package mcpclient

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	if os.Getenv("TEST_SDK_SERVER") != "" {
		sdkServer()
		return
	}
	if os.Getenv("TEST_ERA") != "" {
		eraChild()
		return
	}
	goleak.VerifyTestMain(m)
}

// sdkServer serves by the SDK, which speaks every revision.
func sdkServer() {
	type in struct {
		N int64 `json:"n"`
	}
	type out struct {
		N int64 `json:"n"`
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "same", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, out, error) {
			if i.N < 0 {
				return nil, out{}, errors.New("negative")
			}
			return nil, out(i), nil
		})
	if os.Getenv("TEST_SDK_SERVER") == "survey" {
		addSurvey(srv)
	}
	_ = srv.Run(context.Background(), &mcp.StdioTransport{})
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
