package toolsource_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

func TestAToolboxIsNotAttachedToItself(t *testing.T) {
	a, b := newBox(t, nil), newBox(t, nil)
	register(t, a, ts.ToolSpec{Name: "x"}, answering("a.x"))
	err := a.Add(context.Background(), at(a.AsSource("self"), 50))
	wantText(t, "itself", err, "toolsource: add self: the source shows this very Toolbox, directly or through others")
	add(t, b, ts.Layer{Source: ts.Prefix(a.AsSource("a"), "p_"), Shared: true})
	if err := a.Add(context.Background(), at(ts.Cache(b.AsSource("b"), time.Minute), 50)); err == nil {
		t.Error("a circle of two was accepted")
	}
	wantText(t, "a goes on", owner(t, a, "x"), "a")
	if res, err := b.Call(context.Background(), "p_x", nil); err != nil || res.Value != "a.x" {
		t.Errorf("b goes on: %v, %v", res.Value, err)
	}
}

// callingError calls back into the Toolbox from its methods.
type callingError struct{ tb *ts.Toolbox }

func (e callingError) Error() string { e.tb.Sources(); return "calls back" }
func (e callingError) Is(error) bool { e.tb.Sources(); return false }

func TestHostFunctionsMayCallBack(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var tb *ts.Toolbox
		n := 0
		tb = ts.NewToolbox(&ts.Options{
			Logger: slog.New(slog.DiscardHandler),
			Masks: func(string) bool {
				tb.Sources()
				if n++; n == 1 {
					panic("a bad set")
				}
				return true
			},
		})
		defer tb.Close()
		f := tools("a", "x", "bad-name")
		f.call = func(context.Context, string, map[string]any) (ts.Result, error) {
			return ts.Result{}, tb.Remove("a")
		}
		add(t, tb, at(f, 1))
		bad := tools("b", "y")
		bad.err = callingError{tb}
		_ = tb.Add(context.Background(), at(bad, 1))
		tb.Sources()
		_ = tb.Refresh(context.Background(), "b")
		if _, err := tb.Call(context.Background(), "x", nil); err != nil {
			t.Errorf("a tool that removes its own source: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		buf := make([]byte, 1<<16)
		t.Fatalf("it hangs:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

func TestAUsersOwnAdditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		shared := tools("s", "x")
		add(t, tb, at(shared, 1))
		ann := tb.ForUser(user(t, "ann"))
		own := tools("own", "x", "y")
		add(t, ann, at(own, 1))
		register(t, ann, ts.ToolSpec{Name: "z"}, answering("registered.z"))
		wantText(t, "later in the level", owner(t, ann, "x"), "own")
		shared.set("x", "w")
		shared.tell()
		synctest.Wait()
		wantText(t, "they outlive a change of the parent", names(ann.Tools()), "x y z w")
		wantText(t, "and are nobody else's", names(tb.Tools()), "x w")

		err := ann.Remove("s")
		wantText(t, "a shared layer is not a user's to remove", err, "toolsource: remove s: denied by policy: it belongs to the Toolbox that this user's was made from; remove it there")
		wantText(t, "everybody's tool works", owner(t, tb, "x"), "s")
		shared.set("x", "v")
		if err := ann.Refresh(context.Background(), "s"); err != nil {
			t.Fatal(err)
		}
		wantText(t, "refreshed for everybody", names(tb.Tools()), "x v")
		wantText(t, "and for the user at once", names(ann.Tools()), "x y z v")
		if err := ann.Remove("own"); err != nil || own.closes.Load() != 1 {
			t.Errorf("removing one's own: %v, closed %d times", err, own.closes.Load())
		}
		other := tools("other", "q")
		add(t, ann, at(other, 1))
		if err := ann.Close(); err != nil || other.closes.Load() != 1 || shared.closes.Load() != 0 {
			t.Errorf("closing the lease: %v, own closed %d times, shared %d", err, other.closes.Load(), shared.closes.Load())
		}
	})
}

func TestUsersDoNotRepeatTheLog(t *testing.T) {
	var l logs
	tb := newBox(t, &ts.Options{Logger: l.logger()})
	add(t, tb, at(tools("a", "x", "open"), 1), at(tools("b", "x"), 2))
	before := l.String()
	for i := range 5 {
		tb.ForUser(user(t, fmt.Sprint(i)))
	}
	if l.String() != before {
		t.Errorf("users repeat what was logged:\n%s", strings.TrimPrefix(l.String(), before))
	}
}

func TestAFrozenToolboxListsAUsersSourceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, &ts.Options{Freeze: true})
		mine := tools("mail", "inbox")
		add(t, tb, at(&private{fake: tools("mail"), users: map[string]*fake{"ann": mine}}, 1))
		ann := tb.ForUser(user(t, "ann"))
		synctest.Wait()
		wantText(t, "first listing", names(ann.Tools()), "inbox")
		mine.set("inbox", "drafts")
		mine.tell()
		synctest.Wait()
		wantText(t, "frozen from then on", names(ann.Tools()), "inbox")
	})
}

func TestBoundedSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("s", "x")
		f.bounded = true
		f.specs[0].Limits = ts.Limits{Ceiling: 2 * time.Second}
		f.call = func(ctx context.Context, _ string, args map[string]any) (ts.Result, error) {
			if args["n"] != nil {
				return ts.Result{Value: 5}, nil
			}
			<-ctx.Done()
			return ts.Result{}, ctx.Err()
		}
		tb := newBox(t, nil)
		add(t, tb, at(plainBounded{f}, 1))
		begun := time.Now()
		_, err := tb.Call(context.Background(), "x", nil)
		wantText(t, "the ceiling holds", fmt.Sprint(time.Since(begun), " ", err), `2s toolsource: x: source "s": call: timed out after 2s, the most it may take (it may have run) (raise the tool's ceiling)`)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begun = time.Now()
		_, err = tb.Call(ctx, "x", nil)
		wantText(t, "so does the caller's deadline", fmt.Sprint(time.Since(begun), ts.KindOf(err)), "1stimeout")
		res, err := tb.Call(context.Background(), "x", map[string]any{"n": 1})
		wantText(t, "its values are of the right types", fmt.Sprintf("%T %v", res.Value, err), "int64 <nil>")

		// A function of the host around it makes it one that may block.
		free := make(chan struct{})
		var asked atomic.Int32
		filtered := ts.Filter(plainBounded{f}, ts.FilterRule{Keep: func(ts.ToolSpec) bool {
			if asked.Add(1) > 1 {
				<-free
			}
			return true
		}})
		tb = newBox(t, nil)
		add(t, tb, at(filtered, 1))
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begun = time.Now()
		_, err = tb.Call(ctx, "x", nil)
		wantText(t, "a predicate that blocks", fmt.Sprint(time.Since(begun), ts.KindOf(err)), "1stimeout")
		close(free)
		if ts.IsBounded(hides{f}) || !ts.IsBounded(ts.Prefix(plainBounded{f}, "p_")) {
			t.Error("a decorator has to say itself that it is bounded")
		}
	})
}

// hides is a decorator of somebody else's.
type hides struct{ f *fake }

func (h hides) Name() string                                      { return "h" }
func (h hides) Available() bool                                   { return true }
func (h hides) Discover(c context.Context) ([]ts.ToolSpec, error) { return h.f.Discover(c) }
func (h hides) Resolve(s ts.ToolSpec) (ts.Callable, error)        { return h.f.Resolve(s) }
func (h hides) Unwrap() ts.ToolSource                             { return h.f }

func TestWhatIsLeftBehindIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tb := newBox(t, &ts.Options{Middleware: []ts.Middleware{ts.LimitCalls(ts.Limits{Ceiling: time.Second})}})
		call := register(t, tb, ts.ToolSpec{Name: "x"}, stubborn(free))
		wantText(t, "sources", len(tb.Sources()), 0)
		_, err := call(context.Background(), nil)
		wantText(t, "kind", ts.KindOf(err), ts.KindTimeout)
		st := tb.Sources()
		if len(st) != 1 || st[0].Source != "register" || st[0].Abandoned != 1 {
			t.Errorf("a registered function that was left behind is not counted: %+v", st)
		}
		close(free)
		synctest.Wait()
		wantText(t, "when it has returned", len(tb.Sources()), 0)
	})
}

func TestFunctionsThatEndTheirGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		f.gate = func(string) bool { runtime.Goexit(); return true }
		tb := newBox(t, nil)
		add(t, tb, at(f, 1))
		s, err := tb.Select(context.Background(), "x")
		wantText(t, "gate", fmt.Sprint(len(s.Tools()), err), "0 <nil>")

		g := tools("b", "y")
		g.before = func(context.Context) { runtime.Goexit() }
		begun := time.Now()
		if err := tb.Add(context.Background(), at(g, 1)); !errors.Is(err, ts.ErrPanic) || time.Since(begun) > 0 {
			t.Errorf("discover: %v after %v", err, time.Since(begun))
		}
		n := 0
		_, stop := tb.Subscribe(func(ts.Change) { n++; runtime.Goexit() })
		defer stop()
		for i := range 3 {
			add(t, tb, at(tools(fmt.Sprint("s", i), fmt.Sprint("t", i)), 1))
			synctest.Wait()
		}
		wantText(t, "subscriber", n, 3)
	})
}

func TestAFirstListingThatComesLateJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("slow", "x")
		tb := newBox(t, nil)
		add(t, tb, at(plainLate{f, 300 * time.Millisecond}, 1), at(tools("b", "y"), 1)) // in time
		_ = tb.Remove("slow")
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := tb.Add(ctx, at(plainLate{f, 300 * time.Millisecond}, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantText(t, "at first", names(tb.Tools()), "y")
		time.Sleep(time.Second)
		wantText(t, "when it has come up", names(tb.Tools()), "y x")
		wantText(t, "state", tb.Sources()[1].State, ts.StateReady)
	})
}

// plainLate lists after a time, whatever its context says.
type plainLate struct {
	f *fake
	d time.Duration
}

func (p plainLate) Name() string    { return p.f.name }
func (p plainLate) Available() bool { return true }
func (p plainLate) Discover(context.Context) ([]ts.ToolSpec, error) {
	time.Sleep(p.d)
	return p.f.Discover(context.Background())
}
func (p plainLate) Resolve(s ts.ToolSpec) (ts.Callable, error) { return p.f.Resolve(s) }

func TestASourceThatDoesNotSayItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		tb := newBox(t, nil)
		begun := time.Now()
		err := tb.Add(ctx, at(&nameless{free: free}, 1))
		wantText(t, "Add", fmt.Sprint(time.Since(begun), " ", err), "1s toolsource: add layer 0: the source did not say its name: context deadline exceeded")
		close(free)
	})
}

type nameless struct {
	fake
	free chan struct{}
}

func (n *nameless) Name() string { <-n.free; return "n" }

func TestAListenerThatPanicsHarmsNoTool(t *testing.T) {
	tb := newBox(t, nil)
	call := register(t, tb, ts.ToolSpec{Name: "x"}, func(ctx context.Context, _ map[string]any) (ts.Result, error) {
		ts.ReportProgress(ctx, ts.Progress{Progress: 1})
		return ts.Value("ok"), nil
	})
	ctx := ts.WithProgress(context.Background(), func(ts.Progress) { panic("a bad listener") })
	if res, err := call(ctx, nil); err != nil || res.Value != "ok" {
		t.Errorf("got %v, %v", res.Value, err)
	}
}

// selfGated asks in its callables.
type selfGated struct{ *fake }

func (selfGated) SelfGated() bool { return true }

func TestAGateThatAsksItselfIsAskedOnceACall(t *testing.T) {
	f := tools("v", "ping")
	tb := newBox(t, nil)
	add(t, tb, at(ts.Prefix(selfGated{f}, "p_"), 1))
	if _, err := tb.Select(context.Background(), "p_ping"); err != nil {
		t.Fatal(err)
	}
	wantText(t, "owner", owner(t, tb, "p_ping"), "v.ping")
	wantText(t, "asked by the Toolbox", f.asked["ping"], 1)
}

func TestErrorTextsAreOneLine(t *testing.T) {
	for _, err := range []error{
		&ts.ToolError{Tool: "x", Result: ts.Value("l1\nl2\x1b[31m\u2028l3")},
		&ts.SourceError{Source: "s", Op: "discover", Err: errors.New("a\nb")},
	} {
		if strings.ContainsAny(err.Error(), "\n\x1b\u2028") {
			t.Errorf("%q", err.Error())
		}
	}
	if m := ts.ModelMessage(&ts.CallError{Kind: ts.KindTimeout, Remedy: "\u00e9tendre"}); !strings.Contains(m, "\u00c9tendre") {
		t.Errorf("%q", m)
	}
}
