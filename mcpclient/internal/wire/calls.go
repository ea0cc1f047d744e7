package wire

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// call is a request of ours that waits for its reply.
type call struct {
	id     jsonrpc.ID
	num    int64
	method string
	asked  string // protocol revision that the request says itself; set by HTTP only
	slot   *Slot  // nil: the reply goes to the SDK as it is
	free   func() // ends whatever waits for the reply on another way; nil: nothing does
}

// calls are the requests under way, by the numbers that the SDK gave them.
type calls struct {
	mu   sync.Mutex
	lone *call           // one of them, so that calls in a row need no map
	m    map[int64]*call // the others
}

func (t *calls) add(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lone == nil {
		t.lone = c
		return
	}
	if t.m == nil {
		t.m = make(map[int64]*call)
	}
	t.m[c.num] = c
}

func (t *calls) findLocked(num int64) *call {
	if t.lone != nil && t.lone.num == num {
		return t.lone
	}
	return t.m[num]
}

// take removes a call; whoever gets it is the only one to answer it. nil: it is not under way. Its free is
// read by the taker only.
func (t *calls) take(num int64) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.findLocked(num)
	if c == t.lone {
		t.lone = nil
	} else {
		delete(t.m, num)
	}
	return c
}

// waiting reports whether the very call is still under way.
func (t *calls) waiting(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.findLocked(c.num) == c
}

// onAnswer sets what frees a call that is answered on another way. It is false if it was already.
func (t *calls) onAnswer(c *call, free func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.free = free
	return t.findLocked(c.num) == c
}

func (t *calls) method(num int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.findLocked(num); c != nil {
		return c.method
	}
	return ""
}

func (t *calls) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.m)
	if t.lone != nil {
		n++
	}
	return n
}
