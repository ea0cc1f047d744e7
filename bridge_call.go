package toolsource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// doing is one Do: what is the same for its first attempt and its replay.
type doing struct {
	b        *bridge
	ctx      context.Context // the caller's
	tool     string          // for errors
	parent   *attempt        // the attempt whose context the caller's is derived from; nil: none
	started  time.Time
	limits   Limits        // complete
	most     time.Duration // from started to the earlier of the caller's deadline and the limits', as they were then
	progress atomic.Int64  // time.Duration since started of the last report
	replay   Replay
	replayed bool
	ran      bool // an attempt may have reached the tool
	probing  bool // it is, or was, the one that an open breaker let through
	begun    bool // first is taken

	first attempt // which is mostly the only one
}

// attempt is one run of a call function, and the context that it gets.
type attempt struct {
	context.Context // ends with the caller's, with a limit, with the epoch, and when Do returns
	cancel          context.CancelCauseFunc
	c               *doing
	ep              *epoch // whose place it holds
	spare           bool   // if it does not reach the tool there will be another

	mu    sync.Mutex
	limit ClockTimer // nil: the caller's deadline comes first

	// Guarded by bridge.mu.
	grace      ClockTimer
	done, left bool // the call function returned; it was given up
}

type attemptKey struct{}

func newDoing(ctx context.Context, b *bridge, o CallOptions) *doing {
	c := &doing{b: b, ctx: ctx, tool: o.Tool, replay: o.Replay, started: b.o.Clock.Now()}
	c.parent, _ = ctx.Value(attemptKey{}).(*attempt)
	c.limits = LimitsFrom(ctx).Or(Limits{Silence: o.Silence, Ceiling: o.Limit}).Or(Limits{Silence: b.o.Silence, Ceiling: b.o.Ceiling})
	c.most = min(c.limits.Silence, c.limits.Ceiling)
	if t, ok := ctx.Deadline(); ok {
		c.most = min(c.most, t.Sub(c.started))
	}
	return c
}

// begin gets a place on a session for the next attempt.
func (c *doing) begin() (*attempt, error) {
	for {
		a, now := c.attempt()
		if c.ctx.Err() != nil {
			return nil, c.timeUp(a, "wait")
		}
		c.b.mu.Lock()
		w, err := c.b.admitLocked(a, now)
		c.b.mu.Unlock()
		if err == nil && w != nil {
			err = c.wait(w)
			now = c.b.o.Clock.Now()
		}
		if err != nil {
			return nil, err
		}
		a.arm(now)
		if a.ep.cause() == nil {
			return a, nil
		}
		// The session went before the call began: nothing has run.
		a.disarm()
		a.cancel(nil)
		a.finish(errNotBegun)
		a.c.b.jobDone()
	}
}

// deadline is the earlier of the caller's and the limits', as they were at the start.
func (c *doing) deadline() time.Time { return c.started.Add(c.most) }

// attempt gives the next attempt and when it begins. Reading the clock is a good part of a small call, so
// the first does not read it again.
func (c *doing) attempt() (a *attempt, now time.Time) {
	spare := !c.replayed && c.replay >= ReplayUntilSent
	if c.begun {
		return &attempt{c: c, spare: spare}, c.b.o.Clock.Now()
	}
	c.begun = true
	c.first.c, c.first.spare = c, spare
	return &c.first, c.started
}

// wait waits for a place.
func (c *doing) wait(w *waiter) error {
	limit := newAlarm(c.b.o.Clock, c.left(c.b.o.Clock.Now()))
	defer limit.stop()
	select {
	case <-w.granted:
		return w.err
	case <-c.ctx.Done():
	case <-limit.c:
	}
	c.b.withdraw(w)
	return c.timeUp(w.a, "wait")
}

// left is the time until the earlier of the limits.
func (c *doing) left(now time.Time) time.Duration {
	silent := time.Duration(c.progress.Load()) + c.limits.Silence
	return min(silent, c.limits.Ceiling) - now.Sub(c.started)
}

// holds reports whether the call is made inside another one that holds a place of ep.
func (c *doing) holds(ep *epoch) bool {
	for p := c.parent; p != nil; p = p.c.parent {
		if p.ep == ep && !p.done {
			return true
		}
	}
	return false
}

// arm makes the attempt's context.
func (a *attempt) arm(now time.Time) {
	a.Context, a.cancel = context.WithCancelCause(a.c.ctx)
	if t, ok := a.c.ctx.Deadline(); ok && !t.After(a.c.deadline()) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = a.c.b.o.Clock.AfterFunc(a.c.left(now), a.expire)
}

func (a *attempt) disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit != nil {
		a.limit.Stop()
	}
}

// expire ends the attempt, unless a report of progress has put its limit off.
func (a *attempt) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Err() != nil {
		return
	}
	if left := a.c.left(a.c.b.o.Clock.Now()); left > 0 {
		a.limit.Reset(left)
		return
	}
	a.cancel(ErrTimeout)
}

// Value answers for what belongs to the attempt itself.
func (a *attempt) Value(key any) any {
	switch key.(type) {
	case attemptKey:
		return a
	case progressKey:
		return a.report
	}
	return a.Context.Value(key)
}

// report takes a report of progress and passes it on, unless the attempt is over.
func (a *attempt) report(p Progress) {
	if a.Err() != nil {
		return
	}
	a.c.progress.Store(int64(a.c.b.o.Clock.Now().Sub(a.c.started)))
	err := protect(func() error { ReportProgress(a.c.ctx, p); return nil })
	if err != nil {
		a.c.b.warn("progress function", err)
	}
}

