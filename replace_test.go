package toolsource_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	ts "github.com/toolsource/toolsource"
)

func TestReplace(t *testing.T) {
	low, old, next, stays := tools("low", "a", "b"), tools("s", "a", "gone"), tools("s", "a", "new"), tools("stays", "k")
	tb := newBox(t, nil)
	add(t, tb, at(low, ts.PrecedenceMCP), at(old, ts.PrecedenceVirtual), at(stays, ts.PrecedenceMCP))
	var mu sync.Mutex
	var changes []ts.Change
	told := make(chan struct{}, 9)
	_, stop := tb.Subscribe(func(c ts.Change) {
		mu.Lock()
		changes = append(changes, c)
		mu.Unlock()
		told <- struct{}{}
	})
	defer stop()
	sel, err := tb.Select(t.Context(), "gone")
	if err != nil {
		t.Fatal(err)
	}
	before := tb.Revision()
	if err := tb.Replace(t.Context(), []string{"s"}, at(next, ts.PrecedenceVirtual), at(stays, ts.PrecedenceMCP)); err != nil {
		t.Fatal(err)
	}
	<-told
	if tb.Revision() != before+1 {
		t.Errorf("revision %d, want one more than %d: the change is one step", tb.Revision(), before)
	}
	mu.Lock()
	want := []ts.Change{{Revision: before + 1, Added: []string{"new"}, Removed: []string{"gone"}, Changed: []string{"a"}}}
	if diff := cmp.Diff(want, changes, cmp.AllowUnexported(ts.User{})); diff != "" {
		t.Error(diff)
	}
	mu.Unlock()
	if got := names(tb.Tools()); got != "a b k new" {
		t.Errorf("%s: those that stay keep their place", got)
	}
	if got := owner(t, tb, "a"); got != "s" {
		t.Errorf("a is %s's", got)
	}
	if old.closes.Load() != 1 || next.closes.Load() != 0 || stays.closes.Load() != 0 {
		t.Errorf("closed: old %d, new %d, kept %d", old.closes.Load(), next.closes.Load(), stays.closes.Load())
	}
	if stays.discovers != 1 {
		t.Errorf("the source that stays was listed %d times", stays.discovers)
	}
	gone, err := sel.Resolve("gone")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone(t.Context(), nil); !errors.Is(err, ts.ErrUnavailable) {
		t.Errorf("a tool of the source that was taken out: %v", err)
	}
}

func TestReplaceRanksAnew(t *testing.T) { synctest.Test(t, testReplaceRanksAnew) }

func testReplaceRanksAnew(t *testing.T) {
	a, b := tools("a", "x"), tools("b", "x")
	tb := newBox(t, nil)
	add(t, tb, at(a, ts.PrecedenceMCP), at(b, ts.PrecedenceMCP))
	alice, _ := ts.NewUser("alice")
	user := tb.ForUser(alice)
	defer user.Close()
	for _, tt := range []struct {
		why    string
		layers []ts.Layer
		want   string
	}{
		{"the later of those given wins", []ts.Layer{at(b, ts.PrecedenceMCP), at(a, ts.PrecedenceMCP)}, "a"},
		{"a higher level wins", []ts.Layer{at(b, ts.PrecedenceUser)}, "b"},
		{"a higher order wins", []ts.Layer{{Source: a, Precedence: ts.PrecedenceUser, Order: 2}, {Source: b, Precedence: ts.PrecedenceUser, Order: 1}}, "a"},
	} {
		if err := tb.Replace(t.Context(), nil, tt.layers...); err != nil {
			t.Fatal(err)
		}
		if got := owner(t, tb, "x"); got != tt.want {
			t.Errorf("%s: x is %s's", tt.why, got)
		}
		synctest.Wait() // the user's Toolbox takes it in behind
		if got := owner(t, user, "x"); got != tt.want {
			t.Errorf("%s: a user sees %s's", tt.why, got)
		}
	}
	if a.discovers != 1 || b.discovers != 1 {
		t.Errorf("listed %d and %d times", a.discovers, b.discovers)
	}
}

