package toolsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

// stubborn ignores its context until it is let go.
func stubborn(free <-chan struct{}) ts.Callable {
	return func(context.Context, map[string]any) (ts.Result, error) {
		<-free
		return ts.Value("late"), nil
	}
}

func register(t testing.TB, tb *ts.Toolbox, spec ts.ToolSpec, call ts.Callable) ts.Callable {
	t.Helper()
	if _, err := tb.Register(spec, call); err != nil {
		t.Fatal(err)
	}
	c, err := tb.Resolve(spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACallEndsInTime(t *testing.T) {
	tests := []struct {
		name  string
		o     ts.Options
		spec  ts.Limits
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		after time.Duration
		kind  ts.Kind
		text  string
	}{
		{name: "caller's deadline", after: 500 * time.Millisecond, kind: ts.KindTimeout,
			ctx: func(c context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(c, 500*time.Millisecond)
			},
			text: `toolsource: x: source "s": call: timed out after 500ms, at the caller's deadline (it may have run) (give it more time or look at why it is slow)`},
		{name: "caller cancels", after: time.Second, kind: ts.KindCancelled,
			ctx: func(c context.Context) (context.Context, context.CancelFunc) {
				c, cancel := context.WithCancelCause(c)
				time.AfterFunc(time.Second, func() { cancel(errors.New("the user pressed a key")) })
				return c, func() { cancel(nil) }
			},
			text: `toolsource: x: source "s": call: cancelled: the user pressed a key (it may have run)`},
		{name: "default silence", after: time.Minute, kind: ts.KindTimeout,
			text: `toolsource: x: source "s": call: timed out after 1m0s without progress (it may have run) (raise the tool's silence limit, or have it report progress)`},
		{name: "the Toolbox's ceiling", o: ts.Options{Limits: ts.Limits{Ceiling: 2 * time.Second}}, after: 2 * time.Second, kind: ts.KindTimeout,
			text: `toolsource: x: source "s": call: timed out after 2s, the most it may take (it may have run) (raise the tool's ceiling)`},
		{name: "the spec's limit", spec: ts.Limits{Silence: 3 * time.Second}, after: 3 * time.Second, kind: ts.KindTimeout},
		{name: "the context's limit before the spec's", spec: ts.Limits{Silence: 3 * time.Second}, after: time.Second, kind: ts.KindTimeout,
			ctx: func(c context.Context) (context.Context, context.CancelFunc) {
				return ts.WithLimits(c, ts.Limits{Silence: time.Second}), func() {}
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				tb := newBox(t, &tt.o)
				f := tools("s", "x")
				f.specs[0].Limits = tt.spec
				f.call = func(context.Context, string, map[string]any) (ts.Result, error) { return stubborn(free)(nil, nil) }
				add(t, tb, at(f, 1))
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if tt.ctx != nil {
					ctx, cancel = tt.ctx(ctx)
				}
				defer cancel()
				begun := time.Now()
				_, err := tb.Call(ctx, "x", nil)
				wantText(t, "returned after", time.Since(begun), tt.after)
				ce := callError(t, err)
				wantText(t, "kind", ce.Kind, tt.kind)
				if !ce.MayHaveRun {
					t.Error("it may have run")
				}
				if tt.kind == ts.KindTimeout && (!errors.Is(err, ts.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded)) {
					t.Error("a time-out matches ErrTimeout and context.DeadlineExceeded")
				}
				if tt.kind == ts.KindCancelled && !errors.Is(err, context.Canceled) {
					t.Error("a cancelled call matches context.Canceled")
				}
				if tt.text != "" {
					wantText(t, "text", err, tt.text)
				}
				wantText(t, "left behind", tb.Sources()[0].Abandoned, 1)
				close(free)
				synctest.Wait()
				wantText(t, "left behind at the end", tb.Sources()[0].Abandoned, 0)
			})
		})
	}
}

func TestProgressRenewsTheSilenceLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, &ts.Options{Limits: ts.Limits{Silence: 10 * time.Second, Ceiling: time.Minute}})
		call := register(t, tb, ts.ToolSpec{Name: "slow"}, func(ctx context.Context, args map[string]any) (ts.Result, error) {
			for i := range int(args["steps"].(int64)) {
				time.Sleep(9 * time.Second)
				ts.ReportProgress(ctx, ts.Progress{Progress: float64(i + 1)})
			}
			return ts.Value("done"), nil
		})
		var mu sync.Mutex // a report may still be under way when the call returns
		var seen []float64
		ctx := ts.WithProgress(context.Background(), func(p ts.Progress) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, p.Progress)
		})
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(seen)
		}
		begun := time.Now()
		res, err := call(ctx, map[string]any{"steps": 5})
		if err != nil || res.Value != "done" {
			t.Fatal(res, err)
		}
		wantText(t, "time", time.Since(begun), 45*time.Second)
		wantText(t, "progress", count(), 5)
		wantText(t, "in order", seen, []float64{1, 2, 3, 4, 5})

		begun = time.Now()
		_, err = call(ctx, map[string]any{"steps": 50})
		wantText(t, "the ceiling holds", time.Since(begun), time.Minute)
		n := count()
		time.Sleep(time.Hour)
		wantText(t, "reports after the call returned", count()-n, 0)
		wantText(t, "kind", ts.KindOf(err), ts.KindTimeout)
	})
}

// A reply and a cancel at the same moment give one whole outcome or the other.
func TestReplyAndCancelAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		var stop func()
		call := register(t, tb, ts.ToolSpec{Name: "x"}, func(context.Context, map[string]any) (ts.Result, error) {
			stop()
			return ts.Value("here"), nil
		})
		for range 200 {
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			res, err := call(ctx, nil)
			cancel()
			switch {
			case err == nil && res.Value == "here":
			case err != nil && ts.KindOf(err) == ts.KindCancelled && callError(t, err).MayHaveRun && res.Value == nil:
			default:
				t.Fatalf("%v, %v", res.Value, err)
			}
		}
	})
}

func TestACallOnADeadContextDoesNotRun(t *testing.T) {
	var ran atomic.Int32
	tb := newBox(t, nil)
	call := register(t, tb, ts.ToolSpec{Name: "x"}, func(context.Context, map[string]any) (ts.Result, error) {
		ran.Add(1)
		return ts.Result{}, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		_, err := call(ctx, nil)
		if ce := callError(t, err); ce.Kind != ts.KindCancelled || ce.MayHaveRun {
			t.Fatalf("%+v", ce)
		}
	}
	if ran.Load() != 0 {
		t.Error("it ran")
	}
}

func TestCloseFreesCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tb := ts.NewToolbox(nil)
		call := register(t, tb, ts.ToolSpec{Name: "x"}, stubborn(free))
		errs := make(chan error, 10)
		for range 10 {
			go func() {
				_, err := call(context.Background(), nil)
				errs <- err
			}()
		}
		synctest.Wait()
		begun := time.Now()
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if err := <-errs; !errors.Is(err, ts.ErrClosed) || !callError(t, err).MayHaveRun {
				t.Errorf("got %v", err)
			}
		}
		wantText(t, "time", time.Since(begun), time.Duration(0))
		if _, err := call(context.Background(), nil); !errors.Is(err, ts.ErrClosed) || callError(t, err).MayHaveRun {
			t.Errorf("a call after Close gave %v", err)
		}
		if _, err := tb.Resolve("x"); !errors.Is(err, ts.ErrClosed) {
			t.Errorf("Resolve after Close gave %v", err)
		}
		if err := tb.Close(); err != nil {
			t.Errorf("a second Close gave %v", err)
		}
		close(free)
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		stuck, shared, good := tools("stuck", "x"), tools("shared", "y"), tools("good", "z")
		stuck.closing = func() error { <-free; return nil }
		good.closing = func() error { return errors.New("could not flush") }
		tb := ts.NewToolbox(&ts.Options{CloseBound: 2 * time.Second})
		add(t, tb, at(stuck, 1), ts.Layer{Source: shared, Shared: true}, at(good, 1))
		begun := time.Now()
		err := tb.Close()
		wantText(t, "time", time.Since(begun), 2*time.Second)
		if err == nil || !strings.Contains(err.Error(), "close good: could not flush") || !strings.Contains(err.Error(), "close stuck: timed out after 2s, left behind") {
			t.Errorf("got %v", err)
		}
		wantText(t, "closes of the shared source", shared.closes.Load(), 0)
		close(free)
	})
}

func TestSourcesCloseSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := ts.NewToolbox(nil)
		for i := range 4 {
			f := tools(fmt.Sprint("s", i), fmt.Sprint("t", i))
			f.closing = func() error { time.Sleep(50 * time.Millisecond); return nil }
			add(t, tb, at(f, 1))
		}
		begun := time.Now()
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
		wantText(t, "time", time.Since(begun), 50*time.Millisecond)
	})
}

func TestPanicsAreErrors(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		f := tools("s", "x")
		f.bounded = bounded
		f.call = func(context.Context, string, map[string]any) (ts.Result, error) { panic("no such thing") }
		tb := newBox(t, nil)
		add(t, tb, at(plainBounded{f}, 1))
		_, err := tb.Call(context.Background(), "x", nil)
		wantText(t, "text", err, `toolsource: x: source "s": call: panicked: no such thing (it may have run) (this is a fault in the tool's own code)`)
		if !errors.Is(err, ts.ErrPanic) {
			t.Error("it should match ErrPanic")
		}
		var pe *ts.PanicError
		if !errors.As(err, &pe) || !strings.Contains(string(pe.Stack), "invoke_test.go") {
			t.Error("the stack should lead to the fault")
		}
	}
}

func TestAFunctionThatEndsItsGoroutine(t *testing.T) {
	tb := newBox(t, nil)
	call := register(t, tb, ts.ToolSpec{Name: "x"}, func(context.Context, map[string]any) (ts.Result, error) {
		runtime.Goexit()
		return ts.Result{}, nil
	})
	if _, err := call(context.Background(), nil); !errors.Is(err, ts.ErrPanic) {
		t.Errorf("got %v", err)
	}
}

// plainBounded is a fake without a gate.
type plainBounded struct{ f *fake }

func (p plainBounded) Name() string    { return p.f.Name() }
func (p plainBounded) Available() bool { return true }
func (p plainBounded) Bounded() bool   { return p.f.bounded }
func (p plainBounded) Discover(ctx context.Context) ([]ts.ToolSpec, error) {
	return p.f.Discover(ctx)
}
func (p plainBounded) Resolve(s ts.ToolSpec) (ts.Callable, error) { return p.f.Resolve(s) }

