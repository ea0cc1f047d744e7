package toolsource

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// bridge is a Bridge without its type parameter. Its mutex guards which epoch is current, and what follows
// from that; every transition happens under it, in this file, and none of them blocks.
type bridge struct {
	o    BridgeOptions // complete
	dial func(context.Context) (Session, error)

	end     atomic.Pointer[shutdown] // nil: not needed yet, see shutdown
	closing atomic.Bool
	owners  atomic.Int64     // goroutines that own an epoch
	jobs    atomic.Int64     // goroutines that run a function of the host's
	crew    crew             // those of them that run call functions
	said    map[State]string // what was logged since the server last proved itself; the teller's

	mu        sync.Mutex
	state     State
	since     time.Time
	cur       *epoch // nil when idle, dormant, closed
	queue     []*waiter
	ladder    ladder
	breaker   breaker
	failure   failure // why it is not ready, or what failed since the session proved itself
	attempts  int
	nextTry   time.Time
	epochs    uint64
	queueTime time.Duration
	abandoned int
	changed   chan struct{} // closed at the next outcome of dialling; nil: nobody waits for it
	outcome   error         // of the last one; nil: ready
	notes     []note        // for the teller
	teller    *job          // nil: there is none
}

// epoch is one session's life, from the wait before its first dial to its close.
type epoch struct {
	gone  chan struct{} // closed when the epoch is current no longer
	why   error         // set before gone is closed
	nudge chan struct{} // room for one: the owner shall wait no longer and look what there is to do

	// Set before the epoch is ready.
	session Session
	lost    <-chan struct{} // session.Done()

	// Guarded by bridge.mu.
	readyAt  time.Time
	lastCall time.Time // end of the last call, or readyAt
	heard    time.Time // end of the last call or ping, or readyAt
	inflight int
	proven   bool
	awaited  bool // the owner wants a nudge when no call is in flight
}

// waiter is a call that waits for a session or a place. It stands in the queue until granted is closed.
type waiter struct {
	a        *attempt
	granted  chan struct{} // closed when a has its place or err is set
	err      error
	deadline time.Time // the earlier of its context's and its limit's
	patience time.Time // until when a try has to begin; zero: it met no backoff yet
	since    time.Time // when it began to wait for a place; zero: it waits for a session
}

func newBridge(dial func(context.Context) (Session, error), o *BridgeOptions) *bridge {
	b := &bridge{
		o:     o.complete(),
		dial:  dial,
		state: StateIdle,
	}
	b.since = b.o.Clock.Now()
	b.crew.ended = b.wakeClose
	return b
}

func (b *bridge) status() BridgeStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.statusLocked()
}

func (b *bridge) statusLocked() BridgeStatus {
	s := BridgeStatus{
		State: b.state, Since: b.since, Err: b.failure.err, Attempts: b.attempts, NextTry: b.nextTry, Epoch: b.epochs,
		Queued: len(b.queue), QueueTime: b.queueTime, Abandoned: b.abandoned, OpenUntil: b.breaker.until,
	}
	if b.cur != nil {
		s.Proven, s.InFlight = b.cur.proven, b.cur.inflight
	}
	return s
}

// setLocked enters a state and puts a note for the log and OnState.
func (b *bridge) setLocked(s State, reason error) {
	b.state, b.since = s, b.o.Clock.Now()
	if s != StateBackoff && s != StateParked {
		b.nextTry = time.Time{}
	}
	b.noteLocked(s, reason)
}

