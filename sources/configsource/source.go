// Package configsource gives the tools that a configuration declares, each run by a provider: a Go function
// that the host registered ("go"), a command ("exec"), or an operation on files of the workspace ("file").
// A host can add providers.
//
// A definition that is wrong costs only itself: it is left out, named by [Source.Problems] with its place
// in the file and its remedy, and the reason is the error of Resolve for its name. Arguments are checked
// against the declared ones before anything runs; a call that does not fit them is an ErrBadArguments.
//
// Callables are safe for concurrent use. Those of "exec" end within about a second of their context; those
// of "file" and "go" end when the file system and the function do, so a Source is not Bounded and a Toolbox
// gives each call a goroutine of its own.
package configsource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Options of a Source. The zero value and nil work.
type Options struct {
	Name      string                         // of the source; "": "config"
	Workspace string                         // folder of commands and files; "": tools that need one are left out
	Funcs     map[string]toolsource.Callable // what provider "go" may name
	Providers map[string]Provider            // beside go, exec and file; one of those names replaces it
	LookupEnv func(string) (string, bool)    // base environment and variables of commands; nil: os.LookupEnv
}

// Source is a ToolSource of declared tools.
type Source struct {
	name     string
	declared int
	tools    []tool
	byName   map[string]int
	broken   map[string]error
	problems []error
	space    *workspace
	life     *lifetime
}

type tool struct {
	spec toolsource.ToolSpec
	call toolsource.Callable
}

// New makes a source of definitions. It opens nothing and keeps what it is given.
func New(defs []Definition, opts *Options) *Source {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = "config"
	}
	if o.Workspace != "" {
		if abs, err := filepath.Abs(o.Workspace); err == nil {
			o.Workspace = abs
		}
	}
	s := &Source{
		name: o.Name, declared: len(defs), byName: map[string]int{}, broken: map[string]error{},
		space: &workspace{dir: o.Workspace, writing: make(chan struct{}, 1)}, life: newLifetime(),
	}
	providers := map[string]Provider{
		"go":   goProvider(o.Funcs),
		"exec": execProvider(s, o.LookupEnv),
		"file": fileProvider(s.space),
	}
	maps.Copy(providers, o.Providers)
	for i := range defs {
		if err := s.add(defs[i], providers); err != nil {
			err = defs[i].problem(err)
			s.problems = append(s.problems, err)
			if _, taken := s.byName[defs[i].Spec.Name]; !taken {
				s.broken[defs[i].Spec.Name] = err
			}
		}
	}
	return s
}

func (s *Source) add(def Definition, providers map[string]Provider) error {
	spec := def.Spec.Clone()
	switch at, taken := s.byName[spec.Name]; {
	case spec.Name == "":
		return errors.New("has no name")
	case taken:
		return fmt.Errorf("is declared twice; the one of line %d is kept", s.tools[at].spec.Origin.Line)
	}
	if spec.Returns == "" {
		spec.Returns = "Any"
	}
	spec.Grade, _ = spec.Grade.With(nil, nil) // an unknown grade is the most dangerous, in so many words
	spec.Origin.Kind, spec.Origin.Source, spec.Origin.WireName, spec.Origin.Trust = "config", s.name, spec.Name, toolsource.TrustFull
	def.Spec = spec
	call, err := resolve(def, providers)
	if err != nil {
		return err
	}
	s.byName[spec.Name] = len(s.tools)
	s.tools = append(s.tools, tool{spec, s.checked(spec, call)})
	return nil
}

