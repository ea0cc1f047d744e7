// Package mcpsource presents an MCP server's tools as a toolsource.ToolSource, and on request its resources and
// prompts as tools.
//
// A Source lists what its server lists: names cleaned into identifiers that stay the same on every connect,
// arguments read from the input schema, a grade from the hints as far as the server is trusted, and the raw
// schemas byte for byte. A callable is bound to the tool's name on the wire: it fits its arguments to the
// input schema without losing anything, sends them, and fails with toolsource.ErrUnavailable once the
// server lists the tool no more.
//
//	src := mcpsource.New(server, &mcpsource.Options{Deny: []string{"delete_*"}})
//	err := toolbox.Add(ctx, toolsource.Layer{Source: src, Precedence: toolsource.PrecedenceMCP})
//
// A server that cannot be reached makes Discover fail with its id and the reason; it goes on trying, and
// Watch tells when it has come up. A tool that cannot be used is left out, and Status says why.
package mcpsource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// Options of a Source. The zero value and nil work.
type Options struct {
	Name      string              // the source's name; "": "mcp:" and the server's id
	Allow     []string            // patterns of package path over wire names, * matching slashes too; nil: every tool
	Deny      []string            // likewise; wins over Allow
	Overrides map[string]Override // by wire name
	Qualified bool                // programs see mcp__server__tool instead of the bare name
	Others    []string            // ids of the program's other servers, so that no two servers' qualified names meet
	Lax       bool                // arguments are sent as they are: neither coerced nor validated
	Output    OutputCheck         // what becomes of a result that does not fit its tool's output schema
	Shared    bool                // Close leaves the server open

	// Resources adds the tools list_resources and read_resource, Prompts list_prompts and get_prompt, where the
	// server declares that it has these. They read only, Allow and Deny do not count for them, and a tool of the
	// server that has the name of one keeps it. Overrides know them by these names.
	Resources, Prompts bool
}

// Override is what the configuration says of one tool, over what its server says.
type Override struct {
	W, D     *int                 // grade, 0 to 3 each; nil: as hinted. An axis set by itself leaves the other
	Examples []toolsource.Example // shown with the tool
	Docs     string               // path or URL
	Limits   toolsource.Limits    // zero fields: the server's
	Replay   *bool                // nil: the server's
}

// Source is an MCP server's tools. It implements toolsource.Watcher, StatusSource, Bounded, Claimer and
// io.Closer. It is safe for concurrent use.
type Source struct {
	server *mcpclient.Server
	name   string
	shared bool
	opt    atomic.Pointer[Options] // never changed in place

	mu      sync.Mutex
	last    *listing         // of the last Discover; nil: none yet
	misfits map[string]error // by wire name: the first result since then that did not fit
}

// New makes a source of a server. It does no I/O. The options are copied.
func New(server *mcpclient.Server, opts *Options) *Source {
	s := &Source{server: server, name: "mcp:" + server.ID()}
	if opts != nil {
		s.shared = opts.Shared
		if opts.Name != "" {
			s.name = opts.Name
		}
	}
	s.Update(opts)
	return s
}

// Update replaces the options, all but Name and Shared. They count from the next Discover on: have the
// Toolbox Refresh the source. Callables handed out before keep the limits and rules that they were made with.
func (s *Source) Update(opts *Options) {
	var o Options
	if opts != nil {
		o = *opts
	}
	s.opt.Store(&o)
}

// Name is the one of the options.
func (s *Source) Name() string { return s.name }

// Server is the server whose tools these are.
func (s *Source) Server() *mcpclient.Server { return s.server }

// Available reports whether the server is connected or may yet be: it is neither closed nor given up for
// now. It does no I/O.
func (s *Source) Available() bool {
	switch s.server.Status().State {
	case toolsource.StateClosed, toolsource.StateParked:
		return false
	}
	return true
}

// Discover lists the server's tools in its order, and connects if there is no session.
func (s *Source) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) {
	raw, err := s.server.List(ctx)
	if err != nil {
		return nil, &toolsource.SourceError{Source: s.name, Op: "discover", Err: err}
	}
	l := s.read(raw)
	s.mu.Lock()
	s.last, s.misfits = l, nil
	s.mu.Unlock()
	return slices.Clone(l.specs), nil
}