func TestErrorsOfToolsAreTyped(t *testing.T) {
	tests := []struct {
		name string
		err  error
		kind ts.Kind
		ran  bool
		text string
	}{
		{"a Go error is the tool's answer", fs.ErrNotExist, ts.KindTool, true, "toolsource: x: tool error: file does not exist"},
		{"a tool error gets its name", &ts.ToolError{Result: ts.Value("no")}, ts.KindTool, true, "toolsource: x: tool error: no"},
		{"unavailable did not run", ts.ErrUnavailable, ts.KindUnavailable, false, `toolsource: x: source "s": call: tool is unavailable`},
		{"bad arguments did not run", fmt.Errorf("%w: a is odd", ts.ErrBadArguments), ts.KindBadArguments, false, `toolsource: x: source "s": call: bad arguments: a is odd`},
		{"not reached did not run", fmt.Errorf("%w: %w", ts.ErrSessionLost, ts.ErrNotReached), ts.KindSessionLost, false, `toolsource: x: source "s": call: session lost: did not reach the tool`},
		{"its own time-out", context.DeadlineExceeded, ts.KindTimeout, true, `toolsource: x: source "s": call: timed out: context deadline exceeded (it may have run) (the tool itself gave up waiting for something)`},
		{"a call error is filled up", &ts.CallError{Kind: ts.KindForbidden, Phase: "call"}, ts.KindForbidden, false, `toolsource: x: source "s": call: forbidden by the server`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tools("s", "x")
			f.call = func(context.Context, string, map[string]any) (ts.Result, error) { return ts.Result{}, tt.err }
			tb := newBox(t, nil)
			add(t, tb, at(f, 1))
			_, err := tb.Call(context.Background(), "x", nil)
			wantText(t, "kind", ts.KindOf(err), tt.kind)
			wantText(t, "text", err, tt.text)
			if !errors.Is(err, tt.err) && tt.kind != ts.KindTool && tt.kind != ts.KindForbidden {
				t.Error("the cause should be in the chain")
			}
			if tt.kind != ts.KindTool {
				if got := callError(t, err).MayHaveRun; got != tt.ran {
					t.Errorf("MayHaveRun is %v, want %v", got, tt.ran)
				}
			}
		})
	}
	if !errors.Is((&ts.ToolError{Err: fs.ErrNotExist}), fs.ErrNotExist) {
		t.Error("a tool error unwraps to the Go error")
	}
}

type celsius float32

func TestArguments(t *testing.T) {
	big := json.Number("92233720368547758070")
	loop := map[string]any{}
	loop["self"] = loop
	good := []struct {
		in, want any
	}{
		{int8(-3), int64(-3)}, {uint(7), int64(7)}, {uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{float32(0.1), 0.1}, {celsius(1.5), 1.5}, {json.Number("5"), int64(5)}, {json.Number("1.5"), 1.5}, {big, big},
		{json.Number("-0"), int64(0)}, {json.RawMessage(" { \"a\" : 1 } "), json.RawMessage(`{"a":1}`)},
		{[]string{"a"}, []any{"a"}}, {map[string]int{"a": 1}, map[string]any{"a": int64(1)}},
		{[]any{int32(1), "s", nil, true}, []any{int64(1), "s", nil, true}}, {[2]bool{true}, []any{true, false}},
		{map[string][]uint16{"a": {1}}, map[string]any{"a": []any{int64(1)}}}, {ts.Blob{Data: []byte{1}}, ts.Blob{Data: []byte{1}}},
		{int64(1<<53 + 1), int64(1<<53 + 1)}, {[]int(nil), nil}, {"", ""},
	}
	for _, tt := range good {
		in := map[string]any{"v": tt.in, "w": "kept"}
		got, err := ts.Arguments(in)
		if err != nil || !reflect.DeepEqual(got["v"], tt.want) {
			t.Errorf("%T %v gave %#v, %v, want %#v", tt.in, tt.in, got["v"], err, tt.want)
		}
		if !reflect.DeepEqual(in["v"], tt.in) {
			t.Errorf("%T %v: the caller's map was changed", tt.in, tt.in)
		}
	}
	bad := []struct {
		in   any
		text string
	}{
		{math.NaN(), "bad arguments: v is NaN, which JSON cannot express"},
		{[]any{1, map[string]any{"k": math.Inf(1)}}, "bad arguments: v[1].k is +Inf, which JSON cannot express"},
		{func() {}, "bad arguments: v is a func(), which is not a value that JSON has; give a map, a slice, a string, a number, a bool or nil"},
		{make(chan int), "bad arguments: v is a chan int, which is not a value that JSON has; give a map, a slice, a string, a number, a bool or nil"},
		{struct{ A int }{1}, "bad arguments: v is a struct { A int }, which is not a value that JSON has; give a map, a slice, a string, a number, a bool or nil"},
		{map[int]string{1: "a"}, "bad arguments: v is a map[int]string, and a map's keys must be strings"},
		{json.RawMessage("{"), "bad arguments: v is raw JSON that does not parse: unexpected end of JSON input"},
		{json.RawMessage("1\n2"), "bad arguments: v is raw JSON that does not parse: invalid character '2' after top-level value"},
		{json.Number("5x"), `bad arguments: v is the number "5x", which is not one`},
		{json.Number("007"), `bad arguments: v is the number "007", which is not one`},
		{json.Number(""), `bad arguments: v is the number "", which is not one`},
		{json.Number("1e999"), "bad arguments: v is the number 1e999, which is out of range"},
		{"a\xffb", "bad arguments: v is not valid UTF-8; give bytes as a Blob"},
	}
	for _, tt := range bad {
		_, err := ts.Arguments(map[string]any{"v": tt.in})
		if !errors.Is(err, ts.ErrBadArguments) {
			t.Errorf("%T: %v is no ErrBadArguments", tt.in, err)
		}
		wantText(t, fmt.Sprintf("%T", tt.in), err, tt.text)
	}
	if _, err := ts.Arguments(loop); !errors.Is(err, ts.ErrBadArguments) || len(err.Error()) > 10_000 {
		t.Errorf("a map that holds itself gave an error of %d bytes", len(fmt.Sprint(err)))
	}
	args := map[string]any{"a": []any{map[string]any{"b": int64(1)}}}
	if got, _ := ts.Arguments(args); reflect.ValueOf(got).Pointer() != reflect.ValueOf(args).Pointer() {
		t.Error("arguments that need no change should not be copied")
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = ts.Arguments(args) }); n > 1 { // the map is boxed once
		t.Errorf("arguments that need no change cost %v allocations", n)
	}

	tb := newBox(t, nil)
	call := register(t, tb, ts.ToolSpec{Name: "x"}, answering("ran"))
	_, err := call(context.Background(), map[string]any{"deep": []any{math.NaN()}})
	wantText(t, "through a Toolbox", err, `toolsource: x: source "register": bind: bad arguments: deep[0] is NaN, which JSON cannot express`)
	if callError(t, err).MayHaveRun {
		t.Error("it did not run")
	}
}

