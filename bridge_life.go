package toolsource

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// own is the life of an epoch, from the wait before its first dial to the end of its session.
func (b *bridge) own(ep *epoch, pause time.Duration) {
	defer b.ownerDone()
	if !b.connect(ep, pause) {
		return
	}
	b.serve(ep)
	b.closeSession(ep.session)
}

// connect waits and dials until there is a session. It is false if the epoch is over.
func (b *bridge) connect(ep *epoch, pause time.Duration) bool {
	for {
		if !b.rest(ep, pause) || !b.toDialling(ep) {
			return false
		}
		s, lost, err := b.try(ep)
		if err == nil {
			if b.toReady(ep, s, lost) {
				return true
			}
			b.closeSession(s)
			return false
		}
		var ok bool
		if pause, ok = b.toWaiting(ep, err); !ok {
			return false
		}
	}
}

// rest waits for the next try.
func (b *bridge) rest(ep *epoch, pause time.Duration) bool {
	if pause <= 0 {
		return ep.cause() == nil
	}
	t := newAlarm(b.o.Clock, pause)
	defer t.stop()
	select {
	case <-t.c:
		return true
	case <-ep.nudge:
		return true
	case <-ep.gone:
		return false
	}
}

// dialled is what a dial gave.
type dialled struct {
	session Session
	lost    <-chan struct{}
	err     error
}

// try dials once. A dial that does not return one grace after its context ended is abandoned; the session
// that it may yet bring is closed.
func (b *bridge) try(ep *epoch) (Session, <-chan struct{}, error) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	ctx, cancel := withTimeout(ctx, b.o.Clock, b.o.Connect)
	defer cancel()
	var taken atomic.Bool // by the goroutine below for a reply, or by us, who leave
	reply := make(chan dialled, 1)
	j := b.job(func() {
		d := dialled{err: errNoReturn}
		defer func() {
			if taken.CompareAndSwap(false, true) {
				reply <- d
			} else if d.err == nil {
				b.closeSession(d.session)
			}
		}()
		d = b.callDial(ctx)
	})
	select {
	case d := <-reply:
		return d.session, d.lost, b.connectError(ctx, d.err)
	case <-ctx.Done():
	case <-ep.gone:
		end(ep.why)
	}
	t := newAlarm(b.o.Clock, b.o.Grace)
	defer t.stop()
	select {
	case d := <-reply:
		return d.session, d.lost, b.connectError(ctx, d.err)
	case <-t.c:
	case <-b.shutdown().expired:
	}
	if !taken.CompareAndSwap(false, true) {
		d := <-reply
		return d.session, d.lost, b.connectError(ctx, d.err)
	}
	j.abandon()
	return nil, nil, b.connectError(ctx, fmt.Errorf("the dial did not return %v after its end", b.o.Grace))
}

// callDial calls dial, and asks a new session for its Done, so that a panic in either is an error.
func (b *bridge) callDial(ctx context.Context) (d dialled) {
	d.err = protect(func() (err error) {
		if d.session, err = b.dial(ctx); err != nil {
			return err
		}
		if d.session == nil {
			return errors.New("the dial returned no session")
		}
		d.lost = d.session.Done()
		return nil
	})
	return d
}

// connectError adds the bound to the error of a dial that it ended.
func (b *bridge) connectError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("no session within %v: %w", b.o.Connect, err)
	}
	return err
}

// serve watches a session until it is lost, cut, or put to sleep.
func (b *bridge) serve(ep *epoch) {
	for ep.cause() == nil {
		var t ClockTimer // nil: there will be nothing to do
		if wait := b.duty(ep); wait < forever {
			t = b.o.Clock.AfterFunc(wait, func() { signal(ep.nudge) })
		}
		select {
		case <-ep.lost:
		case <-ep.nudge:
		}
		if t != nil {
			t.Stop()
		}
		b.act(ep)
		if isClosed(ep.lost) {
			b.retire(ep, lostError(sessionErr(ep.session)))
		}
	}
}

// forever is longer than any process lives.
const forever = 1 << 62

// duty gives the time until the owner has something to do. While calls are in flight nothing but the proof is.
func (b *bridge) duty(ep *epoch) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.o.Clock.Now()
	wait := time.Duration(forever)
	at := func(t time.Time, after time.Duration) { wait = min(wait, max(0, t.Add(after).Sub(now))) }
	if !ep.proven {
		at(ep.readyAt, b.o.Proof)
	}
	ep.awaited = ep.inflight > 0
	if ep.awaited {
		return wait
	}
	if b.o.MaxLifetime > 0 {
		at(ep.readyAt, b.o.MaxLifetime)
	}
	if b.o.IdleStop > 0 {
		at(ep.lastCall, b.o.IdleStop)
	}
	if _, ok := ep.session.(Pinger); ok && b.o.Keepalive > 0 {
		at(ep.heard, b.o.Keepalive)
	}
	return wait
}

