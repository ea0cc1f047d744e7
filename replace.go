package toolsource

import (
	"context"
	"errors"
	"reflect"
	"slices"
)

// Replace changes several layers in one step, as a new configuration does: it discovers the sources that are
// new, side by side, as Add does; then it takes out the sources that remove names, puts the layers in, and
// merges once, so that no name goes to another layer in between; then it closes what it took out, as Remove
// does.
//
// A layer whose source is attached already is not discovered again: it takes the layer's Precedence, Order,
// Limit and Shared, and its place among the layers given. Those together take the place, in the order of
// attaching, of the first of what was there of them or is taken out: layers attached before and after it
// stay before and after. A new source may have the name of one in remove. A layer is refused as Add refuses
// it; the rest of the change still takes place. Until the new sources have answered, or ctx has ended,
// everything stays as it was; closing what was taken out comes after that.
//
// The error joins one *SourceError per layer refused, source that failed, name in remove that is no source,
// and source that did not close well.
func (tb *Toolbox) Replace(ctx context.Context, remove []string, layers ...Layer) error {
	var errs []error
	var steps []step
	var fresh []*layer
	for i, p := range tb.prepareAll(ctx, layers) {
		switch {
		case p.err != nil:
			errs = append(errs, p.err)
		case tb.within(p.l.Source, map[*Toolbox]bool{}):
			errs = append(errs, circular(p.l))
		default:
			if kept := tb.keeps(p.l); kept != nil {
				steps = append(steps, step{l: kept, as: layers[i], kept: true})
				continue
			}
			steps = append(steps, step{l: p.l})
			fresh = append(fresh, p.l)
		}
	}
	found := tb.discoverAll(ctx, fresh)
	gone, more := tb.swap(remove, steps, fresh, found)
	errs = append(errs, more...)
	for _, l := range fresh { // looked at again, so that of two that close a circle one sees it
		if tb.within(l.Source, map[*Toolbox]bool{}) && tb.detach(l) {
			tb.unwatch([]*layer{l})
			errs = append(errs, circular(l))
		}
	}
	if len(gone) > 0 {
		errs = append(errs, oneByOne(tb.closeLayers(gone, tb.o.CloseBound))...)
	}
	return errors.Join(errs...)
}

// oneByOne takes joined errors apart, so that each is found where a caller looks for it.
func oneByOne(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// A step is a layer of a Replace: a new one, or one that is attached and gets another place.
type step struct {
	l    *layer
	as   Layer
	kept bool
}

// keeps is the attached layer with the source of a new one; nil: there is none.
func (tb *Toolbox) keeps(l *layer) *layer {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	was := tb.layerLocked(l.name)
	if was == nil || was.inherited || !sameSource(was.Source, l.Source) {
		return nil
	}
	return was
}

// sameSource reports whether two sources are one, also where their type has no equality.
func sameSource(a, b ToolSource) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && reflect.ValueOf(a).Comparable() && a == b
}

// swap makes the change under the lock and merges once. It returns the layers that it took out.
func (tb *Toolbox) swap(remove []string, steps []step, fresh []*layer, found []listing) (gone []*layer, errs []error) {
	tb.mu.Lock()
	if tb.closed.Load() {
		tb.mu.Unlock()
		for _, l := range fresh {
			errs = append(errs, &SourceError{Source: l.name, Op: "replace", Err: ErrClosed})
		}
		tb.unwatch(fresh)
		return nil, append(errs, ErrClosed)
	}
	before := slices.Clone(tb.layers)
	for _, name := range remove {
		l := tb.layerLocked(name)
		if l == nil || l.inherited { // a parent's layer is removed there
			errs = append(errs, &SourceError{Source: name, Op: "replace", Err: ErrUnknownSource})
			continue
		}
		tb.takeOutLocked(l)
		gone = append(gone, l)
	}
	var block, refused []*layer
	for _, s := range steps {
		switch {
		case s.kept && s.l.removed:
			errs = append(errs, &SourceError{Source: s.l.name, Op: "replace", Err: ErrUnknownSource})
		case slices.Contains(block, s.l):
			errs = append(errs, &SourceError{Source: s.l.name, Op: "replace", Err: ErrDuplicateSource})
		case s.kept:
			s.l.Precedence, s.l.Order, s.l.Limit, s.l.Shared = s.as.Precedence, s.as.Order, s.as.Limit, s.as.Shared
			block = append(block, s.l)
		case tb.layerLocked(s.l.name) != nil:
			errs = append(errs, &SourceError{Source: s.l.name, Op: "replace", Err: ErrDuplicateSource})
			s.l.removed = true
			refused = append(refused, s.l)
		default:
			tb.attachLocked(s.l)
			block = append(block, s.l)
		}
	}
	tb.placeLocked(before, block)
	failed, after := tb.applyLocked(fresh, found)
	tb.mu.Unlock()
	after()
	tb.unwatch(refused)
	return gone, append(errs, failed...)
}

// placeLocked puts layers, in their order, where the first of them stood, or the first that was taken out.
// before are the layers as they were. tb.mu is held.
func (tb *Toolbox) placeLocked(before, block []*layer) {
	moved := make(map[*layer]bool, len(block))
	for _, l := range block {
		moved[l] = true
	}
	at := 0
	for at < len(before) && !before[at].removed && !moved[before[at]] {
		at++
	}
	if at == len(before) {
		return // they are all new, and stand last
	}
	rest := slices.DeleteFunc(tb.layers, func(l *layer) bool { return moved[l] })
	tb.layers = slices.Insert(rest, at, block...)
	seq := uint64(0)
	for _, l := range tb.layers {
		if !l.inherited && (seq == 0 || l.seq < seq) {
			seq = l.seq
		}
	}
	for _, l := range tb.layers {
		if !l.inherited {
			l.seq, seq = seq, seq+1
		}
	}
	tb.seq = max(tb.seq, seq)
}

// unwatch ends the watching of layers that did not come in.
func (tb *Toolbox) unwatch(layers []*layer) {
	for _, l := range layers {
		tb.mu.Lock()
		stop := l.stopWatch
		l.stopWatch, l.removed = nil, true
		tb.mu.Unlock()
		if stop != nil {
			_ = protect(func() error { stop(); return nil })
		}
	}
}
