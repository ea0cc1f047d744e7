package mcpclient

import (
	"context"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
)

const (
	settle     = 100 * time.Millisecond // from a list change to the listing, so that a burst costs one
	relistRate = time.Second            // between two listings that changes cause
	relistMax  = 30 * time.Second       // longest pause between tries of a listing that fails
	freshFor   = 2 * time.Second        // a listing so young is not asked for again
)

// catalogue is a server's last listing, and who wants to know of the next. Its worker is the one that
// lists again after a change, and the one that calls watchers.
type catalogue struct {
	kick chan struct{} // room for one: there is something to do for the worker

	mu       sync.Mutex
	listing  Listing
	at       time.Time // of the listing; zero: there was none
	seq      uint64    // of the session that gave it
	dirty    *session  // announced a change that is not listed yet; nil: none did
	owed     bool      // a listing was refused, so the next is news even if it is equal
	news     bool      // watchers are to be told
	watchers []*watcher
}

type watcher struct{ changed func() }

func newCatalogue() *catalogue { return &catalogue{kick: make(chan struct{}, 1)} }

func (c *catalogue) poke() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// announce takes in that a session's list changed. It does not block.
func (c *catalogue) announce(s *session) {
	c.mu.Lock()
	c.dirty = s
	c.mu.Unlock()
	c.poke()
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
// before.
func (c *catalogue) set(l Listing, s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.seq < c.seq {
		return
	}
	c.seq = s.seq
	if c.at.IsZero() || c.owed || !equalListings(c.listing, l) {
		c.news, c.owed = true, false
		c.poke()
	}
	c.listing, c.at = l, time.Now()
	if c.dirty != s {
		c.dirty = nil
	}
}

// fresh gives the last listing if there is no need to ask again.
func (c *catalogue) fresh() (Listing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := !c.at.IsZero() && c.dirty == nil && time.Since(c.at) < freshFor
	return c.listing, ok
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

// work tells watchers, and lists again after changes, until ctx ends.
func (s *Server) work(ctx context.Context) {
	var last, due time.Time // of the last listing that a change caused, and of the next; zero: none
	pause := settle
	for {
		tell, dirty := s.catalogue.take()
		for _, w := range tell {
			s.tell(w)
		}
		switch {
		case dirty == nil:
			due = time.Time{}
		case due.IsZero():
			due = time.Now().Add(max(pause, time.Until(last.Add(relistRate))))
		}
		if !s.catalogue.wait(ctx, due) {
			return
		}
		if dirty == nil || time.Now().Before(due) {
			continue
		}
		last, due = time.Now(), time.Time{}
		if err := s.relist(ctx, dirty); err != nil {
			s.log.Warn("cannot list the tools again after a change", "err", err)
			pause = min(max(2*pause, relistRate), relistMax)
			continue
		}
		pause = settle
	}
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
func (s *Server) relist(ctx context.Context, dirty *session) error {
	select {
	case <-dirty.Done():
		s.catalogue.begin(dirty)
		return nil
	default:
	}
	o := toolsource.CallOptions{Tool: "tools/list", Limit: s.cfg.Connect, Replay: toolsource.ReplayAlways}
	_, err := toolsource.Do(ctx, s.bridge, o, func(ctx context.Context, sess *session) (struct{}, error) {
		if sess != dirty {
			s.catalogue.begin(dirty)
			return struct{}{}, nil
		}
		_, err := s.listOn(ctx, sess)
		return struct{}{}, err
	})
	return s.redact.err(err)
}

// listOn lists on a session and takes the listing in.
func (s *Server) listOn(ctx context.Context, sess *session) (Listing, error) {
	s.catalogue.begin(sess)
	l, err := sess.list(ctx)
	if err != nil {
		s.catalogue.failed(sess)
		return Listing{}, err
	}
	s.catalogue.set(l, sess)
	return l, nil
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
