package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolsource/toolsource"
)

type (
	spec     = toolsource.ToolSpec
	args     = map[string]any
	callable = toolsource.Callable
	source   = toolsource.ToolSource
)

// good is a source that keeps the contract.
func good() Map {
	return Map{
		"add":  func(_ context.Context, a map[string]any) (any, error) { return len(a), nil },
		"echo": func(_ context.Context, a map[string]any) (any, error) { return a["text"], nil },
		"wait": func(ctx context.Context, _ map[string]any) (any, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(5 * time.Millisecond):
				return "done", nil
			}
		},
	}
}

// bent is a good source, bent in one place.
type bent struct {
	Map
	name      func() string
	available func() bool
	discover  func(context.Context) ([]spec, error)
	resolve   func(spec) (callable, error)
}

func (b *bent) Name() string {
	if b.name != nil {
		return b.name()
	}
	return b.Map.Name()
}

func (b *bent) Available() bool { return b.available == nil || b.available() }

func (b *bent) Discover(ctx context.Context) ([]spec, error) {
	if b.discover != nil {
		return b.discover(ctx)
	}
	return b.Map.Discover(ctx)
}

func (b *bent) Resolve(s spec) (callable, error) {
	if b.resolve != nil {
		return b.resolve(s)
	}
	return b.Map.Resolve(s)
}

// edited lists specs that edit has changed.
func edited(edit func([]spec) []spec) source {
	m := good()
	return &bent{Map: m, discover: func(ctx context.Context) ([]spec, error) {
		specs, err := m.Discover(ctx)
		return edit(specs), err
	}}
}

// calling has every tool do the same.
func calling(call callable) source {
	m := good()
	return &bent{Map: m, resolve: func(s spec) (callable, error) {
		if _, err := m.Resolve(s); err != nil {
			return nil, err
		}
		return call, nil
	}}
}

// value has every tool return v.
func value(v any) source {
	return calling(func(context.Context, map[string]any) (toolsource.Result, error) {
		return toolsource.Result{Value: v}, nil
	})
}

// alone reports an error when it is entered while it runs.
func alone() func() error {
	var busy atomic.Int32
	return func() error {
		defer busy.Add(-1)
		if busy.Add(1) > 1 {
			return errors.New("entered twice")
		}
		time.Sleep(time.Millisecond)
		return nil
	}
}

// Sources with capabilities; a nil function leaves the good answer.
type (
	watcher struct {
		Map
		watch func(func()) func()
	}
	gate struct {
		Map
		offers func(spec) bool
	}
	status struct {
		Map
		status func() toolsource.SourceStatus
	}
	claimer struct {
		Map
		claims []string
	}
	private struct {
		Map
		forUser func(toolsource.User) (source, error)
	}
	closer struct {
		Map
		close  func() error
		closed atomic.Bool
		err    error // of calls once closed; nil: they go on
	}
	wrapper struct {
		source
		unwrap func() source
	}
	renamer struct{ source } // renames without saying so
	mapper  struct {
		renamer
		inner func(spec) (spec, bool)
		outer func(string) (string, bool)
	}
)

func (s *watcher) Watch(changed func()) func()               { return s.watch(changed) }
func (s *gate) Offers(_ context.Context, x spec) bool        { return s.offers(x) }
func (s *status) Status() toolsource.SourceStatus            { return s.status() }
func (s *claimer) Claims() []string                          { return s.claims }
func (s *private) ForUser(u toolsource.User) (source, error) { return s.forUser(u) }
func (s *wrapper) Unwrap() source                            { return s.unwrap() }
func (s *renamer) Unwrap() source                            { return s.source }
func (s *mapper) Inner(x spec) (spec, bool)                  { return s.inner(x) }
func (s *mapper) Outer(n string) (string, bool)              { return s.outer(n) }

func (s *closer) Close() error {
	s.closed.Store(true)
	if s.close != nil {
		return s.close()
	}
	return nil
}

func (s *closer) Resolve(x spec) (callable, error) {
	call, err := s.Map.Resolve(x)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a args) (toolsource.Result, error) {
		if s.closed.Load() && s.err != nil {
			return toolsource.Result{}, s.err
		}
		return call(ctx, a)
	}, nil
}

