package toolsource

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A guard stands between a caller and a source's callable. It keeps the rules that hold for every tool: the
// Toolbox is open and the tool is there, arguments are of the types that Arguments lists, the call ends in
// time, a panic is an error, and errors are of the types of this package.
type guard struct {
	tb     *Toolbox
	layer  *layer
	own    *ToolSpec // as the source gave it
	call   Callable  // with the Toolbox's middleware
	bind   *binding
	limits Limits
	direct bool // may run on the caller's goroutine
}

// newEntry makes the entry of a tool from its spec as the source gave it.
func (tb *Toolbox) newEntry(l *layer, own *ToolSpec, call Callable, err error, b *binding) *entry {
	made := &struct {
		entry
		guard
	}{}
	e, g := &made.entry, &made.guard
	*e = entry{spec: own, own: own, layer: l, bind: b}
	if own.Origin.Source == "" {
		spec := *own
		spec.Origin.Source = l.name
		e.spec = &spec
	}
	if err != nil {
		e.err = &CallError{
			Tool: own.Name, Source: l.name, Phase: "resolve", Kind: resolveKind(err), Err: err,
			Remedy: "its source listed it but could not resolve it",
		}
		e.call = func(context.Context, map[string]any) (Result, error) { return Result{}, e.err }
		return e
	}
	for i := len(tb.o.Middleware) - 1; i >= 0; i-- {
		call = tb.wrap(tb.o.Middleware[i], *e.spec, call)
	}
	*g = guard{
		tb: tb, layer: l, own: own, call: call, bind: b,
		limits: own.Limits.Or(tb.o.Limits),
		direct: l.bounded && !l.gateCalls && len(tb.o.Middleware) == 0,
	}
	e.call = g.run
	return e
}

// wrap applies one middleware; one that panics or gives nothing makes the tool fail, not the Toolbox.
func (tb *Toolbox) wrap(m Middleware, spec ToolSpec, next Callable) (call Callable) {
	err := protect(func() error { call = m(spec, next); return nil })
	if err == nil && call == nil {
		err = errors.New("the middleware gave no callable")
	}
	if err != nil {
		return func(context.Context, map[string]any) (Result, error) { return Result{}, err }
	}
	return call
}

func resolveKind(err error) Kind {
	if k := KindOf(err); k != KindTool {
		return k
	}
	return KindUnavailable
}

// run is the Callable that a Toolbox hands out.
func (g *guard) run(ctx context.Context, args map[string]any) (Result, error) {
	if err := g.ready(ctx); err != nil {
		return Result{}, err
	}
	args, err := Arguments(args)
	if err != nil {
		return Result{}, &CallError{Tool: g.own.Name, Source: g.layer.name, Phase: "bind", Kind: KindBadArguments, Err: err}
	}
	g.layer.inFlight.Add(1)
	defer g.layer.inFlight.Add(-1)
	if g.direct {
		return g.onCaller(ctx, args)
	}
	return g.detached(ctx, args)
}

// onCaller runs the tool of a Bounded source on the caller's goroutine. Unless the source keeps the limits
// itself, the ceiling is put into the context, where the caller's deadline does not come before it.
func (g *guard) onCaller(ctx context.Context, args map[string]any) (Result, error) {
	if t, ok := ctx.Deadline(); !g.layer.limited {
		limits := LimitsFrom(ctx).Or(g.limits)
		if !ok || time.Until(t) > limits.Ceiling {
			return g.underCeiling(ctx, limits, args)
		}
	}
	res, err := g.safely(ctx, args)
	if err != nil {
		return Result{}, g.failure(ctx, err)
	}
	return g.typed(res), nil
}

func (g *guard) underCeiling(ctx context.Context, limits Limits, args map[string]any) (Result, error) {
	inner, cancel := context.WithTimeout(ctx, limits.Ceiling)
	defer cancel()
	res, err := g.safely(inner, args)
	if err == nil {
		return g.typed(res), nil
	}
	if inner.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		if _, said := outermost(err).(*CallError); !said {
			return Result{}, overLimit(g.own.Name, g.layer.name, limits, endCeiling, true)
		}
	}
	return Result{}, g.failure(ctx, err)
}

// typed brings a value that is none of the types of Result.Value into one. What is inside is the source's.
func (g *guard) typed(res Result) Result {
	switch res.Value.(type) {
	case nil, bool, int64, float64, string, []any, map[string]any, Blob:
	default: // json.Number as well: it may be one that fits
		res.Value = canonical(res.Value)
	}
	return res
}

