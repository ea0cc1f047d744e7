package sourcetest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A Dialer is a scripted dialer for a toolsource.Bridge: give its Dial to NewBridge. Each dial waits until
// the test has taken it with WantDial and told its session how it ends. The zero value is ready for use; in
// a synctest bubble it must be made inside.
//
//	b := toolsource.NewBridge(d.Dial, nil)
//	s := d.WantDial(t)
//	s.Finish(nil)
//	...
//	s.Break(io.EOF)
type Dialer struct {
	// Patience is the longest time that a Want method waits; 0: 10 seconds. Under virtual time, waiting for
	// a dial lets the time pass until it comes.
	Patience time.Duration

	dials queue[*Session]
}

// Dial is what a Bridge calls. It returns when the session is told to Finish, or with ctx's error when ctx
// ends before, unless the session is stalled.
func (d *Dialer) Dial(ctx context.Context) (*Session, error) {
	s := &Session{
		dialer: d, ctx: ctx,
		finished: make(chan error, 1), done: make(chan struct{}), closing: make(chan struct{}), gone: make(chan struct{}),
	}
	d.dials.put(s)
	for {
		end := ctx.Done()
		stalled, changed := s.stalledNow()
		if stalled {
			end = nil
		}
		select {
		case err := <-s.finished:
			if err != nil {
				return nil, err
			}
			return s, nil
		case <-end:
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

func (d *Dialer) patience() time.Duration {
	if d.Patience > 0 {
		return d.Patience
	}
	return 10 * time.Second
}

// WantDial takes the next dial, and fails the test if none comes in time.
func (d *Dialer) WantDial(t testing.TB) *Session {
	t.Helper()
	s, ok := d.dials.take(d.patience())
	if !ok {
		t.Fatalf("no dial came within %v", d.patience())
	}
	return s
}

// WantNoDial fails the test if a dial has come that was not taken. In a synctest bubble call synctest.Wait
// before.
func (d *Dialer) WantNoDial(t testing.TB) {
	t.Helper()
	if d.dials.len() > 0 {
		t.Fatal("there is a dial that was not wanted")
	}
}

// A Session is one that a Dialer dialled. Its methods Call, Done, Err and Close are for what is tested,
// the others for the test. It is safe for concurrent use.
type Session struct {
	dialer   *Dialer
	ctx      context.Context // of the dial
	finished chan error      // room for the one end of the dial
	done     chan struct{}   // closed by Break
	closing  chan struct{}   // closed when Close is first called
	gone     chan struct{}   // closed when it is closed at last
	calls    queue[*Call]

	mu      sync.Mutex    // guards the fields below
	changed chan struct{} // closed when stalled or held change; nil: nobody waits
	stalled bool
	held    bool
	err     error
	broken  bool
	closed  bool
	over    bool
}

// Finish ends the dial: with nil it succeeds. It is told once.
func (s *Session) Finish(err error) { s.finished <- err }

// Break ends the session as if by itself, for the reason err. Calls under way fail with it. Only the first
// counts.
func (s *Session) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.broken, s.err = true, err
		close(s.done)
	}
}

// Stall has the session's dial and calls ignore their contexts, and calls its end too: nothing comes back
// until Reply, Finish or Resume.
func (s *Session) Stall() { s.set(func() { s.stalled = true }) }

// Resume ends what Stall began.
func (s *Session) Resume() { s.set(func() { s.stalled = false }) }

// HoldClose has Close block, whatever its context says, until Release.
func (s *Session) HoldClose() { s.set(func() { s.held = true }) }

// Release lets Close return.
func (s *Session) Release() { s.set(func() { s.held = false }) }

func (s *Session) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

func (s *Session) stalledNow() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled, s.watchLocked()
}

func (s *Session) heldNow() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.watchLocked()
}

// watchLocked is closed at the next change.
func (s *Session) watchLocked() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// DialContext is the context that the dial was made with.
func (s *Session) DialContext() context.Context { return s.ctx }

// WantClosed waits until Close has been called, and fails the test if it is not in time.
func (s *Session) WantClosed(t testing.TB) {
	t.Helper()
	if !within(s.dialer.patience(), s.closing) {
		t.Fatalf("the session was not closed within %v", s.dialer.patience())
	}
}

// WantOpen fails the test if Close has been called. In a synctest bubble call synctest.Wait before.
func (s *Session) WantOpen(t testing.TB) {
	t.Helper()
	select {
	case <-s.closing:
		t.Fatal("the session was closed")
	default:
	}
}

// WantCall takes the next call, and fails the test if none comes in time.
func (s *Session) WantCall(t testing.TB) *Call {
	t.Helper()
	c, ok := s.calls.take(s.dialer.patience())
	if !ok {
		t.Fatalf("no call came within %v", s.dialer.patience())
	}
	return c
}

// WantNoCall fails the test if a call has come that was not taken. In a synctest bubble call synctest.Wait
// before.
func (s *Session) WantNoCall(t testing.TB) {
	t.Helper()
	if s.calls.len() > 0 {
		t.Fatal("there is a call that was not wanted")
	}
}

// Done is closed when the session ended by itself.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is what Break was given.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close closes the session and ends its calls. While it is held it blocks, and its calls go on.
func (s *Session) Close(context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	for {
		held, changed := s.heldNow()
		if !held {
			break
		}
		<-changed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.gone)
	}
	return nil
}

// A Call is one call of a session, waiting for its reply.
type Call struct {
	Ctx   context.Context // as it was called with
	Arg   any             // likewise
	reply chan reply      // room for one
}

type reply struct {
	v   any
	err error
}

// Reply answers the call. It is told once; a reply to a call that was given up is dropped.
func (c *Call) Reply(v any, err error) { c.reply <- reply{v, err} }

// Call waits for the reply that the test gives, or for the end of ctx or of the session. While the session
// is stalled only the reply counts.
func (s *Session) Call(ctx context.Context, arg any) (any, error) {
	c := &Call{ctx, arg, make(chan reply, 1)}
	s.calls.put(c)
	for {
		end, done, gone := ctx.Done(), s.done, s.gone
		stalled, changed := s.stalledNow()
		if stalled {
			end, done, gone = nil, nil, nil
		}
		select {
		case r := <-c.reply:
			return r.v, r.err
		case <-end:
			return nil, ctx.Err()
		case <-done:
			return nil, s.Err()
		case <-gone:
			return nil, context.Canceled
		case <-changed:
		}
	}
}

// within waits for c to be closed.
func within(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// A queue hands things over in order, and never blocks who puts them in.
type queue[T any] struct {
	mu    sync.Mutex // guards the fields below
	items []T
	wake  chan struct{} // closed when there is something new; nil: nobody waits
}

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, v)
	if q.wake != nil {
		close(q.wake)
		q.wake = nil
	}
}

func (q *queue[T]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// next takes the first item, or gives a channel that is closed when there is one.
func (q *queue[T]) next() (v T, ok bool, wake <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > 0 {
		v = q.items[0]
		q.items = q.items[1:]
		return v, true, nil
	}
	if q.wake == nil {
		q.wake = make(chan struct{})
	}
	return v, false, q.wake
}

func (q *queue[T]) take(patience time.Duration) (v T, ok bool) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		v, ok, wake := q.next()
		if ok {
			return v, true
		}
		select {
		case <-wake:
		case <-deadline.C:
			return v, false
		}
	}
}