func TestValueTypes(t *testing.T) {
	type point struct {
		X int `json:"x"`
	}
	tests := []struct{ in, want any }{
		{5, int64(5)}, {float32(0.5), 0.5}, {[]int{1}, []any{int64(1)}}, {[]byte("ab"), ts.Blob{Data: []byte("ab")}},
		{point{3}, map[string]any{"x": int64(3)}}, {&point{4}, map[string]any{"x": int64(4)}},
		{map[string]point{"p": {5}}, map[string]any{"p": map[string]any{"x": int64(5)}}},
		{map[string]any{"a": json.Number("5"), "b": json.Number("0.5"), "c": json.Number("92233720368547758070")}, map[string]any{"a": int64(5), "b": 0.5, "c": json.Number("92233720368547758070")}},
		{json.RawMessage(`{"n":9007199254740993}`), map[string]any{"n": int64(9007199254740993)}},
		{time.Duration(5), int64(5)}, {uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{ts.Secret("hush"), "***"}, {math.Inf(1), math.Inf(1)}, {nil, nil}, {[]any{1, []string{"a"}}, []any{int64(1), []any{"a"}}},
	}
	for _, tt := range tests {
		if got := ts.Value(tt.in).Value; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%T %v gave %#v, want %#v", tt.in, tt.in, got, tt.want)
		}
	}
	tb := newBox(t, nil)
	call := register(t, tb, ts.ToolSpec{Name: "x"}, func(context.Context, map[string]any) (ts.Result, error) {
		return ts.Result{Value: []int{1, 2}}, nil
	})
	if res, err := call(context.Background(), nil); err != nil || !reflect.DeepEqual(res.Value, []any{int64(1), int64(2)}) {
		t.Errorf("a Go function's value should be brought into the types of Result: %#v, %v", res.Value, err)
	}
}

