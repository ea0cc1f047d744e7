package toolsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Layer is a source with its place in the merge. A layer attached is owned by the Toolbox, which closes its
// source on Remove and Close; one refused is still the caller's.
type Layer struct {
	Source     ToolSource
	Precedence Precedence
	Order      int           // within a level the higher Order wins, then the later layer
	Shared     bool          // Close leaves it open
	Limit      time.Duration // longest that a listing of it may take; 0: Options.Discover
}

// A binding is the identity of a tool within its layer. It outlives listings, so that a callable handed out
// earlier knows whether its tool is there.
type binding struct{ gone atomic.Bool }

// bindingKey tells a layer's tools apart: a name that stands for another tool of the server is another tool.
type bindingKey struct{ name, wire string }

// A layer is an attached Layer and what its source listed. Its fields are guarded by Toolbox.mu, except
// those that never change after attaching and the atomic ones.
type layer struct {
	Layer
	name       string
	seq        uint64 // order of attaching, from 1
	registered bool   // made by Register
	bounded    bool   // its callables end by themselves
	limited    bool   // and keep the limits as well
	gated      bool   // it has a gate
	gateCalls  bool   // the gate is asked before each call
	private    bool   // of a user's own source
	inherited  bool   // in a user's Toolbox: one of the parent's layers
	claims     map[string]struct{}

	inFlight  atomic.Int64
	abandoned atomic.Int64 // callables that outlived their call and still run

	listed      bool // a listing was good once
	listing     []*entry
	listedAt    time.Time
	vanished    map[bindingKey]*binding // of tools that an earlier listing had; they may come back
	problems    []error
	texts       []string // of the problems
	err         error    // of the last listing; nil: it was good
	down        bool     // its last listing failed or it says that it is not available
	unavailable bool     // err says that it is not available
	since       time.Time
	stale       bool   // it announced a change that was not taken in
	started     uint64 // listings begun
	applied     uint64 // the latest listing that was taken in, good or not
	good        uint64 // the latest good one
	removed     bool
	relisting   bool // the background worker is there
	again       bool // another change came meanwhile
	stopWatch   func()
}

