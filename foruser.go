package toolsource

import (
	"context"
	"errors"
	"slices"
)

// ForUser gives the Toolbox as one user sees it: the same layers in the same places, where a source with
// private tools is replaced by the user's own. It does no I/O; the user's sources list in the background and
// their tools join by the rules of the merge. Its changes are told to its subscribers and to those of tb,
// with the user's name; tb's own changes reach it too. It is a lease: Close gives up what is held for the user and
// closes nothing that others use. What is added to it or registered with it is the user's alone and goes with
// it; layers of tb can be refreshed through it but not removed. For the zero User, and after tb was closed, it is closed from the start.
func (tb *Toolbox) ForUser(u User) *Toolbox {
	o := tb.o
	child := NewToolbox(&o)
	child.user, child.parent = u, tb
	child.seq = 1 << 32 // what is added to it comes after everything of the parent's
	child.turn = make(chan struct{}, 1)
	child.wake = &subscription{changed: func(Change) { child.mirrorNow(child.ctx) }}
	if u != (User{}) {
		child.mirrorNow(child.ctx)
		tb.mu.Lock()
		if !tb.closed.Load() {
			if tb.children == nil {
				tb.children = map[*Toolbox]struct{}{}
			}
			tb.children[child] = struct{}{}
			tb.mu.Unlock()
			child.parentChanged() // for what changed before it was entered
			return child
		}
		tb.mu.Unlock()
	}
	_ = child.Close()
	return child
}

// parentChanged has a user's Toolbox take in a change of everybody's. It is called with the parent's lock
// held, and only posts.
func (tb *Toolbox) parentChanged() {
	tb.wake.post(Change{})
}

// forget drops a user's Toolbox that was closed.
func (tb *Toolbox) forget(child *Toolbox) {
	tb.mu.Lock()
	delete(tb.children, child)
	tb.mu.Unlock()
}

// mirrorNow waits for its turn to mirror, at most until ctx ends.
func (tb *Toolbox) mirrorNow(ctx context.Context) {
	select {
	case tb.turn <- struct{}{}:
		defer func() { <-tb.turn }()
		tb.mirror()
	case <-ctx.Done():
	}
}

// mirror brings the layers of a user's Toolbox in line with the parent's. It is not called twice at once.
func (tb *Toolbox) mirror() {
	p := tb.parent
	p.mu.Lock()
	type original struct {
		l       *layer
		listing []*entry
		copy    layer
	}
	originals := make([]original, 0, len(p.layers))
	for _, l := range p.layers {
		originals = append(originals, original{l: l, listing: l.listing, copy: layer{
			Layer: l.Layer, name: l.name, seq: l.seq, registered: l.registered, bounded: l.bounded, limited: l.limited, gated: l.gated, gateCalls: l.gateCalls, claims: l.claims,
			listed: l.listed, listedAt: l.listedAt, problems: l.problems, err: l.err, unavailable: l.unavailable, down: l.down, since: l.since,
		}})
	}
	p.mu.Unlock()

	var fresh, gone []*layer
	kept := map[*layer]*layer{} // by original
	for i := range originals {
		o := &originals[i]
		l := tb.mirrored[o.l]
		if l == nil {
			c := &o.copy
			l = tb.userLayer(c)
			if l.private {
				fresh = append(fresh, l)
			}
		}
		kept[o.l] = l
	}
	for o, l := range tb.mirrored {
		if kept[o] == nil {
			gone = append(gone, l)
		}
	}
	tb.mirrored = kept

	tb.mu.Lock()
	if tb.closed.Load() {
		tb.mu.Unlock()
		_ = tb.closeLayers(fresh, tb.o.CloseBound)
		return
	}
	own := slices.DeleteFunc(slices.Clone(tb.layers), func(l *layer) bool { return l.inherited })
	tb.layers = nil
	for i := range originals {
		o := &originals[i]
		l := kept[o.l]
		l.Precedence, l.Order, l.Limit, l.seq = o.copy.Precedence, o.copy.Order, o.copy.Limit, o.copy.seq
		if !l.private {
			l.listed, l.listedAt, l.problems, l.err, l.unavailable, l.down, l.since = o.copy.listed, o.copy.listedAt, o.copy.problems, o.copy.err, o.copy.unavailable, o.copy.down, o.copy.since
			l.listing = tb.reflect(l, o.listing)
		}
		tb.layers = append(tb.layers, l)
	}
	tb.layers = append(tb.layers, own...)
	for _, l := range gone {
		l.removed = true
		for _, e := range l.listing {
			if l.private {
				e.bind.gone.Store(true)
			}
		}
	}
	for _, l := range fresh {
		l.again = true
	}
	after := tb.mergeLocked()
	start := tb.again(fresh)
	tb.mu.Unlock()
	after()
	start()
	if len(gone) > 0 {
		_ = tb.closeLayers(slices.DeleteFunc(gone, func(l *layer) bool { return !l.private }), tb.o.CloseBound)
	}
}

// userLayer is a layer as the user sees it: everybody's, or the user's own where the source has private tools.
// One whose private source cannot be had is there without tools, since everybody's must not stand in for it.
func (tb *Toolbox) userLayer(c *layer) *layer {
	c.inherited = true
	if c.registered {
		c.Shared = true
		return c
	}
	var own ToolSource
	var private bool
	err := protect(func() (err error) {
		own, private, err = SourceForUser(c.Source, tb.user)
		if err == nil && own == nil {
			err = errors.New("the source gave none for the user")
		}
		return err
	})
	switch {
	case err != nil:
		c.Source, private = &noSource{name: c.name, err: err}, true
	case private:
		c.Source = own
	}
	if !private {
		c.Shared = true // the parent closes it
		return c
	}
	_ = protect(func() error {
		c.bounded, c.limited = IsBounded(c.Source), isSelfLimited(c.Source)
		c.gated, c.gateCalls = gates(c.Source)
		return nil
	})
	c.private, c.Shared = true, false
	c.listed, c.listing, c.problems, c.err, c.down = false, nil, nil, nil, false
	tb.watch(c)
	return c
}

// reflect shows the parent's entries in the user's Toolbox: the same tools, which end with either Toolbox.
func (tb *Toolbox) reflect(l *layer, listing []*entry) []*entry {
	was := make(map[*binding]*entry, len(l.listing))
	for _, e := range l.listing {
		was[e.bind] = e
	}
	out := make([]*entry, len(listing))
	for i, e := range listing {
		if old := was[e.bind]; old != nil && old.mirrors == e {
			out[i] = old
			continue
		}
		c := *e
		c.layer, c.mirrors = l, e
		c.call = func(ctx context.Context, args map[string]any) (Result, error) {
			if tb.closed.Load() {
				return Result{}, &CallError{Tool: e.spec.Name, Source: l.name, Phase: "call", Kind: KindClosed, Remedy: "the user's Toolbox was closed"}
			}
			return e.call(ctx, args)
		}
		out[i] = &c
	}
	return out
}

// privatePart is what of a change concerns the user's own sources. The rest only mirrors a change of
// everybody's, which was told already.
func privatePart(c Change, old, next *snapshot) Change {
	private := func(names []string) (out []string) {
		for _, n := range names {
			was, _ := old.get(n)
			is, _ := next.get(n)
			if was != nil && was.layer.private || is != nil && is.layer.private {
				out = append(out, n)
			}
		}
		return out
	}
	return Change{User: c.User, Added: private(c.Added), Removed: private(c.Removed), Changed: private(c.Changed)}
}

// noSource stands for a user's source that could not be made.
type noSource struct {
	name string
	err  error
}

func (s *noSource) Name() string                                 { return s.name }
func (s *noSource) Available() bool                              { return false }
func (s *noSource) Discover(context.Context) ([]ToolSpec, error) { return nil, s.err }
func (s *noSource) Resolve(ToolSpec) (Callable, error)           { return nil, s.err }
