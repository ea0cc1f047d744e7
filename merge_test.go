package toolsource_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

// origins are the layers of a full configuration, the highest first.
func origins() []ts.Layer {
	layers := []ts.Layer{
		at(tools("config", "x"), ts.PrecedenceUser),
		at(tools("default", "x"), ts.PrecedenceDefault),
		at(tools("virtual", "x"), ts.PrecedenceVirtual),
		at(tools("own", "x"), ts.PrecedenceMCP),
	}
	for i := range 6 {
		p, o := ts.HostFile(i)
		layers = append(layers, ts.Layer{Source: tools(fmt.Sprint("host", i), "x"), Precedence: p, Order: o})
	}
	return layers
}

func TestPrecedenceHoldsInEveryOrderOfAdding(t *testing.T) {
	for seed := range uint64(40) {
		layers := origins()
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(layers), func(i, j int) { layers[i], layers[j] = layers[j], layers[i] })
		tb := newBox(t, nil)
		remove, err := tb.Register(ts.ToolSpec{Name: "x"}, answering("registered.x"))
		if err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			add(t, tb, layers...)
		} else {
			for _, l := range layers {
				add(t, tb, l)
			}
		}
		wantText(t, "first owner", owner(t, tb, "x"), "registered")
		remove()
		remove() // once is enough
		for _, l := range origins() {
			name := l.Source.Name()
			wantText(t, "owner", owner(t, tb, "x"), name)
			if err := tb.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		wantText(t, "tools at the end", names(tb.Tools()), "")
	}
}

func TestMergeRules(t *testing.T) {
	tests := []struct {
		name, why string
		build     func(t *testing.T, tb *ts.Toolbox)
		owner     string // of x
		tools     string
	}{
		{"equal precedence", "the later layer wins", func(t *testing.T, tb *ts.Toolbox) {
			add(t, tb, at(tools("a", "x"), 5), at(tools("b", "x"), 5))
		}, "b", "x"},
		{"order within a level", "the higher Order wins, whatever came later", func(t *testing.T, tb *ts.Toolbox) {
			add(t, tb, ts.Layer{Source: tools("a", "x"), Precedence: 1, Order: 2}, ts.Layer{Source: tools("b", "x"), Precedence: 1, Order: 1})
		}, "a", "x"},
		{"loser", "it is dropped, not renamed", func(t *testing.T, tb *ts.Toolbox) {
			add(t, tb, at(tools("low", "x"), 1), at(tools("high", "x"), 10))
		}, "high", "x"},
		{"position", "a name that is overridden keeps its place", func(t *testing.T, tb *ts.Toolbox) {
			add(t, tb, at(tools("a", "w", "x", "y"), 1))
			add(t, tb, at(tools("b", "z", "x"), 2))
		}, "b", "w x y z"},
		{"register at 999", "registered tools outrank every layer", func(t *testing.T, tb *ts.Toolbox) {
			if _, err := tb.Register(ts.ToolSpec{Name: "x"}, answering("registered.x")); err != nil {
				t.Fatal(err)
			}
			add(t, tb, at(tools("a", "x"), 999))
		}, "registered", "x"},
		{"register twice", "the later one wins", func(t *testing.T, tb *ts.Toolbox) {
			for _, w := range []string{"first.x", "second.x"} {
				if _, err := tb.Register(ts.ToolSpec{Name: "x"}, answering(w)); err != nil {
					t.Fatal(err)
				}
			}
		}, "second", "x"},
		{"removing the earlier of two registered", "the later one is untouched", func(t *testing.T, tb *ts.Toolbox) {
			remove, _ := tb.Register(ts.ToolSpec{Name: "x"}, answering("first.x"))
			_, _ = tb.Register(ts.ToolSpec{Name: "x"}, answering("second.x"))
			remove()
		}, "second", "x"},
		{"twice in one source", "the first is kept", func(t *testing.T, tb *ts.Toolbox) {
			f := tools("a", "x", "y", "x")
			f.specs[2].Description = "the other"
			add(t, tb, at(f, 1))
			if s, _ := tb.Spec("x"); s.Description != "from a" {
				t.Errorf("kept %q", s.Description)
			}
			if p := tb.Sources()[0].Problems; len(p) != 1 || !strings.Contains(p[0].Error(), `lists "x" twice`) {
				t.Errorf("problems %v", p)
			}
		}, "a", "x y"},
		{"names that are no identifiers", "each costs only itself", func(t *testing.T, tb *ts.Toolbox) {
			add(t, tb, at(tools("a", "x", "get-weather", "", "1st", "é", strings.Repeat("n", 65), "ok_1"), 1))
			if p := tb.Sources()[0].Problems; len(p) != 5 || !errors.Is(p[0], ts.ErrBadSpec) {
				t.Errorf("problems %v", p)
			}
		}, "a", "x ok_1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := newBox(t, nil)
			tt.build(t, tb)
			if got := owner(t, tb, "x"); got != tt.owner {
				t.Errorf("owner of x is %s, want %s: %s", got, tt.owner, tt.why)
			}
			if got := names(tb.Tools()); got != tt.tools {
				t.Errorf("tools are %s, want %s: %s", got, tt.tools, tt.why)
			}
		})
	}
}

