// Package sourcetest tells whether a ToolSource keeps the contract of package toolsource, and holds fakes
// for tests of whatever uses sources.
//
// [Check] tries every rule of the contract on one source and reports all that it breaks; it needs no
// testing.T, so that a fuzz target or a program can use it as well. [Run] does the same in subtests, each on
// a source of its own. Both close the source.
//
//	func TestSource(t *testing.T) {
//		sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource { return mysource.New(t.TempDir()) }, "read", "write")
//	}
//
// Tools whose grade is at most (1,1) are called, with made-up values for their required arguments. Others
// never are: a source is checked without anything being written. Wrap a source with toolsource.Regrade to
// have a tool called that says nothing about its grade.
//
// A rule that waits gives up after a time, and what it called may then still run. Times are those of
// package time, so that Check works in a synctest bubble; with the race detector on, the rules about
// concurrent use find data races too.
//
// Fakes: [Map] is a source made of functions. [Slow], [Failing] and [Flaky] misbehave around any source.
// [Dialer] is a scripted dialer for a toolsource.Bridge.
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

const (
	soon     = 2 * time.Second  // longest time for what does not block, or has been cancelled
	patience = 10 * time.Second // longest time for a listing, a call and a close
	moment   = 10 * time.Millisecond
)

// A rule is one promise of the contract.
type rule struct {
	name string // of the subtest
	why  string // the promise, in the words of package toolsource
	f    func(ctx context.Context, s *subject) error
}

// A subject is a source under test.
type subject struct {
	src  toolsource.ToolSource
	want []string
}

// A fault is a broken rule.
type fault struct {
	rule   rule
	source string
	err    error
}

func (f *fault) Error() string {
	return fmt.Sprintf("sourcetest: source %q breaks rule %s: %v (the contract: %s)", f.source, f.rule.name, f.err, f.rule.why)
}

func (f *fault) Unwrap() error { return f.err }

// absent says that a rule does not apply, since the source lacks a capability or a tool for it.
type absent string

func (a absent) Error() string { return string(a) }

// Check reports every rule of the contract that src breaks, joined, or nil. want names tools that it must
// list. It ends early when ctx does, and closes src.
func Check(ctx context.Context, src toolsource.ToolSource, want ...string) error {
	if src == nil {
		return errors.New("sourcetest: the source is nil")
	}
	var faults []error
	for _, r := range rules {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(faults, err)...)
		}
		err := r.try(ctx, &subject{src, want})
		if err != nil && !isAbsent(err) {
			faults = append(faults, err)
		}
		if err == nil || isAbsent(err) {
			continue
		}
		switch r.name {
		case wraps:
			return errors.Join(faults...)
		case listed:
			faults = append(faults, errors.New("sourcetest: the rules about tools are left out, since they cannot be listed"))
			if err := last().try(ctx, &subject{src, want}); err != nil && !isAbsent(err) {
				faults = append(faults, err)
			}
			return errors.Join(faults...)
		}
	}
	return errors.Join(faults...)
}

// Run checks each rule in a subtest, on a source that newSource makes for it and that is closed when the
// subtest ends. Rules that do not apply say so in the subtest's log.
func Run(t *testing.T, newSource func(*testing.T) toolsource.ToolSource, want ...string) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			src := newSource(t)
			if src == nil {
				t.Fatal("newSource gave nil")
			}
			defer func() {
				if _, err := chain(src); err == nil {
					_ = toolsource.CloseSource(src)
				}
			}()
			switch err := r.try(t.Context(), &subject{src, want}); {
			case err == nil:
			case isAbsent(err):
				t.Log(err)
			default:
				t.Error(err)
			}
		})
	}
}

func isAbsent(err error) bool {
	var a absent
	return errors.As(err, &a)
}

func last() rule { return rules[len(rules)-1] }

// try runs the rule, and puts its name and reason to what it finds.
func (r rule) try(ctx context.Context, s *subject) error {
	err := ends("the rule", 6*patience, func() error {
		if _, err := chain(s.src); err != nil && r.name != wraps {
			return absent("what it wraps cannot be followed, which another rule tells")
		}
		return r.f(ctx, s)
	})
	switch {
	case err == nil:
		return nil
	case isAbsent(err):
		return err
	}
	named := make(chan string, 1)
	_ = ends("Name", soon, func() error {
		named <- s.src.Name()
		return nil
	})
	name := "" // where it cannot say
	select {
	case name = <-named:
	default:
	}
	return &fault{r, name, err}
}

// ends runs f on a goroutine of its own, and reports if it does not return in time, or panics.
func ends(what string, within time.Duration, f func() error) error {
	done := make(chan error, 1) // room for the answer that nobody waits for any more
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack())
			}
		}()
		done <- f()
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s did not return within %v", what, within)
	}
}

// discover lists the source's tools.
func (s *subject) discover(ctx context.Context) (specs []toolsource.ToolSpec, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type answer struct{ specs []toolsource.ToolSpec }
	got := make(chan answer, 1)
	err = ends("Discover", patience+soon, func() error {
		specs, err := s.src.Discover(ctx)
		if err != nil {
			return fmt.Errorf("Discover failed: %w", err)
		}
		got <- answer{specs}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return (<-got).specs, nil
}

func names(specs []toolsource.ToolSpec) []string {
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = s.Name
	}
	return out
}

// resolve gives the callable of a spec.
func (s *subject) resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	got := make(chan toolsource.Callable, 1)
	err := ends("Resolve of "+spec.Name, soon, func() error {
		call, err := s.src.Resolve(spec)
		got <- call
		return err
	})
	select {
	case call := <-got:
		return call, err
	default:
		return nil, err
	}
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
		if !spec.Grade.AtMost(harmless) || !toolsource.Offered(ctx, s.src, spec) {
			continue
		}
		call, err := s.resolve(spec)
		if err != nil || call == nil {
			continue // another rule tells
		}
		out = append(out, tried{spec, call})
	}
	if len(out) == 0 {
		return nil, absent(fmt.Sprintf("no tool has a grade of at most %s, so none is called", harmless))
	}
	return out, nil
}

// run calls a tool and reports if it does not come back in time.
func (t tried) run(ctx context.Context, args map[string]any, within time.Duration) (toolsource.Result, error, error) {
	type answer struct {
		res toolsource.Result
		err error
	}
	got := make(chan answer, 1)
	stuck := ends("a call of "+t.spec.Name, within, func() error {
		res, err := t.call(ctx, args)
		got <- answer{res, err}
		return nil
	})
	if stuck != nil {
		return toolsource.Result{}, nil, stuck
	}
	a := <-got
	return a.res, a.err, nil
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
func has[C any](src toolsource.ToolSource) bool {
	links, _ := chain(src)
	return slices.ContainsFunc(links, func(s toolsource.ToolSource) bool {
		_, ok := s.(C)
		return ok
	})
}

func closes(src toolsource.ToolSource) bool { return has[io.Closer](src) }

func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }
