package toolsource

import (
	"context"
	"sync/atomic"
	"time"
)

// LimitCalls bounds every call of a Toolbox, over and above the tools' own limits. Zero fields bound nothing.
// A tool that ignores its context is left behind, and counted in Sources.
func LimitCalls(l Limits) Middleware {
	const ages = 365 * 24 * time.Hour
	full := l.Or(Limits{Silence: ages, Ceiling: ages})
	return func(spec ToolSpec, next Callable) Callable {
		return func(ctx context.Context, args map[string]any) (Result, error) {
			leftBehind, ok := ctx.Value(leftBehindKey{}).(*atomic.Int64)
			if !ok {
				leftBehind = new(atomic.Int64) // it was not called by a Toolbox
			}
			o, end, _ := attend(ctx, full, nil, leftBehind, func(ctx context.Context) (o outcome) {
				defer func() {
					if v := recover(); v != nil {
						o = outcome{err: panicked(v)}
					}
				}()
				o.res, o.err = next(ctx, args)
				return o
			})
			switch end {
			case endReturned:
				return o.res, o.err
			case endCaller:
				return Result{}, ctx.Err()
			}
			return Result{}, overLimit(spec.Name, spec.Origin.Source, full, end, true)
		}
	}
}

// TraceEvent is one call that a trace saw. Args and Result are the call's own: read-only.
type TraceEvent struct {
	Step     uint64 // counts the calls in the order in which they started, from 0; no two are alike
	Tool     string
	Source   string
	Args     map[string]any
	Result   Result
	Err      error // as the source gave it
	Started  time.Time
	Duration time.Duration
}

// Trace tells a function of every call when it has ended, failed ones included, before its caller hears of
// it. The function runs within the call's time limit; a panic in it harms nobody.
func Trace(ended func(TraceEvent)) Middleware {
	var steps atomic.Uint64
	return func(spec ToolSpec, next Callable) Callable {
		return func(ctx context.Context, args map[string]any) (res Result, err error) {
			e := TraceEvent{Step: steps.Add(1) - 1, Tool: spec.Name, Source: spec.Origin.Source, Args: args, Started: time.Now()}
			defer func() {
				if v := recover(); v != nil {
					res, err = Result{}, panicked(v)
				}
				e.Result, e.Err, e.Duration = res, err, time.Since(e.Started)
				_ = protect(func() error { ended(e); return nil })
			}()
			return next(ctx, args)
		}
	}
}
