package toolsource

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bridgeSession is a session that does what its test says.
type bridgeSession struct {
	n       int // of the dial that made it, from 1
	done    chan struct{}
	err     error
	dieOnce sync.Once
	onClose func(context.Context) error // nil: returns nil at once

	mu     sync.Mutex
	closes int
}

func (s *bridgeSession) Done() <-chan struct{} { return s.done }
func (s *bridgeSession) Err() error            { return s.err }

func (s *bridgeSession) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closes++
	s.mu.Unlock()
	if s.onClose != nil {
		return s.onClose(ctx)
	}
	return nil
}

func (s *bridgeSession) closed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closes
}

// die ends the session by itself.
func (s *bridgeSession) die(err error) {
	s.dieOnce.Do(func() { s.err = err; close(s.done) })
}

// bridgeDial is what one dial does: it returns nil to bring s.
type bridgeDial func(ctx context.Context, s *bridgeSession) error

func dialOK(context.Context, *bridgeSession) error { return nil }

func dialErr(err error) bridgeDial {
	return func(context.Context, *bridgeSession) error { return err }
}

// dialDrop brings a session that is lost at once.
func dialDrop(_ context.Context, s *bridgeSession) error {
	s.die(errDropped)
	return nil
}

var (
	errDown    = errors.New("connection refused")
	errDropped = errors.New("dropped")
)

// bridgeScript is a dialer with one bridgeDial per dial; the last goes on for ever.
type bridgeScript struct {
	start time.Time

	mu       sync.Mutex
	steps    []bridgeDial
	times    []time.Duration // of the dials, since start
	sessions []*bridgeSession
}

func newScript(steps ...bridgeDial) *bridgeScript {
	if len(steps) == 0 {
		steps = []bridgeDial{dialOK}
	}
	return &bridgeScript{start: time.Now(), steps: steps}
}

func (d *bridgeScript) dial(ctx context.Context) (*bridgeSession, error) {
	d.mu.Lock()
	n := len(d.times)
	d.times = append(d.times, time.Since(d.start))
	step := d.steps[min(n, len(d.steps)-1)]
	s := &bridgeSession{n: n + 1, done: make(chan struct{})}
	d.sessions = append(d.sessions, s)
	d.mu.Unlock()
	if err := step(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// set replaces what the dials do from now on.
func (d *bridgeScript) set(step bridgeDial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = []bridgeDial{step}
}

func (d *bridgeScript) session(i int) *bridgeSession {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[i]
}

func (d *bridgeScript) dials() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.times)
}

// wantDials checks when the dials came, in seconds since the start.
func (d *bridgeScript) wantDials(t *testing.T, want ...float64) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var got []float64
	for _, at := range d.times {
		got = append(got, at.Seconds())
	}
	if !slices.Equal(got, want) {
		t.Errorf("dials at %v s, want %v", got, want)
	}
}

func noJitter(d time.Duration) time.Duration { return d }

// inBubble runs f in virtual time with a Bridge over script, which is closed at the end if f did not.
func inBubble(t *testing.T, o BridgeOptions, f func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript), steps ...bridgeDial) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newScript(steps...)
		if o.Name == "" {
			o.Name = "src"
		}
		if o.Jitter == nil {
			o.Jitter = noJitter
		}
		b := NewBridge(d.dial, &o)
		defer b.Close()
		f(t, b, d)
	})
}

type bridgeFunc = func(context.Context, *bridgeSession) (int, error)

// sessionNumber is a call that answers with the number of its session.
func sessionNumber(_ context.Context, s *bridgeSession) (int, error) { return s.n, nil }

// mute is a call whose server never answers: it ends with its context.
func mute(ctx context.Context, _ *bridgeSession) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// lasting is a call that takes so long, unless its context ends.
func lasting(d time.Duration) bridgeFunc {
	return func(ctx context.Context, s *bridgeSession) (int, error) {
		select {
		case <-time.After(d):
			return s.n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// stuck is a call whose write ignores its context until release is closed.
func stuck(release <-chan struct{}) bridgeFunc {
	return func(context.Context, *bridgeSession) (int, error) {
		<-release
		return 0, errors.New("write: broken pipe")
	}
}

// bridgeOutcome is how a call ended.
type bridgeOutcome struct {
	value int
	err   error
	after time.Duration
}

// async makes a call on a goroutine of its own.
func async(ctx context.Context, b *Bridge[*bridgeSession], o CallOptions, f bridgeFunc) <-chan bridgeOutcome {
	c := make(chan bridgeOutcome, 1)
	start := time.Now()
	go func() {
		v, err := Do(ctx, b, o, f)
		c <- bridgeOutcome{v, err, time.Since(start)}
	}()
	return c
}

// timed makes a call and measures it.
func timed(ctx context.Context, b *Bridge[*bridgeSession], o CallOptions, f bridgeFunc) bridgeOutcome {
	return <-async(ctx, b, o, f)
}

// wantOK checks that a call was answered by session n, after so long.
func (o bridgeOutcome) wantOK(t *testing.T, n int, after time.Duration) {
	t.Helper()
	if o.err != nil || o.value != n || o.after != after {
		t.Errorf("answer %d, %v after %v; want of session %d after %v", o.value, o.err, o.after, n, after)
	}
}

// wantErr checks a call's *CallError.
func (o bridgeOutcome) wantErr(t *testing.T, kind Kind, mayHaveRun bool, after time.Duration) *CallError {
	t.Helper()
	var ce *CallError
	if !errors.As(o.err, &ce) {
		t.Fatalf("error %#v after %v, want a *CallError of kind %s", o.err, o.after, kind)
	}
	if ce.Kind != kind || ce.MayHaveRun != mayHaveRun || o.after != after {
		t.Errorf("%v: kind %s, may have run %t, after %v; want %s, %t, %v", ce, ce.Kind, ce.MayHaveRun, o.after, kind, mayHaveRun, after)
	}
	if s := kind.sentinel(); s != nil && !errors.Is(o.err, s) {
		t.Errorf("%v does not match its sentinel", o.err)
	}
	if ce.Source != "src" {
		t.Errorf("source %q in %v", ce.Source, ce)
	}
	return ce
}

func wantState(t *testing.T, b *Bridge[*bridgeSession], want State) BridgeStatus {
	t.Helper()
	synctest.Wait()
	st := b.Status()
	if st.State != want {
		t.Errorf("state %s (%v), want %s", st.State, st.Err, want)
	}
	return st
}

func sleep(d time.Duration) { time.Sleep(d) }

func ctxTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func mustDo(t *testing.T, b *Bridge[*bridgeSession]) int {
	t.Helper()
	n, err := Do(t.Context(), b, CallOptions{Tool: "x"}, sessionNumber)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