// over makes room for the next probe of an open breaker, if the call was one.
func (c *doing) over() {
	if c.probing {
		c.b.mu.Lock()
		defer c.b.mu.Unlock()
		c.b.breaker.leave(c)
	}
}

// settle is how long an answer that was received just before the session was lost has to get through.
const settle = 10 * time.Millisecond

// settling gives the caller a moment for its answer after the session was lost; nil after another end.
func (a *attempt) settling() *alarm {
	if errors.Is(a.ep.cause(), ErrSessionLost) {
		return newAlarm(a.c.b.o.Clock, settle)
	}
	return nil
}

// end is what the caller does when it has the answer or waits no longer for it.
func (c *doing) end(a *attempt, err error, replied bool) (out error, again bool) {
	a.disarm()
	timeUp := a.Err() != nil
	if replied {
		a.cancel(nil)
	} else {
		a.leave()
	}
	if replied && err == nil {
		return nil, false
	}
	notReached := replied && errors.Is(err, ErrNotReached)
	c.ran = c.ran || !notReached
	lost := c.lost(a, err, replied, timeUp)
	if !timeUp && !c.replayed &&
		(notReached && c.replay >= ReplayUntilSent || lost != nil && c.replay == ReplayAlways) {
		c.replayed = true
		return nil, true
	}
	switch {
	case lost != nil:
		return c.lostCall(lost), false
	case !replied, timeUp && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return c.timeUp(a, "call"), false
	}
	return err, false
}

// lost is the reason if the attempt failed because its session ended, else nil.
func (c *doing) lost(a *attempt, err error, replied, timeUp bool) error {
	why := a.ep.cause()
	if !replied {
		if timeUp {
			return nil
		}
		return why
	}
	if a.reportsLoss(err) {
		return err
	}
	if timeUp {
		return nil
	}
	dead := isClosed(a.ep.lost)
	if why == nil && dead {
		why = lostError(sessionErr(a.ep.session))
	}
	if why == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return why
	}
	if dead {
		if e := sessionErr(a.ep.session); e != nil && errors.Is(err, e) {
			return why
		}
	}
	return nil
}

// leave ends a call function for which nobody waits any longer. It has one grace to return.
func (a *attempt) leave() {
	why := a.ep.cause()
	if why == nil {
		why = context.Canceled
	}
	a.cancel(why)
	a.c.b.mu.Lock()
	defer a.c.b.mu.Unlock()
	if !a.done {
		a.grace = a.c.b.o.Clock.AfterFunc(a.c.b.o.Grace, a.overdue)
	}
}

// overdue gives up a call function that is stuck, and its session with it: whatever is written next would
// wait behind it.
func (a *attempt) overdue() {
	b := a.c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.done {
		return
	}
	a.left = true
	b.abandoned++
	b.retireLocked(a.ep, &causedError{ErrSessionLost, fmt.Errorf("cut, since a call of %s did not return %v after its end", orTool(a.c.tool), b.o.Grace)})
}

// finish takes in what a call function returned, on its own goroutine.
func (a *attempt) finish(err error) {
	b := a.c.b
	sign := a.sign(err)
	b.mu.Lock()
	a.done = true
	if a.left {
		b.abandoned--
	}
	grace := a.grace
	if b.cur == a.ep {
		switch sign {
		case signWorks:
			b.breaker.reset()
			b.proveLocked(a.ep)
		case signFails:
			b.breaker.strike(&b.o, a, b.o.Clock.Now())
		case signLost:
			b.retireLocked(a.ep, shared(err))
		}
	}
	b.releaseLocked(a.ep)
	b.mu.Unlock()
	if grace != nil {
		grace.Stop()
	}
}

// sign is what a call's end says about the transport. What fails is the way to the server, not a tool: the
// request could not be sent, what carries it broke, or somebody on the way cannot serve it now. A call that
// ends by its own limit or context, and one that was refused, say nothing; nor does an error whose method
// Answered says that the peer itself gave it, whatever its kind.
type sign uint8

const (
	signNone  sign = iota
	signWorks      // the peer answered, if only with an error
	signFails      // the transport failed, the session may live
	signLost       // the session is lost
)

func (a *attempt) sign(err error) sign {
	if err == nil {
		return signWorks
	}
	if a.foreign(err) || errors.Is(err, ErrPanic) || errors.Is(err, errNoReturn) || errors.Is(err, errNotBegun) {
		return signNone
	}
	if errors.Is(err, ErrSessionLost) {
		return signLost
	}
	var by interface{ Answered() bool }
	if errors.As(err, &by) && by.Answered() {
		return signNone
	}
	switch KindOf(err) {
	case KindUnavailable, KindOutcomeUnknown:
		return signFails
	case KindTimeout, KindCancelled, KindClosed, KindProtocol:
		return signNone
	}
	if !errors.Is(err, ErrNotReached) {
		return signWorks
	}
	if KindOf(err) != KindTool || a.spare || a.Err() != nil { // refused; the next attempt will say it; it is not the transport's end
		return signNone
	}
	return signFails
}

// reportsLoss reports whether a call function says that its session is lost.
func (a *attempt) reportsLoss(err error) bool {
	return errors.Is(err, ErrSessionLost) && !a.foreign(err)
}

// foreign reports whether an error is about a call of another source, made inside the call function.
func (a *attempt) foreign(err error) bool {
	var ce *CallError
	return errors.As(err, &ce) && ce.Source != "" && ce.Source != a.c.b.o.Name
}

func orTool(name string) string {
	if name == "" {
		return "a tool"
	}
	return name
}
