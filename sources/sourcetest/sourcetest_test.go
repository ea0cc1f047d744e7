package sourcetest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRulesCatch: each broken source is caught by its rule, by name and with the reason.
func TestRulesCatch(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range broken {
		caught[b.rule] = true
		t.Run(b.rule+"/"+b.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(1000 * time.Hour) // until whatever hangs has ended
				err := Check(t.Context(), b.src(), "add")
				if err == nil {
					t.Fatal("no rule caught it")
				}
				if !strings.Contains(err.Error(), "breaks rule "+b.rule+": ") {
					t.Fatalf("its rule did not catch it: %v", err)
				}
			})
		})
	}
	for _, r := range rules {
		if !caught[r.name] {
			t.Errorf("rule %s has no broken source", r.name)
		}
	}
}

// whole has every capability and keeps the contract.
type whole struct{ closer }

func (w *whole) Watch(func()) func()                     { return func() {} }
func (w *whole) Offers(context.Context, spec) bool       { return true }
func (w *whole) Status() toolsource.SourceStatus         { return toolsource.SourceStatus{Source: "map"} }
func (w *whole) Bounded() bool                           { return true }
func (w *whole) Claims() []string                        { return []string{"add"} }
func (w *whole) ForUser(toolsource.User) (source, error) { return good(), nil }

func newWhole() source { return &whole{closer{Map: good(), err: toolsource.ErrClosed}} }

var sound = []struct {
	name, want string
	src        func(t *testing.T) source
}{
	{"Map", "add", func(*testing.T) source { return good() }},
	{"Map, named", "add", func(*testing.T) source { return good().Named("other") }},
	{"Slow", "add", func(*testing.T) source { return Slow(good(), time.Second) }},
	{"Flaky, used up", "add", func(*testing.T) source { return Flaky(good()) }},
	{"Failing, by nil", "add", func(*testing.T) source { return Failing(good(), nil) }},
	{"all capabilities", "add", func(*testing.T) source { return newWhole() }},
	{"all capabilities, decorated", "add", func(*testing.T) source { return Slow(Flaky(newWhole()), time.Millisecond) }},
	{"says its mapping", "x_add", func(*testing.T) source { return prefixed() }},
	{"filter", "add", func(*testing.T) source {
		return toolsource.Filter(newWhole(), toolsource.FilterRule{Deny: []string{"e*"}})
	}},
	{"rename", "say", func(*testing.T) source { return toolsource.Rename(newWhole(), map[string]string{"echo": "say"}) }},
	{"prefix", "p_add", func(*testing.T) source { return toolsource.Prefix(newWhole(), "p_") }},
	{"regrade", "add", func(*testing.T) source {
		return toolsource.Regrade(newWhole(), func(spec) grade.Grade { return grade.W1D1 })
	}},
	{"cache", "add", func(*testing.T) source { return toolsource.Cache(newWhole(), time.Minute) }},
	{"cache of a filter of a prefix", "p_add", func(*testing.T) source {
		return toolsource.Cache(toolsource.Filter(toolsource.Prefix(newWhole(), "p_"), toolsource.FilterRule{Ceiling: grade.W1D1}), time.Minute)
	}},
	{"toolbox", "add", func(t *testing.T) source {
		tb := toolsource.NewToolbox(nil)
		if err := tb.Add(t.Context(), toolsource.Layer{Source: newWhole()}); err != nil {
			t.Error(err)
		}
		return tb.AsSource("box")
	}},
}

