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
	errAgain    = errors.New("the session is lost again and again")
)

// causedError is an error with its cause. It asks the host's errors for their text only when it is asked
// itself, since it is made under the mutex too.
type causedError struct{ err, cause error }

func (e *causedError) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *causedError) Unwrap() []error { return []error{e.err, e.cause} }

// lostError is ErrSessionLost with its cause.
func lostError(cause error) error {
	switch {
	case cause == nil:
		return ErrSessionLost
	case errors.Is(cause, ErrSessionLost):
		return cause
	}
	return &causedError{ErrSessionLost, cause}
}

// shared makes of one call's loss of the session the cause for all that end with it: that the one did not
// reach the tool says nothing about the others.
func shared(err error) error {
	if !errors.Is(err, ErrNotReached) {
		return err
	}
	return &sharedError{err}
}

type sharedError struct{ err error }

func (e *sharedError) Error() string { return e.err.Error() }
func (e *sharedError) Is(target error) bool {
	return target != ErrNotReached && errors.Is(e.err, target)
}
func (e *sharedError) As(target any) bool { return errors.As(e.err, target) }

// failure is why there is no session.
type failure struct {
	err       error
	kind      Kind // of the calls that are refused for it
	permanent bool
}

// newFailure looks at the error of a dial. It is called without the mutex, as it asks the host's errors.
func newFailure(err error) failure {
	f := failure{err: err, kind: KindUnavailable}
	for _, k := range []Kind{KindNeedsAuth, KindInsufficientScope, KindForbidden} {
		if errors.Is(err, k.sentinel()) {
			f.kind = k
			break
		}
	}
	f.permanent = errors.Is(err, ErrPermanent) || errors.Is(err, ErrNeedsAuth) || errors.Is(err, ErrForbidden)
	return f
}

func (b *bridge) callError(a *attempt, phase string, kind Kind, err error) *CallError {
	return &CallError{Tool: a.c.tool, Source: b.o.Name, Phase: phase, Kind: kind, MayHaveRun: a.c.ran, Err: err}
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

// unavailable is the error of a call for which there is no session, and will not be soon. Called under mu.
func (b *bridge) unavailable(a *attempt, now time.Time) error {
	return b.refusal(a, b.failure, b.nextTry.Sub(now))
}

// refusal says why there is no session, and in how long the next try comes; not positive: unknown.
func (b *bridge) refusal(a *attempt, f failure, wait time.Duration) error {
	err := f.err
	if f.kind != KindUnavailable {
		err = &causedError{ErrUnavailable, err} // it is that as well
	}
	e := b.callError(a, "connect", f.kind, err)
	if wait > 0 {
		e.RetryAfter = wait
		e.Remedy = fmt.Sprintf("the next try to connect is in %v", wait.Round(time.Millisecond))
	}
	return e
}

// startTimeout is Start's error when its context ended first; last is the last failure so far.
func (b *bridge) startTimeout(ctx context.Context, last error) error {
	kind, err := KindTimeout, context.Cause(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = KindCancelled
	}
	if last != nil {
		err = fmt.Errorf("%w; so far: %w", err, last)
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
		e.Err = &endedError{fmt.Sprintf("%v after %v, at the caller's deadline", ErrTimeout, elapsed), cause}
		e.Remedy = "give it more time or look at why it is slow"
		if !errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
			e.Kind, e.Remedy = KindCancelled, ""
			e.Err = &endedError{fmt.Sprintf("%v, after %v", cause, elapsed), cause}
		}
		return e
	}
	e.Remedy = "raise the limit, or look at why it is slow"
	what, limit := "configured timeout", c.limits.Ceiling
	if c.left(c.b.o.Clock.Now()) <= 0 && time.Duration(c.progress.Load())+c.limits.Silence < c.limits.Ceiling {
		what, limit = "configured timeout without progress", c.limits.Silence
	}
	e.Err = &endedError{fmt.Sprintf("no answer after %v (%s: %v)", elapsed, what, limit), ErrTimeout}
	return e
}
