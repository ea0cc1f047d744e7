package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// Rules that others build upon.
const (
	wraps  = "chain"
	listed = "listing"
)

// The rules, in the order in which they are tried on one source: what closes it comes last.
var rules = []rule{
	{name: wraps, why: "The package functions below look on the decorator first, then on what Unwrap gives.", f: checkChain},
	{name: "name", why: "Name is stable and unique within a Toolbox.", f: checkName},
	{name: "available", why: "Available reports whether the source can contribute tools now. It does no I/O and does not block.", f: checkAvailable},
	{name: "cancelled listing", why: "It returns soon after ctx ends.", f: checkCancelledListing},
	{name: listed, why: "Discover lists every tool the source owns, in a stable order.", f: checkListing},
	{name: "lasting name", why: "Name is stable and unique within a Toolbox.", f: checkLastingName},
	{name: "wanted", why: "Discover lists every tool the source owns, in a stable order.", f: onListing(checkWanted)},
	{name: "distinct", why: "A ToolSource owns a set of tools: it names them and it runs them.", f: onListing(checkDistinct)},
	{name: "identifiers", why: "what programs call: an identifier of at most 64 bytes", f: onListing(checkIdentifiers)},
	{name: "order", why: "Discover lists every tool the source owns, in a stable order.", f: checkOrder},
	{name: "slice", why: "The caller owns the slice; the specs share memory and are read-only.", f: checkSlice},
	{name: "schemas", why: "JSON Schema as the source gave it, byte for byte; nil: none", f: onListing(checkSchemas)},
	{name: "arguments", why: "in declared order, which is positional order", f: onListing(checkArguments)},
	{name: "unwrap", why: "A decorator without it passes specs and names as they are.", f: checkUnwrap},
	{name: "gate", why: "Offers reports whether a tool can be called now.", f: checkGate},
	{name: "resolve", why: "Resolve gives the callable for a spec that Discover returned.", f: checkResolve},
	{name: "foreign specs", why: "Resolve gives the callable for a spec that Discover returned. It does no I/O and does not block.", f: checkForeign},
	{name: "concurrent use", why: "All methods may be called at once from several goroutines.", f: checkConcurrentUse},
	{name: "cancelled calls", why: "A Callable runs a tool and blocks until it is done.", f: checkCancelledCalls},
	{name: "untouched arguments", why: "The caller keeps args; the callable does not change it.", f: checkUntouched},
	{name: "results", why: "nil bool int64 float64 json.Number (integers outside int64 only) string []any map[string]any Blob", f: checkResults},
	{name: "concurrent calls", why: "It is safe for concurrent use.", f: checkConcurrentCalls},
	{name: "watch", why: "Watch has changed called after each change of what Discover would list, until stop.", f: checkWatch},
	{name: "users", why: "ForUser gives the source as u sees it, of the same name. It does no I/O.", f: checkUsers},
	{name: "status", why: "Status does no I/O and does not block.", f: checkStatus},
	{name: "claims", why: "Claimer is a source that owns names before its first listing", f: checkClaims},
	{name: "close", why: "closed by Remove and Close within a bound", f: checkClose, always: true},
}

func checkName(ctx context.Context, s *subject) error {
	name, err := s.readName(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		return errors.New("the name is empty")
	}
	return s.sameName(ctx, name)
}

func (s *subject) sameName(ctx context.Context, name string) error {
	if again, err := s.readName(ctx); err != nil || again == name {
		return err
	}
	return fmt.Errorf("the name was %q and is %q", name, s.name)
}

func checkLastingName(ctx context.Context, s *subject) error {
	name, err := s.readName(ctx)
	if err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil {
		return err
	}
	return s.sameName(ctx, name)
}

func checkAvailable(ctx context.Context, s *subject) error {
	return does(ctx, "Available", soon, func() error {
		s.src.Available()
		return nil
	})
}

func checkListing(ctx context.Context, s *subject) error {
	_, err := s.discover(ctx)
	return err
}