func (s *renamer) Discover(ctx context.Context) ([]spec, error) {
	specs, err := s.source.Discover(ctx)
	for i := range specs {
		specs[i].Name = "x_" + specs[i].Name
	}
	return specs, err
}

func (s *renamer) Resolve(x spec) (callable, error) {
	name, ok := strings.CutPrefix(x.Name, "x_")
	if !ok {
		return nil, toolsource.ErrUnknownTool
	}
	x.Name = name
	return s.source.Resolve(x)
}

// prefixed is a renamer that says what it does.
func prefixed() *mapper {
	return &mapper{renamer{good()},
		func(x spec) (spec, bool) {
			var ok bool
			x.Name, ok = strings.CutPrefix(x.Name, "x_")
			return x, ok
		},
		func(n string) (string, bool) { return "x_" + n, true }}
}

func hang() { time.Sleep(time.Hour) }

// broken has at least one source for every rule, which that rule must catch.
var broken = []struct {
	rule, why string
	src       func() source
}{
	{"name", "no name", func() source { return &bent{Map: good(), name: func() string { return "" }} }},
	{"name", "another name each time", func() source {
		var n atomic.Int32
		return &bent{Map: good(), name: func() string { return fmt.Sprint("s", n.Add(1)) }}
	}},
	{"name", "panics", func() source { return &bent{Map: good(), name: func() string { panic("no") }} }},
	{"available", "blocks", func() source { return &bent{Map: good(), available: func() bool { hang(); return true }} }},
	{"available", "panics", func() source { return &bent{Map: good(), available: func() bool { panic("no") }} }},
	{"lasting name", "another name once it has listed", func() source {
		m := good()
		var n atomic.Int32
		return &bent{Map: m, name: func() string { return fmt.Sprint("s", n.Load()) }, discover: func(ctx context.Context) ([]spec, error) {
			n.Add(1)
			return m.Discover(ctx)
		}}
	}},
	{"listing", "fails", func() source { return Failing(good(), errors.New("no")) }},
	{"wanted", "lacks a wanted tool", func() source { m := good(); delete(m, "add"); return m }},
	{"listing", "panics", func() source {
		return &bent{Map: good(), discover: func(context.Context) ([]spec, error) { panic("no") }}
	}},
	{"cancelled listing", "hangs", func() source {
		return &bent{Map: good(), discover: func(context.Context) ([]spec, error) { hang(); return nil, nil }}
	}},
	{"distinct", "one name twice", func() source { return edited(func(s []spec) []spec { return append(s, s[0]) }) }},
	{"identifiers", "a dot", func() source { m := good(); m["a.b"] = m["add"]; return m }},
	{"identifiers", "a reserved word", func() source { m := good(); m["import"] = m["add"]; return m }},
	{"identifiers", "too long", func() source { m := good(); m[strings.Repeat("x", 65)] = m["add"]; return m }},
	{"identifiers", "empty", func() source { m := good(); m[""] = m["add"]; return m }},
	{"order", "another order each time", func() source {
		var n atomic.Int32
		return edited(func(s []spec) []spec {
			k := int(n.Add(1)) % len(s)
			return append(slices.Clone(s[k:]), s[:k]...)
		})
	}},
	{"order", "tools come and go in a source that does not change", func() source {
		var n atomic.Int32
		return edited(func(s []spec) []spec { return s[:len(s)-int(n.Add(1))%2] })
	}},
	{"slice", "hands out its own", func() source {
		m := good()
		own, _ := m.Discover(context.Background())
		return &bent{Map: m, discover: func(context.Context) ([]spec, error) { return own, nil }}
	}},
	{"slice", "hands out part of its own", func() source {
		m := good()
		own, _ := m.Discover(context.Background())
		var n atomic.Int32
		return &bent{Map: m, discover: func(context.Context) ([]spec, error) { return own[:len(own)-int(n.Add(1))%2], nil }}
	}},
	{"schemas", "no JSON", func() source {
		return edited(func(s []spec) []spec { s[0].InputSchema = json.RawMessage("{"); return s })
	}},
	{"schemas", "empty but not nil", func() source {
		return edited(func(s []spec) []spec { s[0].OutputSchema = json.RawMessage{}; return s })
	}},
	{"arguments", "not in the schema", func() source {
		return edited(func(s []spec) []spec { s[0].Args = []toolsource.ArgSpec{{Name: "a", Type: "str"}}; return s })
	}},
	{"arguments", "only in the schema", func() source {
		return edited(func(s []spec) []spec { s[0].InputSchema = json.RawMessage(`{"properties":{"a":{}}}`); return s })
	}},
	{"arguments", "in another order", func() source {
		return edited(func(s []spec) []spec {
			s[0].InputSchema = json.RawMessage(`{"properties":{"z":{},"a":{}}}`)
			s[0].Args = []toolsource.ArgSpec{{Name: "a", Type: "Any"}, {Name: "z", Type: "Any"}}
			return s
		})
	}},
	{"arguments", "required only in the schema", func() source {
		return edited(func(s []spec) []spec {
			s[0].InputSchema = json.RawMessage(`{"properties":{"a":{}},"required":["a"]}`)
			s[0].Args = []toolsource.ArgSpec{{Name: "a", Type: "Any"}}
			return s
		})
	}},
	{"arguments", "an unknown type", func() source {
		return edited(func(s []spec) []spec {
			s[0].InputSchema, s[0].Args = nil, []toolsource.ArgSpec{{Name: "a", Type: "string"}}
			return s
		})
	}},
	{"arguments", "twice the same", func() source {
		return edited(func(s []spec) []spec {
			s[0].InputSchema, s[0].Args = nil, []toolsource.ArgSpec{{Name: "a", Type: "str"}, {Name: "a", Type: "int"}}
			return s
		})
	}},
	{"arguments", "a default that is no JSON", func() source {
		return edited(func(s []spec) []spec {
			s[0].InputSchema, s[0].Args = nil, []toolsource.ArgSpec{{Name: "a", Type: "str", Default: json.RawMessage("x")}}
			return s
		})
	}},
	{"cancelled listing", "does not look at its context", func() source {
		m := good()
		return &bent{Map: m, discover: func(context.Context) ([]spec, error) {
			time.Sleep(5 * time.Second)
			return m.Discover(context.Background())
		}}
	}},
	{"concurrent use", "one listing at a time", func() source {
		m, enter := good(), alone()
		return &bent{Map: m, discover: func(ctx context.Context) ([]spec, error) {
			if err := enter(); err != nil {
				return nil, err
			}
			return m.Discover(ctx)
		}}
	}},
	{"concurrent use", "another listing under load", func() source {
		m, enter := good(), alone()
		return &bent{Map: m, discover: func(ctx context.Context) ([]spec, error) {
			specs, err := m.Discover(ctx)
			if enter() != nil {
				specs = specs[1:]
			}
			return specs, err
		}}
	}},
	{"concurrent use", "panics under load", func() source {
		m, enter := good(), alone()
		return &bent{Map: m, resolve: func(s spec) (callable, error) {
			if err := enter(); err != nil {
				panic(err)
			}
			return m.Resolve(s)
		}}
	}},
	{"resolve", "fails for what it lists", func() source {
		return &bent{Map: good(), resolve: func(spec) (callable, error) { return nil, toolsource.ErrUnknownTool }}
	}},
	{"resolve", "nil without an error", func() source {
		return &bent{Map: good(), resolve: func(spec) (callable, error) { return nil, nil }}
	}},
	{"resolve", "panics", func() source {
		return &bent{Map: good(), resolve: func(spec) (callable, error) { panic("no") }}
	}},
	{"resolve", "knows its specs by where they lie in memory", func() source {
		m := good()
		return &bent{Map: m, resolve: func(s spec) (callable, error) {
			if s.InputSchema != nil && &s.InputSchema[0] != &anyObject[0] {
				return nil, toolsource.ErrUnknownTool
			}
			return m.Resolve(s)
		}}
	}},
	{"foreign specs", "resolves anything", func() source {
		return &bent{Map: good(), resolve: func(s spec) (callable, error) {
			return func(context.Context, map[string]any) (toolsource.Result, error) { return toolsource.Result{}, nil }, nil
		}}
	}},
	{"foreign specs", "an error of its own", func() source {
		m := good()
		return &bent{Map: m, resolve: func(s spec) (callable, error) {
			if m[s.Name] == nil {
				return nil, errors.New("what?")
			}
			return m.Resolve(s)
		}}
	}},
	{"foreign specs", "panics", func() source {
		m := good()
		return &bent{Map: m, resolve: func(s spec) (callable, error) {
			if m[s.Name] == nil {
				panic("what?")
			}
			return m.Resolve(s)
		}}
	}},
	{"foreign specs", "an error and a callable", func() source {
		m := good()
		return &bent{Map: m, resolve: func(s spec) (callable, error) {
			call, err := m.Resolve(s)
			if err != nil {
				return func(context.Context, map[string]any) (toolsource.Result, error) { return toolsource.Result{}, nil }, err
			}
			return call, nil
		}}
	}},
	{"cancelled calls", "does not look at its context", func() source {
		return calling(func(context.Context, args) (toolsource.Result, error) {
			time.Sleep(5 * time.Second)
			return toolsource.Result{}, nil
		})
	}},
	{"cancelled calls", "looks at its context only at first", func() source {
		return calling(func(ctx context.Context, _ args) (toolsource.Result, error) {
			if err := ctx.Err(); err != nil {
				return toolsource.Result{}, err
			}
			time.Sleep(5 * time.Second)
			return toolsource.Result{}, nil
		})
	}},
	{"untouched arguments", "adds one", func() source {
		return calling(func(_ context.Context, a args) (toolsource.Result, error) {
			if a != nil {
				a["more"] = 1
			}
			return toolsource.Result{}, nil
		})
	}},
	{"untouched arguments", "changes what an argument holds", func() source {
		return calling(func(_ context.Context, a args) (toolsource.Result, error) {
			for _, v := range a {
				if m, ok := v.(args); ok {
					m["list"].([]any)[0] = "changed"
				}
			}
			return toolsource.Result{}, nil
		})
	}},
	{"untouched arguments", "panics without arguments", func() source {
		return calling(func(_ context.Context, a args) (toolsource.Result, error) {
			if a == nil {
				panic("no arguments")
			}
			return toolsource.Result{}, nil
		})
	}},
	{"results", "int", func() source { return value(5) }},
	{"results", "struct inside", func() source { return value(args{"a": []any{struct{}{}}}) }},
	{"results", "slice of strings", func() source { return value([]string{"a"}) }},
	{"results", "NaN", func() source { return value(math.NaN()) }},
	{"results", "json.Number that fits int64", func() source { return value(json.Number("5")) }},
	{"results", "json.Number that is none", func() source { return value(json.Number("x")) }},
	{"results", "json.RawMessage", func() source { return value(json.RawMessage("5")) }},
	{"results", "holds itself", func() source {
		m := args{}
		m["m"] = m
		return value(m)
	}},
	{"concurrent calls", "one at a time", func() source {
		enter := alone()
		return calling(func(context.Context, args) (toolsource.Result, error) { return toolsource.Result{}, enter() })
	}},
	{"concurrent calls", "panics under load", func() source {
		enter := alone()
		return calling(func(context.Context, args) (toolsource.Result, error) {
			if err := enter(); err != nil {
				panic(err)
			}
			return toolsource.Result{}, nil
		})
	}},
	{"chain", "gives nil", func() source { return &wrapper{good(), func() source { return nil }} }},
	{"chain", "without end", func() source {
		w := &wrapper{source: good()}
		w.unwrap = func() source { return w }
		return w
	}},
	{"unwrap", "renames without saying so", func() source { return &renamer{good()} }},
	{"unwrap", "Inner does not know what is listed", func() source {
		m := prefixed()
		m.inner = func(x spec) (spec, bool) { return x, false }
		return m
	}},
	{"unwrap", "Outer is not Inner's opposite", func() source {
		m := prefixed()
		m.outer = func(n string) (string, bool) { return n, true }
		return m
	}},
	{"unwrap", "shows what it wraps under a mapping that is wrong", func() source {
		m := prefixed()
		m.inner = func(x spec) (spec, bool) { x.Name = "y_" + x.Name; return x, true }
		m.outer = func(n string) (string, bool) { return strings.CutPrefix(n, "y_") }
		return m
	}},
	{"watch", "no stop", func() source { return &watcher{good(), func(func()) func() { return nil }} }},
	{"watch", "stop panics the second time", func() source {
		return &watcher{good(), func(func()) func() {
			c := make(chan struct{})
			return func() { close(c) }
		}}
	}},
	{"watch", "blocks", func() source { return &watcher{good(), func(func()) func() { hang(); return nil }} }},
	{"watch", "tells after stop", func() source {
		return &watcher{good(), func(changed func()) func() {
			stopped := false
			return func() {
				if stopped {
					changed()
				}
				stopped = true
			}
		}}
	}},
	{"users", "fails", func() source {
		return &private{good(), func(toolsource.User) (source, error) { return nil, errors.New("no") }}
	}},
	{"users", "nil without an error", func() source {
		return &private{good(), func(toolsource.User) (source, error) { return nil, nil }}
	}},
	{"users", "another name", func() source {
		return &private{good(), func(u toolsource.User) (source, error) { return good().Named("map-" + u.ID()), nil }}
	}},
	{"users", "blocks", func() source {
		return &private{good(), func(toolsource.User) (source, error) { hang(); return nil, nil }}
	}},
	{"users", "hidden by a decorator", func() source {
		p := &private{good(), func(toolsource.User) (source, error) { return good(), nil }}
		return &wrapper{p, func() source { return p }}
	}},
	{"users", "closing one's own closes everybody's", func() source {
		var closed atomic.Bool
		m := good()
		b := &bent{Map: m, discover: func(ctx context.Context) ([]spec, error) {
			if closed.Load() {
				return nil, toolsource.ErrClosed
			}
			return m.Discover(ctx)
		}}
		return &privateBent{b, func() { closed.Store(true) }}
	}},
	{"gate", "panics on a spec that it does not know", func() source {
		return &gate{good(), func(x spec) bool {
			if x.Name == "" {
				panic("no name")
			}
			return true
		}}
	}},
	{"gate", "blocks", func() source { return &gate{good(), func(spec) bool { hang(); return true }} }},
	{"gate", "panics below a decorator that renames", func() source {
		m := prefixed()
		m.source = &gate{good(), func(x spec) bool {
			if x.Name == "add" {
				panic("no")
			}
			return true
		}}
		return m
	}},
	{"status", "blocks", func() source {
		return &status{good(), func() toolsource.SourceStatus { hang(); return toolsource.SourceStatus{} }}
	}},
	{"status", "of another source", func() source {
		return &status{good(), func() toolsource.SourceStatus { return toolsource.SourceStatus{Source: "other"} }}
	}},
	{"claims", "no identifier", func() source { return &claimer{good(), []string{"a.b"}} }},
	{"claims", "twice", func() source { return &claimer{good(), []string{"a", "a"}} }},
	{"close", "fails the second time", func() source {
		var n atomic.Int32
		return &closer{Map: good(), err: toolsource.ErrClosed, close: func() error {
			if n.Add(1) > 1 {
				return errors.New("closed already")
			}
			return nil
		}}
	}},
	{"close", "hangs", func() source {
		return &closer{Map: good(), err: toolsource.ErrClosed, close: func() error { hang(); return nil }}
	}},
	{"close", "can be called afterwards", func() source { return &closer{Map: good()} }},
	{"close", "another error afterwards", func() source { return &closer{Map: good(), err: errors.New("gone")} }},
	{"close", "cannot list and fails to close", func() source {
		c := &closer{Map: good(), close: func() error { return errors.New("no") }}
		d := Failing(c, errors.New("no"))
		return &wrapper{d, func() source { return d }}
	}},
}

// privateBent is a UserSource whose user's source does, when it is closed, what spoils the shared one.
type privateBent struct {
	*bent
	spoil func()
}

func (p *privateBent) ForUser(toolsource.User) (source, error) {
	return &closer{Map: good(), close: func() error { p.spoil(); return nil }}, nil
}