// Resolve gives the callable for a tool that Discover returned. It does no I/O: a tool that is gone
// meanwhile shows at the call.
func (s *Source) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) {
	wire, opt := spec.Origin.WireName, s.opt.Load()
	if u := s.utilityOf(&spec, opt); u != nil {
		return u.callable(s, &spec), nil
	}
	if spec.Origin.Kind != kind || wire == "" || spec.Origin.Server != s.server.ID() || !opt.allows(wire) {
		return nil, &toolsource.SourceError{Source: s.name, Op: "resolve",
			Err: fmt.Errorf("%w: %q is no tool of this source", toolsource.ErrUnknownTool, spec.Name)}
	}
	o := mcpclient.CallOptions{
		Tool: spec.Name, Source: s.name, Limits: spec.Limits, Grade: spec.Grade,
		Replay: opt.Overrides[wire].Replay, Listed: true,
	}
	if h := spec.Origin.Hints; h != nil && h.Idempotent != nil {
		o.Idempotent = *h.Idempotent
	}
	call := func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		return s.server.Call(ctx, wire, args, o)
	}
	if spec.OutputSchema != nil && opt.Output != OutputUnchecked {
		call = s.checked(call, spec, opt.Output == OutputStrict)
	}
	if opt.Lax {
		return call, nil
	}
	binder := toolschema.NewBinder(spec.InputSchema)
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		bound, err := binder.Bind(args)
		if err != nil {
			return toolsource.Result{}, badArguments(o, err)
		}
		return call(ctx, bound)
	}, nil
}

// Watch has changed called after each change of what Discover would list or of Available, see
// mcpclient.Server.Watch.
func (s *Source) Watch(changed func()) (stop func()) { return s.server.Watch(changed) }

// Bounded is true: a call ends by its deadline and its limits, whatever the server does.
func (s *Source) Bounded() bool { return true }

// SelfLimited is true: the Bridge keeps the limits of each call.
func (s *Source) SelfLimited() bool { return true }

// Status is how the server is, with what the last Discover left out.
func (s *Source) Status() toolsource.SourceStatus {
	st := s.server.Status()
	st.Source = s.name
	s.mu.Lock()
	l := s.last
	for _, wire := range slices.Sorted(maps.Keys(s.misfits)) {
		st.Problems = append(st.Problems, s.misfits[wire])
	}
	s.mu.Unlock()
	if l != nil {
		st.Tools, st.Problems = len(l.specs), append(slices.Clone(l.problems), st.Problems...)
	}
	return st
}

// Claims are the names of the tools that Allow names exactly, and of those that the server's schema cache
// knows, so that nobody else gets them while the server is not up yet. It reads the cache, and waits for it
// for a second at most.
func (s *Source) Claims() []string {
	var wire []string
	opt := s.opt.Load()
	if l, ok := s.server.Cached(); ok {
		for _, t := range l.Tools {
			if opt.allows(t.Name) {
				wire = append(wire, t.Name)
			}
		}
	}
	for _, p := range opt.Allow {
		if !strings.ContainsAny(p, `*?[\`) && opt.allows(p) && !slices.Contains(wire, p) {
			wire = append(wire, p)
		}
	}
	claims := s.names(opt, wire)
	if l, ok := s.server.Cached(); ok {
		names, _ := s.utilityNames(opt)
		for i := range utilities {
			if utilities[i].wanted(opt, &l) && !slices.Contains(claims, names[i]) {
				claims = append(claims, names[i])
			}
		}
	}
	return slices.DeleteFunc(claims, func(n string) bool { return n == "" })
}

// Close closes the server, unless the options say that others use it.
func (s *Source) Close() error {
	if s.shared {
		return nil
	}
	return s.server.Close()
}

const kind = "mcp"

func (s *Source) names(opt *Options, wire []string) []string {
	if opt.Qualified {
		return toolschema.Qualified(s.server.ID(), wire, opt.Others...)
	}
	return toolschema.Names(wire)
}

// effective is the grade by which a tool is treated: what is configured, else what is hinted by a server
// that is not untrusted, else the most dangerous.
func (s *Source) effective(t *mcpclient.Tool, o Override) (grade.Grade, error) {
	g := grade.Max
	if s.server.Config().Trust != toolsource.TrustUntrusted {
		g = grade.FromHints(t.Hints)
	}
	if o.W == nil && o.D == nil {
		return g, nil
	}
	over, err := g.With(o.W, o.D)
	if err != nil {
		return g, err
	}
	return over, nil
}
