package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	settle     = 100 * time.Millisecond // from a list change to the listing, so that a burst costs one
	relistRate = time.Second            // between two listings that changes cause
	relistMax  = 30 * time.Second       // longest pause between tries of a listing that fails
	freshFor   = 2 * time.Second        // a listing so young is not asked for again
)

// catalogue is a server's last listing, and who wants to know of the next. Its worker is the one that
// lists again after a change, and the one that calls watchers. It is there only while there is something
// to do or to wait for.
type catalogue struct {
	work    func()          // the worker's life
	running *sync.WaitGroup // counts it
	kick    chan struct{}   // room for one: there is something to do for a worker that waits
	listed  time.Time       // when a change last caused a listing; the worker's

	mu       sync.Mutex
	working  bool // there is a worker
	closed   bool // there is none any more
	listing  Listing
	at       time.Time // of the listing; zero: there was none
	seq      uint64    // of the session that gave it; 0: it is from the schema cache
	dirty    *session  // announced a change that is not listed yet; nil: none did
	owed     bool      // a listing was refused, so the next is news even if it is equal
	news     bool      // watchers are to be told
	watchers []*watcher
}

type watcher struct{ changed func() }

func newCatalogue(running *sync.WaitGroup, work func()) *catalogue {
	return &catalogue{kick: make(chan struct{}, 1), running: running, work: work}
}

// poke has the worker look for what there is to do.
func (c *catalogue) poke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pokeLocked()
}

func (c *catalogue) pokeLocked() {
	switch {
	case c.closed:
	case !c.working:
		c.working = true
		c.running.Go(c.work)
	default:
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
}

// rest ends the worker, unless there is something to do for it; true: it has ended.
func (c *catalogue) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.kick:
		return false
	default:
	}
	c.working = c.news || c.dirty != nil
	return !c.working
}

// close has no other worker start.
func (c *catalogue) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// announce takes in that a session's list changed. It does not block.
func (c *catalogue) announce(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = s
	c.pokeLocked()
}

// begin takes back the mark of a change before the listing that will show it, so that a change which comes
// meanwhile marks it again.
func (c *catalogue) begin(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty == s {
		c.dirty = nil
	}
}

// failed puts the mark of a change back.
func (c *catalogue) failed(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty == nil {
		c.dirty = s
	}
}

// set takes in a listing, unless a later session has given one. It ends the wait for changes of sessions
// before. cached is the schema cache's listing if this one takes its place.
func (c *catalogue) set(l Listing, s *session) (cached *Listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.seq < c.seq {
		return nil
	}
	if c.seq == 0 && !c.at.IsZero() {
		old := c.listing
		cached = &old
	}
	c.seq = s.seq
	if c.at.IsZero() || c.owed || !equalListings(c.listing, l) {
		c.news, c.owed = true, false
		c.pokeLocked()
	}
	c.listing, c.at = l, time.Now()
	if c.dirty != s {
		c.dirty = nil
	}
	return cached
}

// fresh gives the last listing if there is no need to ask again.
func (c *catalogue) fresh() (Listing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := c.seq > 0 && c.dirty == nil && time.Since(c.at) < freshFor
	return c.listing, ok
}

// seed takes in the listing of the schema cache, if there is none yet. It is no news, as it was there all
// the time.
func (c *catalogue) seed(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		c.listing, c.at = e.listing, e.at
	}
}

// seeded reports whether the listing is the schema cache's.
func (c *catalogue) seeded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq == 0
}

// renew tells the watchers, as what they made of the listing, or whether it counts, has changed.
func (c *catalogue) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = true
	c.pokeLocked()
}

func (c *catalogue) owe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed = true
}

func (c *catalogue) last() (l Listing, at time.Time, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listing, c.at, c.dirty != nil
}

func (c *catalogue) watch(changed func()) (stop func()) {
	w := &watcher{changed}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(append([]*watcher{}, c.watchers...), w)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		kept := make([]*watcher, 0, len(c.watchers))
		for _, o := range c.watchers {
			if o != w {
				kept = append(kept, o)
			}
		}
		c.watchers = kept
	}
}

// take gives the worker what there is to do.
func (c *catalogue) take() (tell []*watcher, dirty *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news {
		tell, c.news = c.watchers, false
	}
	return tell, c.dirty
}

