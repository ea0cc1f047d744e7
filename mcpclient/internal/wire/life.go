package wire

import (
	"context"
	"errors"
	"sync"
)

// life is the end of a connection, which comes once.
type life struct {
	done chan struct{} // closed when the connection has ended

	wg sync.WaitGroup // of the goroutines that spawn started

	mu      sync.Mutex
	failing bool // a write failed, and the end is near; of a child only
	ended   bool
	empty   bool // nothing of it is left
	err     error
	gone    chan struct{} // closed then; nil: nobody waits for that yet
}

func newLife() life { return life{done: make(chan struct{})} }

// end reports whether this is the end: of several only the first is, and its cause stays.
func (l *life) end(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.ended, l.err = true, err
	close(l.done)
	return true
}

// Done implements Conn.
func (l *life) Done() <-chan struct{} { return l.done }

// Err implements Conn.
func (l *life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// vanish says that nothing of the connection is left.
func (l *life) vanish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.empty = true
	if l.gone != nil {
		close(l.gone)
	}
}

// Gone implements Conn.
func (l *life) Gone(ctx context.Context) error {
	l.mu.Lock()
	empty := l.empty
	if l.gone == nil && !empty {
		l.gone = make(chan struct{})
	}
	gone := l.gone
	l.mu.Unlock()
	if empty {
		return nil
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spawn runs f on a goroutine that the end of the connection waits for. After the end it does nothing.
func (l *life) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.wg.Add(1) // under mu, so never while the end waits
	go func() {
		defer l.wg.Done()
		f()
	}()
	return true
}

// made holds the one connection of a transport.
type made struct {
	mu   sync.Mutex
	used bool
	conn Conn
}

func (m *made) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used {
		return errors.New("wire: a transport connects once only")
	}
	m.used = true
	return nil
}

func (m *made) set(c Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn = c
}

func (m *made) get() Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conn
}
