package mcpclient

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// rawSDK is a session by the SDK alone with the same child.
func rawSDK(t testing.TB) *mcp.ClientSession {
	t.Helper()
	command, args, env := mcptest.Command(t, mcptest.Behaviour{})
	cmd := exec.Command(command, args...)
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v.Reveal())
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "0"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: Era20251125})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

var benchArgs = map[string]any{"text": "hello, thirty bytes of text"}

func sdkCall(t testing.TB, cs *mcp.ClientSession) {
	if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: benchArgs}); err != nil {
		t.Fatal(err)
	}
}

func ownCall(t testing.TB, s *Server) {
	if _, err := s.Call(context.Background(), "echo", benchArgs, CallOptions{}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkStdioCall is a small call on stdio, by the SDK alone and by a Server, and both in turns, so that
// their ratio is of one run.
func BenchmarkStdioCall(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		cs := rawSDK(b)
		b.ReportAllocs()
		for b.Loop() {
			sdkCall(b, cs)
		}
	})
	b.Run("server", func(b *testing.B) {
		s := newServer(b, mcptest.Behaviour{})
		ownCall(b, s)
		b.ReportAllocs()
		for b.Loop() {
			ownCall(b, s)
		}
	})
	b.Run("ratio", func(b *testing.B) {
		cs, s := rawSDK(b), newServer(b, mcptest.Behaviour{})
		ownCall(b, s)
		var sdk, own []time.Duration
		for b.Loop() {
			begin := time.Now()
			sdkCall(b, cs)
			sdk = append(sdk, time.Since(begin))
			begin = time.Now()
			ownCall(b, s)
			own = append(own, time.Since(begin))
		}
		b.ReportMetric(float64(median(own))/float64(median(sdk)), "own/sdk")
		b.ReportMetric(float64(median(sdk)), "sdk-ns")
		b.ReportMetric(float64(median(own)), "own-ns")
	})
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// A call that went through the SDK's decoders again, as it may after an upgrade of the SDK, would cost a
// hundred times the bytes.
func TestCallsAreLight(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	for range 50 {
		ownCall(t, s)
	}
	const calls = 500
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		ownCall(t, s)
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / calls; per > 16<<10 {
		t.Errorf("%d bytes a call", per)
	} else {
		t.Logf("%d bytes a call", per)
	}
}
