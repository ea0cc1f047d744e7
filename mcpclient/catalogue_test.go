package mcpclient

import (
	"slices"
	"testing"
	"time"

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
		c := newCatalogue()
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

	c = newCatalogue()
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
