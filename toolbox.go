package toolsource

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Options.
const (
	DefaultSilence    = 60 * time.Second
	DefaultCeiling    = 10 * time.Minute
	DefaultDiscover   = 30 * time.Second
	DefaultCloseBound = 5 * time.Second
)

// Options of a Toolbox. The zero value works.
type Options struct {
	// Strict withholds provisional names: those that a higher layer which has not listed yet may still take.
	Strict bool
	// Failover hands the names of a source that is down to the next layer that has them. Without it they
	// stay the source's own, so that a failed server cannot lend its names to another.
	Failover bool
	// Freeze keeps the snapshot as it is when a source announces a change or comes up late; the source is
	// marked stale. Add, Register, Remove and Refresh still change it.
	Freeze bool
	// Limits of calls whose spec and context set none. Zero fields: 60 s of silence, 10 min altogether.
	Limits Limits
	// Middleware wraps every callable, the first outermost.
	Middleware []Middleware
	// Masks reports whether a tool's name hides a name that programs know otherwise; such a tool is warned
	// about and works. nil: MasksPython.
	Masks func(name string) bool
	// Discover bounds each listing of a layer that sets no Limit. 0: 30 s.
	Discover time.Duration
	// CloseBound bounds Close and Remove. 0: 5 s.
	CloseBound time.Duration
	// Logger hears of shadowing, failures and masking names. nil: nobody does.
	Logger *slog.Logger
}

// Middleware wraps the callable of a tool. It sees arguments after they were normalised, and the source's
// own errors. It runs within the call's time limit.
type Middleware func(spec ToolSpec, next Callable) Callable

// A Toolbox merges sources into one set of names and hands out their tools as callables. See the package
// comment for the rules of precedence, and Layer for what it owns.
type Toolbox struct {
	o        Options
	log      *slog.Logger
	ctx      context.Context // ends with Close
	cancel   context.CancelCauseFunc
	user     User              // whose Toolbox it is; the zero User for everybody's
	parent   *Toolbox          // of a user's Toolbox, else nil
	wake     *subscription     // mirrors the parent's changes; nil without a parent
	turn     chan struct{}     // room for one: who mirrors
	mirrored map[*layer]*layer // by the parent's layer; only mirror uses it

	closed atomic.Bool
	snap   atomic.Pointer[snapshot]
	wg     sync.WaitGroup // background listings

	mu       sync.Mutex // guards the fields below
	layers   []*layer   // attached, in the order of attaching
	seq      uint64     // of the last layer attached
	subs     map[*subscription]struct{}
	children map[*Toolbox]struct{} // users' Toolboxes
	ended    chan struct{}         // made by the first Close, closed when it is done
}

