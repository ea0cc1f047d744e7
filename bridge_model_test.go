package toolsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The model: random schedules of calls, cancels, losses, stuck writes, bad dials, blocked closes and a Close,
// in virtual time. Whatever happens, the promises in bridgeWorld.check hold.

// planCall is one call of a schedule. All times are in milliseconds; the steps are coarse, so that events
// often fall on the same instant.
type planCall struct {
	at, take  int
	ignores   bool // the call function does not look at its context
	deadline  int  // of its caller; 0: none
	cancel    int  // after so long; 0: never
	limit     int  // 0: 60 s of silence
	replay    Replay
	failing   string // "", "tool", "not reached", "lost", "lost not reached", "gateway", "panic"
	failTimes int
	progress  int // reports every so often; 0: never
	nested    bool
}

type planDial struct {
	take    int
	fail    string // "", "error", "permanent"
	ignores bool
	dies    int // the session, after so long; 0: never
	closing int // how long its Close takes
	stuck   bool
}

type plan struct {
	calls    []planCall
	dials    []planDial
	places   int
	idle     int
	lifetime int
	close    int
}

func drawPlan(t *rapid.T) plan {
	steps := func(name string, values ...int) int { return rapid.SampledFrom(values).Draw(t, name) }
	call := rapid.Custom(func(t *rapid.T) planCall {
		c := planCall{
			at: steps("at", 0, 0, 500, 1000, 1500, 2000, 3000, 5000, 8000, 12000), take: steps("take", 0, 0, 100, 500, 1000, 2500),
			ignores:  rapid.IntRange(0, 4).Draw(t, "ignores") == 0,
			deadline: steps("deadline", 0, 1, 300, 500, 1000, 5000), cancel: steps("cancel", 0, 0, 0, 500, 1000),
			limit: steps("limit", 0, 0, 500, 2000), replay: Replay(rapid.IntRange(0, 2).Draw(t, "replay")),
			failing:   rapid.SampledFrom([]string{"", "", "", "tool", "not reached", "lost", "lost not reached", "gateway", "panic"}).Draw(t, "failing"),
			failTimes: rapid.IntRange(1, 3).Draw(t, "failTimes"), progress: steps("progress", 0, 0, 200),
			nested: rapid.IntRange(0, 5).Draw(t, "nested") == 0,
		}
		if c.ignores {
			c.take = steps("stuck", 1000, 2500, 20000)
		}
		return c
	})
	dial := rapid.Custom(func(t *rapid.T) planDial {
		return planDial{
			take: steps("take", 0, 0, 500, 3000, 4000), fail: rapid.SampledFrom([]string{"", "", "", "error", "permanent"}).Draw(t, "fail"),
			ignores: rapid.IntRange(0, 5).Draw(t, "ignores") == 0, dies: steps("dies", 0, 0, 0, 1, 500, 1000, 2000),
			closing: steps("closing", 0, 0, 500, 4500, 20000), stuck: rapid.Bool().Draw(t, "stuck"),
		}
	})
	return plan{
		calls:  rapid.SliceOfN(call, 1, 12).Draw(t, "calls"),
		dials:  rapid.SliceOfN(dial, 1, 6).Draw(t, "dials"),
		places: rapid.IntRange(1, 3).Draw(t, "places"), idle: steps("idle", 0, 0, 500, 1000),
		lifetime: steps("lifetime", 0, 0, 1000), close: steps("close", 0, 500, 1000, 2000, 6000, 15000),
	}
}

// bridgeWorld runs a plan and keeps what the checks need.
type bridgeWorld struct {
	p     plan
	b     *Bridge[*bridgeSession]
	start time.Time

	mu       sync.Mutex
	bad      []string
	dials    int
	sessions []*bridgeSession
	running  map[*bridgeSession]int
	stuck    int         // functions of ours that run
	effects  map[int]int // by call
	returned map[int]int
	isClosed bool
	state    State // as OnState told last
}

// bridgeSteps are the transitions that there are.
var bridgeSteps = map[State]string{
	StateIdle: "dialling closed", StateDialling: "ready backoff parked closed", StateReady: "ready dialling parked dormant closed",
	StateBackoff: "dialling closed", StateParked: "dialling closed", StateDormant: "dialling closed", StateClosed: "",
}

