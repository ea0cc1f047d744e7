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
	"github.com/toolsource/toolsource/grade"
)

func TestDecorators(t *testing.T) {
	base := func() *fake {
		f := graded("a", "read", grade.W1D0, "write", grade.W3D2, "drop", grade.Max)
		f.specs[1].Origin.WireName = "fs.write"
		return f
	}
	tests := []struct {
		name  string
		src   func(f ts.ToolSource) ts.ToolSource
		tools string
	}{
		{"filter by allowed pattern", func(f ts.ToolSource) ts.ToolSource { return ts.Filter(f, ts.FilterRule{Allow: []string{"r*", "fs.*"}}) }, "read write"},
		{"filter by denied pattern", func(f ts.ToolSource) ts.ToolSource {
			return ts.Filter(f, ts.FilterRule{Allow: []string{"*"}, Deny: []string{"d*"}})
		}, "read write"},
		{"filter by ceiling", func(f ts.ToolSource) ts.ToolSource { return ts.Filter(f, ts.FilterRule{Ceiling: grade.W3D2}) }, "read write"},
		{"filter by predicate", func(f ts.ToolSource) ts.ToolSource {
			return ts.Filter(f, ts.FilterRule{Keep: func(s ts.ToolSpec) bool { return s.Name == "drop" }})
		}, "drop"},
		{"rename", func(f ts.ToolSource) ts.ToolSource { return ts.Rename(f, map[string]string{"read": "cat"}) }, "cat write drop"},
		{"prefix", func(f ts.ToolSource) ts.ToolSource { return ts.Prefix(f, "fs_") }, "fs_read fs_write fs_drop"},
		{"regrade", func(f ts.ToolSource) ts.ToolSource {
			return ts.Regrade(f, func(ts.ToolSpec) grade.Grade { return grade.Pure })
		}, "read write drop"},
		{"cache", func(f ts.ToolSource) ts.ToolSource { return ts.Cache(f, time.Minute) }, "read write drop"},
		{"all of them", func(f ts.ToolSource) ts.ToolSource {
			return ts.Filter(ts.Prefix(ts.Rename(ts.Regrade(ts.Cache(f, time.Minute), func(s ts.ToolSpec) grade.Grade { return grade.Pure }), map[string]string{"read": "cat"}), "p_"), ts.FilterRule{Deny: []string{"p_drop"}})
		}, "p_cat p_write"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := base()
				tb := newBox(t, nil)
				add(t, tb, at(tt.src(f), 1))
				wantText(t, "tools", names(tb.Tools()), tt.tools)
				wantText(t, "source", tb.Sources()[0].Source, "a")
				for _, s := range tb.Tools() {
					res, err := tb.Call(context.Background(), s.Name, nil)
					if err != nil {
						t.Errorf("%s: %v", s.Name, err)
						continue
					}
					short := strings.NewReplacer("p_", "", "fs_", "", "cat", "read").Replace(s.Name)
					wantText(t, s.Name, res.Value, "a."+short)
				}
				f.set("write", "extra")
				f.tell()
				synctest.Wait()
				if s := names(tb.Tools()); strings.Contains(s, "read") || strings.Contains(s, "cat") {
					t.Errorf("a change did not come through: %s", s)
				}
				if err := tb.Remove("a"); err != nil || f.closes.Load() != 1 {
					t.Errorf("closes %d, %v", f.closes.Load(), err)
				}
			})
		})
	}
}

func TestFilterIsEnforcedAtTheCall(t *testing.T) {
	f := tools("a", "x")
	allowed := true
	tb := newBox(t, nil)
	add(t, tb, at(ts.Filter(f, ts.FilterRule{Keep: func(ts.ToolSpec) bool { return allowed }}), 1))
	wantText(t, "allowed", owner(t, tb, "x"), "a")
	allowed = false
	_, err := tb.Call(context.Background(), "x", nil)
	wantText(t, "denied", err, `toolsource: x: source "a": call: denied by policy: the filter's predicate does not keep it (change the filter's rule)`)
	if !errors.Is(err, ts.ErrDenied) || callError(t, err).MayHaveRun {
		t.Errorf("%+v", err)
	}
	err = newBox(t, nil).Add(context.Background(), at(ts.Filter(f, ts.FilterRule{Deny: []string{"[x"}}), 1))
	if err == nil || !strings.Contains(err.Error(), `the pattern "[x" is malformed`) {
		t.Errorf("a malformed pattern must not pass: %v", err)
	}
}

func TestDecoratorsRewriteErrors(t *testing.T) {
	f := tools("a", "x")
	f.call = func(context.Context, string, map[string]any) (ts.Result, error) {
		return ts.Result{}, &ts.CallError{Tool: "x", Source: "a", Kind: ts.KindForbidden, Phase: "call"}
	}
	tb := newBox(t, nil)
	add(t, tb, at(ts.Prefix(f, "p_"), 1))
	_, err := tb.Call(context.Background(), "p_x", nil)
	wantText(t, "error", err, `toolsource: p_x: source "a": call: forbidden by the server`)
}

