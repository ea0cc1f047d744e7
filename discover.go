package toolsource

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// discoverAll lists layers side by side.
func (tb *Toolbox) discoverAll(ctx context.Context, layers []*layer) []listing {
	found := make([]listing, len(layers))
	var wg sync.WaitGroup
	for i, l := range layers {
		wg.Go(func() { found[i] = tb.discover(ctx, l, tb.watch) })
	}
	wg.Wait()
	return found
}

// A listing is what one discovery of a layer gave.
type listing struct {
	number   uint64 // of the layer's listings; a later one has a higher number
	specs    []ToolSpec
	calls    []Callable
	errs     []error // of Resolve, by index
	problems []error
	texts    []string // of the problems
	err      error

	unavailable bool // err says that the source cannot contribute tools now
}

// discover lists a layer's source on a goroutine of its own and waits for it no longer than ctx and the
// layer's limit allow. A source that ignores its context is left behind.
// before runs there first, for what might block as well.
func (tb *Toolbox) discover(ctx context.Context, l *layer, before ...func(*layer)) listing {
	tb.mu.Lock()
	l.started++
	number, limit := l.started, l.Limit
	tb.mu.Unlock()

	if limit <= 0 {
		limit = tb.o.Discover
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w after %s", ErrTimeout, limit))
	defer cancel()

	done := make(chan listing, 1)
	var settled atomic.Bool // by the answer, or by the caller who waits no longer
	go func() {
		found := listing{err: errGoexit}
		defer func() { // also when the source ends the goroutine
			if settled.CompareAndSwap(false, true) {
				done <- found
			} else if found.err == nil {
				found.number = number
				tb.late(l, found)
			}
		}()
		for _, f := range before {
			f(l)
		}
		found.err = protect(func() error { return found.read(ctx, l.Source) })
	}()
	var found listing
	left := true
	select {
	case found = <-done:
		left = false
	case <-ctx.Done():
	case <-tb.ctx.Done():
	}
	switch {
	case !left:
	case !settled.CompareAndSwap(false, true):
		found = <-done
	default:
		found = listing{err: context.Cause(ctx)}
		if tb.ctx.Err() != nil {
			found.err = ErrClosed
		}
	}
	found.number = number
	if found.err != nil { // asked here, where no lock is held: the methods of errors are foreign code
		_ = protect(func() error { found.unavailable = KindOf(found.err) == KindUnavailable; return nil })
	}
	return found
}

// late takes in a listing that came after its caller had given up, unless it was overtaken: the source has
// come up. A frozen Toolbox only notes it.
func (tb *Toolbox) late(l *layer, f listing) {
	if tb.o.Freeze {
		tb.mu.Lock()
		l.stale = true
		tb.mu.Unlock()
		return
	}
	tb.apply([]*layer{l}, []listing{f})
}

// read asks the source for its specs and their callables, and leaves out tools that cannot be offered.
func (f *listing) read(ctx context.Context, src ToolSource) error {
	if !src.Available() {
		return fmt.Errorf("%w: the source says that it cannot contribute tools now", ErrUnavailable)
	}
	specs, err := src.Discover(ctx)
	if err != nil {
		return err
	}
	f.specs = specs[:0] // the slice is ours
	f.calls = make([]Callable, 0, len(specs))
	f.errs = make([]error, 0, len(specs))
	seen := make(map[string]struct{}, len(specs))
	for _, spec := range specs {
		err := checkName(spec.Name)
		if _, twice := seen[spec.Name]; err == nil && twice {
			err = fmt.Errorf("%w: the source lists %q twice, the first is kept", ErrBadSpec, spec.Name)
		}
		if err != nil {
			f.problem(err)
			continue
		}
		seen[spec.Name] = struct{}{}
		call, err := resolve(src, spec)
		if err != nil {
			f.problem(fmt.Errorf("tool %q: %w", spec.Name, err))
		}
		f.specs = append(f.specs, spec)
		f.calls = append(f.calls, call)
		f.errs = append(f.errs, err)
	}
	return nil
}

func (f *listing) problem(err error) {
	f.problems = append(f.problems, err)
	f.texts = append(f.texts, err.Error())
}

// resolve asks a source for a callable.
func resolve(src ToolSource, spec ToolSpec) (call Callable, err error) {
	defer func() {
		if v := recover(); v != nil {
			call, err = nil, panicked(v)
		}
	}()
	call, err = src.Resolve(spec)
	if err == nil && call == nil {
		err = fmt.Errorf("%w: the source gave no callable", ErrBadSpec)
	}
	return call, err
}
