package toolsource

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A call goes deep into what carries it, and a new goroutine has to grow its stack for that, which costs as
// much as the rest of a small call. So a goroutine whose call has ended waits a moment for the next.
const (
	mostIdle = 64          // goroutines that wait for a call
	idleFor  = time.Second // how long one waits
)

// crew runs call functions, each on a goroutine of its own at that time.
type crew struct {
	ended func()       // told of the end of each goroutine
	alive atomic.Int64 // goroutines, waiting ones included

	mu   sync.Mutex // guards the fields below
	idle []*hand    // the last that came is the first to go, since its stack is warm
	off  bool       // nobody waits any more
}

// hand is a goroutine of the crew.
type hand struct {
	next chan func() // room for one; only who took the hand from idle sends; nil: go home
}

// run does not wait.
func (c *crew) run(f func()) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		h := c.idle[n-1]
		c.idle[n-1] = nil
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		h.next <- f
		return
	}
	c.alive.Add(1)
	c.mu.Unlock()
	go c.life(f)
}

func (c *crew) life(f func()) {
	defer func() { // also when f ends the goroutine
		c.alive.Add(-1)
		c.ended()
	}()
	h := &hand{next: make(chan func(), 1)}
	var t *time.Timer
	for {
		f()
		if !c.wait(h) {
			return
		}
		if t == nil {
			t = time.NewTimer(idleFor)
			defer t.Stop()
		} else {
			t.Reset(idleFor)
		}
		select {
		case f = <-h.next:
		case <-t.C:
			if c.leave(h) {
				return
			}
			f = <-h.next // somebody took it just now
		}
		if f == nil {
			return
		}
	}
}

// wait puts a hand among those that wait; false if there are enough, or none is wanted any more.
func (c *crew) wait(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || len(c.idle) >= mostIdle {
		return false
	}
	c.idle = append(c.idle, h)
	return true
}

// leave takes a hand away from those that wait; false if it was taken.
func (c *crew) leave(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.idle {
		if o == h {
			c.idle = slices.Delete(c.idle, i, i+1)
			return true
		}
	}
	return false
}

// dismiss sends home those that wait, and the others after their calls.
func (c *crew) dismiss() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.off = nil, true
	c.mu.Unlock()
	for _, h := range idle {
		h.next <- nil
	}
}