// act does what is due, if anything is.
func (b *bridge) act(ep *epoch) {
	if isClosed(ep.lost) {
		return // before anything that would prove a session that is dead
	}
	b.mu.Lock()
	now := b.o.Clock.Now()
	due := func(t time.Time, after time.Duration) bool { return after > 0 && !now.Before(t.Add(after)) }
	idle := ep.inflight == 0 && b.cur == ep
	if due(ep.readyAt, b.o.Proof) {
		b.proveLocked(ep)
	}
	if idle && (due(ep.readyAt, b.o.MaxLifetime) || due(ep.lastCall, b.o.IdleStop)) {
		b.recycleLocked(ep)
		idle = false
	}
	p, ok := ep.session.(Pinger)
	ping := ok && idle && due(ep.heard, b.o.Keepalive)
	b.mu.Unlock()
	if ping {
		b.ping(ep, p)
	}
}

// ping asks the session whether it lives. A ping without an answer in time says nothing if calls ran
// meanwhile: a busy server is alive.
func (b *bridge) ping(ep *epoch, p Pinger) {
	b.mu.Lock()
	heard := ep.heard
	b.mu.Unlock()
	ctx, cancel := withTimeout(context.Background(), b.o.Clock, b.o.PingLimit)
	defer cancel()
	err, returned := b.await(ctx, cancel, ep, b.o.Grace, func() error { return p.Ping(ctx) })
	if ep.cause() != nil || isClosed(ep.lost) {
		return
	}
	if !returned {
		b.retire(ep, lostError(fmt.Errorf("a ping did not return %v after its end", b.o.Grace)))
		return
	}
	timedOut := err != nil && ctx.Err() != nil
	why := lostError(err)
	if timedOut {
		why = lostError(fmt.Errorf("no answer to a ping within %v", b.o.PingLimit))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case timedOut && (ep.inflight > 0 || ep.heard != heard):
		ep.heard = b.o.Clock.Now()
	case err != nil:
		b.retireLocked(ep, why)
	default:
		ep.heard = b.o.Clock.Now()
		b.proveLocked(ep)
	}
}

// closeSession closes a session within its bound.
func (b *bridge) closeSession(s Session) {
	ctx, cancel := withTimeout(b.shutdown().hurry, b.o.Clock, closeShare(b.o.CloseBound))
	defer cancel()
	err, returned := b.await(ctx, cancel, &epoch{}, b.o.CloseBound-closeShare(b.o.CloseBound), func() error { return s.Close(ctx) })
	if returned && err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.closing.Load() {
			end := b.shutdown()
			end.errs = append(end.errs, err)
		}
	}
}

// await runs one of the host's functions on a goroutine of its own and waits for it until grace after the end
// of its context, of ep or of ep's session; then the function is abandoned.
func (b *bridge) await(ctx context.Context, cancel func(), ep *epoch, grace time.Duration, f func() error) (err error, returned bool) {
	reply := make(chan error, 1)
	j := b.job(func() {
		err := errNoReturn
		defer func() { reply <- err }()
		err = protect(f)
	})
	select {
	case err = <-reply:
		return err, true
	case <-ctx.Done():
	case <-ep.lost:
	case <-ep.gone:
	}
	cancel()
	t := newAlarm(b.o.Clock, grace)
	defer t.stop()
	select {
	case err = <-reply:
		return err, true
	case <-t.c:
	case <-b.shutdown().expired:
	}
	select {
	case err = <-reply:
		return err, true
	default:
	}
	j.abandon()
	return nil, false
}

// job is one of the host's functions, running on a goroutine of its own.
type job struct {
	b          *bridge
	done, left bool // guarded by bridge.mu
}

func (b *bridge) job(f func()) *job {
	j := &job{b: b}
	b.jobs.Add(1)
	go func() {
		defer b.jobDone()
		defer j.end()
		f()
	}()
	return j
}

func (j *job) end() {
	j.b.mu.Lock()
	defer j.b.mu.Unlock()
	j.done = true
	if j.left {
		j.b.abandoned--
	}
}

// abandon counts a function that is waited for no longer.
func (j *job) abandon() {
	j.b.mu.Lock()
	defer j.b.mu.Unlock()
	j.abandonLocked()
}

func (j *job) abandonLocked() {
	if !j.done && !j.left {
		j.left = true
		j.b.abandoned++
	}
}

// protect calls f; a panic in f is an error. Where f may also end its goroutine, the caller has a defer for it.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return f()
}

func panicked(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }

// sessionErr asks a session why it ended.
func sessionErr(s Session) (err error) {
	if p := protect(func() error { err = s.Err(); return nil }); p != nil {
		return p
	}
	return err
}
