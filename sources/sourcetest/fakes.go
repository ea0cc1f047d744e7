package sourcetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// Map is a ToolSource named "map": tools by their names, listed in the order of their names. A function's
// value becomes the result by toolsource.Value, unless it is a toolsource.Result; its error is the call's.
// The tools take any arguments and are graded Pure. The map must not change while it is used.
type Map map[string]func(ctx context.Context, args map[string]any) (any, error)

// Name is "map".
func (m Map) Name() string { return "map" }

// Available is always true.
func (m Map) Available() bool { return true }

// Discover lists the functions by name.
func (m Map) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	return m.list(ctx, m.Name())
}

// Resolve gives the function of that name.
func (m Map) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	return m.resolve(spec, m.Name())
}

// Named is the same source under another name.
func (m Map) Named(name string) toolsource.ToolSource { return &namedMap{m, name} }

var anyObject = json.RawMessage(`{"type":"object"}`)

func (m Map) list(ctx context.Context, source string) ([]toolsource.ToolSpec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	specs := make([]toolsource.ToolSpec, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		specs = append(specs, toolsource.ToolSpec{
			Name: name, Returns: "Any", Grade: grade.Pure, InputSchema: anyObject,
			Origin: toolsource.Origin{Kind: "func", Source: source, WireName: name},
		})
	}
	return specs, nil
}

func (m Map) resolve(spec toolsource.ToolSpec, source string) (toolsource.Callable, error) {
	f := m[spec.Name]
	if f == nil || spec.Origin.Source != source {
		return nil, &toolsource.CallError{
			Tool: spec.Name, Source: source, Phase: "resolve", Kind: toolsource.KindUnknownTool, Remedy: "resolve a spec that it listed",
		}
	}
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		v, err := f(ctx, args)
		if err != nil {
			return toolsource.Result{}, err
		}
		if res, ok := v.(toolsource.Result); ok {
			return res, nil
		}
		return toolsource.Value(v), nil
	}, nil
}

type namedMap struct {
	Map
	name string
}

func (m *namedMap) Name() string { return m.name }

func (m *namedMap) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	return m.list(ctx, m.name)
}

func (m *namedMap) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	return m.resolve(spec, m.name)
}

// Slow lets every listing and every call of src begin d later. It ends early, with the context's error, when
// the context ends.
func Slow(src toolsource.ToolSource, d time.Duration) toolsource.ToolSource {
	return decorate(src, func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Failing has every listing and every call of src fail with err.
func Failing(src toolsource.ToolSource, err error) toolsource.ToolSource {
	return decorate(src, func(context.Context) error { return err })
}

// Flaky has the listings and calls of src fail with the errors in turn, one each; nil lets one through.
// After the last they all get through. Sources made from it by ForUser share its turns.
func Flaky(src toolsource.ToolSource, errs ...error) toolsource.ToolSource {
	var mu sync.Mutex // guards errs
	errs = slices.Clone(errs)
	return decorate(src, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	})
}

// decorate has before run ahead of every listing and every call. What it returns has private tools only if
// src has, since a UserSource stands for them.
func decorate(src toolsource.ToolSource, before func(context.Context) error) toolsource.ToolSource {
	d := &decorator{src, before}
	links, _ := chain(src)
	if has[toolsource.UserSource](links) {
		return &userDecorator{d}
	}
	return d
}

type decorator struct {
	inner  toolsource.ToolSource
	before func(context.Context) error
}

func (d *decorator) Name() string                  { return d.inner.Name() }
func (d *decorator) Available() bool               { return d.inner.Available() }
func (d *decorator) Unwrap() toolsource.ToolSource { return d.inner }
func (d *decorator) Bounded() bool                 { return toolsource.IsBounded(d.inner) } // what is put around a call heeds its context

func (d *decorator) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	if err := d.before(ctx); err != nil {
		return nil, err
	}
	return d.inner.Discover(ctx)
}

func (d *decorator) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	call, err := d.inner.Resolve(spec)
	if err != nil || call == nil {
		return nil, err
	}
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		if err := d.before(ctx); err != nil {
			return toolsource.Result{}, err
		}
		return call(ctx, args)
	}, nil
}

type userDecorator struct{ *decorator }

// ForUser puts the decorator around the user's source.
func (d *userDecorator) ForUser(u toolsource.User) (toolsource.ToolSource, error) {
	inner, _, err := toolsource.SourceForUser(d.inner, u)
	if err != nil {
		return nil, fmt.Errorf("sourcetest: %w", err)
	}
	return decorate(inner, d.before), nil
}
