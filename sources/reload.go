package sources

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// Plan is what another configuration changes, by the names of sources ("default", "config", "virtual",
// "mcp:ID"), in the order of the configuration that has them.
type Plan struct {
	Add    []string // new
	Remove []string // there no more, switched off, or not approved
	Update []string // declared otherwise: a server is updated in place, tools of the file are replaced
	Keep   []string // untouched: neither closed nor listed again, though its place may be another

	// Problems are those of the Config, and a *toolsource.SourceError for each source that failed.
	Problems []error
}

// Plan tells what Reload would change, and changes nothing. Options.Approve is asked as Reload asks it.
func (s *Set) Plan(c *Config) (Plan, error) {
	now, had := s.Config(), s.attached()
	m, err := c.moves(now, had)
	return m.plan, err
}

// attached are the parts that are there, without those that the host has removed.
func (s *Set) attached() []*part {
	there := map[string]bool{}
	for _, st := range s.Sources() {
		there[st.Source] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.parts), func(p *part) bool { return !there[p.name] })
}

// Reload brings the Set in line with another configuration. Servers and tools that are declared as before
// stay as they are, with their sessions and their calls; a server that is declared otherwise is updated in
// place, as mcpclient.Server.Update does it; names change hands in one step. Profiles are the new
// configuration's. One Reload runs at a time.
//
// ctx bounds the call: a source that has not answered by its end joins later. The error is of a required
// server that is off, with nothing changed, or that failed; of a Set that is closed; or ctx's where it was
// cancelled. What was to be done is done in the last two cases nevertheless. Set.Problems stays as Open left
// it; Plan.Problems has the new ones.
func (s *Set) Reload(ctx context.Context, c *Config) (Plan, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Plan{}, context.Cause(ctx)
	}
	m, err := c.moves(s.Config(), s.attached())
	if err != nil {
		return Plan{}, err
	}
	layers, err := c.makeAll(m.parts)
	if err != nil {
		return Plan{}, err
	}
	for _, p := range c.Problems {
		m.plan.Problems = append(m.plan.Problems, p)
	}
	failed := m.update()
	failed = append(failed, split(s.Replace(ctx, m.out, layers...))...)
	if errors.Is(errors.Join(failed...), toolsource.ErrClosed) {
		m.abandon()
		return Plan{}, fmt.Errorf("sources: reload: %w", toolsource.ErrClosed)
	}
	failed = append(failed, s.refresh(ctx, m.updated)...)
	s.mu.Lock()
	s.config, s.parts = c, m.parts
	s.mu.Unlock()
	m.plan.Problems = append(m.plan.Problems, failed...)
	err = c.required(failed)
	if errors.Is(ctx.Err(), context.Canceled) {
		err = errors.Join(err, ctx.Err())
	}
	return m.plan, err
}

// moves is a Plan with what it takes to carry it out.
type moves struct {
	plan    Plan
	parts   []*part // of the new configuration; kept and updated ones have their source
	updated []*part
	fresh   []*part
	out     []string // sources to take out: gone ones, and those replaced by one of the same name
}

// moves compares a configuration with what is attached. It changes neither.
func (c *Config) moves(now *Config, had []*part) (moves, error) {
	alike := now.alike(c)
	before := make(map[string]*part, len(had))
	for _, p := range had {
		before[p.name] = p
	}
	keeps := func(p *part) bool {
		was := before[p.name]
		return was != nil && alike && p.unchanged(was)
	}
	var m moves
	parts, err := c.parts(keeps)
	if err != nil {
		return m, err
	}
	m.parts = parts
	for _, p := range parts {
		was, kept := before[p.name], keeps(p)
		delete(before, p.name)
		switch {
		case was == nil:
			m.plan.Add = append(m.plan.Add, p.name)
			m.fresh = append(m.fresh, p)
		case kept:
			m.plan.Keep = append(m.plan.Keep, p.name)
			p.source, p.server = was.source, was.server
		default:
			m.plan.Update = append(m.plan.Update, p.name)
			if p.entry != nil && was.server != nil && alike {
				p.source, p.server = was.source, was.server
				m.updated = append(m.updated, p)
				continue
			}
			m.out = append(m.out, p.name)
			m.fresh = append(m.fresh, p)
		}
	}
	for _, p := range had {
		if before[p.name] != nil {
			m.plan.Remove = append(m.plan.Remove, p.name)
			m.out = append(m.out, p.name)
		}
	}
	return m, nil
}

// unchanged reports whether two parts of one name are made from the same.
func (p *part) unchanged(was *part) bool {
	if p.entry != nil && was.entry != nil {
		return p.entry.same(*was.entry)
	}
	return p.entry == nil && was.entry == nil && reflect.DeepEqual(p.from, was.from)
}

// update gives servers that are declared otherwise their new configuration.
func (m *moves) update() (failed []error) {
	for _, p := range m.updated {
		if err := p.server.Update(p.entry.Config); err != nil {
			failed = append(failed, &toolsource.SourceError{Source: p.name, Op: "update", Err: err})
			continue
		}
		p.source.(*mcpsource.Source).Update(&p.entry.Source)
	}
	return failed
}

// abandon closes what was made for a Set that is closed.
func (m *moves) abandon() {
	for _, p := range m.fresh {
		_ = toolsource.CloseSource(p.source)
	}
}

// refresh lists updated servers again, side by side, each within its own limit.
func (s *Set) refresh(ctx context.Context, parts []*part) []error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = s.Refresh(ctx, p.name) })
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}
