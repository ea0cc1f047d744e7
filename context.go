package toolsource

import (
	"context"
	"maps"
	"time"
)

// Per-call extras travel in the context: each has a function that puts it in and one that reads it.
// Users never do.

type (
	progressKey struct{}
	limitsKey   struct{}
	callMetaKey struct{}
)

// Progress is what a running tool says about how far it is (MCP notifications/progress).
type Progress struct {
	Progress float64 // grows with each report
	Total    float64 // 0: unknown
	Message  string  // may be ""
}

// Limits bound one call. A zero field keeps the limit that holds without it.
type Limits struct {
	Silence time.Duration // longest time without progress; each report renews it
	Ceiling time.Duration // longest time altogether
}

// Or fills l's zero fields from d.
func (l Limits) Or(d Limits) Limits {
	if l.Silence <= 0 {
		l.Silence = d.Silence
	}
	if l.Ceiling <= 0 {
		l.Ceiling = d.Ceiling
	}
	return l
}

// WithProgress asks for the progress of calls made with the context. The function is called on the
// goroutine that learns of it, must not block, and is not called after the call has returned, save for a
// report that was being delivered at that moment.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress tells whoever waits for the call that ctx belongs to how far it is, and renews the
// call's silence limit. Tools written in Go call it; without a listener it does nothing.
func ReportProgress(ctx context.Context, p Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok && report != nil {
		report(p)
	}
}

// WithLimits sets limits for calls made with the context, in place of the tool's own.
func WithLimits(ctx context.Context, l Limits) context.Context {
	return context.WithValue(ctx, limitsKey{}, l)
}

// LimitsFrom reads what WithLimits set; zero if nothing.
func LimitsFrom(ctx context.Context) Limits {
	l, _ := ctx.Value(limitsKey{}).(Limits)
	return l
}

// WithCallMeta adds entries to the _meta of calls made with the context (MCP), over what is there already.
// Keys that the protocol reserves for itself are refused by the client that sends them.
func WithCallMeta(ctx context.Context, meta map[string]any) context.Context {
	if old := CallMeta(ctx); old != nil {
		merged := maps.Clone(old)
		maps.Copy(merged, meta)
		meta = merged
	}
	return context.WithValue(ctx, callMetaKey{}, meta)
}

// CallMeta reads what WithCallMeta set; nil if nothing. The map is read-only.
func CallMeta(ctx context.Context) map[string]any {
	m, _ := ctx.Value(callMetaKey{}).(map[string]any)
	return m
}