func TestUnknownToolsAreSuggested(t *testing.T) {
	tb := newBox(t, nil)
	_, err := tb.Resolve("x")
	wantText(t, "no tools", err, `toolsource: x: resolve: unknown tool "x": no attached source provides it (there are no tools)`)
	add(t, tb, at(tools("a", "read_file", "write_file", "find_files"), 1))
	for _, tt := range []struct{ name, text string }{
		{"reed_file", `toolsource: reed_file: resolve: unknown tool "reed_file": no attached source provides it (did you mean read_file?)`},
		{"raed_file", `toolsource: raed_file: resolve: unknown tool "raed_file": no attached source provides it (did you mean read_file?)`},
		{"Read_File", `toolsource: Read_File: resolve: unknown tool "Read_File": no attached source provides it (did you mean read_file?)`},
		{"qqq", `toolsource: qqq: resolve: unknown tool "qqq": no attached source provides it (there are find_files, read_file, write_file)`},
	} {
		_, err := tb.Call(context.Background(), tt.name, nil)
		wantText(t, tt.name, err, tt.text)
		if !errors.Is(err, ts.ErrUnknownTool) {
			t.Error("it should match ErrUnknownTool")
		}
	}
}

func TestUnresolvableToolIsListedAndFails(t *testing.T) {
	tb := newBox(t, nil)
	add(t, tb, at(unresolvable{tools("a", "x", "y")}, 1))
	wantText(t, "tools", names(tb.Tools()), "x y")
	_, err := tb.Resolve("x")
	wantText(t, "Resolve", err, `toolsource: x: source "a": resolve: tool is unavailable: no provider "python" (its source listed it but could not resolve it)`)
	tool, _ := tb.Tool("x")
	if _, err := tool.Call(context.Background(), nil); !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("its callable gave %v", err)
	}
	wantText(t, "its neighbour", owner(t, tb, "y"), "a")
	wantText(t, "problems", tb.Sources()[0].Problems, `[tool "x": no provider "python"]`)
}

type unresolvable struct{ *fake }

func (u unresolvable) Resolve(s ts.ToolSpec) (ts.Callable, error) {
	if s.Name == "x" {
		return nil, errors.New(`no provider "python"`)
	}
	return u.fake.Resolve(s)
}

func TestRegisterRefusesBadSpecs(t *testing.T) {
	tb := newBox(t, nil)
	for _, tt := range []struct {
		spec ts.ToolSpec
		call ts.Callable
		text string
	}{
		{ts.ToolSpec{}, answering(""), "toolsource: register register: bad tool spec: the name is empty"},
		{ts.ToolSpec{Name: "get-weather"}, answering(""), `toolsource: register register: bad tool spec: the name "get-weather" is not an identifier: want ASCII letters, digits and _, not a digit first`},
		{ts.ToolSpec{Name: "x"}, nil, `toolsource: register register: bad tool spec: tool "x" has no callable`},
	} {
		_, err := tb.Register(tt.spec, tt.call)
		wantText(t, tt.spec.Name, err, tt.text)
	}
}

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		note := func(tag string) ts.Middleware {
			return func(spec ts.ToolSpec, next ts.Callable) ts.Callable {
				return func(ctx context.Context, args map[string]any) (ts.Result, error) {
					events = append(events, tag)
					return next(ctx, args)
				}
			}
		}
		var traced []ts.TraceEvent
		free := make(chan struct{})
		tb := newBox(t, &ts.Options{Middleware: []ts.Middleware{
			note("outer"), ts.Trace(func(e ts.TraceEvent) { traced = append(traced, e); panic("a bad hook") }),
			ts.LimitCalls(ts.Limits{Ceiling: 2 * time.Second}), note("inner"),
		}})
		call := register(t, tb, ts.ToolSpec{Name: "x"}, func(_ context.Context, args map[string]any) (ts.Result, error) {
			switch args["do"] {
			case "hang":
				<-free
			case "fail":
				return ts.Result{}, errors.New("no such file")
			}
			time.Sleep(time.Second)
			return ts.Value("ok"), nil
		})
		if res, err := call(context.Background(), map[string]any{"a": 1}); err != nil || res.Value != "ok" {
			t.Fatal(res, err)
		}
		wantText(t, "order", events, "[outer inner]")
		e := traced[0]
		wantText(t, "trace", fmt.Sprint(e.Step, e.Tool, e.Args, e.Result.Value, e.Err, e.Duration), "0xmap[a:1]ok<nil> 1s")
		_, err := call(context.Background(), map[string]any{"do": "fail"})
		wantText(t, "the error passes", err, "toolsource: x: tool error: no such file")
		wantText(t, "traced", fmt.Sprint(traced[1].Step, traced[1].Err), "1 no such file")
		begun := time.Now()
		_, err = call(context.Background(), map[string]any{"do": "hang"})
		wantText(t, "limited after", time.Since(begun), 2*time.Second)
		wantText(t, "limited", err, `toolsource: x: source "register": call: timed out after 2s, the most it may take (it may have run) (raise the tool's ceiling)`)
		close(free)
		synctest.Wait()
		time.Sleep(time.Second)
	})
	tb := newBox(t, &ts.Options{Middleware: []ts.Middleware{func(ts.ToolSpec, ts.Callable) ts.Callable { panic("bad wrap") }}})
	call := register(t, tb, ts.ToolSpec{Name: "x"}, answering("ok"))
	if _, err := call(context.Background(), nil); !errors.Is(err, ts.ErrPanic) {
		t.Errorf("a middleware that panics gave %v", err)
	}
}