// NewToolbox makes an empty Toolbox. nil options are the defaults; they are copied.
func NewToolbox(opts *Options) *Toolbox {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Limits = o.Limits.Or(Limits{Silence: DefaultSilence, Ceiling: DefaultCeiling})
	o.Middleware = slices.Clone(o.Middleware)
	if o.Masks == nil {
		o.Masks = MasksPython
	}
	if o.Discover <= 0 {
		o.Discover = DefaultDiscover
	}
	if o.CloseBound <= 0 {
		o.CloseBound = DefaultCloseBound
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	tb := &Toolbox{o: o, log: log}
	tb.ctx, tb.cancel = context.WithCancelCause(context.Background())
	tb.snap.Store(&snapshot{})
	return tb
}

// Tool gives a tool's spec and callable from one snapshot.
func (tb *Toolbox) Tool(name string) (Tool, bool) {
	e, ok := tb.snap.Load().get(name)
	if !ok {
		return Tool{}, false
	}
	return Tool{Spec: *e.spec, Call: e.call}, true
}

// Resolve gives a tool's callable. An unknown name is an ErrUnknownTool that lists near ones; a name that
// a source which has not listed yet owns is an ErrUnavailable.
func (tb *Toolbox) Resolve(name string) (Callable, error) {
	if tb.closed.Load() {
		return nil, &CallError{Tool: name, Phase: "resolve", Kind: KindClosed, Remedy: "the Toolbox was closed"}
	}
	snap := tb.snap.Load()
	e, ok := snap.get(name)
	if !ok {
		return nil, snap.missing(name)
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.call, nil
}

// Spec gives a tool's spec.
func (tb *Toolbox) Spec(name string) (ToolSpec, bool) {
	e, ok := tb.snap.Load().get(name)
	if !ok {
		return ToolSpec{}, false
	}
	return *e.spec, true
}

// Tools lists the specs of all tools, in the order in which their names first appeared. Virtual tools that
// the host does not offer now are among them; a Selection leaves them out.
func (tb *Toolbox) Tools() []ToolSpec {
	order := tb.snap.Load().order
	specs := make([]ToolSpec, len(order))
	for i, e := range order {
		specs[i] = *e.spec
	}
	return specs
}

// Call resolves a name and calls it.
func (tb *Toolbox) Call(ctx context.Context, name string, args map[string]any) (Result, error) {
	call, err := tb.Resolve(name)
	if err != nil {
		return Result{}, err
	}
	return call(ctx, args)
}

// Describe renders one line per tool for a prompt, in the order of the names; of none: all tools. Unknown
// names are left out. A description has 1,024 characters at most.
func (tb *Toolbox) Describe(names ...string) string {
	if len(names) == 0 {
		return describe(tb.Tools())
	}
	var specs []ToolSpec
	for _, n := range names {
		if s, ok := tb.Spec(n); ok {
			specs = append(specs, s)
		}
	}
	return describe(specs)
}

// Shadowed lists every name that more than one layer has, in the order of Tools.
func (tb *Toolbox) Shadowed() []Shadow {
	shadows := slices.Clone(tb.snap.Load().shadows)
	for i := range shadows {
		shadows[i].Losers = slices.Clone(shadows[i].Losers)
	}
	return shadows
}

// Revision counts the snapshots: it grows with every change of what the Toolbox offers.
func (tb *Toolbox) Revision() uint64 { return tb.snap.Load().revision }

// Register adds a tool that outranks every layer; of two of one name the later wins. remove takes this
// one away again, whereupon the tool that it hid comes back. The callable need not mind its context: it
// runs on a goroutine of its own, and a caller is freed in time whatever it does.
func (tb *Toolbox) Register(spec ToolSpec, call Callable) (remove func(), err error) {
	if err := checkName(spec.Name); err != nil {
		return nil, &SourceError{Source: registered, Op: "register", Err: err}
	}
	if call == nil {
		return nil, &SourceError{Source: registered, Op: "register", Err: fmt.Errorf("%w: tool %q has no callable", ErrBadSpec, spec.Name)}
	}
	spec = spec.Clone()
	if spec.Origin.Kind == "" {
		spec.Origin.Kind = "func"
	}
	l := &layer{Layer: Layer{Precedence: precedenceRegistered, Shared: true}, name: registered, registered: true}
	l.listing = []*entry{tb.newEntry(l, &spec, call, nil, &binding{})}
	l.listed = true

	tb.mu.Lock()
	if tb.closed.Load() {
		tb.mu.Unlock()
		return nil, &SourceError{Source: registered, Op: "register", Err: ErrClosed}
	}
	after := tb.registerLocked(l)
	tb.mu.Unlock()
	after()
	return func() { tb.detach(l) }, nil
}

// missing is the error for a name that the snapshot does not have.
func (s *snapshot) missing(name string) error {
	if owner, held := s.held[name]; held {
		return &CallError{
			Tool: name, Source: owner, Phase: "resolve", Kind: KindUnavailable,
			Remedy: "the source that owns this name has not listed its tools yet; see Sources for its state",
		}
	}
	names := make([]string, len(s.order))
	for i, e := range s.order {
		names[i] = e.spec.Name
	}
	return &CallError{
		Tool: name, Phase: "resolve", Kind: KindUnknownTool, Remedy: suggestion(name, names),
		Err: fmt.Errorf("%w %q: no attached source provides it", ErrUnknownTool, name),
	}
}

// suggestion names near tools, or some of those there are.
func suggestion(name string, names []string) string {
	if close := near(name, names, 3); len(close) > 0 {
		return "did you mean " + strings.Join(close, ", ") + "?"
	}
	if len(names) == 0 {
		return "there are no tools"
	}
	slices.Sort(names)
	const most = 20
	if len(names) > most {
		return "there are " + strings.Join(names[:most], ", ") + " ..."
	}
	return "there are " + strings.Join(names, ", ")
}