func TestOwnershipDoesNotDependOnWhoAnswersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		high := tools("high", "x", "h")
		high.before = func(context.Context) { time.Sleep(time.Second) }
		low := tools("low", "l", "x")
		tb := newBox(t, nil)
		begun := time.Now()
		add(t, tb, at(high, 10), at(low, 1))
		wantText(t, "owner", owner(t, tb, "x"), "high")
		wantText(t, "order", names(tb.Tools()), "x h l")
		wantText(t, "time", time.Since(begun), time.Second)
	})
}

func TestSourcesAreListedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		var layers []ts.Layer
		for i := range 50 {
			f := tools(fmt.Sprint("s", i), fmt.Sprint("t", i))
			f.before = func(context.Context) { time.Sleep(2 * time.Second) }
			layers = append(layers, at(f, 1))
		}
		begun := time.Now()
		add(t, tb, layers...)
		wantText(t, "time", time.Since(begun), 2*time.Second)
		wantText(t, "tools", len(tb.Tools()), 50)
	})
}

func TestLosersComeBack(t *testing.T) {
	tb := newBox(t, nil)
	add(t, tb, at(tools("a", "x"), 1), at(tools("b", "x"), 2), at(tools("c", "x"), 3))
	sh := tb.Shadowed()
	wantText(t, "shadowed", fmt.Sprintf("%+v", sh), "[{Name:x Winner:{Source:c Precedence:3 Order:0} Losers:[{Source:b Precedence:2 Order:0} {Source:a Precedence:1 Order:0}] Reason:precedence}]")
	call, err := tb.Resolve("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.Remove("c"); err != nil {
		t.Fatal(err)
	}
	wantText(t, "owner", owner(t, tb, "x"), "b")
	_, err = call(context.Background(), nil)
	if !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("a callable of a removed source gave %v, want ErrUnavailable and never another tool", err)
	}
	wantText(t, "text", err, `toolsource: x: source "c": call: tool is unavailable: its source no longer has it (resolve the name again to call what is there now)`)
	if err := tb.Remove("c"); !errors.Is(err, ts.ErrUnknownSource) {
		t.Errorf("removing it again gave %v", err)
	}
}

func TestAFailedSourceKeepsItsNames(t *testing.T) {
	for _, failover := range []bool{false, true} {
		t.Run(fmt.Sprint("failover=", failover), func(t *testing.T) {
			high, low := tools("high", "x"), tools("low", "x")
			tb := newBox(t, &ts.Options{Failover: failover})
			add(t, tb, at(high, 10), at(low, 1))
			high.mu.Lock()
			high.err = errors.New("server is down")
			high.mu.Unlock()
			err := tb.Refresh(context.Background(), "high")
			var se *ts.SourceError
			if !errors.As(err, &se) || se.Source != "high" {
				t.Fatalf("Refresh gave %v", err)
			}
			want := "high"
			if failover {
				want = "low"
			}
			wantText(t, "owner while it is down", owner(t, tb, "x"), want)
			st := tb.Sources()[0]
			if st.State != ts.StateFailed || st.Err == nil || st.Tools != 1 {
				t.Errorf("status %+v", st)
			}
			high.mu.Lock()
			high.err = nil
			high.mu.Unlock()
			if err := tb.Refresh(context.Background(), "high"); err != nil {
				t.Fatal(err)
			}
			wantText(t, "owner when it is back", owner(t, tb, "x"), "high")
		})
	}
}

func TestASourceThatFailsAtFirstJoinsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l logs
		high, low := tools("high", "x", "y"), tools("low", "x", "z")
		high.err = errors.New("no route")
		tb := newBox(t, &ts.Options{Logger: l.logger()})
		err := tb.Add(context.Background(), at(high, 10), at(low, 1))
		wantText(t, "Add", err, "toolsource: discover high: no route")
		spec, _ := tb.Spec("x")
		if owner(t, tb, "x") != "low" || !spec.Origin.Provisional {
			t.Errorf("x should be low's for now, and marked so: %+v", spec.Origin)
		}
		var changes []ts.Change
		_, stop := tb.Subscribe(func(c ts.Change) { changes = append(changes, c) })
		defer stop()
		high.mu.Lock()
		high.err = nil
		high.mu.Unlock()
		high.tell()
		synctest.Wait()
		wantText(t, "owner", owner(t, tb, "x"), "high")
		wantText(t, "tools", names(tb.Tools()), "x z y")
		wantText(t, "changes", fmt.Sprintf("%+v", changes), "[{Revision:2 Added:[y] Removed:[] Changed:[x z] User:}]")
		if s, _ := tb.Spec("z"); s.Origin.Provisional {
			t.Error("nothing is provisional once all have listed")
		}
		if !strings.Contains(l.String(), `level=WARN msg="tool is displaced by a higher layer" tool=x winner=high winner_precedence=10 loser=low loser_precedence=1`) {
			t.Errorf("losing a provisional name is worth a warning:\n%s", &l)
		}
	})
}

func TestStrictWithholdsProvisionalNames(t *testing.T) {
	high, low := tools("high", "x"), tools("low", "x", "z")
	high.err = errors.New("no route")
	tb := newBox(t, &ts.Options{Strict: true})
	_ = tb.Add(context.Background(), at(high, 10), at(low, 1))
	wantText(t, "tools", names(tb.Tools()), "")
	_, err := tb.Resolve("z")
	wantText(t, "error", err, `toolsource: z: source "high": resolve: tool is unavailable (the source that owns this name has not listed its tools yet; see Sources for its state)`)
	high.mu.Lock()
	high.err = nil
	high.mu.Unlock()
	if err := tb.Refresh(context.Background(), "high"); err != nil {
		t.Fatal(err)
	}
	wantText(t, "tools", names(tb.Tools()), "x z")
}

func TestClaimedNamesAreNotLent(t *testing.T) {
	high, low := tools("high", "x"), tools("low", "x", "z")
	high.err, high.claims = errors.New("no route"), []string{"x"}
	tb := newBox(t, nil)
	_ = tb.Add(context.Background(), at(high, 10), at(low, 1))
	wantText(t, "tools", names(tb.Tools()), "z")
	if _, err := tb.Resolve("x"); !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable: x is the source's own before its first listing", err)
	}
	if err := tb.Remove("high"); err != nil {
		t.Fatal(err)
	}
	wantText(t, "owner once it is gone", owner(t, tb, "x"), "low")
}

