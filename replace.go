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
// Limit and Shared, and its place among the layers given. A new source may have the name of one in remove.
// A layer is refused as Add refuses it; the rest of the change still takes place. Until the new sources have
// answered, or ctx has ended, everything stays as it was.
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
	if len(gone) > 0 {
		errs = append(errs, tb.closeLayers(gone, tb.o.CloseBound))
	}
	return errors.Join(errs...)
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
	for _, name := range remove {
		l := tb.layerLocked(name)
		if l == nil || l.inherited { // a parent's layer is removed there
			errs = append(errs, &SourceError{Source: name, Op: "replace", Err: ErrUnknownSource})
			continue
		}
		tb.takeOutLocked(l)
		gone = append(gone, l)
	}
	var refused []*layer
	for _, s := range steps {
		switch {
		case s.kept && s.l.removed:
			errs = append(errs, &SourceError{Source: s.l.name, Op: "replace", Err: ErrUnknownSource})
		case s.kept:
			s.l.Precedence, s.l.Order, s.l.Limit, s.l.Shared = s.as.Precedence, s.as.Order, s.as.Limit, s.as.Shared
			tb.layers = slices.DeleteFunc(tb.layers, func(l *layer) bool { return l == s.l })
			tb.attachLocked(s.l)
		case tb.layerLocked(s.l.name) != nil:
			errs = append(errs, &SourceError{Source: s.l.name, Op: "replace", Err: ErrDuplicateSource})
			s.l.removed = true
			refused = append(refused, s.l)
		default:
			tb.attachLocked(s.l)
		}
	}
	failed, after := tb.applyLocked(fresh, found)
	tb.mu.Unlock()
	after()
	tb.unwatch(refused)
	return gone, append(errs, failed...)
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
