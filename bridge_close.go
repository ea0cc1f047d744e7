package toolsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// shutdown is what Close and those need who may have to wait when it comes.
type shutdown struct {
	hurry   context.Context // ends when a Close that is under way gets short of time
	hasten  context.CancelFunc
	expired chan struct{} // closed at Close's bound: nothing is waited for any longer
	drained chan struct{} // room for one: a goroutine ended after Close began
	ended   chan struct{} // closed when Close has ended
	errs    []error       // of sessions that closed since; guarded by bridge.mu
	result  error         // of Close, set before ended is closed
}

// shutdown gives the Bridge's, and makes it if it was not needed before: a Bridge that never lost a
// session holds none until it is closed.
func (b *bridge) shutdown() *shutdown {
	if e := b.end.Load(); e != nil {
		return e
	}
	e := &shutdown{expired: make(chan struct{}), drained: make(chan struct{}, 1), ended: make(chan struct{})}
	e.hurry, e.hasten = context.WithCancel(context.Background())
	if b.end.CompareAndSwap(nil, e) {
		return e
	}
	return b.end.Load()
}

// close ends everything. The callers are free at once; the owners end within the bound by themselves, and
// what runs of the host's functions is waited for until then.
func (b *bridge) close() error {
	end := b.shutdown()
	b.mu.Lock()
	if b.closing.Swap(true) {
		b.mu.Unlock()
		<-end.ended
		return end.result
	}
	if b.cur != nil {
		b.cur.endLocked(ErrClosed)
		b.cur = nil
	}
	b.breaker.reset()
	b.setLocked(StateClosed, nil)
	b.dismissLocked(func(w *waiter) error { return b.closedError(w.a) })
	b.outcomeLocked(ErrClosed)
	b.mu.Unlock()

	b.crew.dismiss()
	soon := b.o.Clock.AfterFunc(closeShare(b.o.CloseBound), end.hasten)
	bound := newAlarm(b.o.Clock, b.o.CloseBound)
	inTime := b.drain(bound.c, func() bool { return b.owners.Load() == 0 && b.jobs.Load() == 0 && b.crew.alive.Load() == 0 })
	close(end.expired)
	b.drain(nil, func() bool { return b.owners.Load() == 0 })
	soon.Stop()
	bound.stop()
	end.hasten()

	b.mu.Lock()
	if b.teller != nil {
		b.teller.abandonLocked()
	}
	errs := slices.Clone(end.errs)
	b.mu.Unlock()
	if left := b.jobs.Load(); !inTime && left > 0 {
		errs = append(errs, fmt.Errorf("%d functions have not returned within %v and are abandoned", left, b.o.CloseBound))
	}
	if len(errs) > 0 {
		end.result = &SourceError{Source: b.o.Name, Op: "close", Err: errors.Join(errs...)}
	}
	close(end.ended)
	return end.result
}

// drain waits for done to hold, at most until the bound. What done reads only falls once closing is set.
func (b *bridge) drain(bound <-chan struct{}, done func() bool) bool {
	end := b.shutdown()
	for !done() {
		select {
		case <-end.drained:
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
		signal(b.end.Load().drained) // made before closing was set
	}
}