// told checks that each state follows from the one before. It comes on one goroutine at a time.
func (w *bridgeWorld) told(st BridgeStatus) {
	if !strings.Contains(bridgeSteps[w.state], string(st.State)) {
		w.fail("state %s after %s", st.State, w.state)
	}
	if w.state = st.State; st.State == StateReady && st.InFlight > w.p.places {
		w.fail("%+v", st)
	}
}

func (w *bridgeWorld) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = append(w.bad, fmt.Sprintf("at %v: ", time.Since(w.start))+fmt.Sprintf(format, args...))
}

// inside counts a function of the host's while it runs.
func (w *bridgeWorld) inside() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck++
	if w.isClosed {
		w.bad = append(w.bad, "a function was called after Close")
	}
	return func() { w.mu.Lock(); defer w.mu.Unlock(); w.stuck-- }
}

// spend waits, as long as ctx allows if it is looked at.
func spend(ctx context.Context, d int, ignores bool) error {
	if ignores {
		sleep(time.Duration(d) * ms)
		return nil
	}
	select {
	case <-time.After(time.Duration(d) * ms):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *bridgeWorld) dial(ctx context.Context) (*bridgeSession, error) {
	leave := w.inside()
	defer leave()
	w.mu.Lock()
	d := w.p.dials[w.dials%len(w.p.dials)]
	w.dials++
	w.mu.Unlock()
	if err := spend(ctx, d.take, d.ignores); err != nil {
		return nil, err
	}
	switch d.fail {
	case "error":
		return nil, errDown
	case "permanent":
		return nil, ErrPermanent
	}
	s := &bridgeSession{done: make(chan struct{})}
	s.onClose = func(ctx context.Context) error {
		w.mu.Lock() // not inside: a late session is closed after Close
		w.stuck++
		w.mu.Unlock()
		defer func() { w.mu.Lock(); w.stuck--; w.mu.Unlock() }()
		s.die(nil)
		return spend(ctx, d.closing, d.stuck)
	}
	if d.dies > 0 {
		time.AfterFunc(time.Duration(d.dies)*ms, func() { s.die(errDropped) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions = append(w.sessions, s)
	return s, nil
}

// rpc is the call function of call i.
func (w *bridgeWorld) rpc(i int, c planCall) bridgeFunc {
	tries := 0
	return func(ctx context.Context, s *bridgeSession) (int, error) {
		leave := w.inside()
		defer leave()
		w.mu.Lock()
		tries++
		failing := c.failing != "" && tries <= c.failTimes
		w.running[s]++
		if w.running[s] > w.p.places {
			w.bad = append(w.bad, fmt.Sprintf("%d calls on one session, %d places", w.running[s], w.p.places))
		}
		if !failing || c.failing != "not reached" && c.failing != "lost not reached" {
			w.effects[i]++
		}
		w.mu.Unlock()
		defer func() { w.mu.Lock(); w.running[s]--; w.mu.Unlock() }()
		if c.progress > 0 {
			for at := 0; at < c.take && !c.ignores; at += c.progress {
				if err := spend(ctx, c.progress, false); err != nil {
					return 0, err
				}
				ReportProgress(ctx, Progress{})
			}
		} else if err := spend(ctx, c.take, c.ignores); err != nil {
			return 0, err
		}
		if c.nested {
			if _, err := Do(ctx, w.b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, nil }); err != nil && KindOf(err) == "" {
				w.fail("nested call: %v", err)
			}
		}
		if !failing {
			return i, nil
		}
		if c.failing == "panic" {
			panic("call")
		}
		return 0, map[string]error{
			"tool": &ToolError{Tool: "x"}, "not reached": ErrNotReached, "lost": ErrSessionLost,
			"lost not reached": errors.Join(ErrSessionLost, ErrNotReached), "gateway": errGateway,
		}[c.failing]
	}
}

func (w *bridgeWorld) call(i int, c planCall) {
	sleep(time.Duration(c.at) * ms)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	until := 600 * sec
	bound := func(d int) {
		if d > 0 {
			until = min(until, time.Duration(d)*ms)
		}
	}
	if bound(c.cancel); c.cancel > 0 {
		t := time.AfterFunc(time.Duration(c.cancel)*ms, cancel)
		defer t.Stop()
	}
	if bound(c.deadline); c.deadline > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, time.Duration(c.deadline)*ms)
		defer done()
	}
	bound(c.limit)
	if c.progress == 0 {
		bound(60000)
	}
	begin := time.Now()
	reports := 0
	over := false
	var mu sync.Mutex
	ctx = WithProgress(ctx, func(Progress) {
		mu.Lock()
		defer mu.Unlock()
		if reports++; over {
			w.fail("call %d: progress after its return", i)
		}
	})
	v, err := Do(ctx, w.b, CallOptions{Tool: "x", Limit: time.Duration(c.limit) * ms, Replay: c.replay}, w.rpc(i, c))
	took := time.Since(begin)
	mu.Lock()
	over = true
	mu.Unlock()

	if took > until {
		w.fail("call %d returned after %v, due by %v: %v", i, took, until, err)
	}
	w.mu.Lock()
	effects := w.effects[i]
	w.returned[i]++
	w.mu.Unlock()
	most := 1
	if c.replay == ReplayAlways {
		most = 2
	}
	var ce *CallError
	switch {
	case effects > most:
		w.fail("call %d ran %d times, replay %d", i, effects, c.replay)
	case err == nil && (v != i || effects == 0):
		w.fail("call %d was answered %d after %d runs", i, v, effects)
	case errors.As(err, &ce) && !ce.MayHaveRun && effects > 0:
		w.fail("call %d ran, but: %v", i, err)
	case ce != nil && (ce.Source != "src" || ce.Tool != "x" || ce.Phase == "" || ce.Kind == ""):
		w.fail("call %d: %#v", i, ce)
	case ce != nil && ce.Kind == KindCancelled && (c.cancel == 0 || took != time.Duration(c.cancel)*ms):
		w.fail("call %d: %v after %v, cancelled after %d ms", i, err, took, c.cancel)
	}
}

// run plays the plan to the end of everything in it.
func (w *bridgeWorld) run() {
	var calls sync.WaitGroup
	for i, c := range w.p.calls {
		calls.Go(func() { w.call(i, c) })
	}
	sleep(time.Duration(w.p.close) * ms)
	begin := time.Now()
	err := w.b.Close()
	took := time.Since(begin)
	synctest.Wait()
	w.mu.Lock()
	w.isClosed = true
	left := w.stuck
	w.mu.Unlock()
	if took > 5*sec {
		w.fail("Close took %v", took)
	}
	if st := w.b.Status(); st.Abandoned != left || st.State != StateClosed || st.InFlight != 0 || st.Queued != 0 {
		w.fail("%d functions left, %+v", left, st)
	}
	if left > 0 && err == nil {
		w.fail("%d functions left, and Close said nothing", left)
	}
	calls.Wait()
	sleep(60 * sec)
	if st := w.b.Status(); st.Abandoned != 0 {
		w.fail("in the end: %+v", st)
	}
	for i := range w.p.calls {
		if w.returned[i] != 1 {
			w.fail("call %d returned %d times", i, w.returned[i])
		}
	}
	for i, s := range w.sessions {
		if s.closed() != 1 {
			w.fail("session %d of %d closed %d times", i, len(w.sessions), s.closed())
		}
	}
}

func TestBridgeModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &bridgeWorld{p: drawPlan(rt), running: map[*bridgeSession]int{}, effects: map[int]int{}, returned: map[int]int{}, state: StateIdle}
		synctest.Test(t, func(*testing.T) {
			w.start = time.Now()
			w.b = NewBridge(w.dial, &BridgeOptions{Name: "src", Jitter: noJitter, Connect: 2 * sec, MaxInFlight: w.p.places,
				OnState: w.told, IdleStop: time.Duration(w.p.idle) * ms, MaxLifetime: time.Duration(w.p.lifetime) * ms})
			w.run()
		})
		if len(w.bad) > 0 {
			rt.Fatalf("%v\nplan %+v", w.bad, w.p)
		}
	})
}