func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		tb := newBox(t, &ts.Options{Freeze: true})
		add(t, tb, at(f, 1))
		f.set("x", "y")
		f.tell()
		synctest.Wait()
		wantText(t, "tools", names(tb.Tools()), "x")
		if !tb.Sources()[0].Stale {
			t.Error("the source should be marked stale")
		}
		if err := tb.Refresh(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
		wantText(t, "tools after Refresh", names(tb.Tools()), "x y")
		if tb.Sources()[0].Stale {
			t.Error("it is not stale any more")
		}
	})
}

func TestShadowingIsLoggedInBothDirections(t *testing.T) {
	var l logs
	tb := newBox(t, &ts.Options{Logger: l.logger()})
	add(t, tb, at(tools("mid", "x"), 5))
	add(t, tb, at(tools("low", "x"), 1))
	add(t, tb, at(tools("high", "x"), 9))
	add(t, tb, at(tools("other", "y"), 9)) // says nothing again
	want := `level=INFO msg="tool is shadowed by a higher layer" tool=x winner=mid winner_precedence=5 loser=low loser_precedence=1
level=INFO msg="tool is displaced by a higher layer" tool=x winner=high winner_precedence=9 loser=mid loser_precedence=5
level=INFO msg="tool is shadowed by a higher layer" tool=x winner=high winner_precedence=9 loser=low loser_precedence=1
`
	wantText(t, "log", l.String(), want)
}

func TestMaskingNamesAreWarnedAbout(t *testing.T) {
	var l logs
	tb := newBox(t, &ts.Options{Logger: l.logger()})
	add(t, tb, at(tools("a", "open", "print", "list", "glob", "json", "get", "items", "read_file"), 1))
	for _, n := range []string{"open", "print", "list", "glob", "json"} {
		if !strings.Contains(l.String(), "tool="+n+" ") {
			t.Errorf("%s should be warned about", n)
		}
		wantText(t, "it works all the same", owner(t, tb, n), "a")
	}
	for _, n := range []string{"get", "items", "read_file"} {
		if strings.Contains(l.String(), "tool="+n+" ") {
			t.Errorf("%s masks nothing", n)
		}
	}
	var own logs
	tb = newBox(t, &ts.Options{Logger: own.logger(), Masks: func(n string) bool { return n == "get" }})
	add(t, tb, at(tools("a", "open", "get"), 1))
	if s := own.String(); strings.Contains(s, "tool=open ") || !strings.Contains(s, "tool=get ") {
		t.Errorf("the set is injectable: %s", s)
	}
}

