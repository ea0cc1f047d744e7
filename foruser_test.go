package toolsource_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ts "github.com/toolsource/toolsource"
)

// private is a source with tools per user.
type private struct {
	*fake
	mu    sync.Mutex
	users map[string]*fake
	err   error
}

func (p *private) ForUser(u ts.User) (ts.ToolSource, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	f := p.users[u.ID()]
	if f == nil {
		f = tools(p.name)
		p.users[u.ID()] = f
	}
	return f, nil
}

func user(t testing.TB, id string) ts.User {
	t.Helper()
	u, err := ts.NewUser(id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestForUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		mail := &private{fake: tools("mail"), users: map[string]*fake{}}
		for _, id := range []string{"ann", "bob"} {
			f := tools("mail", "inbox", id+"_only")
			f.call = func(_ context.Context, name string, _ map[string]any) (ts.Result, error) {
				return ts.Value(id + "." + name), nil
			}
			mail.users[id] = f
		}
		shared := tools("shared", "x", "inbox")
		add(t, tb, at(shared, 1), at(ts.Prefix(mail, "m_"), 5))
		ann, bob := tb.ForUser(user(t, "ann")), tb.ForUser(user(t, "bob"))
		if got := names(ann.Tools()); !strings.HasPrefix(got, "x inbox") { // ann's own may have joined already
			t.Errorf("shared tools should be there at once, there are %s", got)
		}
		synctest.Wait()
		wantText(t, "everybody's", names(tb.Tools()), "x inbox")
		wantText(t, "ann's", names(ann.Tools()), "x inbox m_inbox m_ann_only")
		wantText(t, "bob's", names(bob.Tools()), "x inbox m_inbox m_bob_only")
		for id, box := range map[string]*ts.Toolbox{"ann": ann, "bob": bob} {
			res, err := box.Call(context.Background(), "m_inbox", nil)
			wantText(t, id, fmt.Sprint(res.Value, err), id+".inbox<nil>")
			wantText(t, "shared", owner(t, box, "x"), "shared")
		}
		if _, err := tb.Resolve("m_inbox"); !errors.Is(err, ts.ErrUnknownTool) {
			t.Errorf("nobody's Toolbox must not have a user's tool: %v", err)
		}

		var all, anns, bobs []ts.Change
		for box, list := range map[*ts.Toolbox]*[]ts.Change{tb: &all, ann: &anns, bob: &bobs} {
			_, stop := box.Subscribe(func(c ts.Change) { *list = append(*list, c) })
			defer stop()
		}
		mail.users["ann"].set("inbox", "drafts")
		mail.users["ann"].tell()
		synctest.Wait()
		wantText(t, "a user's change reaches that user and the parent", fmt.Sprint(len(all), len(anns), len(bobs)), "1 1 0")
		wantText(t, "the parent hears whose it is", fmt.Sprintf("%+v", all[0]), "{Revision:1 Added:[m_drafts] Removed:[m_ann_only] Changed:[] User:ann}")
		shared.set("x", "y")
		shared.tell()
		synctest.Wait()
		wantText(t, "everybody's change reaches everybody, once", fmt.Sprint(len(all), len(anns), len(bobs)), "2 2 1")
		wantText(t, "ann's", names(ann.Tools()), "x m_inbox m_drafts y")

		remove, _ := tb.Register(ts.ToolSpec{Name: "x"}, answering("registered.x"))
		synctest.Wait()
		wantText(t, "registered tools are everybody's", owner(t, bob, "x"), "registered")
		remove()
		synctest.Wait()
		wantText(t, "and go again", owner(t, bob, "x"), "shared")

		call, _ := ann.Resolve("x")
		if err := ann.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := call(context.Background(), nil); !errors.Is(err, ts.ErrClosed) {
			t.Errorf("a call after the lease gave %v", err)
		}
		wantText(t, "closing the lease closes what was ann's", mail.users["ann"].closes.Load(), 1)
		wantText(t, "and nothing shared", fmt.Sprint(shared.closes.Load(), mail.fake.closes.Load(), mail.users["bob"].closes.Load()), "0 0 0")
		wantText(t, "bob goes on", owner(t, bob, "x"), "shared")

		if err := tb.Remove("mail"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wantText(t, "a source removed is removed for users", names(bob.Tools()), "x y")
		wantText(t, "and bob's was closed", mail.users["bob"].closes.Load(), 1)
	})
}

