package toolsource

import (
	"context"
	"time"
)

// Session is what a Bridge owns: a live connection to something that runs calls. It is safe for concurrent
// use. Done and Err do not block.
type Session interface {
	Done() <-chan struct{} // closed when the session ended by itself; nil: it never does
	Err() error            // why it ended
	// Close ends the session. It should return soon after ctx ends, and cut what it then cannot end well;
	// one that does not is abandoned.
	Close(ctx context.Context) error
}

// Pinger is a Session that can be asked whether its peer is alive, see BridgeOptions.Keepalive. An answer
// that refuses is an answer: only what shows that the session is unusable is an error.
type Pinger interface {
	Session
	Ping(ctx context.Context) error
}

// Bridge owns a session to one server and outlives it: it dials when first needed, dials again when the
// session is lost, gives up for a while when that does not help, and closes within a bound.
//
// Sessions are safe for concurrent use by themselves. The Bridge exists because a session dies, because a
// write to a stalled peer ignores its context, and because closing waits for calls. So each call runs on a
// goroutine of its own, and its caller waits for the reply, its own context, its limits and the end of the
// session, whichever comes first; and one goroutine per session owns its life: wait, dial, serve, close.
//
// All methods may be called at once from several goroutines. Nothing runs before the first call or Start,
// and nothing after Close.
type Bridge[S Session] struct {
	b *bridge
}

// NewBridge makes a Bridge; nothing is dialled yet. The context that dial gets is the Bridge's own and ends
// after BridgeOptions.Connect or at Close; the session may outlive that context. A dial that fails returns
// no session. Errors that match ErrPermanent, ErrNeedsAuth or ErrForbidden are not tried again at once.
// The options are copied; nil means defaults.
func NewBridge[S Session](dial func(context.Context) (S, error), o *BridgeOptions) *Bridge[S] {
	return &Bridge[S]{newBridge(func(ctx context.Context) (Session, error) {
		s, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return s, nil
	}, o)}
}

// Start has the Bridge dial, if it does not already, and waits until it is ready or has given up for now,
// at most until ctx ends; the Bridge goes on by itself in any case. A parked one tries again at once.
func (b *Bridge[S]) Start(ctx context.Context) error { return b.b.start(ctx) }

// Reconnect ends the wait for the next try of a Bridge in backoff or parked. In other states it does nothing.
func (b *Bridge[S]) Reconnect() { b.b.reconnect() }

// Status tells how the Bridge is. It does not block.
func (b *Bridge[S]) Status() BridgeStatus { return b.b.status() }

// Close is also how a host switches a server off: a Bridge that is parked tries again until it is closed, and
// never after. It ends the calls in flight with ErrClosed, and the session, and waits for both at most CloseBound.
// What does not end by then is left to itself, counted in Status as Abandoned, and makes an error; this is
// also what becomes of a function that calls Close itself. Further calls wait for the same end and return
// the same.
func (b *Bridge[S]) Close() error { return b.b.close() }

// Replay says which failed calls Do may send once more, on a fresh session if the old one died.
type Replay uint8

// What may be sent again. Never is the zero value.
const (
	ReplayNever     Replay = iota
	ReplayUntilSent        // only what certainly did not reach the tool: errors that match ErrNotReached
	ReplayAlways           // also a call that was lost with its session, so it may run twice
)

// CallOptions say how Do treats one call. Limits set by WithLimits go before these, which go before those
// of the Bridge.
type CallOptions struct {
	Tool    string        // for errors
	Limit   time.Duration // longest time for all of it, waiting included; 0: BridgeOptions.Ceiling
	Silence time.Duration // longest time without progress; 0: BridgeOptions.Silence
	Replay  Replay
}

// Do runs call with the Bridge's session, and dials first if there is none. It returns by the earliest of
// ctx's end and the limits, whatever call does: call then has its context ended and goes on alone, and its
// result is dropped. One that has not returned BridgeOptions.Grace later is taken for stuck in a write, and
// the session is cut.
//
// The context that call gets ends with ctx, a limit or the session. ReportProgress with it renews the
// silence limit and reaches the caller's own WithProgress function. Calls made with it on the same Bridge
// do not wait for a place that it holds itself, but fail with ErrReentrant.
//
// An error that call returned while session and context were alive is returned as it is. Others are
// *CallError: MayHaveRun is true once call was started, unless its error matches ErrNotReached. A panic in
// call is an error that matches ErrPanic.
func Do[S Session, R any](ctx context.Context, b *Bridge[S], o CallOptions, call func(context.Context, S) (R, error)) (R, error) {
	c := newDoing(ctx, b.b, o)
	for {
		a, err := c.begin()
		if err != nil {
			c.over()
			var zero R
			return zero, err
		}
		reply := make(chan answer[R], 1) // room for the one answer, so that it can come after its caller left
		b.b.crew.run(func() { run(a, reply, call) })
		got, replied := await(a, reply)
		err, again := c.end(a, got.err, replied)
		if !again {
			c.over()
			return got.value, err
		}
	}
}

// answer is what a call function returned.
type answer[R any] struct {
	value R
	err   error
}

// run is the goroutine of one call. Its defer also sees a panic, and a call function that ended its goroutine.
func run[S Session, R any](a *attempt, reply chan<- answer[R], call func(context.Context, S) (R, error)) {
	got := answer[R]{err: errNoReturn}
	defer func() {
		if v := recover(); v != nil {
			got.err = panicked(v)
		}
		a.finish(got.err)
		reply <- got
		a.c.b.jobDone()
	}()
	got.value, got.err = call(a, a.ep.session.(S))
}

// await waits for the answer, the end of the call's context, or the end of the session. An answer that is
// there goes before either end.
func await[R any](a *attempt, reply <-chan answer[R]) (got answer[R], replied bool) {
	select {
	case got = <-reply:
		return got, true
	case <-a.Done():
	case <-a.ep.gone:
		if t := a.settling(); t != nil {
			defer t.stop()
			select {
			case got = <-reply:
				return got, true
			case <-a.Done():
			case <-t.c:
			}
		}
	}
	select {
	case got = <-reply:
		return got, true
	default:
		return got, false
	}
}
