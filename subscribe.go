package toolsource

import (
	"slices"
	"sync"
	"time"
)

// Change says how a Toolbox's tools differ from the revision before, or, where several changes were told as
// one, from the last revision that the subscriber was told of. Each list is sorted by nothing but time.
type Change struct {
	Revision uint64
	Added    []string
	Removed  []string
	Changed  []string // another spec or another owner
	User     User     // whose tools changed; the zero User: everybody's
}

func (c Change) empty() bool { return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 }

// then is c followed by d, told as one. A change of everybody's tools stays one of everybody's.
func (c Change) then(d Change) Change {
	out := Change{Revision: max(c.Revision, d.Revision)}
	if c.User == d.User {
		out.User = c.User
	}
	has := slices.Contains[[]string, string]
	for _, n := range c.Added {
		if !has(d.Removed, n) {
			out.Added = append(out.Added, n)
		}
	}
	for _, n := range c.Removed {
		if !has(d.Added, n) {
			out.Removed = append(out.Removed, n)
		}
	}
	for _, n := range c.Changed {
		if !has(d.Removed, n) && !has(d.Changed, n) {
			out.Changed = append(out.Changed, n)
		}
	}
	for _, n := range d.Added {
		if has(c.Removed, n) {
			out.Changed = append(out.Changed, n) // gone and back: perhaps another
		} else {
			out.Added = append(out.Added, n)
		}
	}
	for _, n := range d.Removed {
		if !has(c.Added, n) {
			out.Removed = append(out.Removed, n)
		}
	}
	for _, n := range d.Changed {
		if !has(c.Added, n) {
			out.Changed = append(out.Changed, n)
		}
	}
	return out
}

// startWindow is how long stop waits for a callback that was about to start: long enough for one that is
// being started on a busy machine, short enough not to be held up by one that runs.
const startWindow = 10 * time.Millisecond

// A subscription tells one function of changes: in order, never two at once, coalesced while it is busy.
// Its goroutine lives only while there is something to tell.
type subscription struct {
	changed func(Change)

	mu      sync.Mutex    // guards the fields below
	pending *Change       // not told yet
	busy    chan struct{} // closed when the callback under way has returned; nil: none is
	running bool          // the goroutine is there
	stopped bool
}

// post never blocks.
func (s *subscription) post(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	if s.pending != nil {
		c = s.pending.then(c)
	}
	s.pending = &c
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *subscription) run() {
	returned := false
	defer func() {
		if !returned { // the callback ended the goroutine
			s.mu.Lock()
			close(s.busy)
			s.mu.Unlock()
			go s.run()
		}
	}()
	for {
		s.mu.Lock()
		if s.stopped || s.pending == nil {
			s.running, s.pending = false, nil
			s.mu.Unlock()
			returned = true
			return
		}
		c := *s.pending
		s.pending = nil
		busy := make(chan struct{})
		s.busy = busy
		s.mu.Unlock()

		_ = protect(func() error { s.changed(c); return nil })
		close(busy)
	}
}

// stop lets no callback start after it has returned. One that runs is not waited for, so that stop may be
// called inside it and a slow one holds nobody up.
func (s *subscription) stop() {
	busy := s.halt()
	if busy == nil {
		return
	}
	select {
	case <-busy:
		return
	default:
	}
	t := time.NewTimer(startWindow)
	defer t.Stop()
	select {
	case <-busy:
	case <-t.C:
	}
}

// halt lets no further callback be taken up. It gives the end of the one under way, nil if none ever was.
func (s *subscription) halt() (busy <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	return s.busy
}

// Subscribe has changed called after each change of the Toolbox's tools, on a goroutine of its own, outside
// all locks, in order, never two at once, several changes told as one where it is slow. A panic in it ends
// nothing. revision is the one that the first change follows, so that a caller who subscribes and then
// reads misses nothing. After stop has returned no callback starts; stop may be called inside one.
func (tb *Toolbox) Subscribe(changed func(Change)) (revision uint64, stop func()) {
	s := &subscription{changed: changed}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.closed.Load() {
		if tb.subs == nil {
			tb.subs = map[*subscription]struct{}{}
		}
		tb.subs[s] = struct{}{}
	}
	return tb.snap.Load().revision, func() {
		tb.mu.Lock()
		delete(tb.subs, s)
		tb.mu.Unlock()
		s.stop()
	}
}

// postFromUser tells the subscribers of everybody's Toolbox that a user's own tools changed. It is called with
// the user's lock held, so that changes are told in order, and only posts; no lock is taken the other way round.
func (tb *Toolbox) postFromUser(c Change) {
	if c.empty() {
		return
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	c.Revision = tb.snap.Load().revision
	for s := range tb.subs {
		s.post(c)
	}
}
