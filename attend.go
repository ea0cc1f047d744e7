package toolsource

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// leftBehindKey leads middleware to the counter of the tool's source.
type leftBehindKey struct{}

type outcome struct {
	res Result
	err error
}

// Why attend stopped waiting.
type ending int

const (
	endReturned ending = iota // run returned; the outcome counts
	endCaller                 // the caller's context ended
	endClosed                 // the owner was closed
	endSilence                // too long without progress
	endCeiling                // too long altogether
)

var errGoexit = fmt.Errorf("%w: the function ended its goroutine instead of returning", ErrPanic)

// attend runs a function on a goroutine of its own and waits for its outcome no longer than the caller, the
// owner and the limits allow. Progress that the function reports renews the silence limit and goes on to the
// caller's listener. The outcome travels over a buffered channel only, so that a function which is left
// behind touches nothing of its caller's; leftBehind counts those that still run.
func attend(ctx context.Context, limits Limits, closed <-chan struct{}, leftBehind *atomic.Int64, run func(context.Context) outcome) (outcome, ending, time.Duration) {
	const (
		running int32 = iota
		returned
		left
	)
	begun := time.Now()
	var state atomic.Int32
	var heard atomic.Int64 // when progress was last heard of, since begun
	report, _ := ctx.Value(progressKey{}).(func(Progress))
	inner, cancel := context.WithCancel(context.WithValue(ctx, progressKey{}, func(p Progress) {
		if state.Load() != running {
			return
		}
		heard.Store(int64(time.Since(begun)))
		if report != nil {
			_ = protect(func() error { report(p); return nil }) // a fault of the listener is not the tool's
		}
	}))
	defer cancel()

	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGoexit}
		defer func() { // also when the function ends its goroutine instead of returning
			if state.Swap(returned) == left {
				leftBehind.Add(-1)
			}
			done <- o
		}()
		o = run(inner)
	}()
	leave := func(why ending) (outcome, ending, time.Duration) {
		select {
		case o := <-done:
			return o, endReturned, 0
		default:
		}
		if state.CompareAndSwap(running, left) {
			leftBehind.Add(1)
		}
		return outcome{}, why, time.Since(begun)
	}
	timer := time.NewTimer(min(limits.Silence, limits.Ceiling))
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			return o, endReturned, 0
		case <-ctx.Done():
			return leave(endCaller)
		case <-closed:
			return leave(endClosed)
		case <-timer.C:
			now := time.Since(begun)
			if now >= limits.Ceiling {
				return leave(endCeiling)
			}
			silent := time.Duration(heard.Load()) + limits.Silence
			if now >= silent {
				return leave(endSilence)
			}
			timer.Reset(min(silent, limits.Ceiling) - now)
		}
	}
}

// overLimit is the error for a call that a limit ended.
func overLimit(tool, source string, l Limits, end ending, ran bool) error {
	e := &CallError{
		Tool: tool, Source: source, Phase: "call", Kind: KindTimeout, MayHaveRun: ran,
		Err:    fmt.Errorf("%w after %s without progress", ErrTimeout, l.Silence),
		Remedy: "raise the tool's silence limit, or have it report progress",
	}
	if end == endCeiling {
		e.Err = fmt.Errorf("%w after %s, the most it may take", ErrTimeout, l.Ceiling)
		e.Remedy = "raise the tool's ceiling"
	}
	return e
}