func TestForNobody(t *testing.T) {
	if _, err := ts.NewUser("  "); err == nil {
		t.Error("there is no empty user")
	}
	tb := newBox(t, nil)
	add(t, tb, at(tools("a", "x"), 1))
	if _, err := tb.ForUser(ts.User{}).Resolve("x"); !errors.Is(err, ts.ErrClosed) {
		t.Errorf("the zero User gave %v", err)
	}
}

func TestPrivateSourceThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		mail := &private{fake: tools("mail", "inbox"), err: errors.New("no grant")}
		add(t, tb, at(mail, 5))
		ann := tb.ForUser(user(t, "ann"))
		synctest.Wait()
		wantText(t, "nobody's tools must not stand in for ann's", names(ann.Tools()), "")
		st := ann.Sources()[0]
		if st.Err == nil || st.State == ts.StateReady {
			t.Errorf("status %+v", st)
		}
	})
}

// slowUser takes its time to make a user's source.
type slowUser struct {
	*fake
	begun chan struct{}
	free  chan struct{}
	made  atomic.Int32
}

func (s *slowUser) ForUser(ts.User) (ts.ToolSource, error) {
	close(s.begun)
	<-s.free
	s.made.Add(1)
	return tools(s.name), nil
}

func TestCloseWaitsForAMirroringUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newBox(t, nil)
		ann := tb.ForUser(user(t, "ann"))
		slow := &slowUser{fake: tools("slow"), begun: make(chan struct{}), free: make(chan struct{})}
		add(t, tb, at(slow, 1))
		<-slow.begun
		time.AfterFunc(time.Second, func() { close(slow.free) })
		if err := ann.Close(); err != nil {
			t.Fatal(err)
		}
		if slow.made.Load() != 1 {
			t.Error("Close returned while a user's source was being made")
		}
	})
}

func TestParentClosesUsers(t *testing.T) {
	tb := ts.NewToolbox(nil)
	add(t, tb, at(tools("a", "x"), 1))
	ann := tb.ForUser(user(t, "ann"))
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ann.Resolve("x"); !errors.Is(err, ts.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := tb.ForUser(user(t, "ann")).Resolve("x"); !errors.Is(err, ts.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// The parent hears of a user's changes in the order in which they happened, whoever is slow in between.
func TestAUsersChangesComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached, release := make(chan struct{}), make(chan struct{})
		tb := newBox(t, &ts.Options{Masks: func(name string) bool {
			if name == "x" {
				close(reached)
				<-release
			}
			return false
		}})
		mail := &private{fake: tools("mail"), users: map[string]*fake{"ann": tools("mail", "a")}}
		add(t, tb, at(mail, 5))
		ann := tb.ForUser(user(t, "ann"))
		synctest.Wait()
		var got []string
		_, stop := tb.Subscribe(func(c ts.Change) { got = append(got, fmt.Sprintf("%v %v %v", c.Added, c.Removed, c.Changed)) })
		defer stop()
		mail.users["ann"].set("a", "x")
		mail.users["ann"].tell()
		<-reached
		synctest.Wait()
		mail.users["ann"].set("a")
		if err := ann.Refresh(context.Background(), "mail"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		wantText(t, "told", strings.Join(got, "; "), "[x] [] []; [] [x] []")
	})
}

// stuckUsers is a source that does not give a user's own in time.
type stuckUsers struct {
	*fake
	free chan struct{}
}

func (s stuckUsers) ForUser(ts.User) (ts.ToolSource, error) { <-s.free; return s.fake, nil }

// A user's Toolbox has users of its own at most in odd programs; its Close keeps its bound all the same.
func TestCloseOfNestedUsersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tb := newBox(t, nil)
		add(t, tb, at(tools("s", "x"), 1))
		ann := tb.ForUser(user(t, "ann"))
		bob := ann.ForUser(user(t, "bob"))
		own, other := tools("own", "y"), tools("other", "z")
		own.closing = func() error { <-free; return nil }
		other.closing = own.closing
		add(t, bob, at(own, 1))
		add(t, ann, at(other, 1))
		add(t, tb, at(stuckUsers{tools("stuck"), free}, 1)) // which ann's Toolbox is about to mirror
		synctest.Wait()
		begun := time.Now()
		if err := ann.Close(); err == nil {
			t.Error("two sources did not close")
		}
		if took := time.Since(begun); took > ts.DefaultCloseBound+10*time.Millisecond {
			t.Errorf("took %v", took)
		}
		close(free)
	})
}
