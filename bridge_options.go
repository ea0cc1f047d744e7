package toolsource

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// BridgeOptions are a Bridge's numbers and what it tells. A field that is zero, and a negative one where
// nothing else is said, has the default.
type BridgeOptions struct {
	Name string // of the source, for errors and logs

	Connect    time.Duration                     // longest time for one dial; 30 s
	FirstTries []time.Duration                   // pauses between tries until the first session; 1, 2, 4 s; empty, not nil: one try
	Reconnects []time.Duration                   // likewise once there was one, where the try after a loss comes at once; 1, 2, 4, 8, 16 s
	Jitter     func(time.Duration) time.Duration // varies these pauses; nil: by up to a fifth either way
	Probe      time.Duration                     // pause between tries when parked, until Close; 300 s
	Proof      time.Duration                     // a session that lives so long has proven itself; 180 s
	MaxWait    time.Duration                     // longest time that a call waits in backoff for a try to begin; 5 s

	Silence     time.Duration // longest time of a call without progress; 60 s
	Ceiling     time.Duration // longest time of a call; 10 min
	Grace       time.Duration // time for a function whose context ended to return before it is given up; 1 s
	MaxInFlight int           // calls at once; 64

	// Only failures of the way to the server open the breaker, one for a call: there was no session for it, its
	// session was lost or cut, its request could not be sent (ErrNotReached and no other kind), or its error
	// is of the kinds unavailable and outcome_unknown. Any answer of the server closes it, an error too, and
	// so does a new session. Timeouts, cancels, refusals (needs_auth, forbidden, ...) and violations of the
	// protocol do neither, so that one slow tool never shuts the others out.
	BreakerThreshold int           // transport failures in a row that open the breaker; 3; negative: no breaker
	BreakerCooldown  time.Duration // how long it then refuses calls, before it lets one at a time try; 60 s

	Keepalive   time.Duration // pings a Pinger after so long without a call or ping; 0: never
	PingLimit   time.Duration // longest time for a ping; 30 s
	IdleStop    time.Duration // closes a session after so long without a call; 0: never
	MaxLifetime time.Duration // closes a session at this age, but never under a call; 0: never

	CloseBound time.Duration // longest time for Close; a session's Close gets four fifths of it; 5 s

	Clock  Clock        // nil: package time
	Logger *slog.Logger // nil: none
	// OnState is told each change of State and Proven, in order, never two at once, on a goroutine that is
	// not in the way of anything. If it is slow the oldest changes are left out. Close waits for it.
	OnState func(BridgeStatus)
}

// Clock is time as a Bridge sees it. Its methods do not block and do not call back into the Bridge.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) ClockTimer // f runs on a goroutine of its own
}

// ClockTimer is a timer of a Clock, as *time.Timer is.
type ClockTimer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// BridgeStatus is how a Bridge is.
type BridgeStatus struct {
	State     State         // idle, dialling, ready, backoff, parked, dormant or closed
	Proven    bool          // the session has shown that it works: by an answer, a ping or its age
	Since     time.Time     // of State
	Err       error         // why it is not ready, or its last failure; nil: none since the session proved itself
	Attempts  int           // dials since it was last ready
	NextTry   time.Time     // when it dials next; zero: not waiting for that
	Epoch     uint64        // sessions so far
	InFlight  int           // calls running on the session
	Queued    int           // calls waiting for a session or a place
	QueueTime time.Duration // waited for places by all calls so far
	Abandoned int           // functions of the host's (dial, call, close, ping, OnState) given up that still run
	OpenUntil time.Time     // the breaker refuses calls until then; zero: it is closed
}

// defaultPauses are shared by all Bridges, which only read them.
var defaultPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}

// complete gives a copy in which every default is filled in.
func (o *BridgeOptions) complete() BridgeOptions {
	var c BridgeOptions
	if o != nil {
		c = *o
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Connect, 30 * time.Second}, {&c.Probe, 300 * time.Second}, {&c.Proof, 180 * time.Second},
		{&c.MaxWait, 5 * time.Second}, {&c.Silence, 60 * time.Second}, {&c.Ceiling, 10 * time.Minute},
		{&c.Grace, time.Second}, {&c.BreakerCooldown, 60 * time.Second}, {&c.PingLimit, 30 * time.Second},
		{&c.CloseBound, 5 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.FirstTries == nil {
		c.FirstTries = defaultPauses[:3]
	}
	if c.Reconnects == nil {
		c.Reconnects = defaultPauses
	}
	if c.Jitter == nil {
		c.Jitter = func(d time.Duration) time.Duration {
			return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
		}
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 64
	}
	if c.BreakerThreshold == 0 {
		c.BreakerThreshold = 3
	}
	if c.Clock == nil {
		c.Clock = realClock{}
	}
	return c
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) ClockTimer { return time.AfterFunc(d, f) }

// alarm is a timer to select on.
type alarm struct {
	c chan struct{} // room for the one ring
	t ClockTimer
}

func newAlarm(c Clock, d time.Duration) *alarm {
	a := &alarm{c: make(chan struct{}, 1)}
	a.t = c.AfterFunc(max(d, 0), func() { a.c <- struct{}{} })
	return a
}

func (a *alarm) stop() { a.t.Stop() }

// withTimeout is context.WithTimeout by a Clock.
func withTimeout(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := c.(realClock); ok {
		return context.WithTimeout(ctx, d)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { t.Stop(); cancel(nil) }
}
