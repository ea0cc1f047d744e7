package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
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
	{wraps, "The package functions below look on the decorator first, then on what Unwrap gives.", checkChain},
	{"name", "Name is stable and unique within a Toolbox.", checkName},
	{"available", "Available reports whether the source can contribute tools now. It does no I/O and does not block.", checkAvailable},
	{listed, "Discover lists every tool the source owns, in a stable order.", checkListing},
	{"wanted", "Discover lists every tool the source owns, in a stable order.", checkWanted},
	{"distinct", "A ToolSource owns a set of tools: it names them and it runs them.", checkDistinct},
	{"identifiers", "what programs call: an identifier of at most 64 bytes", checkIdentifiers},
	{"order", "Discover lists every tool the source owns, in a stable order.", checkOrder},
	{"slice", "The caller owns the slice; the specs share memory and are read-only.", checkSlice},
	{"schemas", "JSON Schema as the source gave it, byte for byte; nil: none", checkSchemas},
	{"arguments", "in declared order, which is positional order", checkArguments},
	{"cancelled listing", "It returns soon after ctx ends.", checkCancelledListing},
	{"concurrent use", "All methods may be called at once from several goroutines.", checkConcurrentUse},
	{"resolve", "Resolve gives the callable for a spec that Discover returned.", checkResolve},
	{"foreign specs", "Resolve gives the callable for a spec that Discover returned. It does no I/O and does not block.", checkForeign},
	{"cancelled calls", "A Callable runs a tool and blocks until it is done.", checkCancelledCalls},
	{"untouched arguments", "The caller keeps args; the callable does not change it.", checkUntouched},
	{"results", "nil bool int64 float64 json.Number (integers outside int64 only) string []any map[string]any Blob", checkResults},
	{"concurrent calls", "It is safe for concurrent use.", checkConcurrentCalls},
	{"unwrap", "A decorator without it passes specs and names as they are.", checkUnwrap},
	{"watch", "Watch has changed called after each change of what Discover would list, until stop.", checkWatch},
	{"users", "ForUser gives the source as u sees it, of the same name. It does no I/O.", checkUsers},
	{"gate", "Offers reports whether a tool can be called now.", checkGate},
	{"status", "Status does no I/O and does not block.", checkStatus},
	{"claims", "Claimer is a source that owns names before its first listing", checkClaims},
	{"close", "closed by Remove and Close within a bound", checkClose},
}

func checkName(ctx context.Context, s *subject) error {
	name := s.src.Name()
	if name == "" {
		return errors.New("the name is empty")
	}
	_, _ = s.discover(ctx) // whether it succeeds is another rule's
	if again := s.src.Name(); again != name {
		return fmt.Errorf("the name was %q and is %q", name, again)
	}
	return nil
}

func checkAvailable(_ context.Context, s *subject) error {
	return ends("Available", soon, func() error {
		s.src.Available()
		return nil
	})
}

func checkListing(ctx context.Context, s *subject) error {
	_, err := s.discover(ctx)
	return err
}

func checkWanted(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	got := names(specs)
	for _, w := range s.want {
		if !slices.Contains(got, w) {
			return fmt.Errorf("%q is not listed; listed are %s", w, quoted(got))
		}
	}
	return nil
}

