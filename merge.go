package toolsource

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
)

// registered stands for the source of tools given to Register, where a name is shown.
const registered = "register"

const precedenceRegistered Precedence = math.MaxInt

// A snapshot is what a Toolbox offers at one revision. It never changes.
type snapshot struct {
	revision uint64
	byName   map[string]*entry // shared with other snapshots
	extra    map[string]*entry // names registered since byName was made
	order    []*entry          // by first appearance of the name
	shadows  []Shadow
	losers   map[string][]*entry // by name, the highest first; only names that have some
	held     map[string]string   // names that are withheld, and the source that owns or may take them
}

// get finds the owner of a name.
func (s *snapshot) get(name string) (*entry, bool) {
	if e, ok := s.extra[name]; ok {
		return e, true
	}
	e, ok := s.byName[name]
	return e, ok
}

// mostExtra bounds extra, so that a host which registers tools one by one pays neither for a whole merge
// nor for a large copy each time.
const mostExtra = 256

// with is the next snapshot for a tool whose name nobody else has; ok is false if it takes a whole merge.
func (s *snapshot) with(e *entry) (next *snapshot, ok bool) {
	name := e.spec.Name
	if _, taken := s.get(name); taken || len(s.losers[name]) > 0 || s.held[name] != "" || len(s.extra) >= mostExtra {
		return nil, false
	}
	n := *s
	n.revision++
	n.order = append(s.order, e) // each snapshot is extended once, so nobody else writes there
	n.extra = make(map[string]*entry, len(s.extra)+1)
	maps.Copy(n.extra, s.extra)
	n.extra[name] = e
	return &n, true
}

// An entry is one tool of one layer.
type entry struct {
	spec    *ToolSpec // own, or a copy where something had to be filled in
	own     *ToolSpec // as the source gave it
	call    Callable  // guarded, see guard
	err     error     // why the source could not resolve it; nil: it could
	layer   *layer
	bind    *binding
	mirrors *entry // the parent's, in a user's Toolbox
}

// Shadow says who owns a name that several layers have, who lost it and why.
type Shadow struct {
	Name   string
	Winner Claimant
	Losers []Claimant // the highest first
	Reason string     // why the winner has it: "precedence", "order", "attached later", "registered", ...
}

// Claimant is one layer that has a name.
type Claimant struct {
	Source     string
	Precedence Precedence
	Order      int
}

func (l *layer) claimant() Claimant {
	return Claimant{Source: l.name, Precedence: l.Precedence, Order: l.Order}
}

// outranks is the rule of precedence. It is a total order, since no two layers have one seq.
func (l *layer) outranks(m *layer) int {
	switch {
	case l.Precedence != m.Precedence:
		return which(l.Precedence > m.Precedence)
	case l.Order != m.Order:
		return which(l.Order > m.Order)
	case l.seq != m.seq:
		return which(l.seq > m.seq)
	}
	return 0
}

func which(up bool) int {
	if up {
		return 1
	}
	return -1
}

// reason says by which step of the rule l outranks m.
func (l *layer) reason(m *layer) string {
	switch {
	case l.registered && !m.registered:
		return "registered"
	case l.Precedence != m.Precedence:
		return "precedence"
	case l.Order != m.Order:
		return "order"
	case l.registered:
		return "registered later"
	}
	return "attached later"
}

// mergeLocked builds the next snapshot from the layers and tells the subscribers. tb.mu is held. The function
// that it returns logs; it is called without the lock.
func (tb *Toolbox) mergeLocked() (after func()) {
	old := tb.snap.Load()
	m := tb.rank()
	next := &snapshot{revision: old.revision, byName: m.owners, losers: m.losers, held: m.held}
	next.order = appearance(old, m, tb.layers)
	next.shadows = shadowsOf(next)
	change := difference(old, next)
	if !change.empty() {
		next.revision++
		change.Revision, change.User = next.revision, tb.user
	}
	return tb.publishLocked(old, next, change, tb.report(old, next))
}

