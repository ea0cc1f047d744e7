//go:build unix

package wire

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are measured one by one; what the children do is the same.
var eras = []struct{ version, child string }{{legacy, ""}, {era2026, "modern"}}

// BenchmarkStdio sets a tapped call beside the raw SDK over its own transport, against the same child.
func BenchmarkStdio(b *testing.B) {
	small := `{"x":"thirty bytes of an argument"}`
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, era := range eras {
		for _, bb := range []struct {
			name, args string
			parallel   bool
		}{{"30B", small, false}, {"30B-64", small, true}, {"1MB", big, false}} {
			do := era.child
			if do == "" {
				do = "plain"
			}
			b.Run(era.version+"/"+bb.name+"/tapped", func(b *testing.B) {
				p, err := connect(b, stdioTransport4(b, do, Options{}), era.version, nil)
				if err != nil {
					b.Fatal(err)
				}
				run(b, bb.parallel, func() error { _, err := p.call(context.Background(), "echo", bb.args); return err })
			})
			b.Run(era.version+"/"+bb.name+"/sdk", func(b *testing.B) {
				cmd := exec.Command(self(b))
				cmd.Env = []string{"WIRE_DO=" + do}
				client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
				cs, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: era.version})
				if err != nil {
					b.Fatal(err)
				}
				defer cs.Close()
				args := map[string]any{"x": bb.args[6 : len(bb.args)-2]}
				run(b, bb.parallel, func() error {
					_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: args})
					return err
				})
			})
		}
	}
}

func run(b *testing.B, parallel bool, call func() error) {
	b.ReportAllocs()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if !parallel {
		for range b.N {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	jobs := make(chan struct{}, b.N)
	for range b.N {
		jobs <- struct{}{}
	}
	close(jobs)
	for range 64 {
		wg.Go(func() {
			for range jobs {
				if err := call(); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHTTP does the same over HTTP; the server is a process of its own, so that only the client's bytes
// are counted.
func BenchmarkHTTP(b *testing.B) {
	for _, era := range eras {
		url := serveBench(b, "http"+strings.Repeat("-", min(len(era.child), 1))+era.child)
		small := `{"x":"thirty bytes of an argument"}`
		big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
		for _, bb := range []struct {
			name, args string
			parallel   bool
		}{{"30B", small, false}, {"30B-64", small, true}, {"1MB", big, false}} {
			for _, tool := range []string{"echo", "echo-events"} {
				name := era.version + "/" + bb.name + "/" + tool
				b.Run(name+"/tapped", func(b *testing.B) {
					p, err := connect(b, NewHTTP(HTTPConfig{URL: url, NoGetStream: true}, Options{}), era.version, nil)
					if err != nil {
						b.Fatal(err)
					}
					run(b, bb.parallel, func() error { _, err := p.call(context.Background(), tool, bb.args); return err })
				})
				b.Run(name+"/sdk", func(b *testing.B) {
					client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
					cs, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: era.version})
					if err != nil {
						b.Fatal(err)
					}
					defer cs.Close()
					run(b, bb.parallel, func() error {
						_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"x": bb.args[6 : len(bb.args)-2]}})
						return err
					})
				})
			}
		}
	}
}

// serveBench starts a server that costs next to nothing and gives its URL.
func serveBench(b *testing.B, do string) string {
	cmd := exec.Command(self(b))
	cmd.Env = []string{"WIRE_DO=" + do}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}
