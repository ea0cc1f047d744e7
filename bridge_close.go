package toolsource

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// close ends everything. The callers are free at once; the owners end within the bound by themselves, and
// what runs of the host's functions is waited for until then.
func (b *bridge) close() error {
	b.mu.Lock()
	if b.closing.Swap(true) {
		b.mu.Unlock()
		<-b.ended
		return b.result
	}
	if b.cur != nil {
		b.cur.cancel(ErrClosed)
		b.cur = nil
	}
	b.breaker.reset()
	b.setLocked(StateClosed, nil)
	b.dismissLocked(func(w *waiter) error { return b.closedError(w.a) })
	b.outcomeLocked(ErrClosed)
	b.mu.Unlock()

	b.crew.dismiss()
	soon := b.o.Clock.AfterFunc(closeShare(b.o.CloseBound), b.hasten)
	bound := newAlarm(b.o.Clock, b.o.CloseBound)
	inTime := b.drain(bound.c, func() bool { return b.owners.Load() == 0 && b.jobs.Load() == 0 && b.crew.alive.Load() == 0 })
	close(b.expired)
	b.drain(nil, func() bool { return b.owners.Load() == 0 })
	soon.Stop()
	bound.stop()
	b.hasten()

	b.mu.Lock()
	if b.teller != nil {
		b.teller.abandonLocked()
	}
	errs := slices.Clone(b.closeErrs)
	b.mu.Unlock()
	if left := b.jobs.Load(); !inTime && left > 0 {
		errs = append(errs, fmt.Errorf("%d functions have not returned within %v and are abandoned", left, b.o.CloseBound))
	}
	if len(errs) > 0 {
		b.result = &SourceError{Source: b.o.Name, Op: "close", Err: errors.Join(errs...)}
	}
	close(b.ended)
	return b.result
}

// drain waits for done to hold, at most until the bound. What done reads only falls once closing is set.
func (b *bridge) drain(bound <-chan struct{}, done func() bool) bool {
	for !done() {
		select {
		case <-b.drained:
		case <-bound:
			return done()
		}
	}
	return true
}

// closeShare is the part of the close bound that a session's own Close gets; the rest is for it to return.
func closeShare(bound time.Duration) time.Duration { return bound / 5 * 4 }

// ownerDone and jobDone are the last acts of their goroutines.
func (b *bridge) ownerDone() {
	b.owners.Add(-1)
	b.wakeClose()
}

func (b *bridge) jobDone() {
	b.jobs.Add(-1)
	b.wakeClose()
}

func (b *bridge) wakeClose() {
	if b.closing.Load() {
		signal(b.drained)
	}
}
