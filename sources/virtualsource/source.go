// Package virtualsource gives tools that are declared in a configuration and implemented by the host
// program, which may offer or withdraw each of them at any time.
//
// The host is one function, asked for a tool by its declared name: once for each selection, whether it
// offers the tool, and again at each call, for what to run. A host that has no answer, answers nil or
// panics does not offer the tool; a call then is an ErrUnavailable. Arguments are checked against the
// declared ones before the host is asked. The host's functions run on the goroutine of the caller, which
// for a Toolbox is one of the call's own, since they need not heed their context: a Source is not Bounded.
package virtualsource

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Resolver is the host's side: what runs a tool now; false, or nil, if nothing does. It is asked from
// several goroutines at once and should answer at once.
type Resolver func(ctx context.Context, name string) (toolsource.Callable, bool)

// Options of a Source. The zero value and nil work.
type Options struct {
	Name string // of the source; "": "virtual"
}

// Source is a ToolSource of tools that the host implements.
type Source struct {
	name     string
	declared int
	specs    []toolsource.ToolSpec
	checkers map[string]*specdoc.Checker
	problems []error
	resolve  Resolver
}

// New makes a source of specs. A spec without a name, or with one that another before it has, is left out
// and named by Problems. A nil resolver offers nothing.
func New(specs []toolsource.ToolSpec, resolve func(ctx context.Context, name string) (toolsource.Callable, bool), opts *Options) *Source {
	s := &Source{name: "virtual", declared: len(specs), checkers: map[string]*specdoc.Checker{}, resolve: resolve}
	if opts != nil && opts.Name != "" {
		s.name = opts.Name
	}
	for _, spec := range specs {
		spec = spec.Clone()
		if reason := s.refuse(spec); reason != "" {
			s.problems = append(s.problems, &tomldoc.Problem{
				File: spec.Origin.File, Line: spec.Origin.Line, Key: "virtual tool " + spec.Name, Message: reason, Severity: tomldoc.SeverityError,
			})
			continue
		}
		if spec.Returns == "" {
			spec.Returns = "Any"
		}
		if spec.Grade == grade.Unknown {
			spec.Grade = grade.Max
		}
		spec.Origin.Kind, spec.Origin.Source, spec.Origin.WireName = "virtual", s.name, spec.Name
		s.specs = append(s.specs, spec)
		s.checkers[spec.Name] = specdoc.NewChecker(spec)
	}
	return s
}

func (s *Source) refuse(spec toolsource.ToolSpec) string {
	if spec.Name == "" {
		return "has no name"
	}
	for _, other := range s.specs {
		if other.Name == spec.Name {
			return fmt.Sprintf("is declared twice; the one of line %d is kept", other.Origin.Line)
		}
	}
	return ""
}

// Parse reads the virtual tools of TOML text, as [[virtual_tools]] or [virtual_tools.NAME]; file is for
// problems only. The error is for text that is not TOML; one bad entry is a problem and costs only itself.
func Parse(file string, data []byte) (specs []toolsource.ToolSpec, problems []error, err error) {
	problems, err = tomldoc.ReadAll(file, data, func(root *tomldoc.Reader) { specs = Tables(root) })
	return specs, problems, err
}

// Tables reads the virtual tools of a document that is being read, for package sources.
func Tables(root *tomldoc.Reader) []toolsource.ToolSpec {
	const key = "virtual_tools"
	v := root.Get(key)
	if v == nil {
		return nil
	}
	var specs []toolsource.ToolSpec
	take := func(t *tomldoc.Reader, name string) {
		specs = tomldoc.Taken(root, specs, t, func(e *tomldoc.Reader) toolsource.ToolSpec { return readSpec(e, name) })
	}
	switch d := v.Data.(type) {
	case []*tomldoc.Value:
		for _, t := range root.Tables(key) {
			take(t, "")
		}
	case *tomldoc.Table:
		for _, name := range d.Names {
			if t := root.TableOf(d.Get(name)); t != nil {
				take(t, name)
			}
		}
	default:
		root.FailAt(v, "write [[virtual_tools]] or [virtual_tools.NAME]", "want an array of tables, or a table of them")
	}
	return specs
}

// readSpec reads what every declared tool has. provider_config is kept for the host in Meta.
func readSpec(r *tomldoc.Reader, name string) toolsource.ToolSpec {
	spec := specdoc.Read(r, name)
	r.Word("provider", "virtual")
	if t := r.Table("provider_config"); t != nil {
		spec.Meta = map[string]any{"provider_config": r.Get("provider_config").Plain()}
	}
	r.Finish()
	return spec
}

// Name is the source's name.
func (s *Source) Name() string { return s.name }

// Available reports whether anything is declared; it does not ask the host.
func (s *Source) Available() bool { return s.declared > 0 }

// Discover lists the tools in the order they are declared, offered or not.
func (s *Source) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.Clone(s.specs), nil
}

// SelfGated is true: a call asks the host for the function, so nobody has to ask before.
func (s *Source) SelfGated() bool { return true }

// Offers asks the host whether it offers a tool now.
func (s *Source) Offers(ctx context.Context, spec toolsource.ToolSpec) bool {
	_, err := s.ask(ctx, realName(spec))
	return err == nil
}

func realName(spec toolsource.ToolSpec) string {
	if spec.Origin.WireName != "" {
		return spec.Origin.WireName
	}
	return spec.Name
}

// ask gives what runs a tool now, or why nothing does.
func (s *Source) ask(ctx context.Context, name string) (call toolsource.Callable, err error) {
	if s.resolve == nil {
		return nil, errors.New("the program offers no virtual tools")
	}
	defer func() {
		if v := recover(); v != nil {
			call, err = nil, fmt.Errorf("the program's resolver failed: %w", &toolsource.PanicError{Value: v})
		}
	}()
	call, ok := s.resolve(ctx, name)
	if !ok || call == nil {
		return nil, errors.New("the program does not offer it now")
	}
	return call, nil
}

// Resolve gives a callable that asks the host at each call.
func (s *Source) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	name := realName(spec)
	checker := s.checkers[name]
	if checker == nil {
		return nil, fmt.Errorf("source %q has no tool %q: %w", s.name, name, toolsource.ErrUnknownTool)
	}
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		if err := ctx.Err(); err != nil {
			return toolsource.Result{}, err
		}
		fitting, err := checker.Check(args)
		if err != nil {
			return toolsource.Result{}, err
		}
		call, err := s.ask(ctx, name)
		if err != nil {
			return toolsource.Result{}, &toolsource.CallError{
				Tool: name, Source: s.name, Phase: "gate", Kind: toolsource.KindUnavailable, Err: fmt.Errorf("%w: %w", toolsource.ErrNotReached, err),
			}
		}
		return call(ctx, fitting)
	}, nil
}

// Problems are the specs that were left out, each with its reason.
func (s *Source) Problems() []error { return slices.Clone(s.problems) }

// Status tells of the specs that were left out.
func (s *Source) Status() toolsource.SourceStatus {
	st := toolsource.SourceStatus{Source: s.name, Kind: "virtual", State: toolsource.StateReady, Tools: len(s.specs), Problems: s.Problems()}
	if !s.Available() {
		st.State = toolsource.StateUnavailable
	}
	return st
}