// outcomeLocked tells those in start that dialling came to an end; err is nil if there is a session.
func (b *bridge) outcomeLocked(err error) {
	b.outcome = err
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// beginLocked makes the next epoch and gives it an owner, who dials after pause.
func (b *bridge) beginLocked(pause time.Duration) {
	ep := &epoch{gone: make(chan struct{}), nudge: make(chan struct{}, 1)}
	b.cur = ep
	b.owners.Add(1)
	go b.own(ep, pause)
}

// endLocked ends an epoch that was current until now.
func (ep *epoch) endLocked(why error) {
	ep.why = why
	close(ep.gone)
	signal(ep.nudge)
}

// cause is why the epoch ended; nil: it has not.
func (ep *epoch) cause() error {
	if isClosed(ep.gone) {
		return ep.why
	}
	return nil
}

// admitLocked lets a call in: it has its place when w is nil, and waits for w.granted otherwise.
func (b *bridge) admitLocked(a *attempt, now time.Time) (w *waiter, err error) {
	if err := b.refuseLocked(a, now); err != nil {
		return nil, err
	}
	if b.o.BreakerThreshold > 0 && !a.c.replayed {
		if wait, ok := b.breaker.admit(a, now); !ok {
			return nil, b.openError(a, wait)
		}
		a.c.probing = b.breaker.probe == a
	}
	dead := b.state == StateReady && isClosed(b.cur.lost) // its owner is about to notice
	switch b.state {
	case StateReady:
		if b.cur.inflight < b.o.MaxInFlight && !dead {
			b.takeLocked(a)
			return nil, nil
		}
	case StateIdle, StateDormant:
		b.beginLocked(0)
		b.setLocked(StateDialling, nil)
	}
	w = &waiter{a: a, granted: make(chan struct{}), deadline: a.c.deadline()}
	switch b.state {
	case StateReady:
		if !dead {
			w.since = now
		}
	case StateBackoff:
		w.patience = now.Add(b.o.MaxWait)
	}
	b.queue = append(b.queue, w)
	return w, nil
}

// refuseLocked says why a call cannot even wait.
func (b *bridge) refuseLocked(a *attempt, now time.Time) error {
	switch b.state {
	case StateClosed:
		return b.closedError(a)
	case StateParked:
		return b.unavailable(a, now)
	case StateBackoff:
		if b.nextTry.After(a.c.deadline()) || b.nextTry.Sub(now) > b.o.MaxWait {
			return b.unavailable(a, now)
		}
	case StateReady:
		if b.cur.inflight >= b.o.MaxInFlight && a.c.holds(b.cur) && !isClosed(b.cur.lost) {
			return b.reentrantError(a)
		}
	}
	return nil
}

// takeLocked gives a call its place.
func (b *bridge) takeLocked(a *attempt) {
	a.ep = b.cur
	a.ep.inflight++
	b.jobs.Add(1) // under mu, so that Close does not miss a call that begins just now
}

// releaseLocked frees a place, for the first in the queue.
func (b *bridge) releaseLocked(ep *epoch) {
	ep.inflight--
	if ep != b.cur {
		return
	}
	b.grantLocked()
	if ep.inflight == 0 {
		if b.o.IdleStop > 0 || b.o.Keepalive > 0 { // reading the clock is a good part of a small call
			ep.lastCall = b.o.Clock.Now()
			ep.heard = ep.lastCall
		}
		if ep.awaited {
			ep.awaited = false
			signal(ep.nudge)
		}
	}
}

// grantLocked lets the queue in, as far as there are places.
func (b *bridge) grantLocked() {
	if isClosed(b.cur.lost) {
		return // the next session is theirs
	}
	for len(b.queue) > 0 && b.cur.inflight < b.o.MaxInFlight {
		w := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		b.queueTime += b.queuedFor(w)
		b.takeLocked(w.a)
		close(w.granted)
	}
}

func (b *bridge) queuedFor(w *waiter) time.Duration {
	if w.since.IsZero() {
		return 0
	}
	return b.o.Clock.Now().Sub(w.since)
}

// dismissLocked sends those away from the queue for whom refuse has an error.
func (b *bridge) dismissLocked(refuse func(*waiter) error) (any bool) {
	b.queue = slices.DeleteFunc(b.queue, func(w *waiter) bool {
		w.err = refuse(w)
		if w.err != nil {
			any = true
			close(w.granted)
		}
		return w.err != nil
	})
	return any
}

// withdraw takes a call that waits no longer out of the queue, or gives its place back if it just got one.
func (b *bridge) withdraw(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.queueTime += b.queuedFor(w)
	} else if w.err == nil {
		b.releaseLocked(w.a.ep)
		b.jobDone()
	}
}

// toDialling begins a try. It is false if the epoch is over.
func (b *bridge) toDialling(ep *epoch) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cur != ep {
		return false
	}
	select {
	case <-ep.nudge: // it came after the wait
	default:
	}
	b.attempts++
	if b.state != StateDialling {
		b.setLocked(StateDialling, nil)
	}
	return true
}

// toReady takes the session in. It is false if the epoch is over, and the session then still its owner's.
func (b *bridge) toReady(ep *epoch, s Session, lost <-chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cur != ep {
		return false
	}
	ep.session, ep.lost = s, lost
	ep.readyAt = b.o.Clock.Now()
	ep.lastCall, ep.heard = ep.readyAt, ep.readyAt
	b.ladder.connected()
	b.breaker.reset()
	b.epochs++
	b.attempts = 0
	b.setLocked(StateReady, nil)
	for _, w := range b.queue {
		w.since, w.patience = ep.readyAt, time.Time{}
	}
	b.grantLocked()
	b.outcomeLocked(nil)
	return true
}