func checkDistinct(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
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

func checkIdentifiers(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
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
		if has[toolsource.Watcher](s.src) {
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

func checkSchemas(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
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
func checkArguments(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
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

// checkCancelledListing lists with a context that has ended, and with one that ends on the way.
func checkCancelledListing(ctx context.Context, s *subject) error {
	for _, after := range []time.Duration{0, moment} {
		ctx, cancel := context.WithCancel(ctx)
		if after == 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		err := ends("Discover, cancelled,", after+soon, func() error {
			_, _ = s.src.Discover(ctx)
			return nil
		})
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// together runs f on several goroutines at once and joins what they report.
func together(f func() error) error {
	const goroutines = 8
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panicked: %v", v)
				}
			}()
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
	return together(func() error {
		specs, err := s.src.Discover(ctx)
		if err != nil {
			return fmt.Errorf("Discover fails when called at once with others: %w", err)
		}
		if a, b := names(first), names(specs); !slices.Equal(a, b) && !has[toolsource.Watcher](s.src) {
			return fmt.Errorf("alone it listed %s, at once with others %s", quoted(a), quoted(b))
		}
		s.src.Name()
		s.src.Available()
		for _, spec := range specs {
			_, _ = s.src.Resolve(spec)
		}
		return nil
	})
}

func checkResolve(ctx context.Context, s *subject) error {
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, spec := range specs {
		if !toolsource.Offered(ctx, s.src, spec) {
			continue
		}
		for _, spec := range []toolsource.ToolSpec{spec, spec.Clone()} {
			call, err := s.resolve(spec)
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
		switch call, err := s.resolve(spec); {
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

// checkCancelledCalls calls with a context that has ended, and with one that ends on the way.
func checkCancelledCalls(ctx context.Context, s *subject) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		for _, after := range []time.Duration{0, moment} {
			ctx, cancel := context.WithCancel(ctx)
			if after == 0 {
				cancel()
			} else {
				time.AfterFunc(after, cancel)
			}
			_, _, stuck := t.run(ctx, sample(t.spec), after+soon)
			cancel()
			if stuck != nil {
				return fmt.Errorf("%w of its context's end", stuck)
			}
		}
	}
	return nil
}

func checkUntouched(ctx context.Context, s *subject) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, t := range tools {
		args := sample(t.spec)
		args["sourcetest_extra"] = map[string]any{"list": []any{int64(1), 2.0}}
		before := toolsource.ToolSpec{Meta: args}.Clone().Meta
		for _, given := range []map[string]any{args, nil} {
			if _, _, stuck := t.run(ctx, given, patience+soon); stuck != nil {
				return stuck
			}
		}
		if !reflect.DeepEqual(before, args) {
			return fmt.Errorf("%s was called with %v, which then was %v", t.spec.Name, before, args)
		}
	}
	return nil
}

func checkResults(ctx context.Context, s *subject) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, t := range tools {
		res, err, stuck := t.run(ctx, sample(t.spec), patience+soon)
		if stuck != nil {
			return stuck
		}
		if err != nil {
			continue // made-up arguments need not please a tool
		}
		if err := allowed(res.Value, "value", 0); err != nil {
			return fmt.Errorf("the result of %s: %w; make it with toolsource.Value", t.spec.Name, err)
		}
	}
	return nil
}

// allowed reports what a result's value must not hold.
func allowed(v any, at string, depth int) error {
	if depth > 1000 {
		return fmt.Errorf("%s holds itself, or is nested more than 1000 deep", "value")
	}
	switch v := v.(type) {
	case nil, bool, int64, string, toolsource.Blob:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", at, v)
		}
	case json.Number:
		if _, err := v.Int64(); err == nil || !json.Valid([]byte(v)) {
			return fmt.Errorf("%s is the json.Number %q, which is for integers outside int64", at, v)
		}
	case []any:
		for i, e := range v {
			if err := allowed(e, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if err := allowed(e, at+"."+k, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%s is a %T", at, v)
	}
	return nil
}

func checkConcurrentCalls(ctx context.Context, s *subject) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ends("calls at once", patience+soon, func() error {
		for _, t := range tools {
			_, alone, _ := t.run(ctx, sample(t.spec), patience+soon)
			if err := together(func() error {
				if _, err := t.call(ctx, sample(t.spec)); err != nil && alone == nil {
					return fmt.Errorf("%s works alone, and called at once with others fails: %w", t.spec.Name, err)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkWatch(ctx context.Context, s *subject) error {
	if !has[toolsource.Watcher](s.src) {
		return absent("it is no Watcher: a Toolbox lists it again only on Refresh")
	}
	var after atomic.Bool
	var late atomic.Int32
	if err := ends("Watch and its stop, called twice,", soon, func() error {
		stop, ok := toolsource.Watch(s.src, func() {
			if after.Load() {
				late.Add(1)
			}
		})
		if !ok || stop == nil {
			return errors.New("Watch gives no stop function")
		}
		stop()
		after.Store(true)
		stop()
		return nil
	}); err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil { // listing may be what makes it notice a change
		return err
	}
	if n := late.Load(); n > 0 {
		return fmt.Errorf("changes are told %d times after stop", n)
	}
	return nil
}

func checkUsers(ctx context.Context, s *subject) error {
	if !has[toolsource.UserSource](s.src) {
		return absent("it is no UserSource: everybody shares it")
	}
	u, err := toolsource.NewUser("sourcetest")
	if err != nil {
		return err
	}
	made := make(chan toolsource.ToolSource, 1)
	if err := ends("ForUser", soon, func() error {
		us, _, err := toolsource.SourceForUser(s.src, u)
		if err != nil {
			return err
		}
		made <- us
		return nil
	}); err != nil {
		return err
	}
	us := <-made
	if us == nil {
		return errors.New("the user's source is nil, without an error")
	}
	if us.Name() != s.src.Name() {
		return fmt.Errorf("for a user its name is %q, not %q", us.Name(), s.src.Name())
	}
	if err := ends("Close of a user's source", patience, func() error { return toolsource.CloseSource(us) }); err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil {
		return fmt.Errorf("once a user's source is closed: %w", err)
	}
	return nil
}

func checkStatus(_ context.Context, s *subject) error {
	if !has[toolsource.StatusSource](s.src) {
		return absent("it is no StatusSource: Sources shows the Toolbox's own view")
	}
	return ends("Status", soon, func() error {
		if st, _ := toolsource.StatusOf(s.src); st.Source != "" && st.Source != s.src.Name() {
			return fmt.Errorf("the status is of %q, the source is %q", st.Source, s.src.Name())
		}
		return nil
	})
}

func checkClaims(_ context.Context, s *subject) error {
	if !has[toolsource.Claimer](s.src) {
		return absent("it is no Claimer: it owns no names before its first listing")
	}
	return ends("Claims", soon, func() error {
		var faults []error
		claims := toolsource.Claims(s.src)
		for i, n := range claims {
			faults = append(faults, identifier(n))
			if slices.Contains(claims[:i], n) {
				faults = append(faults, fmt.Errorf("%q is claimed twice", n))
			}
		}
		return errors.Join(faults...)
	})
}

// checkClose closes twice, and calls what was resolved before.
func checkClose(ctx context.Context, s *subject) error {
	if !closes(s.src) {
		return absent("it is no io.Closer: it is dropped when it is removed")
	}
	tools, _ := s.callable(ctx) // a source that cannot list can be closed all the same
	for _, which := range []string{"Close", "the second Close"} {
		if err := ends(which, patience, func() error { return toolsource.CloseSource(s.src) }); err != nil {
			return fmt.Errorf("%s: %w", which, err)
		}
	}
	for _, t := range tools {
		_, err, stuck := t.run(ctx, sample(t.spec), soon)
		switch {
		case stuck != nil:
			return fmt.Errorf("after Close: %w", stuck)
		case err == nil:
			return fmt.Errorf("%s can be called after Close", t.spec.Name)
		case !errors.Is(err, toolsource.ErrClosed) && !errors.Is(err, toolsource.ErrUnavailable):
			return fmt.Errorf("%s called after Close gives neither ErrClosed nor ErrUnavailable: %w", t.spec.Name, err)
		}
	}
	return nil
}