func TestReplaceRefuses(t *testing.T) {
	have, twin := tools("have", "x"), tools("have", "y")
	failing := tools("failing", "z")
	failing.err = errors.New("cannot list")
	tb := newBox(t, nil)
	add(t, tb, at(have, ts.PrecedenceMCP))
	err := tb.Replace(t.Context(), []string{"none"}, at(twin, ts.PrecedenceMCP), at(failing, ts.PrecedenceMCP), ts.Layer{}, at(tb.AsSource("circle"), ts.PrecedenceMCP), at(tools("good", "g"), ts.PrecedenceMCP))
	for _, want := range []string{"none", "have", "cannot list", "nil", "this very Toolbox"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if !errors.Is(err, ts.ErrUnknownSource) || !errors.Is(err, ts.ErrDuplicateSource) {
		t.Error(err)
	}
	if got := names(tb.Tools()); got != "x g" {
		t.Errorf("%s: what is right is in", got)
	}
	var attached []string
	for _, s := range tb.Sources() {
		attached = append(attached, s.Source)
	}
	if diff := cmp.Diff([]string{"have", "failing", "good"}, attached); diff != "" {
		t.Error(diff)
	}
	if twin.closes.Load() != 0 {
		t.Error("a layer that was refused is the caller's, and was closed")
	}
	twin.mu.Lock()
	if watched := len(twin.changed); watched != 0 {
		for _, f := range twin.changed {
			if f != nil {
				t.Error("a layer that was refused is still watched")
			}
		}
	}
	twin.mu.Unlock()
	tb.Close()
	if err := tb.Replace(t.Context(), nil, at(tools("late"), ts.PrecedenceMCP)); !errors.Is(err, ts.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// While the new source takes its time, and when it never answers, the names are never without an owner.
func TestReplaceLeavesNoGap(t *testing.T) {
	old, next := tools("s", "a"), tools("s", "a")
	hold := make(chan struct{})
	next.before = func(ctx context.Context) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	tb := newBox(t, nil)
	add(t, tb, at(old, ts.PrecedenceMCP), at(tools("low", "a"), ts.PrecedenceHostConfig))
	done := make(chan error)
	go func() { done <- tb.Replace(t.Context(), []string{"s"}, at(next, ts.PrecedenceMCP)) }()
	stop, watched := make(chan struct{}), make(chan string)
	go func() {
		bad := ""
		for {
			select {
			case <-stop:
				watched <- bad
				return
			default:
				if s, ok := tb.Spec("a"); !ok || s.Origin.Source != "s" {
					bad = "a was " + s.Origin.Source + "'s in between"
				}
			}
		}
	}()
	if _, err := tb.Call(t.Context(), "a", nil); err != nil {
		t.Error(err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	close(stop)
	if bad := <-watched; bad != "" {
		t.Error(bad)
	}
	never := tools("s", "a")
	never.before = func(ctx context.Context) { <-ctx.Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := tb.Replace(ctx, []string{"s"}, at(never, ts.PrecedenceMCP)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if len(tb.Sources()) != 2 {
		t.Error("the source that did not answer is not attached")
	}
}

// Those that are given take the place of the first of them that was there, whatever else was attached since.
func TestReplaceKeepsTheRankOfOthers(t *testing.T) {
	alice, _ := ts.NewUser("alice")
	for _, tt := range []struct {
		why  string
		with func(tb *ts.Toolbox) *ts.Toolbox
	}{
		{"everybody's", func(tb *ts.Toolbox) *ts.Toolbox { return tb }},
		{"a user's", func(tb *ts.Toolbox) *ts.Toolbox { return tb.ForUser(alice) }},
	} {
		base := newBox(t, nil)
		add(t, base, at(tools("base", "x", "y"), ts.PrecedenceMCP))
		tb := tt.with(base)
		a, b, host := tools("a", "x"), tools("b", "x"), tools("host", "x")
		add(t, tb, at(a, ts.PrecedenceMCP), at(b, ts.PrecedenceMCP), at(host, ts.PrecedenceMCP))
		steps := []struct {
			remove []string
			layers []ts.Layer
			want   string // the highest but for host, and the order of attaching
		}{
			{nil, []ts.Layer{at(b, ts.PrecedenceMCP), at(a, ts.PrecedenceMCP)}, "a: b a host"},
			{nil, []ts.Layer{at(b, ts.PrecedenceMCP), at(tools("c", "x"), ts.PrecedenceMCP), at(a, ts.PrecedenceMCP)}, "a: b c a host"},
			{[]string{"b", "a"}, []ts.Layer{at(tools("a", "x"), ts.PrecedenceMCP)}, "c: a c host"},
			{nil, []ts.Layer{at(tools("d", "x"), ts.PrecedenceMCP)}, "d: a c host d"},
			{[]string{"c"}, nil, "d: a host d"},
		}
		for i, s := range steps {
			if err := tb.Replace(t.Context(), s.remove, s.layers...); err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, st := range tb.Sources() {
				if st.Source != "base" {
					order = append(order, st.Source)
				}
			}
			x := ts.Shadow{}
			for _, sh := range tb.Shadowed() {
				if sh.Name == "x" {
					x = sh
				}
			}
			first := x.Winner.Source
			if first == "host" {
				first = x.Losers[0].Source
			}
			wantText(t, tt.why+", step "+string(rune('0'+i)), first+": "+strings.Join(order, " "), s.want)
			if i < 3 && x.Winner.Source != "host" {
				t.Errorf("%s, step %d: the source that was attached last lost its rank to %s", tt.why, i, x.Winner.Source)
			}
		}
		tb.Close()
	}
}

func TestReplaceTellsOfEachSourceThatDoesNotClose(t *testing.T) {
	bad := []*fake{tools("one", "a"), tools("two", "b")}
	tb := newBox(t, nil)
	for _, f := range bad {
		f.closing = func() error { return errors.New("still busy") }
		add(t, tb, at(f, ts.PrecedenceMCP))
	}
	joined, ok := tb.Replace(t.Context(), []string{"one", "two"}).(interface{ Unwrap() []error })
	if !ok {
		t.Fatal("nothing is said")
	}
	told := map[string]bool{}
	for _, err := range joined.Unwrap() {
		se, ok := err.(*ts.SourceError)
		if !ok {
			t.Fatalf("%T is no *SourceError", err)
		}
		told[se.Source] = true
	}
	if !told["one"] || !told["two"] {
		t.Error(told)
	}
}

func TestReplaceRefusesALayerGivenTwice(t *testing.T) {
	a := tools("a", "x")
	tb := newBox(t, nil)
	add(t, tb, at(a, ts.PrecedenceMCP))
	if err := tb.Replace(t.Context(), nil, at(a, ts.PrecedenceMCP), at(a, ts.PrecedenceUser)); !errors.Is(err, ts.ErrDuplicateSource) {
		t.Error(err)
	}
	if st := tb.Sources(); len(st) != 1 || st[0].Precedence != ts.PrecedenceMCP {
		t.Errorf("%+v", st)
	}
}

// Of two Toolboxes that come to show each other at the same time, one notices.
func TestReplaceNoticesACircleThatClosesMeanwhile(t *testing.T) {
	one, two := newBox(t, nil), newBox(t, nil)
	slow := tools("slow", "s")
	slow.before = func(ctx context.Context) {
		if err := two.Add(ctx, at(one.AsSource("one"), ts.PrecedenceMCP)); err != nil {
			t.Error(err)
		}
	}
	err := one.Replace(t.Context(), nil, at(two.AsSource("two"), ts.PrecedenceMCP), at(slow, ts.PrecedenceMCP))
	if err == nil || !strings.Contains(err.Error(), "this very Toolbox") {
		t.Errorf("%v: two Toolboxes show each other", err)
	}
	for _, s := range one.Sources() {
		if s.Source == "two" {
			t.Error("the circle is closed")
		}
	}
}