func resolve(def Definition, providers map[string]Provider) (call toolsource.Callable, err error) {
	name := def.Provider
	if name == "" {
		name = "go"
		if def.Config["command"] != nil {
			name = "exec"
		}
	}
	p := providers[name]
	if p == nil {
		return nil, badKey("provider", nearest(name, "providers", providers), "no provider is called %q", name)
	}
	defer func() {
		if v := recover(); v != nil {
			err = &toolsource.PanicError{Value: v}
		}
	}()
	keys := p.Keys()
	for _, k := range slices.Sorted(maps.Keys(def.Config)) {
		if !slices.Contains(keys, k) {
			return nil, badKey(k, unknownHint(k, name, keys), "unknown key")
		}
	}
	if call, err = p.Resolve(def); err == nil && call == nil {
		err = fmt.Errorf("provider %q gave no function", name)
	}
	return call, err
}

// specKeys are the keys that any definition may have, for hints.
var specKeys = []string{
	"name", "title", "description", "args", "returns", "grade", "grade_w", "effects_ceiling", "examples", "docs",
	"timeout", "silence", "ceiling", "provider", "provider_config",
}

func unknownHint(key, provider string, keys []string) string {
	if near := tomldoc.Nearest(key, slices.Concat(specKeys, keys)); near != "" {
		return "did you mean " + near + "?"
	}
	hint := fmt.Sprintf("provider %q reads", provider)
	for i, k := range slices.Sorted(slices.Values(keys)) {
		if i > 0 {
			hint += ","
		}
		hint += " " + k
	}
	if len(keys) == 0 {
		hint += " no keys"
	}
	return hint
}

// checked refuses arguments that do not fit, and calls after Close.
func (s *Source) checked(spec toolsource.ToolSpec, call toolsource.Callable) toolsource.Callable {
	checker := specdoc.NewChecker(spec)
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		if s.life.closed() {
			return toolsource.Result{}, fmt.Errorf("source %q: %w", s.name, toolsource.ErrClosed)
		}
		if err := ctx.Err(); err != nil {
			return toolsource.Result{}, err
		}
		fitting, err := checker.Check(args)
		if err != nil {
			return toolsource.Result{}, err
		}
		return call(ctx, fitting)
	}
}

// Name is the source's name.
func (s *Source) Name() string { return s.name }

// Available reports whether anything is declared.
func (s *Source) Available() bool { return s.declared > 0 && !s.life.closed() }

// Discover lists the tools in the order they are declared.
func (s *Source) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	if s.life.closed() {
		return nil, fmt.Errorf("source %q: %w", s.name, toolsource.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	specs := make([]toolsource.ToolSpec, len(s.tools))
	for i, t := range s.tools {
		specs[i] = t.spec
	}
	return specs, nil
}

// Resolve gives the callable of a tool. For a definition that was left out it tells why.
func (s *Source) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	name := spec.Origin.WireName
	if name == "" {
		name = spec.Name
	}
	if i, ok := s.byName[name]; ok {
		return s.tools[i].call, nil
	}
	if err := s.broken[name]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("source %q has no tool %q: %w", s.name, name, toolsource.ErrUnknownTool)
}

// Problems are the definitions that were left out, each with its reason.
func (s *Source) Problems() []error { return slices.Clone(s.problems) }

// Status tells of the definitions that were left out.
func (s *Source) Status() toolsource.SourceStatus {
	st := toolsource.SourceStatus{Source: s.name, Kind: "config", State: toolsource.StateReady, Tools: len(s.tools), Problems: s.Problems()}
	switch {
	case s.life.closed():
		st.State = toolsource.StateClosed
	case s.declared == 0:
		st.State = toolsource.StateUnavailable
	}
	return st
}

// Close ends the commands that run, waits for them (at most about a second) and gives back the workspace.
// Later calls are ErrClosed.
func (s *Source) Close() error {
	s.life.end()
	return s.space.close()
}

// lifetime is how long commands may run: until the source is closed.
type lifetime struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	over bool
}

func newLifetime() *lifetime {
	ctx, cancel := context.WithCancel(context.Background())
	return &lifetime{ctx: ctx, cancel: cancel}
}

// begin counts a command in; ok is false once the source is closed.
func (l *lifetime) begin() (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.wg.Add(1)
	}
	return !l.over
}

func (l *lifetime) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *lifetime) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}
