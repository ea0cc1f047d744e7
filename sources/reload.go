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

// attached are the parts that are there, without those that the host has removed. A closed server is one of
// those: its name may be another source's by now.
func (s *Set) attached() []*part {
	there := s.names()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.parts), func(p *part) bool { return !there[p.name] || p.closed() })
}

func (s *Set) names() map[string]bool {
	there := map[string]bool{}
	for _, st := range s.Sources() {
		there[st.Source] = true
	}
	return there
}

// Reload brings the Set in line with another configuration. Servers and tools that are declared as before
// stay as they are, with their sessions and their calls; a server that is declared otherwise is updated in
// place, as mcpclient.Server.Update does it; names change hands in one step, those of updated servers when
// they have listed. Functions cannot be compared: where the Options of Load have any, those that were Open's
// have to be given again, or everything is made anew. Profiles are the new configuration's. One Reload runs
// at a time.
//
// ctx bounds the call, but for the closing of what is taken out, which the CloseBound of the Toolbox bounds: a
// source that has not answered by its end joins later. The error is of a required server that is off, or
// ctx's if it ended before it was this Reload's turn, with nothing changed; of a required server that failed;
// of a Set that is closed; or ctx's where it was cancelled. What was to be done is done in the last three
// cases nevertheless. A source whose name the host uses for one of its own is in Plan.Problems, and left out
// until the next Reload. Set.Problems stays as Open left it.
//
// What the configuration could not read it does not declare: the servers of a host file that is just being
// written, say, are taken out. Look at Config.Problems before, where that is not wanted.
func (s *Set) Reload(ctx context.Context, c *Config) (Plan, error) {
	if err := s.begin(ctx); err != nil {
		return Plan{}, err
	}
	defer func() { <-s.turn }()
	m, err := c.moves(s.Config(), s.attached())
	if err != nil {
		return Plan{}, err
	}
	if err := c.makeAll(m.parts); err != nil {
		return Plan{}, err
	}
	failed, closed := s.carryOut(ctx, &m)
	if closed {
		return Plan{}, fmt.Errorf("sources: reload: %w", toolsource.ErrClosed)
	}
	s.mu.Lock()
	s.config, s.parts = c, m.parts
	s.mu.Unlock()
	for _, p := range c.Problems {
		m.plan.Problems = append(m.plan.Problems, p)
	}
	m.plan.Problems = append(m.plan.Problems, failed...)
	err = c.required(failed)
	if errors.Is(ctx.Err(), context.Canceled) {
		err = errors.Join(err, ctx.Err())
	}
	return m.plan, err
}

// begin waits for the turn to reload.
func (s *Set) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// carryOut makes the moves: updated servers list again while new ones connect, so that neither waits for the
// other. It leaves the parts that are attached.
func (s *Set) carryOut(ctx context.Context, m *moves) (failed []error, closed bool) {
	failed = m.update()
	var relisted []error
	var wg sync.WaitGroup
	wg.Go(func() { relisted = s.refresh(ctx, m.updated) })
	replaced := split(s.Replace(ctx, m.out, layersOf(m.parts)...))
	wg.Wait()
	if slices.ContainsFunc(replaced, func(err error) bool { return err == toolsource.ErrClosed }) { // of one source it is a SourceError
		_ = closeAll(m.fresh)
		return nil, true
	}
	m.dropRefused(s.names(), replaced)
	return slices.Concat(failed, replaced, relisted), false
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

// update gives servers that are declared otherwise their new configuration. One that the host removes
// meanwhile is no longer a part.
func (m *moves) update() (failed []error) {
	m.updated = slices.DeleteFunc(m.updated, func(p *part) bool {
		err := p.server.Update(p.entry.Config)
		if err != nil {
			failed = append(failed, &toolsource.SourceError{Source: p.name, Op: "update", Err: err})
			return true
		}
		p.source.(*mcpsource.Source).Update(&p.entry.Source)
		return false
	})
	m.parts = slices.DeleteFunc(m.parts, (*part).closed)
	return failed
}

// dropRefused closes new sources that the Toolbox did not take in: it does not own them.
func (m *moves) dropRefused(there map[string]bool, replaced []error) {
	taken := map[string]bool{} // by somebody else
	for _, err := range replaced {
		var se *toolsource.SourceError
		if errors.As(err, &se) && errors.Is(se.Err, toolsource.ErrDuplicateSource) {
			taken[se.Source] = true
		}
	}
	var refused []*part
	for _, p := range m.fresh {
		if taken[p.name] || !there[p.name] {
			refused = append(refused, p)
		}
	}
	_ = closeAll(refused)
	m.parts = slices.DeleteFunc(m.parts, func(p *part) bool { return slices.Contains(refused, p) })
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