// work tells watchers, and lists again after changes and where changes are not told, until there is nothing
// left to do or to wait for, or ctx ends.
func (s *Server) work(ctx context.Context) {
	var due time.Time // of the next listing that a change causes; zero: none
	pause := settle
	for {
		tell, dirty := s.catalogue.take()
		for _, w := range tell {
			s.tell(w)
		}
		var poll time.Time
		switch {
		case dirty == nil:
			due = time.Time{}
			poll = s.nextPoll()
		case due.IsZero():
			due = time.Now().Add(max(pause, time.Until(s.catalogue.listed.Add(relistRate))))
		}
		if dirty == nil && poll.IsZero() {
			if s.catalogue.rest() {
				return
			}
			continue
		}
		if !s.catalogue.wait(ctx, earlier(due, poll)) {
			return
		}
		now := time.Now()
		if dirty == nil {
			if sess := s.live(); sess != nil && !poll.IsZero() && !now.Before(poll) {
				s.catalogue.announce(sess)
			}
			continue
		}
		if now.Before(due) {
			continue
		}
		s.catalogue.listed, due = now, time.Time{}
		if err := s.relist(ctx, dirty); err != nil {
			s.log.Warn("cannot list the tools again", "err", err)
			pause = min(max(2*pause, relistRate), relistMax)
			continue
		}
		pause = settle
	}
}

// nextPoll is when the tools are listed again without an announcement; zero: never.
func (s *Server) nextPoll() time.Time {
	sess := s.live()
	if sess == nil {
		return time.Time{}
	}
	l, at, _ := s.catalogue.last()
	every := sess.relistEvery(l.fresh)
	if every <= 0 || at.IsZero() {
		return time.Time{}
	}
	return at.Add(every)
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// wait waits for something to do, or for due unless it is zero. It is false once ctx has ended.
func (c *catalogue) wait(ctx context.Context, due time.Time) bool {
	var at <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		at = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-c.kick:
	case <-at:
	}
	return ctx.Err() == nil
}

// relist lists again if the session that announced a change is still there: a new one has listed by itself.
// It takes no place of a call, as a server may wait for it inside one.
func (s *Server) relist(ctx context.Context, dirty *session) error {
	if !dirty.ended() {
		limit := dirty.set.cfg.Connect
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to tools/list within %v: %w", limit, context.DeadlineExceeded))
		defer cancel()
		_, err := s.listOn(ctx, dirty)
		if err == nil || ctx.Err() == nil && !dirty.ended() {
			return s.redact.err(err)
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return s.redact.err(context.Cause(ctx))
		}
	}
	s.catalogue.begin(dirty)
	return nil
}

// listOn lists on a session and takes the listing in.
func (s *Server) listOn(ctx context.Context, sess *session) (Listing, error) {
	s.catalogue.begin(sess)
	l, err := sess.list(ctx)
	if err != nil {
		s.catalogue.failed(sess)
		return Listing{}, err
	}
	s.takeIn(l, sess)
	return l, nil
}

// takeIn keeps a listing, and stores it for the next run of the program.
func (s *Server) takeIn(l Listing, sess *session) {
	if cached := s.catalogue.set(l, sess); cached != nil && !equalListings(*cached, l) {
		added, removed, changed := difference(*cached, l)
		s.log.Info("the server's tools are not those of the schema cache", "added", added, "removed", removed, "changed", changed)
	}
	sess.set.cached.save(s, &entry{listing: l, asked: sess.asked, at: time.Now()})
}

// difference names the tools that two listings do not share.
func difference(old, l Listing) (added, removed, changed []string) {
	was := map[string]Tool{}
	for _, t := range old.Tools {
		was[t.Name] = t
	}
	for _, t := range l.Tools {
		before, ok := was[t.Name]
		delete(was, t.Name)
		switch {
		case !ok:
			added = append(added, t.Name)
		case !equalListings(Listing{Tools: []Tool{before}}, Listing{Tools: []Tool{t}}):
			changed = append(changed, t.Name)
		}
	}
	return added, slices.Sorted(maps.Keys(was)), changed
}

// tell calls one watcher. A panic of it is its own.
func (s *Server) tell(w *watcher) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a watcher panicked", "panic", v)
		}
	}()
	w.changed()
}
