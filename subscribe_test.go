package toolsource_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		var got []ts.Change
		rev, stop := tb.Subscribe(func(c ts.Change) { got = append(got, c) })
		wantText(t, "revision", rev, 0)
		add(t, tb, at(tools("a", "x", "y"), 1))
		synctest.Wait()
		remove, _ := tb.Register(ts.ToolSpec{Name: "x"}, answering(""))
		synctest.Wait()
		remove()
		_ = tb.Remove("a")
		synctest.Wait()
		wantText(t, "changes", fmt.Sprintf("%+v", got[:2]), "[{Revision:1 Added:[x y] Removed:[] Changed:[] User:} {Revision:2 Added:[] Removed:[] Changed:[x] User:}]")
		last := got[len(got)-1]
		wantText(t, "last revision", last.Revision, tb.Revision())
		stop()
		n := len(got)
		add(t, tb, at(tools("b", "z"), 1))
		synctest.Wait()
		wantText(t, "changes after stop", len(got)-n, 0)
	})
}

func TestUnchangedListingsTellNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tools("a", "x")
		tb := newBox(t, nil)
		add(t, tb, at(f, 1))
		n := 0
		rev, stop := tb.Subscribe(func(ts.Change) { n++ })
		defer stop()
		f.tell()
		synctest.Wait()
		wantText(t, "told", fmt.Sprint(n, tb.Revision()), fmt.Sprint(0, rev))
	})
}

func TestSubscribersHarmNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		free := make(chan struct{})
		var good, slow []ts.Change
		var busy atomic.Int32
		_, stop1 := tb.Subscribe(func(ts.Change) { panic("boom") })
		_, stop2 := tb.Subscribe(func(c ts.Change) {
			if busy.Add(1) != 1 {
				t.Error("two callbacks of one subscriber at once")
			}
			<-free
			slow = append(slow, c)
			busy.Add(-1)
		})
		_, stop3 := tb.Subscribe(func(c ts.Change) { good = append(good, c) })
		defer stop1()
		defer stop2()
		defer stop3()
		for i := range 5 {
			add(t, tb, at(tools(fmt.Sprint("s", i), fmt.Sprint("t", i)), 1))
			synctest.Wait()
		}
		_ = tb.Remove("s4")
		synctest.Wait()
		wantText(t, "the good one heard", len(good), 6)
		close(free)
		synctest.Wait()
		wantText(t, "the slow one heard, told as one", fmt.Sprintf("%+v", slow),
			"[{Revision:1 Added:[t0] Removed:[] Changed:[] User:} {Revision:6 Added:[t1 t2 t3] Removed:[] Changed:[] User:}]")
	})
}

func TestStopInsideACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		var stop func()
		var mu sync.Mutex
		n := 0
		mu.Lock()
		_, stop = tb.Subscribe(func(ts.Change) {
			mu.Lock()
			defer mu.Unlock()
			n++
			stop()
		})
		mu.Unlock()
		for i := range 3 {
			add(t, tb, at(tools(fmt.Sprint("s", i), fmt.Sprint("t", i)), 1))
			time.Sleep(time.Second)
		}
		mu.Lock()
		defer mu.Unlock()
		wantText(t, "told", n, 1)
	})
}

func TestNoCallbackStartsAfterStop(t *testing.T) {
	tb := newBox(t, nil)
	add(t, tb, at(tools("a", "x"), 1))
	for range 500 {
		var stopped, late atomic.Bool
		_, stop := tb.Subscribe(func(ts.Change) {
			if stopped.Load() {
				late.Store(true)
			}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			remove, err := tb.Register(ts.ToolSpec{Name: "y"}, answering(""))
			if err == nil {
				remove()
			}
		}()
		stop()
		stopped.Store(true)
		<-done
		if late.Load() {
			t.Fatal("a callback started after stop had returned")
		}
	}
}
