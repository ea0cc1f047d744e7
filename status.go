package toolsource

import "slices"

// Sources tells how each attached source is, in the order of attaching. What a source says of itself is
// filled up with what the Toolbox knows. Tools given to Register have no source; where callables of theirs
// were left behind, an entry named "register" at the end counts them.
func (tb *Toolbox) Sources() []SourceStatus {
	type view struct {
		l  *layer
		st SourceStatus
	}
	tb.mu.Lock()
	views := make([]view, 0, len(tb.layers))
	own := SourceStatus{Source: registered, Kind: "func", State: StateReady, Precedence: precedenceRegistered, Shared: true}
	for _, l := range tb.layers {
		if !l.registered {
			views = append(views, view{l, tb.statusLocked(l)})
			continue
		}
		own.Tools++
		own.InFlight += int(l.inFlight.Load())
		own.Abandoned += int(l.abandoned.Load())
	}
	tb.mu.Unlock()
	out := make([]SourceStatus, len(views))
	for i, v := range views {
		out[i] = v.st
		var said SourceStatus
		var ok bool
		if protect(func() error { said, ok = StatusOf(v.l.Source); return nil }) == nil && ok {
			out[i] = merged(v.st, said)
		}
	}
	if own.Abandoned > 0 {
		out = append(out, own)
	}
	return out
}

// statusLocked is the Toolbox's own view of a layer. It looks at no error, since their methods are foreign code.
func (tb *Toolbox) statusLocked(l *layer) SourceStatus {
	st := SourceStatus{
		Source: l.name, Since: l.since, Err: l.err, Tools: len(l.listing),
		Precedence: l.Precedence, Order: l.Order, Shared: l.Shared,
		Listed: l.listedAt, Stale: l.stale, Problems: slices.Clone(l.problems),
		InFlight: int(l.inFlight.Load()), Abandoned: int(l.abandoned.Load()),
	}
	switch {
	case tb.closed.Load():
		st.State = StateClosed
	case l.err != nil && l.unavailable:
		st.State = StateUnavailable
	case l.err != nil:
		st.State = StateFailed
	case l.listed:
		st.State = StateReady
	default:
		st.State = StateDialling
	}
	if len(l.listing) > 0 {
		st.Kind = l.listing[0].spec.Origin.Kind
		st.Server = l.listing[0].spec.Origin.Server
	}
	return st
}

// merged is the source's own status with the Toolbox's facts about its place in the merge.
func merged(tb, own SourceStatus) SourceStatus {
	own.Source = tb.Source
	own.Precedence, own.Order, own.Shared = tb.Precedence, tb.Order, tb.Shared
	own.Listed, own.Stale, own.Tools = tb.Listed, tb.Stale, tb.Tools
	own.Abandoned += tb.Abandoned
	if own.Kind == "" {
		own.Kind = tb.Kind
	}
	if own.State == "" {
		own.State, own.Since = tb.State, tb.Since
	}
	if own.Err == nil && own.State != StateReady {
		own.Err = tb.Err
	}
	if own.InFlight == 0 {
		own.InFlight = tb.InFlight
	}
	for _, p := range tb.Problems {
		if !slices.ContainsFunc(own.Problems, func(q error) bool { return q.Error() == p.Error() }) {
			own.Problems = append(own.Problems, p)
		}
	}
	return own
}
