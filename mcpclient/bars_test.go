package mcpclient

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// Fifty servers that each take two seconds to answer are ready in little more than the time of one.
func TestFiftyServersStartLikeOne(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("a time is measured")
	}
	start := func(n int) time.Duration {
		servers := make([]*Server, n)
		for i := range servers {
			servers[i] = newServer(t, mcptest.Behaviour{InitDelay: 2 * time.Second}, func(c *ServerConfig) { c.ID = fmt.Sprint("server-", i) })
		}
		begin := time.Now()
		var wg sync.WaitGroup
		for _, s := range servers {
			wg.Go(func() {
				if err := s.Start(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		took := time.Since(begin)
		for _, s := range servers {
			wg.Go(func() { _ = s.Close() })
		}
		wg.Wait()
		return took
	}
	one := start(1)
	fifty := start(50)
	t.Logf("one: %v, fifty: %v, %.2f of one", one, fifty, fifty.Seconds()/one.Seconds())
	if fifty > one*13/10 {
		t.Errorf("fifty take %v, one %v", fifty, one)
	}
}

// A thousand calls at once on one session: none is lost, none gets another's answer.
func TestThousandCallsAtOnce(t *testing.T) {
	servers := map[string]*Server{
		"stdio":       newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.MaxInFlight = 1000 }),
		"with places": newServer(t, mcptest.Behaviour{}),
		"http":        newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{}), func(c *ServerConfig) { c.MaxInFlight = 1000 }),
		"http events": newHTTPServer(t, mcptest.Handler(mcptest.Behaviour{SSE: true}), func(c *ServerConfig) { c.MaxInFlight = 1000 }),
		"sse":         newHTTPServer(t, mcptest.SSEHandler(mcptest.Behaviour{}), func(c *ServerConfig) { c.MaxInFlight, c.Transport = 1000, TransportSSE }),
	}
	for way, s := range servers {
		t.Run(way, func(t *testing.T) {
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			thousand(t, func(text string) (any, error) {
				res, err := s.Call(context.Background(), "echo", map[string]any{"text": text}, CallOptions{})
				return res.Value, err
			})
			if st := s.Status(); st.Epoch != 1 || st.InFlight != 0 || st.Queued != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// thousand makes a thousand calls at once and takes the time.
func thousand(t testing.TB, call func(text string) (any, error)) time.Duration {
	t.Helper()
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			text := fmt.Sprint("call ", i)
			if got, err := call(text); err != nil || got != text {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

// The same beside the SDK alone, in turns, as the median of nine.
func TestThousandCallsBesideTheSDK(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("a time is measured")
	}
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.MaxInFlight = 1000 })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	cs := rawSDK(t)
	var own, sdk []time.Duration
	for range 9 {
		own = append(own, thousand(t, func(text string) (any, error) {
			res, err := s.Call(context.Background(), "echo", map[string]any{"text": text}, CallOptions{})
			return res.Value, err
		}))
		sdk = append(sdk, thousand(t, func(text string) (any, error) {
			res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
			if err != nil {
				return nil, err
			}
			return res.Content[0].(*mcp.TextContent).Text, nil
		}))
	}
	slices.Sort(own)
	slices.Sort(sdk)
	ratio := own[4].Seconds() / sdk[4].Seconds()
	t.Logf("own %v, SDK %v, ratio %.2f", own[4], sdk[4], ratio)
	if ratio > 1.25 {
		t.Errorf("a thousand calls take %.2f of the SDK's time", ratio)
	}
}