// publishLocked makes a snapshot the present one and tells who wants to know. tb.mu is held.
func (tb *Toolbox) publishLocked(old, next *snapshot, change Change, logs func()) (after func()) {
	tb.snap.Store(next)
	if !change.empty() {
		for s := range tb.subs {
			s.post(change)
		}
	}
	for child := range tb.children { // also when only a layer without tools of everybody's came or went
		child.parentChanged()
	}
	if tb.parent != nil {
		tb.parent.postFromUser(privatePart(change, old, next))
	}
	return logs
}

// registerLocked takes in a layer of one tool, with a whole merge only where it takes one. tb.mu is held.
func (tb *Toolbox) registerLocked(l *layer) (after func()) {
	tb.attachLocked(l)
	old, e := tb.snap.Load(), l.listing[0]
	next, ok := old.with(e)
	if !ok {
		return tb.mergeLocked()
	}
	change := Change{Revision: next.revision, Added: []string{e.spec.Name}, User: tb.user}
	return tb.publishLocked(old, next, change, func() { tb.warnMask(e) })
}

// A ranking is who owns each name, before the order is known.
type ranking struct {
	owners map[string]*entry
	losers map[string][]*entry
	held   map[string]string
}

// rank goes through the layers from the highest to the lowest: the first that has a name owns it.
func (tb *Toolbox) rank() ranking {
	ranked := slices.Clone(tb.layers)
	slices.SortFunc(ranked, func(a, b *layer) int { return b.outranks(a) })
	total := 0
	for _, l := range ranked {
		total += len(l.listing)
	}
	r := ranking{owners: make(map[string]*entry, total)}
	hold := func(name, owner string) {
		if r.held == nil {
			r.held = map[string]string{}
		}
		r.held[name] = owner
	}
	lose := func(name string, e *entry) {
		if r.losers == nil {
			r.losers = map[string][]*entry{}
		}
		r.losers[name] = append(r.losers[name], e)
	}
	var unlisted *layer // the highest layer that has not listed yet
	for _, l := range ranked {
		if !l.listed {
			if tb.o.Failover && l.down {
				continue
			}
			for name := range l.claims {
				if _, owned := r.owners[name]; !owned && r.held[name] == "" {
					hold(name, l.name)
				}
			}
			if unlisted == nil {
				unlisted = l
			}
			continue
		}
		for _, e := range l.listing {
			name := e.spec.Name
			owner, owned := r.owners[name]
			switch {
			case owned && tb.o.Failover && owner.layer.down && !l.down:
				lose(name, owner)
				r.owners[name] = e.marked(unlisted != nil)
			case owned, r.held[name] != "":
				lose(name, e)
			case unlisted != nil && tb.o.Strict:
				hold(name, unlisted.name)
				lose(name, e)
			default:
				r.owners[name] = e.marked(unlisted != nil)
			}
		}
	}
	return r
}

// marked is the entry with its provisional mark set as wanted.
func (e *entry) marked(provisional bool) *entry {
	if e.spec.Origin.Provisional == provisional {
		return e
	}
	c, spec := *e, *e.spec
	spec.Origin.Provisional = provisional
	c.spec = &spec
	return &c
}

// appearance orders the owned names: those that stay keep their place, new ones come last, in the order of
// the layers and within a layer of its listing.
func appearance(old *snapshot, r ranking, layers []*layer) []*entry {
	owners := r.owners
	order := make([]*entry, 0, len(owners))
	for _, e := range old.order {
		if now, ok := owners[e.spec.Name]; ok {
			order = append(order, now)
		}
	}
	if len(order) == len(owners) {
		return order
	}
	placed := map[string]struct{}{} // new names that more than one layer has
	for _, l := range layers {
		for _, e := range l.listing {
			name := e.spec.Name
			now, owned := owners[name]
			if !owned {
				continue
			}
			if _, was := old.get(name); was {
				continue
			}
			if len(r.losers[name]) > 0 {
				if _, twice := placed[name]; twice {
					continue
				}
				placed[name] = struct{}{}
			}
			order = append(order, now)
		}
	}
	return order
}

