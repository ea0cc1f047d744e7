package toolsource_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

// What becomes of a Toolbox whose source changes its tools by itself.
func TestListChanged(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, tb *ts.Toolbox, f *fake)
	}{
		{"G-01 G-04 as many tools as before, but others", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			var told []ts.Change
			_, stop := tb.Subscribe(func(c ts.Change) { told = append(told, c) })
			defer stop()
			f.set("a", "new", "c")
			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "a c new")
			wantText(t, "told", fmt.Sprintf("%+v", told), "[{Revision:2 Added:[new] Removed:[b] Changed:[] User:}]")
			wantText(t, "the old one", owner(t, tb, "b"), "error: unknown_tool")
			wantText(t, "the new one", owner(t, tb, "new"), "s")
		}},
		{"G-02 many announcements during a listing are one more listing, which sees the last", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			release := make(chan struct{})
			f.mu.Lock()
			f.before = func(context.Context) { <-release }
			f.mu.Unlock()
			f.tell()
			synctest.Wait() // it lists
			for range 100 {
				f.tell()
			}
			f.set("last")
			close(release)
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "last")
			wantText(t, "listings", f.discovers, 3)
		}},
		{"G-02 an announcement that comes as a listing ends is not lost", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			for i := range 200 {
				f.set(fmt.Sprint("t", i))
				done := make(chan struct{})
				go func() { defer close(done); f.tell() }()
				f.tell()
				<-done
				synctest.Wait()
				if got := names(tb.Tools()); got != fmt.Sprint("t", i) {
					t.Fatalf("round %d: %s", i, got)
				}
			}
		}},
		{"G-03 nothing changed: the same revision", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			f.tell()
			synctest.Wait()
			wantText(t, "listings", f.discovers, 2)
			wantText(t, "revision", tb.Revision(), 1)
			wantText(t, "tools", names(tb.Tools()), "a b c")
		}},
		{"G-05 the same spec with another function behind it", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			f.mu.Lock()
			f.call = func(context.Context, string, map[string]any) (ts.Result, error) { return ts.Value("the new one"), nil }
			f.mu.Unlock()
			f.tell()
			synctest.Wait()
			wantText(t, "answered by", owner(t, tb, "a"), "the new one")
		}},
		{"G-07 a listing that fails leaves everything as it was, and the next is taken in", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			f.set("z")
			f.mu.Lock()
			f.err = errors.New("502 bad gateway")
			f.mu.Unlock()
			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "a b c")
			wantText(t, "revision", tb.Revision(), 1)
			wantText(t, "a call", owner(t, tb, "a"), "s")
			if st := tb.Sources()[0]; st.Err == nil || !st.Stale {
				t.Errorf("%+v", st)
			}
			f.mu.Lock()
			f.err = nil
			f.mu.Unlock()
			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "z")
			if st := tb.Sources()[0]; st.Err != nil || st.Stale {
				t.Errorf("%+v", st)
			}
		}},
		{"G-08 those that stay keep their place, new ones come last, whatever the listing's order", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			other := tools("other", "o")
			add(t, tb, at(other, 1))
			f.set("c", "d", "b", "a")
			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "a b c o d")
			f.set("d", "b")
			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "b o d")
			f.set("a", "b", "c", "d")
			f.tell()
			synctest.Wait()
			wantText(t, "those that come back are new", names(tb.Tools()), "b o d a c")
		}},
		{"G-09 swapped inside a call: the answer first, the announcement later", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			f.mu.Lock()
			f.call = func(_ context.Context, name string, _ map[string]any) (ts.Result, error) {
				f.mu.Lock()
				defer f.mu.Unlock()
				for _, s := range f.specs {
					if s.Name == name {
						f.specs = []ts.ToolSpec{{Name: "d"}}
						return ts.Value("swapped"), nil
					}
				}
				return ts.Result{}, fmt.Errorf("%w: the server has no tool %s", ts.ErrUnknownTool, name)
			}
			f.mu.Unlock()
			f.tell()
			synctest.Wait()
			tool, _ := tb.Tool("b")
			sel, err := tb.Select(ctx, "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, "the call", owner(t, tb, "a"), "swapped")

			// Nothing is known yet: the snapshot stands, and the server itself refuses.
			wantText(t, "tools", names(tb.Tools()), "a b c")
			_, err = tb.Call(ctx, "b", nil)
			if ce := callError(t, err); ce.Kind != ts.KindUnknownTool || ce.MayHaveRun || ce.Tool != "b" || ce.Source != "s" || ce.Remedy == "" {
				t.Errorf("%#v", ce)
			}

			f.tell()
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "d")
			wantText(t, "the new one", owner(t, tb, "d"), "swapped")
			held, err := sel.Resolve("b")
			if err != nil {
				t.Fatal(err) // a selection does not change
			}
			for what, call := range map[string]ts.Callable{"held": tool.Call, "selected": held} {
				_, err := call(ctx, nil)
				if ce := callError(t, err); ce.Kind != ts.KindUnavailable || ce.MayHaveRun || !strings.Contains(err.Error(), "its source no longer has it") || ce.Remedy == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err = tb.Resolve("b")
			if ce := callError(t, err); ce.Kind != ts.KindUnknownTool || ce.Remedy == "" {
				t.Errorf("%v", err)
			}
		}},
		{"G-10 a tool that times out costs its call alone", func(t *testing.T, tb *ts.Toolbox, f *fake) {
			f.mu.Lock()
			f.call = func(ctx context.Context, name string, _ map[string]any) (ts.Result, error) {
				if name == "b" {
					<-ctx.Done()
					return ts.Result{}, ctx.Err()
				}
				return ts.Value("s." + name), nil
			}
			f.mu.Unlock()
			f.tell()
			synctest.Wait()
			slow, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, err := tb.Call(slow, "b", nil); !errors.Is(err, ts.ErrTimeout) {
				t.Error(err)
			}
			synctest.Wait()
			wantText(t, "tools", names(tb.Tools()), "a b c")
			wantText(t, "revision", tb.Revision(), 1)
			wantText(t, "its neighbour", owner(t, tb, "a"), "s")
			wantText(t, "listings", f.discovers, 2)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := tools("s", "a", "b", "c")
				tb := newBox(t, nil)
				add(t, tb, at(f, 5))
				tt.run(t, tb, f)
			})
		})
	}
}