// onListing makes a rule of what has to be true of any listing.
func onListing(f func(*subject, []toolsource.ToolSpec) error) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		specs, err := s.discover(ctx)
		if err != nil {
			return err
		}
		return f(s, specs)
	}
}

func checkWanted(s *subject, specs []toolsource.ToolSpec) error {
	got := names(specs)
	for _, w := range s.want {
		if !slices.Contains(got, w) {
			return fmt.Errorf("%q is not listed; listed are %s", w, quoted(got))
		}
	}
	return nil
}

func checkDistinct(_ *subject, specs []toolsource.ToolSpec) error {
	seen := map[string]bool{}
	for _, n := range names(specs) {
		if seen[n] {
			return fmt.Errorf("%q is listed twice", n)
		}
		seen[n] = true
	}
	return nil
}

func identifier(name string) error {
	if got := toolschema.Names([]string{name})[0]; name == "" || got != name {
		return fmt.Errorf("%q is no identifier of at most %d bytes in Python, Starlark, JavaScript and Go; toolschema.Names would make it %q", name, toolschema.MaxName, got)
	}
	return nil
}

func checkIdentifiers(_ *subject, specs []toolsource.ToolSpec) error {
	var faults []error
	for _, n := range names(specs) {
		faults = append(faults, identifier(n))
	}
	return errors.Join(faults...)
}

// checkOrder lists several times; names that came or went meanwhile are left out of the comparison if the
// source changes by itself.
func checkOrder(ctx context.Context, s *subject) error {
	first, err := s.discover(ctx)
	if err != nil {
		return err
	}
	for range 5 {
		again, err := s.discover(ctx)
		if err != nil {
			return err
		}
		a, b := names(first), names(again)
		if has[toolsource.Watcher](s.links) {
			a, b = common(a, b), common(b, a)
		}
		if !slices.Equal(a, b) {
			return fmt.Errorf("it listed %s, and then %s", quoted(a), quoted(b))
		}
	}
	return nil
}

func common(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return !slices.Contains(other, n) })
}

func checkSlice(ctx context.Context, s *subject) error {
	first, err := s.discover(ctx)
	if err != nil {
		return err
	}
	before := names(first)
	full := first[:cap(first)]
	for i := range full {
		full[i] = toolsource.ToolSpec{Name: "overwritten_by_the_caller"}
	}
	again, err := s.discover(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names(again), "overwritten_by_the_caller") {
		return fmt.Errorf("it listed %s, and once the caller had overwritten that slice, %s", quoted(before), quoted(names(again)))
	}
	return nil
}

func checkSchemas(_ *subject, specs []toolsource.ToolSpec) error {
	var faults []error
	for _, spec := range specs {
		for _, schema := range []json.RawMessage{spec.InputSchema, spec.OutputSchema} {
			if schema != nil && !json.Valid(schema) {
				faults = append(faults, fmt.Errorf("%s has the schema %.80q, which is no JSON; leave it nil", spec.Name, schema))
			}
		}
	}
	return errors.Join(faults...)
}

// checkArguments compares the arguments with each other and with the schema.
func checkArguments(_ *subject, specs []toolsource.ToolSpec) error {
	var faults []error
	for _, spec := range specs {
		if err := argumentsAgree(spec); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", spec.Name, err))
		}
	}
	return errors.Join(faults...)
}