// Add attaches layers. It discovers them side by side and merges them in argument order. A source that fails
// stays attached, its names stay its own, and its tools join when it comes up; Add then returns one
// *SourceError per source that failed, joined, and the others are in. A layer is refused, and stays the
// caller's, if its source is nil, has no name, or has the name of one that is attached.
func (tb *Toolbox) Add(ctx context.Context, layers ...Layer) error {
	attached := make([]*layer, 0, len(layers))
	errs := make([]error, 0)
	prepared := tb.prepareAll(ctx, layers)
	for i := range layers {
		l, err := prepared[i].l, prepared[i].err
		if err == nil {
			err = tb.attach(l)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		attached = append(attached, l)
	}
	errs = append(errs, tb.apply(attached, tb.discoverAll(ctx, attached))...)
	return errors.Join(errs...)
}

type preparation struct {
	l   *layer
	err error
}

// prepareAll asks the sources side by side, on goroutines of their own: one that blocks costs only itself.
func (tb *Toolbox) prepareAll(ctx context.Context, layers []Layer) []preparation {
	ctx, cancel := context.WithTimeout(ctx, tb.o.Discover)
	defer cancel()
	answers := make([]chan preparation, len(layers))
	for i, la := range layers {
		answers[i] = make(chan preparation, 1)
		go func() {
			p := preparation{err: &SourceError{Source: fmt.Sprintf("layer %d", i), Op: "add", Err: errGoexit}}
			defer func() { answers[i] <- p }()
			p.l, p.err = tb.prepare(la, i)
		}()
	}
	out := make([]preparation, len(layers))
	for i := range layers {
		select {
		case out[i] = <-answers[i]:
			continue
		default:
		}
		select {
		case out[i] = <-answers[i]:
		case <-ctx.Done():
			out[i].err = &SourceError{Source: fmt.Sprintf("layer %d", i), Op: "add", Err: fmt.Errorf("the source did not say its name: %w", context.Cause(ctx))}
		}
	}
	return out
}

// prepare asks a source what has to be known before it is attached.
func (tb *Toolbox) prepare(la Layer, i int) (*layer, error) {
	if la.Source == nil {
		return nil, &SourceError{Source: fmt.Sprintf("layer %d", i), Op: "add", Err: errors.New("the source is nil")}
	}
	l := &layer{Layer: la, since: time.Now()}
	var claims []string
	err := protect(func() error {
		l.name = la.Source.Name()
		l.bounded, l.limited = IsBounded(la.Source), isSelfLimited(la.Source)
		l.gated, l.gateCalls = gates(la.Source)
		claims = Claims(la.Source)
		return nil
	})
	if err != nil {
		return nil, &SourceError{Source: fmt.Sprintf("layer %d", i), Op: "add", Err: err}
	}
	if l.name == "" {
		return nil, &SourceError{Source: fmt.Sprintf("layer %d", i), Op: "add", Err: errors.New("the source has no name")}
	}
	if len(claims) > 0 {
		l.claims = make(map[string]struct{}, len(claims))
	}
	for _, c := range claims {
		l.claims[c] = struct{}{}
	}
	return l, nil
}

func (tb *Toolbox) attach(l *layer) error {
	tb.mu.Lock()
	if tb.closed.Load() {
		tb.mu.Unlock()
		return &SourceError{Source: l.name, Op: "add", Err: ErrClosed}
	}
	if tb.layerLocked(l.name) != nil {
		tb.mu.Unlock()
		return &SourceError{Source: l.name, Op: "add", Err: ErrDuplicateSource}
	}
	tb.attachLocked(l)
	tb.mu.Unlock()
	if tb.within(l.Source, map[*Toolbox]bool{}) { // looked at when it is attached, so that of two that close a circle one sees it
		tb.mu.Lock()
		l.removed = true
		tb.layers = slices.DeleteFunc(tb.layers, func(m *layer) bool { return m == l })
		tb.mu.Unlock()
		return circular(l)
	}
	return nil
}

func circular(l *layer) error {
	return &SourceError{Source: l.name, Op: "add", Err: errors.New("the source shows this very Toolbox, directly or through others")}
}

// within reports whether a source shows tb, directly or through other Toolboxes.
func (tb *Toolbox) within(src ToolSource, seen map[*Toolbox]bool) bool {
	box, ok := find[*boxSource](src)
	if !ok || seen[box.tb] {
		return false
	}
	if box.tb == tb {
		return true
	}
	seen[box.tb] = true
	box.tb.mu.Lock()
	layers := slices.Clone(box.tb.layers)
	box.tb.mu.Unlock()
	return slices.ContainsFunc(layers, func(l *layer) bool { return l.Source != nil && tb.within(l.Source, seen) })
}

func (tb *Toolbox) attachLocked(l *layer) {
	tb.seq++
	l.seq = tb.seq
	tb.layers = append(tb.layers, l)
}

// layerLocked finds an attached source by name.
func (tb *Toolbox) layerLocked(name string) *layer {
	for _, l := range tb.layers {
		if !l.registered && l.name == name {
			return l
		}
	}
	return nil
}

// apply takes listings in, in the order of the layers, and merges once. It returns a *SourceError for each
// that failed.
func (tb *Toolbox) apply(layers []*layer, found []listing) []error {
	tb.mu.Lock()
	errs, after := tb.applyLocked(layers, found)
	tb.mu.Unlock()
	after()
	return errs
}

// applyLocked is apply with tb.mu held; the function that it returns is called without.
func (tb *Toolbox) applyLocked(layers []*layer, found []listing) (errs []error, after func()) {
	var notes []func()
	for i, l := range layers {
		f := &found[i]
		if f.err != nil {
			errs = append(errs, sourceError(l.name, "discover", f.err))
		}
		newest := l.good // of those that it may not replace: a failed one is no reason to drop a good one
		if f.err != nil {
			newest = l.applied
		}
		if l.removed || f.number <= newest {
			continue // an older listing never replaces a newer one
		}
		l.applied = max(l.applied, f.number)
		if f.err == nil {
			l.good = f.number
		}
		notes = append(notes, tb.takeLocked(l, f)...)
	}
	told := tb.mergeLocked()
	again := tb.again(layers)
	return errs, func() {
		for _, note := range notes {
			note()
		}
		told()
		again()
	}
}

// sourceError is err as the source's, unless it says so itself.
func sourceError(source, op string, err error) error {
	if se, ok := err.(*SourceError); ok && se.Source == source {
		return se
	}
	return &SourceError{Source: source, Op: op, Err: err}
}

// takeLocked makes a listing the layer's own. A failed one keeps the last good one. It returns log lines.
func (tb *Toolbox) takeLocked(l *layer, f *listing) (notes []func()) {
	wasDown := l.down
	l.err, l.down, l.unavailable = f.err, f.err != nil, f.unavailable
	if wasDown != l.down || l.listedAt.IsZero() {
		l.since = time.Now()
	}
	if f.err != nil {
		err := f.err
		return append(notes, func() { tb.log.Warn("source failed to list its tools", "source", l.name, "error", err) })
	}
	if !slices.Equal(l.texts, f.texts) {
		for _, p := range f.problems {
			notes = append(notes, func() { tb.log.Warn("tool is left out or cannot be called", "source", l.name, "problem", p) })
		}
	}
	l.listed, l.listedAt, l.problems, l.texts, l.stale = true, time.Now(), f.problems, f.texts, false
	was := l.vanished
	if was == nil && len(l.listing) > 0 {
		was = make(map[bindingKey]*binding, len(l.listing))
	}
	for _, e := range l.listing {
		was[bindingKey{e.own.Name, e.own.wireName()}] = e.bind
	}
	fresh := make([]binding, len(f.specs)) // for the tools that were not there before
	l.listing = make([]*entry, len(f.specs))
	for i := range f.specs {
		own := &f.specs[i]
		key := bindingKey{own.Name, own.wireName()}
		b := was[key]
		if b == nil {
			b = &fresh[i]
		}
		b.gone.Store(false)
		delete(was, key)
		l.listing[i] = tb.newEntry(l, own, f.calls[i], f.errs[i], b)
	}
	for _, b := range was {
		b.gone.Store(true)
	}
	if l.vanished = was; len(was) == 0 {
		l.vanished = nil
	}
	return notes
}

// watch subscribes to a source's own changes.
func (tb *Toolbox) watch(l *layer) {
	var stop func()
	_ = protect(func() error {
		stop, _ = Watch(l.Source, func() { tb.changed(l) })
		return nil
	})
	if stop == nil {
		return
	}
	tb.mu.Lock()
	removed := l.removed
	l.stopWatch = stop
	tb.mu.Unlock()
	if removed {
		_ = protect(func() error { stop(); return nil })
	}
}

// changed notes that a source's listing is out of date and sees to it that a worker lists it again. It is
// called by sources, and only posts.
func (tb *Toolbox) changed(l *layer) {
	tb.mu.Lock()
	l.stale, l.again = true, true
	start := tb.again([]*layer{l})
	tb.mu.Unlock()
	start()
}

// again prepares the start of a worker for each layer that changed and has none. tb.mu is held; the
// function that it returns is called without.
func (tb *Toolbox) again(layers []*layer) (start func()) {
	var due []*layer
	for _, l := range layers {
		first := l.started > 0 && l.applied == 0 // its first listing is under way and will see to it
		frozen := tb.o.Freeze && (l.listed || !l.private)
		if l.again && !l.relisting && !l.removed && !first && !frozen && !tb.closed.Load() {
			l.relisting = true
			tb.wg.Add(1)
			due = append(due, l)
		}
	}
	return func() {
		for _, l := range due {
			go tb.relist(l)
		}
	}
}

// relist is the worker of a layer: it lists until nothing has changed meanwhile.
func (tb *Toolbox) relist(l *layer) {
	defer tb.wg.Done()
	for {
		tb.mu.Lock()
		if !l.again || l.removed || tb.closed.Load() {
			l.relisting = false
			tb.mu.Unlock()
			return
		}
		l.again = false
		tb.mu.Unlock()
		tb.apply([]*layer{l}, []listing{tb.discover(context.Background(), l)}) // which ends with tb.ctx
	}
}

// Refresh lists a source again and takes the result in, also in a frozen Toolbox. If it fails, the last good
// listing stays.
func (tb *Toolbox) Refresh(ctx context.Context, source string) error {
	tb.mu.Lock()
	l := tb.layerLocked(source)
	var again bool
	if l != nil {
		again, l.again = l.again, false // unless it fails
	}
	closed := tb.closed.Load()
	tb.mu.Unlock()
	if l != nil && l.inherited && !l.private && !closed {
		err := tb.parent.Refresh(ctx, source)
		tb.mirrorNow(ctx)
		return err
	}
	switch {
	case closed:
		return &SourceError{Source: source, Op: "refresh", Err: ErrClosed}
	case l == nil:
		return &SourceError{Source: source, Op: "refresh", Err: ErrUnknownSource}
	}
	err := errors.Join(tb.apply([]*layer{l}, []listing{tb.discover(ctx, l)})...)
	if err != nil && again {
		tb.changed(l)
	}
	return err
}

// Remove detaches a source and closes it, unless its layer is Shared, within Options.CloseBound. Its names go
// to the next layer that has them; callables handed out fail with ErrUnavailable.
func (tb *Toolbox) Remove(source string) error {
	tb.mu.Lock()
	l := tb.layerLocked(source)
	tb.mu.Unlock()
	if l == nil {
		return &SourceError{Source: source, Op: "remove", Err: ErrUnknownSource}
	}
	if l.inherited {
		return &SourceError{Source: source, Op: "remove", Err: fmt.Errorf("%w: it belongs to the Toolbox that this user's was made from; remove it there", ErrDenied)}
	}
	if !tb.detach(l) {
		return &SourceError{Source: source, Op: "remove", Err: ErrUnknownSource}
	}
	return tb.closeLayers([]*layer{l}, tb.o.CloseBound)
}

// detach takes a layer out of the merge; false if it was out already.
func (tb *Toolbox) detach(l *layer) bool {
	tb.mu.Lock()
	if l.removed {
		tb.mu.Unlock()
		return false
	}
	tb.takeOutLocked(l)
	after := tb.mergeLocked()
	tb.mu.Unlock()
	after()
	return true
}

func (tb *Toolbox) takeOutLocked(l *layer) {
	l.removed = true
	tb.layers = slices.DeleteFunc(tb.layers, func(m *layer) bool { return m == l })
	for _, e := range l.listing {
		e.bind.gone.Store(true)
	}
}
