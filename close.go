package toolsource

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Close ends the Toolbox: calls in flight return ErrClosed, background listings end, the sources it owns are
// closed side by side, and users' Toolboxes made from it are closed. It returns within Options.CloseBound; a
// source that does not close in time is named in the error and left behind. A second Close waits for the
// first and returns nil.
func (tb *Toolbox) Close() error {
	tb.mu.Lock()
	if tb.ended != nil {
		ended := tb.ended
		tb.mu.Unlock()
		t := time.NewTimer(tb.o.CloseBound)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C:
		}
		return nil
	}
	ended := make(chan struct{})
	tb.ended = ended
	tb.closed.Store(true)
	layers := tb.layers
	children := make([]*Toolbox, 0, len(tb.children))
	for c := range tb.children {
		children = append(children, c)
	}
	subs := make([]*subscription, 0, len(tb.subs))
	for s := range tb.subs {
		subs = append(subs, s)
	}
	tb.subs = nil
	for _, l := range layers {
		l.removed = true
	}
	tb.mu.Unlock()

	defer close(ended)
	tb.cancel(ErrClosed)
	for _, s := range subs {
		s.halt()
	}
	deadline := time.Now().Add(tb.o.CloseBound)
	if tb.wake != nil {
		tb.wake.stop()
		tb.lastTurn(time.Until(deadline))
	}
	errs := []error{tb.closeChildren(children, time.Until(deadline))}
	errs = append(errs, tb.closeLayers(layers, time.Until(deadline)))
	if !within(time.Until(deadline), tb.wg.Wait) {
		errs = append(errs, errors.New("toolsource: close: a background listing did not end in time"))
	}
	if tb.parent != nil {
		tb.parent.forget(tb)
	}
	return errors.Join(errs...)
}

// lastTurn waits for a mirroring that is under way and lets none begin after it.
func (tb *Toolbox) lastTurn(bound time.Duration) {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case tb.turn <- struct{}{}:
	case <-t.C:
	}
}

// within runs f on a goroutine of its own and reports whether it ended in time.
func within(bound time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	t := time.NewTimer(max(bound, time.Millisecond))
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (tb *Toolbox) closeChildren(children []*Toolbox, bound time.Duration) error {
	errs := make(chan error, len(children))
	for _, c := range children {
		go func() { errs <- c.Close() }()
	}
	t := time.NewTimer(bound)
	defer t.Stop()
	var all []error
	for range children {
		select {
		case err := <-errs:
			all = append(all, err)
		case <-t.C:
			return errors.Join(append(all, errors.New("toolsource: close: a user's Toolbox did not close in time"))...)
		}
	}
	return errors.Join(all...)
}

// closeLayers ends the watching of detached layers and closes the sources among them that are the Toolbox's
// own, side by side, within the bound.
func (tb *Toolbox) closeLayers(layers []*layer, bound time.Duration) error {
	type result struct {
		i   int
		err error
	}
	results := make(chan result, len(layers))
	waiting := map[int]string{}
	for i, l := range layers {
		tb.mu.Lock()
		stop := l.stopWatch
		l.stopWatch = nil
		tb.mu.Unlock()
		if l.registered || stop == nil && l.Shared {
			continue
		}
		waiting[i] = l.name
		go func() {
			err := protect(func() error {
				if stop != nil {
					stop()
				}
				if l.Shared {
					return nil
				}
				return CloseSource(l.Source)
			})
			results <- result{i, err}
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(bound, time.Millisecond))
	defer cancel()
	var errs []error
	for len(waiting) > 0 {
		select {
		case r := <-results:
			if r.err != nil {
				errs = append(errs, sourceError(waiting[r.i], "close", r.err))
			}
			delete(waiting, r.i)
		case <-ctx.Done():
			for _, name := range waiting {
				errs = append(errs, &SourceError{Source: name, Op: "close", Err: fmt.Errorf("%w after %s, left behind", ErrTimeout, bound)})
			}
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}
