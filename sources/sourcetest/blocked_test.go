package sourcetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
)

// blocking has a source for each method that may block; wait returns when the test is over.
var blocking = []struct {
	says string // what the report names
	src  func(wait func()) source
}{
	{"breaks rule name: Name did not return", func(wait func()) source {
		return &bent{Map: good(), name: func() string { wait(); return "" }}
	}},
	{"breaks rule available: Available did not return", func(wait func()) source {
		return &bent{Map: good(), available: func() bool { wait(); return true }}
	}},
	{"breaks rule cancelled listing: Discover did not return", func(wait func()) source {
		return &bent{Map: good(), discover: func(context.Context) ([]spec, error) { wait(); return nil, nil }}
	}},
	{"breaks rule resolve: Resolve of add did not return", func(wait func()) source {
		return &bent{Map: good(), resolve: func(spec) (callable, error) { wait(); return nil, nil }}
	}},
	{"breaks rule foreign specs: Resolve of  did not return", func(wait func()) source {
		m := good()
		return &bent{Map: m, resolve: func(x spec) (callable, error) {
			if m[x.Name] == nil {
				wait()
			}
			return m.Resolve(x)
		}}
	}},
	{"breaks rule cancelled calls: a call of add did not return", func(wait func()) source {
		return calling(func(context.Context, args) (toolsource.Result, error) { wait(); return toolsource.Result{}, nil })
	}},
	{"breaks rule close: Close did not return", func(wait func()) source {
		return &closer{Map: good(), err: toolsource.ErrClosed, close: func() error { wait(); return nil }}
	}},
	{"breaks rule chain: Unwrap did not return", func(wait func()) source {
		return &wrapper{good(), func() source { wait(); return nil }}
	}},
	{"breaks rule unwrap: Inner of x_add did not return", func(wait func()) source {
		m := prefixed()
		m.inner = func(x spec) (spec, bool) { wait(); return x, true }
		return m
	}},
	{"breaks rule gate: Offers of add did not return", func(wait func()) source {
		return &gate{good(), func(spec) bool { wait(); return true }}
	}},
	{"breaks rule watch: Watch and its stop, called twice, did not return", func(wait func()) source {
		return &watcher{good(), func(func()) func() { wait(); return func() {} }}
	}},
	{"breaks rule users: ForUser did not return", func(wait func()) source {
		return &private{good(), func(toolsource.User) (source, error) { wait(); return nil, nil }}
	}},
	{"breaks rule users: Name of a user's source did not return", func(wait func()) source {
		return &private{good(), func(toolsource.User) (source, error) {
			return &bent{Map: good(), name: func() string { wait(); return "" }}, nil
		}}
	}},
	{"breaks rule status: Status did not return", func(wait func()) source {
		return &status{good(), func() toolsource.SourceStatus { wait(); return toolsource.SourceStatus{} }}
	}},
	{"breaks rule concurrent use: a use of all methods at once did not return", func(wait func()) source {
		m, enter := good(), alone()
		return &bent{Map: m, resolve: func(x spec) (callable, error) {
			if enter() != nil {
				wait()
			}
			return m.Resolve(x)
		}}
	}},
}

// until gives a channel to block on, and frees in the end whoever does.
func until() (over <-chan struct{}, end func()) {
	c := make(chan struct{})
	return c, func() {
		close(c)
		time.Sleep(time.Hour)
	}
}

// TestCheckEnds: whatever blocks for good, Check comes back and names it.
func TestCheckEnds(t *testing.T) {
	for _, b := range blocking {
		for _, tt := range []struct {
			name   string
			limit  time.Duration // of Check's context; 0: it has none
			within time.Duration
		}{{"with a context of 20 s", 20 * time.Second, 24 * time.Second}, {"without one that ends", 0, 21 * time.Second}} {
			t.Run(b.says+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					over, end := until()
					defer end()
					ctx := context.Background()
					if tt.limit > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, tt.limit)
						defer cancel()
					}
					start := time.Now()
					err := Check(ctx, b.src(func() { <-over }))
					if d := time.Since(start); d > tt.within {
						t.Errorf("took %v", d)
					}
					if err == nil || !strings.Contains(err.Error(), b.says) {
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// TestCheckEndsSoon: a short context is what bounds it.
func TestCheckEndsSoon(t *testing.T) {
	for _, b := range blocking {
		if strings.Contains(b.says, "at once") { // waits for what a short context does not reach
			continue
		}
		t.Run(b.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over, end := until()
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err := Check(ctx, b.src(func() { <-over }))
				if d := time.Since(start); d > 4*time.Second {
					t.Errorf("took %v", d)
				}
				if err == nil || !strings.Contains(err.Error(), b.says) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestEverythingBlocks: waiting for one method is not added to waiting for all others.
func TestEverythingBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, end := until()
		defer end()
		wait := func() { <-over }
		src := struct {
			*bent
			io.Closer
		}{
			&bent{good(), func() string { wait(); return "" }, func() bool { wait(); return true },
				func(context.Context) ([]spec, error) { wait(); return nil, nil }, func(spec) (callable, error) { wait(); return nil, nil }},
			closeFunc(func() error { wait(); return nil }),
		}
		start := time.Now()
		err := Check(context.Background(), src)
		if d := time.Since(start); d > soon+closing+soon {
			t.Errorf("took %v", d)
		}
		for _, say := range []string{"breaks rule name: Name did not return within 2s (", "the other rules are left out", "breaks rule close: Close did not return within 6s ("} {
			if err == nil || !strings.Contains(err.Error(), say) {
				t.Errorf("%q is not in: %v", say, err)
			}
		}
	})
}

type closeFunc func() error

func (f closeFunc) Close() error { return f() }

// TestShortContextBlamesNobody: what fails because Check's own context ended is no fault.
func TestShortContextBlamesNobody(t *testing.T) {
	for _, limit := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, 5500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c := newWhole().(*whole)
			err := Check(ctx, Slow(c, time.Second), "add")
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "breaks rule") {
				t.Errorf("%v: %v", limit, err)
			}
			if !c.closed.Load() {
				t.Errorf("%v: it is left open", limit)
			}
		})
	}
}

// TestPanicIsOneLine: the report of a panic has no stack in it, and hands it out all the same.
func TestPanicIsOneLine(t *testing.T) {
	for _, b := range []*bent{
		{Map: good(), name: func() string { panic("no\nname") }},
		{Map: good(), discover: func(context.Context) ([]spec, error) { panic(errors.Join(io.EOF, io.ErrClosedPipe)) }},
		{Map: good(), resolve: func(spec) (callable, error) { panic(7) }},
	} {
		for _, r := range rules {
			err := r.try(t.Context(), &subject{src: b})
			if err == nil || isAbsent(err) {
				continue
			}
			if text := err.Error(); strings.ContainsAny(text, "\r\n") || strings.Contains(text, "goroutine ") {
				t.Errorf("rule %s: %s", r.name, text)
			}
			var p *toolsource.PanicError
			if !errors.As(err, &p) || !strings.Contains(string(p.Stack), "blocked_test.go") {
				t.Errorf("rule %s: no stack in %v", r.name, err)
			}
		}
	}
}