func TestDecoratorsKeepCapabilities(t *testing.T) {
	f := tools("a", "x", "y")
	f.claims, f.bounded = []string{"x", "y"}, true
	src := ts.Filter(ts.Prefix(f, "p_"), ts.FilterRule{Deny: []string{"p_y"}})
	wantText(t, "claims by outer name", ts.Claims(src), "[p_x]")
	if !ts.IsBounded(src) {
		t.Error("bounded is lost")
	}
	if _, ok := ts.Watch(src, func() {}); !ok {
		t.Error("watch is lost")
	}
	specs, err := src.Discover(context.Background())
	if err != nil || !ts.Offered(context.Background(), src, specs[0]) {
		t.Error("the gate is lost", err)
	}
	wantText(t, "the gate was asked for its own name", f.asked, "map[x:1]")
	if ts.Offered(context.Background(), src, ts.ToolSpec{Name: "foreign"}) {
		t.Error("a foreign tool is not offered")
	}
	if _, err := src.Resolve(ts.ToolSpec{Name: "p_y"}); !errors.Is(err, ts.ErrUnknownTool) {
		t.Errorf("a tool that was filtered out resolved: %v", err)
	}
}

func TestPrefixKeepsNamesDistinct(t *testing.T) {
	long := strings.Repeat("n", 60)
	tb := newBox(t, nil)
	add(t, tb, at(ts.Prefix(tools("a", long+"_1", long+"_2"), "prefix_"), 1))
	specs := tb.Tools()
	if len(specs) != 2 || len(specs[0].Name) != 64 || specs[0].Name == specs[1].Name {
		t.Errorf("%v, problems %v", names(specs), tb.Sources()[0].Problems)
	}
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		c := ts.Cache(f, time.Minute)
		list := func() string {
			specs, err := c.Discover(context.Background())
			return fmt.Sprint(names(specs), err, f.discovers)
		}
		wantText(t, "first", list(), "x<nil> 1")
		f.set("y")
		wantText(t, "within the time", list(), "x<nil> 1")
		time.Sleep(time.Minute)
		wantText(t, "after it", list(), "y<nil> 2")
		f.tell()
		wantText(t, "after a change", list(), "y<nil> 3")
		f.mu.Lock()
		f.err = errors.New("down")
		f.mu.Unlock()
		wantText(t, "still fresh", list(), "y<nil> 3")
		time.Sleep(time.Minute)
		wantText(t, "a failure is not hidden", list(), "down 4")
		if err := ts.CloseSource(c); err != nil || f.closes.Load() != 1 {
			t.Error(err)
		}
	})
}

func TestAsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := ts.NewToolbox(nil)
		f := tools("a", "x", "y")
		f.gate = func(n string) bool { return n != "y" }
		add(t, inner, at(f, 1))
		outer := newBox(t, nil)
		add(t, outer, at(inner.AsSource("box"), 5), at(tools("b", "x", "z"), 1))
		wantText(t, "tools", names(outer.Tools()), "x y z")
		wantText(t, "owner", owner(t, outer, "x"), "a")
		s, err := outer.Select(context.Background(), "x", "y")
		wantText(t, "gates pass through", fmt.Sprint(names(s.Tools()), err), "x<nil>")
		f.set("x", "w")
		f.tell()
		synctest.Wait()
		wantText(t, "changes pass through", names(outer.Tools()), "x z w")
		call, err := outer.Resolve("w")
		if err != nil {
			t.Fatal(err)
		}
		if err := outer.Remove("box"); err != nil {
			t.Fatal(err)
		}
		if _, err := inner.Resolve("x"); !errors.Is(err, ts.ErrClosed) || f.closes.Load() != 1 {
			t.Errorf("the layer owns the Toolbox, so removing it closes it: %v", err)
		}
		if _, err := call(context.Background(), nil); !errors.Is(err, ts.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// endless is a decorator whose chain has no end.
type endless struct{ plainEndless }

type plainEndless struct{}

func (plainEndless) Name() string    { return "endless" }
func (plainEndless) Available() bool { return true }
func (plainEndless) Discover(context.Context) ([]ts.ToolSpec, error) {
	return []ts.ToolSpec{{Name: "x"}}, nil
}
func (plainEndless) Resolve(ts.ToolSpec) (ts.Callable, error) { return answering("endless.x"), nil }
func (e endless) Unwrap() ts.ToolSource                       { return e }

func TestAChainWithoutEnd(t *testing.T) {
	tb := newBox(t, nil)
	add(t, tb, at(endless{}, 1))
	wantText(t, "owner", owner(t, tb, "x"), "endless")
	wantText(t, "users", names(tb.ForUser(user(t, "ann")).Tools()), "x")
}
