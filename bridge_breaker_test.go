package toolsource

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bridgeRPC is a call function that counts its runs and fails while down is set.
type bridgeRPC struct {
	runs atomic.Int32
	down atomic.Bool
	err  error
	take time.Duration
}

func (r *bridgeRPC) call(_ context.Context, s *bridgeSession) (int, error) {
	r.runs.Add(1)
	sleep(r.take)
	if r.down.Load() {
		return 0, r.err
	}
	return s.n, nil
}

// errUnsent is a transport failure before anything was sent, as over HTTP when nobody listens.
var errUnsent = errors.Join(errDown, ErrNotReached)

var errRefused401 = errors.Join(errors.New("401"), ErrNeedsAuth, ErrNotReached)

// errGateway is a transport failure that the session survives, as over HTTP.
var errGateway = errors.Join(errors.New("502 bad gateway"), ErrUnavailable)

func openBreaker(t *testing.T, b *Bridge[*bridgeSession]) *bridgeRPC {
	t.Helper()
	r := &bridgeRPC{err: errGateway}
	r.down.Store(true)
	for range 3 {
		if _, err := Do(t.Context(), b, CallOptions{}, r.call); err != errGateway {
			t.Fatal(err)
		}
	}
	return r
}

func TestBridgeBreaker(t *testing.T) {
	t.Run("B-01 open before the cool-down: no call", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			sleep(20 * sec)
			e := timed(t.Context(), b, CallOptions{}, r.call).wantErr(t, KindUnavailable, false, 0)
			if !strings.Contains(e.Error(), "unreachable after 3 transport failures") || e.RetryAfter != 40*sec || r.runs.Load() != 3 {
				t.Errorf("%#v, %d runs", e, r.runs.Load())
			}
			if st := b.Status(); time.Until(st.OpenUntil) != 40*sec {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("B-02 after it a success closes", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			sleep(61 * sec)
			r.down.Store(false)
			for range 2 {
				timed(t.Context(), b, CallOptions{}, r.call).wantOK(t, 1, 0)
			}
			if st := b.Status(); r.runs.Load() != 5 || !st.OpenUntil.IsZero() || b.b.breaker.strikes != 0 {
				t.Errorf("%d runs, %+v", r.runs.Load(), st)
			}
		})
	})
	t.Run("B-03 after it a failure opens again for as long", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			sleep(60 * sec)
			_, _ = Do(t.Context(), b, CallOptions{}, r.call)
			e := timed(t.Context(), b, CallOptions{}, r.call).wantErr(t, KindUnavailable, false, 0)
			if r.runs.Load() != 4 || e.RetryAfter != 60*sec {
				t.Errorf("%d runs, %#v", r.runs.Load(), e)
			}
		})
	})
	t.Run("B-08 one probe at a time, and one that says nothing makes room for the next", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			sleep(60 * sec)
			probe := async(ctxTimeout(t, 2*sec), b, CallOptions{}, mute)
			synctest.Wait()
			timed(t.Context(), b, CallOptions{}, r.call).wantErr(t, KindUnavailable, false, 0)
			(<-probe).wantErr(t, KindTimeout, true, 2*sec)
			r.down.Store(false)
			timed(t.Context(), b, CallOptions{}, r.call).wantOK(t, 1, 0)
		})
	})
	t.Run("so does one that was refused, and one that gave up waiting", func(t *testing.T) {
		inBubble(t, BridgeOptions{IdleStop: 100 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			sleep(60 * sec)
			r.err = errRefused401
			_, _ = Do(t.Context(), b, CallOptions{}, r.call)
			_, _ = Do(t.Context(), b, CallOptions{}, r.call)
			if r.runs.Load() != 5 {
				t.Errorf("%d runs", r.runs.Load())
			}
			sleep(100 * sec)
			wantState(t, b, StateDormant)
			d.set(func(context.Context, *bridgeSession) error { sleep(2 * sec); return nil })
			timed(ctxTimeout(t, sec), b, CallOptions{}, sessionNumber).wantErr(t, KindTimeout, false, sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, sec)
		})
	})
	t.Run("a late failure while open does not put the probe off", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			late := &bridgeRPC{err: errGateway, take: 30 * sec}
			late.down.Store(true)
			c := async(t.Context(), b, CallOptions{}, late.call)
			synctest.Wait()
			r := openBreaker(t, b)
			<-c
			sleep(30 * sec)
			r.down.Store(false)
			timed(t.Context(), b, CallOptions{}, r.call).wantOK(t, 1, 0)
		})
	})
	t.Run("B-05 a new session closes it", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			openBreaker(t, b)
			d.session(0).die(errDropped)
			wantState(t, b, StateReady)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
		})
	})
	t.Run("what is no transport failure does not count; B-07 an answer in between starts anew", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			for range 5 {
				timed(ctxTimeout(t, 100*ms), b, CallOptions{}, mute).wantErr(t, KindTimeout, true, 100*ms)
				_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, errRefused401 })
				_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { panic("x") })
			}
			for _, err := range []error{errGateway, errGateway, errors.New("bad output schema"), errGateway, errGateway} {
				_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, err })
			}
			if st := b.Status(); !st.OpenUntil.IsZero() || st.Epoch != 1 {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("dials that fail their callers count, and so does the probe's", func(t *testing.T) {
		inBubble(t, BridgeOptions{FirstTries: []time.Duration{}, Probe: 30 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			slow := func(context.Context, *bridgeSession) error { sleep(sec); return errDown }
			d.set(slow)
			for range 3 { // each while its dial is under way
				b.Reconnect()
				synctest.Wait()
				timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, sec)
			}
			if st := b.Status(); time.Until(st.OpenUntil) != 60*sec {
				t.Errorf("%+v", st)
			}
			// Parked as well, and the probe of the parked one closes both.
			d.set(dialOK)
			sleep(31 * sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 4, 0)
		})
	})
	t.Run("stuck writes count", func(t *testing.T) {
		inBubble(t, BridgeOptions{BreakerThreshold: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			d.set(func(ctx context.Context, s *bridgeSession) error {
				if s.n > 1 {
					sleep(10 * sec)
				}
				return nil
			})
			release := make(chan struct{})
			timed(ctxTimeout(t, sec), b, CallOptions{}, stuck(release)).wantErr(t, KindTimeout, true, sec)
			sleep(2 * sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 0)
			sleep(10 * sec) // connected again
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
			close(release)
		})
	})
	t.Run("a replay belongs to a call that was let in", func(t *testing.T) {
		inBubble(t, BridgeOptions{BreakerThreshold: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			d.set(func(context.Context, *bridgeSession) error { sleep(sec); return nil })
			timed(t.Context(), b, CallOptions{Replay: ReplayAlways}, func(_ context.Context, s *bridgeSession) (int, error) {
				if s.n == 1 {
					s.die(errDropped)
					return 0, ErrSessionLost
				}
				return s.n, nil
			}).wantOK(t, 2, 2*sec)
		})
	})
	t.Run("switched off", func(t *testing.T) {
		inBubble(t, BridgeOptions{BreakerThreshold: -1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := openBreaker(t, b)
			_, _ = Do(t.Context(), b, CallOptions{}, r.call)
			if r.runs.Load() != 4 {
				t.Errorf("%d runs", r.runs.Load())
			}
		})
	})
}