func TestPerCallExtras(t *testing.T) {
	ctx := ts.WithCallMeta(context.Background(), map[string]any{"a": 1, "b": 1})
	ctx = ts.WithCallMeta(ctx, map[string]any{"b": 2})
	wantText(t, "meta", ts.CallMeta(ctx), "map[a:1 b:2]")
	wantText(t, "none", ts.CallMeta(context.Background()), "map[]")
	wantText(t, "limits", ts.LimitsFrom(ts.WithLimits(ctx, ts.Limits{Ceiling: 5})), "{0s 5ns}")
	ts.ReportProgress(context.Background(), ts.Progress{}) // nobody listens
}

func TestNestedCalls(t *testing.T) {
	tb := newBox(t, nil)
	register(t, tb, ts.ToolSpec{Name: "inner"}, func(_ context.Context, args map[string]any) (ts.Result, error) {
		return ts.Value(args["n"].(int64) + 1), nil
	})
	outer := register(t, tb, ts.ToolSpec{Name: "outer"}, func(ctx context.Context, args map[string]any) (ts.Result, error) {
		return tb.Call(ctx, "inner", args)
	})
	if res, err := outer(context.Background(), map[string]any{"n": 1}); err != nil || res.Value != int64(2) {
		t.Fatal(res, err)
	}
	failing := map[string]error{
		"sign": &ts.CallError{Kind: ts.KindNeedsAuth, Remedy: "sign in"},
		"file": fs.ErrNotExist,
	}
	for name, err := range failing {
		register(t, tb, ts.ToolSpec{Name: name}, func(context.Context, map[string]any) (ts.Result, error) { return ts.Result{}, err })
	}
	through := register(t, tb, ts.ToolSpec{Name: "through"}, func(ctx context.Context, args map[string]any) (ts.Result, error) {
		res, err := tb.Call(ctx, args["tool"].(string), nil)
		if err != nil {
			return res, fmt.Errorf("step 2: %w", err)
		}
		return res, nil
	})
	_, err := through(context.Background(), map[string]any{"tool": "sign"})
	wantText(t, "the kind of the inner error stays", err, `toolsource: through: source "register": call: step 2: toolsource: sign: source "register": authorisation needed (sign in) (it may have run) (sign in)`)
	wantText(t, "kind", ts.KindOf(err), ts.KindNeedsAuth)
	_, err = through(context.Background(), map[string]any{"tool": "file"})
	wantText(t, "a tool's answer", err, "toolsource: through: tool error: step 2: toolsource: file: tool error: file does not exist")
	if ts.KindOf(err) != ts.KindTool || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kind %s", ts.KindOf(err))
	}
}
