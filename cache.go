package toolsource

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Cache keeps a source's listing for a time, so that Discover asks the source again only when the listing is
// older, when the source has announced a change, or when there is none. A failed listing is not kept, and
// an older one is not given in its place. Calls are not cached.
func Cache(src ToolSource, ttl time.Duration) ToolSource {
	c := &cached{decorated: decorated{
		inner:   src,
		show:    func(s ToolSpec) (ToolSpec, bool) { return s, true },
		name:    same,
		wrapped: func(s ToolSource) ToolSource { return Cache(s, ttl) },
	}, ttl: ttl}
	c.decorated.list = c.listing
	c.decorated.enforce = func(s ToolSpec) error {
		if c.closed.Load() {
			return &CallError{Tool: s.Name, Source: src.Name(), Phase: "call", Kind: KindClosed, Remedy: "its source was closed"}
		}
		return nil
	}
	return c
}

type cached struct {
	decorated
	ttl    time.Duration
	closed atomic.Bool
	watch  sync.Once
	stop   func()

	mu      sync.Mutex // guards the fields below
	specs   []ToolSpec
	until   time.Time // when specs is too old; the zero time: there is none
	changes uint64    // announced so far
}

func (c *cached) listing(ctx context.Context) ([]ToolSpec, error) {
	if c.closed.Load() {
		return nil, &SourceError{Source: c.Name(), Op: "discover", Err: ErrClosed}
	}
	c.watch.Do(func() { c.stop, _ = Watch(c.inner, c.drop) })
	c.mu.Lock()
	specs, changes := c.specs, c.changes
	fresh := time.Now().Before(c.until)
	c.mu.Unlock()
	if fresh {
		return specs, nil
	}
	specs, err := c.inner.Discover(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.specs, c.until = specs, time.Now().Add(c.ttl)
	}
	return specs, nil
}

// drop forgets the listing.
func (c *cached) drop() {
	c.mu.Lock()
	c.changes++
	c.until = time.Time{}
	c.mu.Unlock()
}

// Watch drops the listing before it passes a change on, so that whoever lists again gets a new one.
func (c *cached) Watch(changed func()) (stop func()) {
	stop, _ = Watch(c.inner, func() {
		c.drop()
		changed()
	})
	return stop
}

// Close stops listening for changes and closes the source.
func (c *cached) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.watch.Do(func() {})
	if c.stop != nil {
		c.stop()
	}
	return CloseSource(c.inner)
}