// A server that nobody can connect to is as unreachable as one whose gateway says so.
func TestBridgeBreakerUnsent(t *testing.T) {
	for _, replay := range []Replay{ReplayNever, ReplayUntilSent, ReplayAlways} {
		t.Run("a strike for a call, however often it was tried", func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				r := &bridgeRPC{err: errUnsent, take: sec}
				r.down.Store(true)
				o := CallOptions{Replay: replay}
				tries := int32(min(replay, 1)) + 1
				for i := range int32(3) {
					if st := b.Status(); !st.OpenUntil.IsZero() {
						t.Fatalf("open after %d calls", i)
					}
					if _, err := Do(t.Context(), b, o, r.call); err != errUnsent {
						t.Fatal(err)
					}
				}
				timed(t.Context(), b, o, r.call).wantErr(t, KindUnavailable, false, 0)
				if n := r.runs.Load(); n != 3*tries {
					t.Errorf("%d runs", n)
				}
				// Half open the call stays the only one through all its tries, and opens it again.
				sleep(60 * sec)
				probe := async(t.Context(), b, o, r.call)
				for range tries {
					synctest.Wait()
					timed(t.Context(), b, o, r.call).wantErr(t, KindUnavailable, false, 0)
					sleep(sec)
				}
				if p := <-probe; p.err != errUnsent {
					t.Error(p.err)
				}
				e := timed(t.Context(), b, o, r.call).wantErr(t, KindUnavailable, false, 0)
				if n := r.runs.Load(); n != 4*tries || e.RetryAfter != 60*sec {
					t.Errorf("%d runs, try again in %v", n, e.RetryAfter)
				}
				// The next one finds the way open at its last try.
				sleep(60 * sec)
				fails := tries - 1
				timed(t.Context(), b, o, func(_ context.Context, s *bridgeSession) (int, error) {
					if fails--; fails >= 0 {
						return 0, errUnsent
					}
					return s.n, nil
				}).wantOK(t, 1, 0)
				if st := b.Status(); !st.OpenUntil.IsZero() || b.b.breaker != (breaker{}) {
					t.Errorf("%+v", b.b.breaker)
				}
			})
		})
	}
	t.Run("one that its caller gave up before it was sent does not count, whatever the reason", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			for range 5 {
				ctx, cancel := context.WithCancelCause(t.Context())
				_, _ = Do(ctx, b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
					cancel(errors.New("no longer wanted"))
					<-ctx.Done()
					return 0, errors.Join(context.Cause(ctx), ErrNotReached)
				})
				synctest.Wait()
			}
			if b.b.breaker != (breaker{}) {
				t.Errorf("%+v", b.b.breaker)
			}
		})
	})
	t.Run("a probe that is refused before it has a session makes room", func(t *testing.T) {
		inBubble(t, BridgeOptions{IdleStop: 100 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			openBreaker(t, b)
			sleep(100 * sec)
			wantState(t, b, StateDormant)
			d.set(dialErr(errDown)) // it waits in backoff, so that nothing closes the breaker
			timed(ctxTimeout(t, sec/2), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 0)
			if b.b.breaker.probe != nil {
				t.Error("the place of the probe is taken for ever")
			}
		})
	})
}

// answeredError is an answer of the peer, whatever its kind.
type answeredError struct{ error }

func (answeredError) Answered() bool  { return true }
func (e answeredError) Unwrap() error { return e.error }

func TestBridgeAnswersDoNotStrike(t *testing.T) {
	for _, tt := range []struct {
		err  error
		open bool
		why  string
	}{
		{errGateway, true, "the way failed"},
		{&CallError{Kind: KindOutcomeUnknown, Err: errGateway}, true, "and what came of it is not known"},
		{answeredError{errGateway}, false, "the peer answered"},
		{&CallError{Kind: KindOutcomeUnknown, MayHaveRun: true, Err: answeredError{errors.New("500")}}, false, "and what came of it is not known"},
	} {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			r := &bridgeRPC{err: tt.err}
			r.down.Store(true)
			for range 5 {
				_, _ = Do(t.Context(), b, CallOptions{}, r.call)
			}
			if open := r.runs.Load() == 3; open != tt.open {
				t.Errorf("%s: %d of 5 calls ran", tt.why, r.runs.Load())
			}
		})
	}
}