func shadowsOf(s *snapshot) []Shadow {
	if len(s.losers) == 0 {
		return nil
	}
	var shadows []Shadow
	for _, e := range s.order {
		losers := s.losers[e.spec.Name]
		if len(losers) == 0 {
			continue
		}
		sh := Shadow{Name: e.spec.Name, Winner: e.layer.claimant(), Reason: e.layer.reason(losers[0].layer)}
		if e.layer.outranks(losers[0].layer) < 0 {
			sh.Reason = "failover"
		}
		for _, l := range losers {
			sh.Losers = append(sh.Losers, l.layer.claimant())
		}
		shadows = append(shadows, sh)
	}
	return shadows
}

// difference lists the names that came, went, or have another spec or another owner.
func difference(old, next *snapshot) Change {
	var c Change
	for _, e := range next.order {
		was, ok := old.get(e.spec.Name)
		switch {
		case !ok:
			c.Added = append(c.Added, e.spec.Name)
		case was != e && (was.layer != e.layer || was.bind != e.bind || !reflect.DeepEqual(was.spec, e.spec)):
			c.Changed = append(c.Changed, e.spec.Name)
		}
	}
	for _, e := range old.order {
		if _, ok := next.get(e.spec.Name); !ok {
			c.Removed = append(c.Removed, e.spec.Name)
		}
	}
	return c
}

// report prepares the log lines about what a merge changed: new shadows in both directions, and names that
// mask. They are written by the function it returns, without the lock.
func (tb *Toolbox) report(old, next *snapshot) func() {
	var lines []func()
	say := func(level slog.Level, msg string, args ...any) {
		lines = append(lines, func() { tb.log.Log(context.Background(), level, msg, args...) })
	}
	for name, losers := range next.losers {
		winner, _ := next.get(name)
		if winner == nil {
			continue
		}
		for _, loser := range losers {
			if tb.parent != nil && !winner.layer.private && !loser.layer.private {
				continue // the parent has said so
			}
			before, _ := old.get(name)
			if before != nil && before.layer == winner.layer && lostBefore(old, name, loser.layer) {
				continue
			}
			level, msg := slog.LevelInfo, "tool is shadowed by a higher layer"
			if before != nil && before.layer == loser.layer {
				msg = "tool is displaced by a higher layer"
				if before.spec.Origin.Provisional {
					level = slog.LevelWarn
				}
			}
			say(level, msg, "tool", name,
				"winner", winner.layer.name, "winner_precedence", int(winner.layer.Precedence),
				"loser", loser.layer.name, "loser_precedence", int(loser.layer.Precedence))
		}
	}
	var fresh []*entry // names that have another owner now
	for _, e := range next.order {
		if was, ok := old.get(e.spec.Name); (!ok || was.layer != e.layer) && (tb.parent == nil || e.layer.private) {
			fresh = append(fresh, e)
		}
	}
	return func() {
		for _, line := range lines {
			line()
		}
		for _, e := range fresh {
			tb.warnMask(e)
		}
	}
}

// warnMask warns about a name that hides another. It calls the host's function, so no lock is held.
func (tb *Toolbox) warnMask(e *entry) {
	masks := false
	_ = protect(func() error { masks = tb.o.Masks(e.spec.Name); return nil })
	if masks {
		tb.log.Warn("tool masks a name that programs know otherwise",
			"tool", e.spec.Name, "source", e.layer.name, "remedy", "call it "+e.spec.Name+"_tool, for instance")
	}
}

func lostBefore(s *snapshot, name string, l *layer) bool {
	for _, e := range s.losers[name] {
		if e.layer == l {
			return true
		}
	}
	return false
}

const maxNameLen = 64

// checkName refuses names that programs cannot call.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the name is empty", ErrBadSpec)
	case len(name) > maxNameLen:
		return fmt.Errorf("%w: the name %.20q... has %d bytes, at most %d are allowed", ErrBadSpec, name, len(name), maxNameLen)
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' && i > 0 {
			continue
		}
		return fmt.Errorf("%w: the name %q is not an identifier: want ASCII letters, digits and _, not a digit first", ErrBadSpec, name)
	}
	return nil
}
