package toolsource

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	errRecycled = errors.New("put to sleep")
	errNoReturn = errors.New("the function ended its goroutine instead of returning")
	errNotBegun = errors.New("the session ended before the call began")
)

// lostError is ErrSessionLost with its reason.
func lostError(err error) error {
	if err == nil || errors.Is(err, ErrSessionLost) {
		return errors.Join(ErrSessionLost, err)
	}
	return fmt.Errorf("%w: %w", ErrSessionLost, err)
}

func (b *bridge) callError(a *attempt, phase string, kind Kind, err error) *CallError {
	return &CallError{Tool: a.c.o.Tool, Source: b.o.Name, Phase: phase, Kind: kind, MayHaveRun: a.c.ran, Err: err}
}

func (b *bridge) closedError(a *attempt) error {
	return b.callError(a, "wait", KindClosed, nil)
}

func (b *bridge) reentrantError(a *attempt) error {
	e := b.callError(a, "wait", KindReentrant, fmt.Errorf("all %d places of the source are taken, one of them by the call that makes this one", b.o.MaxInFlight))
	e.Remedy = "raise the source's limit of calls in flight, or make the call after the other has returned"
	return e
}

func (b *bridge) openError(a *attempt, wait time.Duration) error {
	e := b.callError(a, "wait", KindUnavailable, fmt.Errorf("unreachable after %d transport failures in a row", b.breaker.strikes))
	e.RetryAfter = wait
	e.Remedy = "one call is trying it now; try again when that has ended"
	if wait > 0 {
		e.Remedy = fmt.Sprintf("do not call it again within the next %v", wait.Round(time.Second))
	}
	return e
}

// unavailable is the error of a call for which there is no session, and will not be soon.
func (b *bridge) unavailable(a *attempt, now time.Time) error {
	kind := KindUnavailable
	for _, k := range []Kind{KindNeedsAuth, KindInsufficientScope, KindForbidden} {
		if errors.Is(b.err, k.sentinel()) {
			kind = k
			break
		}
	}
	err := b.err
	if kind != KindUnavailable {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	e := b.callError(a, "connect", kind, err)
	if b.nextTry.After(now) {
		e.RetryAfter = b.nextTry.Sub(now)
		e.Remedy = fmt.Sprintf("the next try to connect is in %v", e.RetryAfter.Round(time.Millisecond))
	}
	return e
}

// startTimeout is Start's error when its context ended first. Called under mu.
func (b *bridge) startTimeout(ctx context.Context) error {
	kind, err := KindTimeout, context.Cause(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = KindCancelled
	}
	if b.err != nil {
		err = fmt.Errorf("%w; so far: %w", err, b.err)
	}
	return &CallError{Source: b.o.Name, Phase: "connect", Kind: kind, Err: err, Remedy: "it goes on connecting; call it later"}
}

// lostCall is the error of a call in flight whose session ended.
func (c *doing) lostCall(why error) error {
	kind := KindSessionLost
	if errors.Is(why, ErrClosed) && !errors.Is(why, ErrSessionLost) {
		kind = KindClosed
	}
	a := attempt{c: c}
	e := c.b.callError(&a, "call", kind, why)
	if e.MayHaveRun {
		e.Remedy = "check whether it took effect before calling it again"
	}
	return e
}

// endedError says whose end it was, and after how long.
type endedError struct {
	text  string
	cause error
}

func (e *endedError) Error() string { return e.text }
func (e *endedError) Unwrap() error { return e.cause }

// timeUp is the error of a call whose context ended or whose limit passed.
func (c *doing) timeUp(a *attempt, phase string) error {
	elapsed := c.b.o.Clock.Now().Sub(c.started).Round(time.Millisecond)
	e := c.b.callError(a, phase, KindTimeout, nil)
	if c.ctx.Err() != nil {
		cause := context.Cause(c.ctx)
		if !errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
			e.Kind = KindCancelled
		}
		e.Err = &endedError{fmt.Sprintf("%v, after %v", cause, elapsed), cause}
		return e
	}
	what, limit := "configured timeout", c.limits.Ceiling
	if c.left() <= 0 && time.Duration(c.progress.Load())+c.limits.Silence < c.limits.Ceiling {
		what, limit = "configured timeout without progress", c.limits.Silence
	}
	e.Err = &endedError{fmt.Sprintf("no answer after %v (%s: %v)", elapsed, what, limit), ErrTimeout}
	return e
}