// ready refuses calls that cannot run.
func (g *guard) ready(ctx context.Context) error {
	switch {
	case g.tb.closed.Load():
		return &CallError{Tool: g.own.Name, Source: g.layer.name, Phase: "call", Kind: KindClosed, Remedy: "the Toolbox was closed"}
	case g.bind.gone.Load():
		return &CallError{
			Tool: g.own.Name, Source: g.layer.name, Phase: "call", Kind: KindUnavailable,
			Err:    fmt.Errorf("%w: its source no longer has it", ErrUnavailable),
			Remedy: "resolve the name again to call what is there now",
		}
	case ctx.Err() != nil:
		return g.ended(ctx, false, 0)
	}
	return nil
}

// safely calls the tool and turns a panic into an error.
func (g *guard) safely(ctx context.Context, args map[string]any) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = Result{}, panicked(v)
		}
	}()
	return g.call(ctx, args)
}

// errWithdrawn is what a gate's no becomes.
var errWithdrawn = fmt.Errorf("%w: the host does not offer it now", ErrUnavailable)

// detached runs the tool on a goroutine of its own, after its gate was asked there.
func (g *guard) detached(ctx context.Context, args map[string]any) (Result, error) {
	limits := LimitsFrom(ctx).Or(g.limits)
	var started atomic.Bool
	o, end, after := attend(context.WithValue(ctx, leftBehindKey{}, &g.layer.abandoned), limits, g.tb.ctx.Done(), &g.layer.abandoned, func(ctx context.Context) (o outcome) {
		if g.layer.gateCalls && !Offered(ctx, g.layer.Source, *g.own) {
			o.err = errWithdrawn
			return o
		}
		if err := ctx.Err(); err != nil {
			o.err = err
			return o
		}
		started.Store(true)
		o.res, o.err = g.safely(ctx, args)
		if o.err == nil && !isCanonical(o.res.Value, 0) {
			o.res.Value = canonical(o.res.Value)
		}
		return o
	})
	switch ran := started.Load(); end {
	case endCaller:
		return Result{}, g.ended(ctx, ran, after)
	case endClosed:
		return Result{}, &CallError{Tool: g.own.Name, Source: g.layer.name, Phase: "call", Kind: KindClosed, MayHaveRun: ran, Remedy: "the Toolbox was closed"}
	case endSilence, endCeiling:
		return Result{}, overLimit(g.own.Name, g.layer.name, limits, end, ran)
	}
	if o.err != nil {
		return Result{}, g.failure(ctx, o.err)
	}
	return o.res, nil
}

// ended is the error for a call whose context ended.
func (g *guard) ended(ctx context.Context, ran bool, after time.Duration) error {
	e := &CallError{Tool: g.own.Name, Source: g.layer.name, Phase: "call", MayHaveRun: ran, Kind: KindCancelled}
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = KindTimeout
		e.Remedy = "give it more time or look at why it is slow"
		if !ran {
			e.Remedy = "the deadline had passed before it was started"
		}
		if after > 0 {
			e.Err = fmt.Errorf("%w after %s, at the caller's deadline", ErrTimeout, after.Round(time.Millisecond))
			return e
		}
	}
	e.Err = cause
	return e
}

// failure brings a tool's error into this package's types, with the tool's and the source's names. An error
// about another tool, which this one called, becomes this one's failure with the other as its cause.
func (g *guard) failure(ctx context.Context, err error) error {
	tool, source := g.own.Name, g.layer.name
	ours := func(name string) bool { return name == "" || name == tool || name == g.own.wireName() }
	switch e := outermost(err).(type) {
	case *ToolError:
		if e.Tool == tool {
			return e
		}
		named := *e
		named.Tool = tool
		if !ours(e.Tool) {
			named.Result, named.Err = textResult(err.Error()), err
		}
		return &named
	case *CallError:
		named := *e
		named.Tool = tool
		if !ours(e.Tool) {
			named.Source, named.Phase, named.MayHaveRun, named.Err = source, "call", true, err
		}
		if named.Source == "" {
			named.Source = source
		}
		return &named
	}
	e := &CallError{Tool: tool, Source: source, Phase: "call", Kind: KindOf(err), MayHaveRun: true, Err: err}
	switch {
	case errors.Is(err, ErrPanic):
		e.Kind = KindTool
		e.Remedy = "this is a fault in the tool's own code"
	case e.Kind == KindTool:
		return &ToolError{Tool: tool, Err: err, Result: textResult(err.Error())}
	case e.Kind == KindUnknownTool:
		e.MayHaveRun = false
		e.Remedy = "its source no longer has it; refresh the source and resolve the name again"
	case e.Kind == KindBadArguments, e.Kind == KindDenied, e.Kind == KindUnavailable, errors.Is(err, ErrNotReached):
		e.MayHaveRun = false
	case e.Kind == KindTimeout && ctx.Err() == nil:
		e.Remedy = "the tool itself gave up waiting for something"
	}
	return e
}

func textResult(text string) Result {
	return Result{Value: text, Content: []Content{{Type: ContentText, Text: text}}}
}
