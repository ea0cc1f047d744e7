package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	gomcp "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcptypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// A client is a session with the echo server by one of the libraries.
type client struct {
	call  func(ctx context.Context, args map[string]any) (text string, err error) // of the tool echo
	list  func(ctx context.Context) (tools int, err error)
	close func()
}

// A server says which echo server a client is to have.
type server struct {
	tools  int
	modern bool
	url    string // "": a child on stdio
}

func (s server) era() string {
	if s.modern {
		return mcpclient.Era20260728
	}
	return mcpclient.Era20251125
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// startHTTP starts a server over HTTP in a process of its own, which ends with the test.
func startHTTP(t testing.TB, tools int) server {
	t.Helper()
	cmd := exec.Command(self(t), server{tools: tools}.args("http")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return server{tools: tools, url: strings.TrimSpace(url)}
}

var errResult = errors.New("not the one text that was expected")

// sdk is the raw SDK with its own transports.
func sdk(t testing.TB, s server) *client {
	t.Helper()
	var tr mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.url}
	if s.url == "" {
		tr = &mcp.CommandTransport{Command: exec.Command(self(t), s.args("stdio")...)}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cs, err := c.Connect(context.Background(), tr, &mcp.ClientSessionOptions{ProtocolVersion: s.era()})
	if err != nil {
		t.Fatal("sdk: ", err)
	}
	return &client{
		call: func(ctx context.Context, args map[string]any) (string, error) {
			res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: args})
			if err != nil {
				return "", err
			}
			if len(res.Content) == 1 && !res.IsError {
				if text, ok := res.Content[0].(*mcp.TextContent); ok {
					return text.Text, nil
				}
			}
			return "", errResult
		},
		list: func(ctx context.Context) (int, error) {
			res, err := cs.ListTools(ctx, nil)
			if err != nil {
				return 0, err
			}
			return len(res.Tools), nil
		},
		close: func() { _ = cs.Close() },
	}
}

// mcpgo is mark3labs/mcp-go.
func mcpgo(t testing.TB, s server) *client {
	t.Helper()
	var tr transport.Interface
	if s.url == "" {
		tr = transport.NewStdio(self(t), nil, s.args("stdio")...)
	} else {
		h, err := transport.NewStreamableHTTP(s.url)
		if err != nil {
			t.Fatal(err)
		}
		tr = h
	}
	ctx := context.Background()
	c := gomcp.NewClient(tr)
	if err := c.Start(ctx); err != nil {
		t.Fatal("mcp-go: ", err)
	}
	init := gomcptypes.InitializeRequest{}
	init.Params.ProtocolVersion = s.era()
	init.Params.ClientInfo = gomcptypes.Implementation{Name: "bench", Version: "1"}
	if res, err := c.Initialize(ctx, init); err != nil {
		t.Fatal("mcp-go: ", err)
	} else if res.ProtocolVersion != s.era() {
		t.Fatalf("mcp-go agreed on %s", res.ProtocolVersion)
	}
	return &client{
		call: func(ctx context.Context, args map[string]any) (string, error) {
			var req gomcptypes.CallToolRequest
			req.Params.Name, req.Params.Arguments = "echo", args
			res, err := c.CallTool(ctx, req)
			if err != nil {
				return "", err
			}
			if len(res.Content) == 1 && !res.IsError {
				if text, ok := res.Content[0].(gomcptypes.TextContent); ok {
					return text.Text, nil
				}
			}
			return "", errResult
		},
		list: func(ctx context.Context) (int, error) {
			res, err := c.ListTools(ctx, gomcptypes.ListToolsRequest{})
			if err != nil {
				return 0, err
			}
			return len(res.Tools), nil
		},
		close: func() { _ = c.Close() },
	}
}

// own is this library: calls go through a Toolbox, listings through the source.
func own(t testing.TB, s server) *client {
	t.Helper()
	ctx := context.Background()
	srv := ownServer(t, s)
	src := mcpsource.New(srv, nil)
	tb := toolsource.NewToolbox(nil)
	if err := tb.Add(ctx, toolsource.Layer{Source: src, Precedence: toolsource.PrecedenceMCP}); err != nil {
		t.Fatal("toolsource: ", err)
	}
	if st := srv.Status(); st.Era != s.era() {
		t.Fatalf("toolsource agreed on %s", st.Era)
	}
	call, err := tb.Resolve("echo")
	if err != nil {
		t.Fatal(err)
	}
	return &client{
		call: func(ctx context.Context, args map[string]any) (string, error) {
			res, err := call(ctx, args)
			if err != nil {
				return "", err
			}
			if text, ok := res.Value.(string); ok {
				return text, nil
			}
			return "", errResult
		},
		list: func(ctx context.Context) (int, error) {
			specs, err := src.Discover(ctx)
			if err != nil {
				return 0, err
			}
			if p := src.Status().Problems; len(p) > 0 {
				return 0, fmt.Errorf("%d problems, the first: %w", len(p), p[0])
			}
			return len(specs), nil
		},
		close: func() { _ = tb.Close() },
	}
}

// bare is this library's session alone, without source and Toolbox.
func bare(t testing.TB, s server) *client {
	t.Helper()
	srv := ownServer(t, s)
	return &client{
		call: func(ctx context.Context, args map[string]any) (string, error) {
			res, err := srv.Call(ctx, "echo", args, mcpclient.CallOptions{})
			return res.Text(), err
		},
		close: func() { _ = srv.Close() },
	}
}

func ownServer(t testing.TB, s server) *mcpclient.Server {
	t.Helper()
	cfg := mcpclient.ServerConfig{ID: "echo", URL: s.url, Era: s.era()}
	if s.url == "" {
		cfg.Command, cfg.Args = self(t), s.args("stdio")
	}
	srv, err := mcpclient.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

type library struct {
	name string
	open func(testing.TB, server) *client
}

// libraries are what is compared, in the order of the table's columns.
var libraries = []library{{"sdk", sdk}, {"mcp-go", mcpgo}, {"own", own}}
