package procgroup

import "sync"

// event happens once. Most are never waited for while a child runs, so the channel to wait on is made for the
// first who wants it.
type event struct {
	mu       sync.Mutex
	happened bool
	c        chan struct{} // nil: nobody waits
}

func (e *event) happen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.happened = true
	if e.c != nil {
		close(e.c)
	}
}

func (e *event) has() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.happened
}

func (e *event) done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.c == nil {
		e.c = make(chan struct{})
		if e.happened {
			close(e.c)
		}
	}
	return e.c
}