// toWaiting takes in that a dial failed, and gives the pause before the next. It is false if the epoch is over.
func (b *bridge) toWaiting(ep *epoch, err error) (pause time.Duration, ok bool) {
	f := newFailure(err)
	b.mu.Lock()
	pause, park := b.ladder.failed(&b.o, f.permanent)
	b.mu.Unlock()
	if !park {
		pause = max(0, b.jitter(pause))
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cur != ep {
		return 0, false
	}
	now := b.o.Clock.Now()
	b.nextTry = now.Add(pause)
	var seen bool
	if park {
		seen = b.parkLocked(f)
	} else {
		b.failure = f
		b.setLocked(StateBackoff, err)
		seen = b.dismissLocked(func(w *waiter) error {
			if w.patience.IsZero() {
				w.patience = now.Add(b.o.MaxWait)
			}
			if b.nextTry.After(w.deadline) || b.nextTry.After(w.patience) {
				return b.unavailable(w.a, now)
			}
			return nil
		})
	}
	if seen {
		b.breaker.strike(&b.o, b.breaker.probe, now)
	}
	return pause, true
}

// jitter calls the host's function; where that panics the pause stays as it is.
func (b *bridge) jitter(pause time.Duration) time.Duration {
	varied := pause
	_ = protect(func() error { varied = b.o.Jitter(pause); return nil })
	return varied
}

// parkLocked gives up until nextTry.
func (b *bridge) parkLocked(f failure) (seen bool) {
	b.failure = f
	b.setLocked(StateParked, f.err)
	now := b.o.Clock.Now()
	seen = b.dismissLocked(func(w *waiter) error { return b.unavailable(w.a, now) })
	b.outcomeLocked(f.err)
	return seen
}

// retire ends an epoch because its session is lost or has to be cut. It does nothing to any other epoch
// than the current one, so that a late report never hits the session that came after.
func (b *bridge) retire(ep *epoch, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retireLocked(ep, why)
}

func (b *bridge) retireLocked(ep *epoch, why error) {
	if b.cur != ep || b.state != StateReady {
		return
	}
	b.failure = failure{err: why, kind: KindUnavailable}
	if ep.inflight > 0 {
		probe := b.breaker.probe
		if probe != nil && probe.ep != ep {
			probe = nil
		}
		b.breaker.strike(&b.o, probe, b.o.Clock.Now())
	}
	ep.endLocked(why)
	if b.ladder.dropped(&b.o, ep.proven) {
		b.nextTry = b.o.Clock.Now().Add(b.o.Probe)
		b.beginLocked(b.o.Probe)
		b.parkLocked(failure{err: &causedError{errAgain, why}, kind: KindUnavailable})
		return
	}
	b.beginLocked(0)
	b.setLocked(StateDialling, why)
}

// recycleLocked puts the Bridge to sleep, no call being in flight.
func (b *bridge) recycleLocked(ep *epoch) {
	b.cur = nil
	ep.endLocked(errRecycled)
	b.setLocked(StateDormant, nil)
}

// proveLocked takes in that the session works.
func (b *bridge) proveLocked(ep *epoch) {
	if b.cur != ep || ep.proven {
		return
	}
	ep.proven = true
	b.failure = failure{}
	b.ladder.proved()
	b.noteLocked(StateReady, nil)
}

func (b *bridge) reconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reconnectLocked()
}

func (b *bridge) reconnectLocked() {
	if b.state == StateBackoff || b.state == StateParked {
		signal(b.cur.nudge)
	}
}

func (b *bridge) start(ctx context.Context) error {
	a := &attempt{c: &doing{b: b}} // for the errors
	b.mu.Lock()
	switch b.state {
	case StateReady:
		b.mu.Unlock()
		return nil
	case StateClosed:
		b.mu.Unlock()
		return b.closedError(a)
	case StateIdle, StateDormant:
		b.beginLocked(0)
		b.setLocked(StateDialling, nil)
	case StateParked:
		b.reconnectLocked()
	}
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	changed := b.changed
	b.mu.Unlock()

	select {
	case <-changed:
	case <-ctx.Done():
	}
	b.mu.Lock()
	came, outcome, last, wait := isClosed(changed), b.outcome, b.failure.err, b.nextTry.Sub(b.o.Clock.Now())
	b.mu.Unlock()
	switch {
	case !came:
		return b.startTimeout(ctx, last)
	case outcome == nil:
		return nil
	case outcome == ErrClosed:
		return b.closedError(a)
	}
	return b.refusal(a, newFailure(outcome), wait)
}

// signal sends without waiting on a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
