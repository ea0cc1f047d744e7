package toolsource

import (
	"context"
	"testing"
)

var benchResult Result

// BenchmarkBridgeDo is a call through a Bridge beside the call function alone.
func BenchmarkBridgeDo(b *testing.B) {
	want := Result{Value: "x"}
	call := func(context.Context, *bridgeSession) (Result, error) { return want, nil }
	s := &bridgeSession{done: make(chan struct{})}
	br := NewBridge(func(context.Context) (*bridgeSession, error) { return s, nil }, nil)
	defer br.Close()
	for _, bb := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
	}{
		{"background", func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }},
		{"deadline", func() (context.Context, context.CancelFunc) { return context.WithTimeout(context.Background(), 30*sec) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			ctx, cancel := bb.ctx()
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if benchResult, err = Do(ctx, br, CallOptions{Tool: "x"}, call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("function", func(b *testing.B) {
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			benchResult, _ = call(ctx, s)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := Do(context.Background(), br, CallOptions{Tool: "x"}, call); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