func TestSoundSources(t *testing.T) {
	for _, tt := range sound {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := Check(t.Context(), tt.src(t), tt.want); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRun is the suite as an author of a source would use it.
func TestRun(t *testing.T) {
	Run(t, func(*testing.T) source { return newWhole() }, "add", "echo")
}

func TestCheckNil(t *testing.T) {
	if Check(t.Context(), nil) == nil {
		t.Error("a nil source passes")
	}
}

// TestCheckEndsWithItsContext: it does not go through all rules for nothing.
func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ctx, good()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNothingIsWritten: a tool above (1,1) is never called, and neither is one of unknown grade, wanted or not.
func TestNothingIsWritten(t *testing.T) {
	for _, g := range []grade.Grade{grade.Unknown, grade.W1D2, grade.W2D0, grade.W2D1, grade.Max} {
		var calls atomic.Int32
		m := Map{"drop": func(context.Context, map[string]any) (any, error) { calls.Add(1); return nil, nil }}
		src := toolsource.Regrade(m, func(spec) grade.Grade { return g })
		if err := Check(t.Context(), src, "drop"); err != nil {
			t.Error(err)
		}
		if calls.Load() > 0 {
			t.Errorf("a tool of grade %v was called", g)
		}
	}
}

// TestReasonsAreTheContract: each rule's reason stands in package toolsource word for word.
func TestReasonsAreTheContract(t *testing.T) {
	var text strings.Builder
	for _, file := range []string{"toolsource.go", "capability.go", "result.go"} {
		b, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			text.WriteString(strings.TrimPrefix(strings.TrimSpace(line), "//") + " ")
		}
	}
	contract := strings.Join(strings.Fields(text.String()), " ")
	for _, r := range rules {
		if !strings.Contains(contract, strings.Join(strings.Fields(r.why), " ")) {
			t.Errorf("rule %s: the contract does not say %q", r.name, r.why)
		}
	}
}

func TestMap(t *testing.T) {
	m := Map{
		"two":    func(context.Context, map[string]any) (any, error) { return 2, nil },
		"fail":   func(context.Context, map[string]any) (any, error) { return nil, os.ErrNotExist },
		"result": func(context.Context, map[string]any) (any, error) { return toolsource.Result{Truncated: true}, nil },
		"nil":    nil,
	}
	specs, err := m.Discover(t.Context())
	if err != nil || !slices.Equal(names(specs), []string{"fail", "nil", "result", "two"}) {
		t.Fatalf("lists %v, %v", names(specs), err)
	}
	call := func(i int) (toolsource.Result, error) {
		c, err := m.Resolve(specs[i])
		if err != nil {
			t.Fatal(err)
		}
		return c(t.Context(), nil)
	}
	if _, err := call(0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("fail: %v", err)
	}
	if res, _ := call(2); !res.Truncated {
		t.Error("a Result is not passed on as it is")
	}
	if res, _ := call(3); res.Value != int64(2) {
		t.Errorf("two: %v", res.Value)
	}
	if _, err := m.Resolve(specs[1]); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Errorf("a nil function resolves: %v", err)
	}
	if _, err := m.Named("other").Resolve(specs[3]); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Errorf("a spec of another source resolves: %v", err)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := Slow(good(), time.Minute)
		start := time.Now()
		specs, err := src.Discover(t.Context())
		if err != nil || time.Since(start) != time.Minute {
			t.Errorf("listed after %v, %v", time.Since(start), err)
		}
		call, err := src.Resolve(specs[0])
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := call(ctx, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("called for %v, %v", time.Since(start), err)
		}
	})
}

func TestFlaky(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	src := Flaky(good(), one, nil, two)
	list := func() error { _, err := src.Discover(t.Context()); return err }
	for i, want := range []error{one, nil, two, nil, nil} {
		if got := list(); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("listing %d: %v, want %v", i, got, want)
		}
	}
	src = Flaky(good(), nil, one)
	specs, _ := src.Discover(t.Context())
	call, err := src.Resolve(specs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), nil); !errors.Is(err, one) {
		t.Errorf("the call: %v, want %v", err, one)
	}
	if _, err := call(t.Context(), nil); err != nil {
		t.Errorf("the call after the last error: %v", err)
	}
}

// TestFakesKeepCapabilities: what a source can do is found through the fakes, and stays private where it is.
func TestFakesKeepCapabilities(t *testing.T) {
	u, _ := toolsource.NewUser("u")
	src := Slow(newWhole(), 0)
	if us, private, err := toolsource.SourceForUser(src, u); err != nil || !private || us.Name() != "map" {
		t.Errorf("for a user: %v, %v", private, err)
	}
	if !toolsource.IsBounded(src) {
		t.Error("it is no longer Bounded")
	}
	if _, private, err := toolsource.SourceForUser(Slow(good(), 0), u); private || err != nil {
		t.Errorf("a source that everybody shares became private: %v", err)
	}
}