func TestRefusedLayers(t *testing.T) {
	panicking := &panicSource{}
	tb := newBox(t, nil)
	keep := tools("a", "x")
	err := tb.Add(context.Background(), at(nil, 1), at(keep, 1), at(tools("a", "y"), 1), at(tools("", "z"), 1), at(panicking, 1), at(tools("b", "w"), 1))
	wantText(t, "Add", err, `toolsource: add layer 0: the source is nil
toolsource: add a: a source of that name is attached already
toolsource: add layer 3: the source has no name
toolsource: add layer 4: panicked: no name`)
	wantText(t, "tools", names(tb.Tools()), "x w")
	if err := tb.Add(context.Background(), at(keep, 1)); !errors.Is(err, ts.ErrDuplicateSource) {
		t.Errorf("got %v", err)
	}
	if keep.closes.Load() != 0 {
		t.Error("a layer refused is still the caller's")
	}
	if err := tb.Refresh(context.Background(), "nobody"); !errors.Is(err, ts.ErrUnknownSource) {
		t.Errorf("got %v", err)
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tb.Add(context.Background(), at(tools("c", "v"), 1)); !errors.Is(err, ts.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

type panicSource struct {
	fake
	name string
}

func (p *panicSource) Name() string {
	if p.name == "" {
		panic("no name")
	}
	return p.name
}

func TestPanickingSourcesHarmOnlyThemselves(t *testing.T) {
	bad := tools("bad", "x")
	bad.before = func(context.Context) { panic("boom") }
	tb := newBox(t, nil)
	err := tb.Add(context.Background(), at(bad, 2), at(tools("good", "y"), 1))
	wantText(t, "Add", err, "toolsource: discover bad: panicked: boom")
	if !errors.Is(err, ts.ErrPanic) {
		t.Error("it should match ErrPanic")
	}
	wantText(t, "tools", names(tb.Tools()), "y")
}

func TestUnavailableSourceStaysAttached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		f.down = true
		tb := newBox(t, nil)
		err := tb.Add(context.Background(), at(f, 1))
		if !errors.Is(err, ts.ErrUnavailable) || f.discovers != 0 {
			t.Errorf("got %v after %d listings", err, f.discovers)
		}
		wantText(t, "state", tb.Sources()[0].State, ts.StateUnavailable)
		f.mu.Lock()
		f.down = false
		f.mu.Unlock()
		f.tell()
		synctest.Wait()
		wantText(t, "tools", names(tb.Tools()), "x")
		wantText(t, "state", tb.Sources()[0].State, ts.StateReady)
	})
}

func TestAStuckSourceDoesNotHoldAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		stuck := tools("stuck", "x")
		stuck.before = func(context.Context) { <-free } // ignores its context
		tb := ts.NewToolbox(nil)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		err := tb.Add(ctx, at(stuck, 2), at(tools("good", "y"), 1))
		wantText(t, "time", time.Since(begun), 3*time.Second)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantText(t, "tools", names(tb.Tools()), "y")

		other := tools("other", "z")
		other.before = stuck.before
		begun = time.Now()
		err = tb.Add(context.Background(), ts.Layer{Source: other, Limit: time.Second})
		wantText(t, "the layer's own limit", time.Since(begun), time.Second)
		wantText(t, "error", err, "toolsource: discover other: timed out after 1s")
		close(free)
		synctest.Wait()
		wantText(t, "a late answer is not taken in behind the caller's back", names(tb.Tools()), "y")
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOlderListingNeverReplacesNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		tb := newBox(t, nil)
		add(t, tb, at(plain{f}, 1))
		release := make(chan struct{})
		f.before = func(context.Context) { <-release }
		slow := make(chan error, 1)
		go func() { slow <- tb.Refresh(context.Background(), "a") }() // will list y
		synctest.Wait()
		f.mu.Lock()
		f.before = nil
		f.mu.Unlock()
		f.set("new")
		if err := tb.Refresh(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
		f.set("old")
		close(release)
		if err := <-slow; err != nil {
			t.Fatal(err)
		}
		wantText(t, "tools", names(tb.Tools()), "new")
	})
}

func TestToolThatComesBackIsTheSame(t *testing.T) {
	f := tools("a", "x", "y")
	tb := newBox(t, nil)
	add(t, tb, at(f, 1))
	tool, _ := tb.Tool("x")
	refresh := func() {
		t.Helper()
		if err := tb.Refresh(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	f.set("y")
	refresh()
	if _, err := tool.Call(context.Background(), nil); !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("gone tool gave %v", err)
	}
	f.set("x", "y")
	refresh()
	if _, err := tool.Call(context.Background(), nil); err != nil {
		t.Errorf("it is back, but gave %v", err)
	}
	wantText(t, "a tool that was away comes last", names(tb.Tools()), "y x")
	f.mu.Lock()
	f.specs[0].Origin.WireName = "another"
	f.mu.Unlock()
	refresh()
	if _, err := tool.Call(context.Background(), nil); !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("another tool under its name gave %v, want ErrUnavailable", err)
	}
	wantText(t, "the name itself works", owner(t, tb, "x"), "a")
}
