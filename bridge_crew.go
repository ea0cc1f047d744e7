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
	idleFor  = time.Second // how long one waits at most; it is half of that at least
)

// crew runs call functions, each on a goroutine of its own at that time.
type crew struct {
	ended func()       // told of the end of each goroutine
	alive atomic.Int64 // goroutines, waiting ones included, and the sweep

	mu    sync.Mutex  // guards the fields below
	idle  []*hand     // the last that came is the first to go, since its stack is warm
	turn  uint        // sweeps so far
	sweep *time.Timer // of those that waited long enough; nil: nobody waits
	off   bool        // nobody waits any more
}

// hand is a goroutine of the crew.
type hand struct {
	next chan func() // room for one; only who took the hand from idle sends; nil: go home
	turn uint        // of the crew, when it began to wait
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
	defer c.end() // also when f ends the goroutine
	h := &hand{next: make(chan func(), 1)}
	for f != nil {
		f()
		if !c.wait(h) {
			return
		}
		f = <-h.next
	}
}

func (c *crew) end() {
	c.alive.Add(-1)
	c.ended()
}

// wait puts a hand among those that wait; false if there are enough, or none is wanted any more.
func (c *crew) wait(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || len(c.idle) >= mostIdle {
		return false
	}
	h.turn = c.turn
	c.idle = append(c.idle, h)
	if c.sweep == nil {
		c.alive.Add(1)
		c.sweep = time.AfterFunc(idleFor/2, c.sendHome)
	}
	return true
}

// sendHome ends those that have waited since before the sweep before this one. They are the first in idle.
func (c *crew) sendHome() {
	c.mu.Lock()
	n := 0
	for n < len(c.idle) && c.idle[n].turn < c.turn {
		n++
	}
	home := slices.Clone(c.idle[:n])
	c.idle = slices.Delete(c.idle, 0, n)
	c.turn++
	again := len(c.idle) > 0 // never when the crew is off
	if again {
		c.sweep.Reset(idleFor / 2)
	} else {
		c.idle, c.sweep = nil, nil
	}
	c.mu.Unlock()
	for _, h := range home {
		h.next <- nil
	}
	if !again {
		c.end()
	}
}

// dismiss sends home those that wait, and the others after their calls.
func (c *crew) dismiss() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.off = nil, true
	if c.sweep != nil && c.sweep.Stop() {
		c.sweep = nil
		c.alive.Add(-1)
	}
	c.mu.Unlock()
	for _, h := range idle {
		h.next <- nil
	}
}