// Listings of one source that overlap.
func TestOverlappingListings(t *testing.T) {
	ctx := context.Background()
	// held has every listing wait until its channel is closed, or for its context.
	held := func(f *fake) (next func() chan struct{}) {
		var waits []chan struct{}
		i := 0
		f.mu.Lock()
		defer f.mu.Unlock()
		f.before = func(ctx context.Context) {
			f.mu.Lock()
			for len(waits) <= i {
				waits = append(waits, make(chan struct{}))
			}
			c := waits[i]
			i++
			f.mu.Unlock()
			select {
			case <-c:
			case <-ctx.Done():
			}
		}
		given := 0
		return func() chan struct{} {
			f.mu.Lock()
			defer f.mu.Unlock()
			for len(waits) <= given {
				waits = append(waits, make(chan struct{}))
			}
			given++
			return waits[given-1]
		}
	}
	short := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, time.Second) }

	t.Run("a refresh that fails does not cost the first listing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := tools("s", "a")
			next := held(f)
			tb := newBox(t, nil)
			added := make(chan error, 1)
			go func() { added <- tb.Add(ctx, at(f, 1)) }()
			synctest.Wait()
			c, cancel := short()
			defer cancel()
			if err := tb.Refresh(c, "s"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			close(next())
			if err := <-added; err != nil {
				t.Fatal(err)
			}
			wantText(t, "tools", names(tb.Tools()), "a")
			if st := tb.Sources()[0]; st.Err != nil || st.Tools != 1 {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("nor the change that was announced before it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := tools("s", "a")
			tb := newBox(t, nil)
			add(t, tb, at(f, 1))
			next := held(f)
			f.tell() // the worker lists, and has not seen yet what comes now
			synctest.Wait()
			first := next()
			f.tell()
			c, cancel := short()
			defer cancel()
			if err := tb.Refresh(c, "s"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			next()
			close(next()) // the listing that has to come
			close(first)
			synctest.Wait()
			f.mu.Lock()
			discovers := f.discovers
			f.mu.Unlock()
			wantText(t, "listings", discovers, 4)
			if st := tb.Sources()[0]; st.Stale || st.Err != nil {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("a listing that failed late does not hide one that was good", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := tools("s", "a")
			tb := newBox(t, nil)
			add(t, tb, at(f, 1))
			next := held(f)
			c, cancel := short()
			defer cancel()
			old := make(chan error, 1)
			go func() { old <- tb.Refresh(c, "s") }()
			synctest.Wait()
			next()
			close(next())
			if err := tb.Refresh(ctx, "s"); err != nil {
				t.Fatal(err)
			}
			if err := <-old; err == nil {
				t.Fatal("it should have failed")
			}
			if st := tb.Sources()[0]; st.Err != nil {
				t.Errorf("%+v", st)
			}
		})
	})
}
