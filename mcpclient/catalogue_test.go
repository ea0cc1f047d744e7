package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func listingOf(names ...string) Listing {
	var l Listing
	for _, n := range names {
		l.Tools = append(l.Tools, Tool{Name: n})
	}
	return l
}

func TestCatalogue(t *testing.T) {
	first, second := &session{seq: 1}, &session{seq: 2}
	told := func(c *catalogue) bool { tell, _ := c.take(); return len(tell) > 0 }
	fresh := func() *catalogue {
		c := newCatalogue(new(sync.WaitGroup), func() {})
		c.watch(func() {})
		return c
	}

	c := fresh()
	c.set(Listing{}, first)
	if !told(c) {
		t.Error("a first listing of no tools is no news")
	}
	c.set(Listing{}, first)
	if told(c) {
		t.Error("the same listing again is news")
	}
	c.set(listingOf("a"), first)
	if !told(c) || told(c) {
		t.Error("a change is told once")
	}

	c.set(listingOf("b"), first)
	if !told(c) {
		t.Error("as many tools as before, but others, are no news")
	}
	c.set(listingOf("a"), first)
	told(c)

	c.announce(first)
	c.begin(first)
	c.announce(first) // while the listing is under way
	c.set(listingOf("a"), first)
	if _, dirty := c.take(); dirty != first {
		t.Error("a change during a listing is lost")
	}
	if _, ok := c.fresh(); ok {
		t.Error("a listing that is known to be old is handed out")
	}
	c.set(listingOf("a", "b"), second)
	if _, dirty := c.take(); dirty != nil {
		t.Error("a new session's listing leaves an old one's change open")
	}
	c.set(listingOf("old"), first)
	if l, _, _ := c.last(); len(l.Tools) != 2 {
		t.Error("a late listing of an old session goes before that of a new one")
	}

	c = fresh()
	c.set(listingOf("a"), first)
	told(c)
	c.owe()
	c.set(listingOf("a"), second)
	if !told(c) {
		t.Error("who was refused a listing is not told of the next")
	}

	c = newCatalogue(new(sync.WaitGroup), func() {})
	stop := c.watch(func() {})
	stop()
	stop()
	c.set(listingOf("a"), first)
	if told(c) {
		t.Error("told after stop")
	}
}

// A change that comes while the tools are being listed is listed as well.
func TestCase51ChangeDuringListing(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{ListDelay: 300 * time.Millisecond})
	s.Watch(func() { panic("a watcher that panics harms nobody") })
	if _, err := s.Call(t.Context(), "storm", map[string]any{"n": 1}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return stat(t, s, "tools/list") == 2 }) // the second is under way
	if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo_new"}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { l, _ := s.Last(); return slices.Contains(names(l), "echo_new") })
}

// A server may say that its list changed before there is a session at all.
func TestChangeBeforeInitialize(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{
		Stdout:    []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"},
		InitDelay: 300 * time.Millisecond,
	})
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Status().Stale {
		t.Error("the first listing shows that change already")
	}
}

func TestCase51Storm(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	told := make(chan struct{}, 100)
	s.Watch(func() { told <- struct{}{} })
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-told // the first listing
	if _, err := s.Call(t.Context(), "storm", map[string]any{"n": 200}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return stat(t, s, "tools/list") >= 2 && !s.Status().Stale })
	if n := stat(t, s, "tools/list"); n > 3 { // one to connect, and at most two for the burst
		t.Errorf("%d listings", n)
	}
	select {
	case <-told:
		t.Error("told of a change that was none")
	default:
	}
	begin := time.Now()
	if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo_new"}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(5 * time.Second):
		t.Fatal("the last change was lost")
	}
	l, ok := s.Last()
	if !ok || !slices.Contains(names(l), "echo_new") || slices.Contains(names(l), "echo") {
		t.Errorf("after %v: %v", time.Since(begin), names(l))
	}
	if _, err := s.Call(t.Context(), "echo", nil, CallOptions{Listed: true}); !errors.Is(err, toolsource.ErrUnavailable) {
		t.Errorf("a tool that is gone: %v", err)
	}
}

// Changes that go on and on cost one listing a second at most, and are no news where nothing changed.
func TestCase51IdleStorm(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 8 {
		if _, err := s.Call(t.Context(), "storm", map[string]any{"n": 1}, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	n := stat(t, s, "tools/list") - 1 // without the first
	if most := int(time.Since(begin)/time.Second) + 1; n < 1 || n > most {
		t.Errorf("%d listings in %v", n, time.Since(begin))
	}
}

// A listing during a call does not stand in its way, and the call not in the listing's.
func TestCase52ListDuringCall(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if res, err := s.Call(ctx, "await_list", nil, CallOptions{}); err != nil || res.Value != "listed" {
		t.Errorf("%v, %v", res.Value, err)
	}
}

func TestReconnectWithAnotherList(t *testing.T) {
	// the child forgets a rename when it dies, so its new session lists the old name
	s := newServer(t, mcptest.Behaviour{})
	told := make(chan struct{}, 100)
	stop := s.Watch(func() { told <- struct{}{} })
	defer stop()
	if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo_new"}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { l, _ := s.Last(); return slices.Contains(names(l), "echo_new") })
	_, err := s.Call(t.Context(), "die", nil, CallOptions{})
	if !errors.Is(err, toolsource.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	for {
		select {
		case <-told:
		case <-time.After(5 * time.Second):
			t.Fatal("the new session's listing was not told")
		}
		if l, _ := s.Last(); slices.Contains(names(l), "echo") {
			break
		}
	}
}

// A young listing is handed out again, so that who is told of it does not ask the server once more.
func TestYoungListingIsNotAskedForAgain(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	for range 3 {
		if _, err := s.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := stat(t, s, "tools/list"); n != 1 {
		t.Errorf("%d listings", n)
	}
}

// Who was refused a listing is told when there is one, even if it is the one that was there before.
func TestRefusedListingIsOwed(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-told
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx); err == nil {
		t.Fatal("listed with a context that has ended")
	}
	if _, err := s.Call(t.Context(), "die", nil, CallOptions{}); err == nil {
		t.Fatal("it did not die")
	}
	select {
	case <-told:
	case <-time.After(5 * time.Second):
		t.Error("not told")
	}
}
