package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// A subject is a source under test. Its methods call the source's, each within its time.
type subject struct {
	src   toolsource.ToolSource
	want  []string
	name  string                  // as it was last read
	asked bool                    // for its name
	links []toolsource.ToolSource // the source and what it wraps, outermost first; nil: not followed yet
	lame  bool                    // it broke a rule so that only what needs no tools is tried any more
}

// follow finds what the source wraps.
func (s *subject) follow(ctx context.Context) (err error) {
	if s.links == nil {
		s.links, err = step(ctx, "Unwrap", soon, func() ([]toolsource.ToolSource, error) { return chain(s.src) })
	}
	return err
}

// chain is the source and what it wraps, outermost first.
func chain(src toolsource.ToolSource) ([]toolsource.ToolSource, error) {
	const deepest = 100
	var out []toolsource.ToolSource
	for src != nil {
		if len(out) == deepest {
			return nil, fmt.Errorf("Unwrap does not come to an end after %d sources", deepest)
		}
		out = append(out, src)
		d, ok := src.(toolsource.Decorator)
		if !ok {
			return out, nil
		}
		src = d.Unwrap()
	}
	return nil, errors.New("Unwrap gives nil")
}

// has reports whether a source of the chain is a C.
func has[C any](links []toolsource.ToolSource) bool {
	return slices.ContainsFunc(links, func(link toolsource.ToolSource) bool {
		_, ok := link.(C)
		return ok
	})
}

func (s *subject) readName(ctx context.Context) (string, error) {
	s.asked = true
	name, err := step(ctx, "Name", soon, func() (string, error) { return s.src.Name(), nil })
	if err == nil {
		s.name = name
	}
	return name, err
}

// known is the name for a report; "" where the source cannot say.
func (s *subject) known(ctx context.Context) string {
	if !s.asked && ctx.Err() == nil {
		_, _ = s.readName(ctx)
	}
	return s.name
}

// discover lists the source's tools.
func (s *subject) discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	return discover(ctx, s.src)
}

func discover(ctx context.Context, src toolsource.ToolSource) ([]toolsource.ToolSpec, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	specs, err := heeding(ctx, "Discover", func() ([]toolsource.ToolSpec, error) { return src.Discover(ctx) })
	if err != nil && !isBlocked(err) {
		return nil, fmt.Errorf("Discover failed: %w", err)
	}
	return specs, err
}

// resolve gives the callable of a spec.
func (s *subject) resolve(ctx context.Context, spec toolsource.ToolSpec) (toolsource.Callable, error) {
	return step(ctx, "Resolve of "+spec.Name, soon, func() (toolsource.Callable, error) { return s.src.Resolve(spec) })
}

// offered asks the gates of the source.
func (s *subject) offered(ctx context.Context, spec toolsource.ToolSpec) (bool, error) {
	return step(ctx, "Offers of "+spec.Name, soon, func() (bool, error) { return toolsource.Offered(ctx, s.src, spec), nil })
}

// close closes the source.
func (s *subject) close(ctx context.Context, within time.Duration) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	return does(ctx, "Close", within, func() error { return toolsource.CloseSource(s.src) })
}

func (s *subject) closes() bool { return has[io.Closer](s.links) }

func names(specs []toolsource.ToolSpec) []string {
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = s.Name
	}
	return out
}

// harmless is the highest grade of a tool that is called.
const harmless = grade.W1D1

// A tried tool is one that may be called.
type tried struct {
	spec toolsource.ToolSpec
	call toolsource.Callable
}

// callable gives the tools that may be called; absent if there are none.
func (s *subject) callable(ctx context.Context) ([]tried, error) {
	specs, err := s.discover(ctx)
	if err != nil {
		return nil, err
	}
	var out []tried
	for _, spec := range specs {
		if !spec.Grade.AtMost(harmless) {
			continue
		}
		offered, err := s.offered(ctx, spec)
		if err != nil {
			return nil, err
		}
		if !offered {
			continue
		}
		call, err := s.resolve(ctx, spec)
		switch {
		case isBlocked(err):
			return nil, err
		case err != nil || call == nil:
			continue // another rule tells
		}
		out = append(out, tried{spec, call})
	}
	if len(out) == 0 {
		return nil, absent(fmt.Sprintf("no tool has a grade of at most %s, so none is called", harmless))
	}
	return out, nil
}

// run calls a tool. The second error says that it did not come back, or panicked.
func (t tried) run(ctx context.Context, args map[string]any) (toolsource.Result, error, error) {
	type answer struct {
		res toolsource.Result
		err error
	}
	a, stuck := heeding(ctx, "a call of "+t.spec.Name, func() (answer, error) {
		res, err := t.call(ctx, args)
		return answer{res, err}, nil
	})
	return a.res, a.err, stuck
}

// sample makes up the arguments that a tool requires.
func sample(spec toolsource.ToolSpec) map[string]any {
	args := map[string]any{}
	for _, a := range spec.Args {
		if !a.Required {
			continue
		}
		switch {
		case len(a.Enum) > 0:
			args[a.Name] = slices.Clone(a.Enum[0])
		case a.Default != nil:
			args[a.Name] = slices.Clone(a.Default)
		default:
			args[a.Name] = samples[a.Type]
		}
	}
	return args
}

var samples = map[string]any{"str": "x", "int": int64(1), "float": 1.5, "bool": true, "dict": map[string]any{}, "list": []any{}, "Any": "x"}

func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }
