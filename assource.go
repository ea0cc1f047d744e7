package toolsource

import (
	"context"
	"slices"
)

// AsSource shows the Toolbox as a source, so that Toolboxes nest. It lists what the Toolbox offers, tells of
// its changes, asks its gates, and is per user what ForUser gives. Closing it closes the Toolbox: attach it
// with Layer.Shared to keep that to yourself.
func (tb *Toolbox) AsSource(name string) ToolSource { return &boxSource{name: name, tb: tb} }

type boxSource struct {
	name string
	tb   *Toolbox
}

var (
	_ Watcher    = (*boxSource)(nil)
	_ Gate       = (*boxSource)(nil)
	_ Bounded    = (*boxSource)(nil)
	_ Claimer    = (*boxSource)(nil)
	_ UserSource = (*boxSource)(nil)
)

func (s *boxSource) Name() string    { return s.name }
func (s *boxSource) Available() bool { return !s.tb.closed.Load() }
func (s *boxSource) Bounded() bool   { return true }
func (s *boxSource) SelfGated() bool { return true } // the callables are guarded

func (s *boxSource) SelfLimited() bool { return true }
func (s *boxSource) Close() error      { return s.tb.Close() }

func (s *boxSource) Discover(ctx context.Context) ([]ToolSpec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.tb.closed.Load() {
		return nil, ErrClosed
	}
	return s.tb.Tools(), nil
}

// Resolve gives the callable of the tool that the spec was listed for, not of another that has its name now.
func (s *boxSource) Resolve(spec ToolSpec) (Callable, error) {
	e, ok := s.tb.snap.Load().get(spec.Name)
	if !ok || e.spec.wireName() != spec.wireName() || e.spec.Origin.Source != spec.Origin.Source {
		return nil, &CallError{Tool: spec.Name, Source: s.name, Phase: "resolve", Kind: KindUnknownTool, Remedy: "list the source again"}
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.call, nil
}

func (s *boxSource) Watch(changed func()) (stop func()) {
	_, stop = s.tb.Subscribe(func(c Change) {
		if c.User == s.tb.user {
			changed()
		}
	})
	return stop
}

// Offers asks the gate of the source that owns the tool.
func (s *boxSource) Offers(ctx context.Context, spec ToolSpec) bool {
	e, ok := s.tb.snap.Load().get(spec.Name)
	return ok && !s.tb.closed.Load() && (!e.layer.gated || Offered(ctx, e.layer.Source, *e.own))
}

// Claims are the names that the Toolbox withholds because their owners have not listed yet.
func (s *boxSource) Claims() []string {
	var names []string
	for n := range s.tb.snap.Load().held {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (s *boxSource) ForUser(u User) (ToolSource, error) {
	if _, err := NewUser(u.ID()); err != nil {
		return nil, err
	}
	return s.tb.ForUser(u).AsSource(s.name), nil
}
