//go:build unix

package wire

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkStdio sets a tapped call beside the raw SDK over its own transport, against the same child.
func BenchmarkStdio(b *testing.B) {
	small := `{"x":"thirty bytes of an argument"}`
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, bb := range []struct {
		name, args string
		parallel   bool
	}{{"30B", small, false}, {"30B-64", small, true}, {"1MB", big, false}} {
		b.Run(bb.name+"/tapped", func(b *testing.B) {
			p := stdio(b, "plain", Options{})
			run(b, bb.parallel, func() error { _, err := p.call(context.Background(), "echo", bb.args); return err })
		})
		b.Run(bb.name+"/sdk", func(b *testing.B) {
			cmd := exec.Command(self(b))
			cmd.Env = []string{"WIRE_DO=plain"}
			client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
			cs, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
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