func argumentsAgree(spec toolsource.ToolSpec) error {
	var got []string
	required := map[string]bool{}
	for _, a := range spec.Args {
		if slices.Contains(got, a.Name) {
			return fmt.Errorf("argument %q is there twice", a.Name)
		}
		got = append(got, a.Name)
		required[a.Name] = a.Required
		if _, known := samples[a.Type]; !known {
			return fmt.Errorf("argument %q has type %q, want str, int, float, bool, dict, list or Any", a.Name, a.Type)
		}
		for _, raw := range append(slices.Clone(a.Enum), a.Default) {
			if raw != nil && !json.Valid(raw) {
				return fmt.Errorf("argument %q has the default or enum value %q, which is no JSON", a.Name, raw)
			}
		}
	}
	if spec.InputSchema == nil {
		return nil
	}
	fromSchema, _ := toolschema.Args(spec.InputSchema)
	var want []string
	for _, a := range fromSchema {
		want = append(want, a.Name)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("its arguments are %s, and its schema has %s", quoted(got), quoted(want))
	}
	for _, a := range fromSchema {
		if a.Required != required[a.Name] {
			return fmt.Errorf("argument %q is required: %v, and in its schema %v", a.Name, required[a.Name], a.Required)
		}
	}
	return nil
}

// ending has a context used that has ended, and one that ends on the way.
func ending(parent context.Context, use func(context.Context) error) error {
	for _, after := range []time.Duration{0, moment} {
		ctx, cancel := context.WithCancel(parent)
		if after == 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		err := use(ctx)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func checkCancelledListing(ctx context.Context, s *subject) error {
	return ending(ctx, func(ctx context.Context) error {
		_, err := discover(ctx, s.src)
		if isBlocked(err) || errors.Is(err, toolsource.ErrPanic) {
			return err
		}
		return nil // whether it succeeds is another rule's
	})
}

// together runs f on several goroutines at once and joins what they report.
func together(f func() error) error {
	const goroutines = 8
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			defer rescue("a call at once with others", &errs[i])
			errs[i] = f()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func checkConcurrentUse(ctx context.Context, s *subject) error {
	first, err := s.discover(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	use := func() error {
		specs, err := s.src.Discover(ctx)
		if err != nil {
			return fmt.Errorf("Discover fails when called at once with others: %w", err)
		}
		if a, b := names(first), names(specs); !slices.Equal(a, b) && !has[toolsource.Watcher](s.links) {
			return fmt.Errorf("alone it listed %s, at once with others %s", quoted(a), quoted(b))
		}
		s.src.Name()
		s.src.Available()
		for _, spec := range specs {
			_, _ = s.src.Resolve(spec)
		}
		return nil
	}
	return does(ctx, "a use of all methods at once", 0, func() error { return together(use) })
}

func checkResolve(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, spec := range specs {
		switch offered, err := s.offered(ctx, spec); {
		case err != nil:
			return err
		case !offered:
			continue
		}
		for _, spec := range []toolsource.ToolSpec{spec, spec.Clone()} {
			call, err := s.resolve(ctx, spec)
			if isBlocked(err) {
				return err
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("%s is listed, and Resolve fails: %w", spec.Name, err))
				break
			}
			if call == nil {
				faults = append(faults, fmt.Errorf("%s resolves to nil without an error", spec.Name))
				break
			}
		}
	}
	return errors.Join(faults...)
}

// foreign are specs that no source lists.
var foreign = []toolsource.ToolSpec{
	{},
	{Name: "sourcetest_no_such_tool"},
	{Name: "sourcetest_no_such_tool", Origin: toolsource.Origin{Kind: "sourcetest", Source: "sourcetest", WireName: "no such tool"}},
}

func checkForeign(ctx context.Context, s *subject) error {
	if _, err := s.discover(ctx); err != nil {
		return err
	}
	for _, spec := range foreign {
		switch call, err := s.resolve(ctx, spec); {
		case isBlocked(err):
			return err
		case err == nil:
			return fmt.Errorf("Resolve of a tool called %q, which it did not list, gives no error", spec.Name)
		case !errors.Is(err, toolsource.ErrUnknownTool):
			return fmt.Errorf("Resolve of a tool called %q, which it did not list, gives an error that is not ErrUnknownTool: %w", spec.Name, err)
		case call != nil:
			return fmt.Errorf("Resolve of a tool called %q gives an error and a callable", spec.Name)
		}
	}
	return nil
}
