package toolsource_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	ts "github.com/toolsource/toolsource"
)

// fake is a source whose every answer can be set.
type fake struct {
	name    string
	bounded bool

	mu        sync.Mutex
	specs     []ts.ToolSpec
	err       error
	down      bool
	claims    []string
	gate      func(name string) bool
	call      func(ctx context.Context, name string, args map[string]any) (ts.Result, error)
	before    func(ctx context.Context) // runs in Discover
	changed   []func()
	asked     map[string]int // gates
	discovers int
	closes    atomic.Int32
	closing   func() error
}

// tools makes a source with plain tools that answer "source.tool".
func tools(name string, names ...string) *fake {
	f := &fake{name: name, asked: map[string]int{}}
	f.set(names...)
	return f
}

func (f *fake) set(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs = nil
	for _, n := range names {
		f.specs = append(f.specs, ts.ToolSpec{Name: n, Description: "from " + f.name})
	}
}

func (f *fake) Name() string { return f.name }

func (f *fake) Available() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.down
}

func (f *fake) Discover(ctx context.Context) ([]ts.ToolSpec, error) {
	f.mu.Lock()
	f.discovers++
	before := f.before
	f.mu.Unlock()
	if before != nil {
		before(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.specs), f.err
}

func (f *fake) Resolve(spec ts.ToolSpec) (ts.Callable, error) {
	f.mu.Lock()
	call := f.call
	f.mu.Unlock()
	return func(ctx context.Context, args map[string]any) (ts.Result, error) {
		if call != nil {
			return call(ctx, spec.Name, args)
		}
		return ts.Value(f.name + "." + spec.Name), nil
	}, nil
}

func (f *fake) Watch(changed func()) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = append(f.changed, changed)
	i := len(f.changed) - 1
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed[i] = nil
	}
}

// tell announces a change.
func (f *fake) tell() {
	f.mu.Lock()
	fs := slices.Clone(f.changed)
	f.mu.Unlock()
	for _, c := range fs {
		if c != nil {
			c()
		}
	}
}

func (f *fake) Claims() []string { return f.claims }

func (f *fake) Offers(_ context.Context, spec ts.ToolSpec) bool {
	f.mu.Lock()
	gate := f.gate
	f.asked[spec.Name]++
	f.mu.Unlock()
	return gate == nil || gate(spec.Name)
}

func (f *fake) Bounded() bool { return f.bounded }

func (f *fake) Close() error {
	f.closes.Add(1)
	if f.closing != nil {
		return f.closing()
	}
	return nil
}

// plain hides a fake's capabilities.
type plain struct{ f *fake }

func (p plain) Name() string    { return p.f.Name() }
func (p plain) Available() bool { return p.f.Available() }
func (p plain) Discover(ctx context.Context) ([]ts.ToolSpec, error) {
	return p.f.Discover(ctx)
}
func (p plain) Resolve(s ts.ToolSpec) (ts.Callable, error) { return p.f.Resolve(s) }

func newBox(t testing.TB, o *ts.Options) *ts.Toolbox {
	t.Helper()
	tb := ts.NewToolbox(o)
	t.Cleanup(func() {
		if err := tb.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return tb
}

func add(t testing.TB, tb *ts.Toolbox, layers ...ts.Layer) {
	t.Helper()
	if err := tb.Add(context.Background(), layers...); err != nil {
		t.Fatalf("Add: %v", err)
	}
}

func at(src ts.ToolSource, p ts.Precedence) ts.Layer { return ts.Layer{Source: src, Precedence: p} }

// owner calls a tool and says whose it was.
func owner(t testing.TB, tb *ts.Toolbox, name string) string {
	t.Helper()
	res, err := tb.Call(context.Background(), name, nil)
	if err != nil {
		return "error: " + string(ts.KindOf(err))
	}
	s, _ := res.Value.(string)
	return strings.TrimSuffix(s, "."+name)
}

func names(specs []ts.ToolSpec) string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func answering(text string) ts.Callable {
	return func(context.Context, map[string]any) (ts.Result, error) { return ts.Value(text), nil }
}

// logs collects log lines.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func callError(t testing.TB, err error) *ts.CallError {
	t.Helper()
	var ce *ts.CallError
	if !errors.As(err, &ce) {
		t.Fatalf("got %T %v, want a *CallError", err, err)
	}
	return ce
}

func wantText(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
