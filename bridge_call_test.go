package toolsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

func TestBridgeCallEnds(t *testing.T) {

	tests := []struct {
		name   string
		ctx    func(t *testing.T) context.Context
		o      CallOptions
		call   bridgeFunc
		kind   Kind
		after  time.Duration
		phrase string // in the error
	}{
		{"X-16 its limit", nil, CallOptions{Limit: 100 * ms}, mute, KindTimeout, 100 * ms, "no answer after 100ms (configured timeout: 100ms)"},
		{"its limit for silence", nil, CallOptions{Silence: 2 * sec}, mute, KindTimeout, 2 * sec, "without progress: 2s"},
		{"the Bridge's limit for silence", nil, CallOptions{}, mute, KindTimeout, 60 * sec, "without progress: 1m0s"},
		{"the caller's own limits go first", func(t *testing.T) context.Context {
			return WithLimits(t.Context(), Limits{Silence: 3 * sec})
		}, CallOptions{Silence: 2 * sec, Limit: 5 * sec}, mute, KindTimeout, 3 * sec, "without progress: 3s"},
		{"field by field", func(t *testing.T) context.Context {
			return WithLimits(t.Context(), Limits{Silence: 30 * sec})
		}, CallOptions{Silence: 2 * sec, Limit: 5 * sec}, mute, KindTimeout, 5 * sec, "configured timeout: 5s"},
		{"the caller's deadline", func(t *testing.T) context.Context { return ctxTimeout(t, 300*ms) }, CallOptions{}, mute,
			KindTimeout, 300 * ms, "timed out after 300ms, at the caller's deadline"},
		{"the caller's cancel, with its cause", func(t *testing.T) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(300*ms, func() { cancel(errors.New("user sent a new message")) })
			return ctx
		}, CallOptions{}, mute, KindCancelled, 300 * ms, "cancelled: user sent a new message, after 300ms"},
		{"a call that ignores all of it", func(t *testing.T) context.Context { return ctxTimeout(t, 300*ms) }, CallOptions{}, nil,
			KindTimeout, 300 * ms, "after 300ms"},
		{"the same by limit", nil, CallOptions{Limit: 300 * ms}, nil, KindTimeout, 300 * ms, "after 300ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				ctx, call, release := t.Context(), tt.call, make(chan struct{})
				if tt.ctx != nil {
					ctx = tt.ctx(t)
				}
				if call == nil {
					call = stuck(release)
				}
				defer func() { close(release); synctest.Wait() }()
				e := timed(ctx, b, tt.o, call).wantErr(t, tt.kind, true, tt.after)
				if e.Phase != "call" || !strings.Contains(e.Error(), tt.phrase) {
					t.Errorf("%v, want phase call and %q", e, tt.phrase)
				}
			})
		})
	}
	t.Run("a context that is over already reaches nothing", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			timed(ctx, b, CallOptions{}, sessionNumber).wantErr(t, KindCancelled, false, 0)
			wantState(t, b, StateIdle)
		})
	})
}

// A server that never answers costs only that call; one that cannot be written to costs its session.
func TestBridgeMuteAndStuck(t *testing.T) {
	t.Run("X-15 mute", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			told := make(chan time.Duration, 1)
			start := time.Now()
			other := async(t.Context(), b, CallOptions{}, lasting(20*sec))
			timed(ctxTimeout(t, sec), b, CallOptions{}, func(ctx context.Context, s *bridgeSession) (int, error) {
				<-ctx.Done()
				told <- time.Since(start)
				return 0, ctx.Err()
			}).wantErr(t, KindTimeout, true, sec)
			if at := <-told; at != sec {
				t.Errorf("told after %v", at)
			}
			sleep(10 * sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
			(<-other).wantOK(t, 1, 20*sec)
		})
	})
	t.Run("within the grace", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			timed(ctxTimeout(t, sec), b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
				<-ctx.Done()
				sleep(sec - 1)
				return 0, ctx.Err()
			}).wantErr(t, KindTimeout, true, sec)
			sleep(10 * sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
		})
	})
	t.Run("stuck", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			release := make(chan struct{})
			other := async(t.Context(), b, CallOptions{}, lasting(20*sec))
			timed(ctxTimeout(t, sec), b, CallOptions{Tool: "big"}, stuck(release)).wantErr(t, KindTimeout, true, sec)
			e := (<-other).wantErr(t, KindSessionLost, true, 2*sec+settle) // deadline and grace
			if !strings.Contains(e.Error(), "a call of big did not return 1s after its end") {
				t.Error(e)
			}
			if st := wantState(t, b, StateReady); st.Epoch != 2 || st.Abandoned != 1 || d.session(0).closed() != 1 {
				t.Errorf("%+v, closed %d times", st, d.session(0).closed())
			}
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
			close(release)
			if st := wantState(t, b, StateReady); st.Abandoned != 0 {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("a stuck call of an old session does not cut the new one", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			release := make(chan struct{})
			c := async(ctxTimeout(t, sec), b, CallOptions{}, stuck(release))
			sleep(1500 * ms)
			d.session(0).die(errDropped)
			(<-c).wantErr(t, KindTimeout, true, sec)
			sleep(5 * sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
			close(release)
		})
	})
}

func TestBridgeSessionLost(t *testing.T) {
	writes := func(runs *atomic.Int32, call bridgeFunc) bridgeFunc {
		return func(ctx context.Context, s *bridgeSession) (int, error) { runs.Add(1); return call(ctx, s) }
	}
	diesMid := func(err error) bridgeFunc {
		return func(ctx context.Context, s *bridgeSession) (int, error) {
			if s.n > 1 {
				return s.n, nil
			}
			sleep(sec)
			s.die(errDropped)
			if err != nil {
				return 0, err
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}
	}
	tests := []struct {
		name   string
		replay Replay
		call   bridgeFunc
		kind   Kind // "": answered by session 2
		ran    bool
		runs   int32
		after  time.Duration
	}{
		{"X-13 in flight, a write: not sent again, told at once", ReplayUntilSent, diesMid(nil), KindSessionLost, true, 1, sec + settle},
		{"with the session's own error", ReplayUntilSent, diesMid(errDropped), KindSessionLost, true, 1, sec},
		{"with ErrSessionLost", ReplayNever, diesMid(ErrSessionLost), KindSessionLost, true, 1, sec},
		{"with a context error of the session's own, which is not the caller's", ReplayNever, diesMid(context.Canceled), KindSessionLost, true, 1, sec},
		{"a read goes once more", ReplayAlways, diesMid(nil), "", false, 2, sec + settle},
		{"not reached: a write goes once more", ReplayUntilSent, diesMid(errors.Join(ErrSessionLost, ErrNotReached)), "", false, 2, sec},
		{"not reached, but never is never", ReplayNever, diesMid(errors.Join(ErrSessionLost, ErrNotReached)), KindSessionLost, false, 1, sec},
		{"lost each time: once more, no oftener", ReplayAlways, func(ctx context.Context, s *bridgeSession) (int, error) {
			sleep(sec)
			s.die(errDropped)
			return 0, ErrSessionLost
		}, KindSessionLost, true, 2, 2 * sec},
		{"lost once it may have run, then not reached: it may have run", ReplayAlways, func(ctx context.Context, s *bridgeSession) (int, error) {
			sleep(sec)
			s.die(errDropped)
			if s.n == 1 {
				return 0, ErrSessionLost
			}
			return 0, errors.Join(ErrSessionLost, ErrNotReached)
		}, KindSessionLost, true, 2, 2 * sec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				var runs atomic.Int32
				o := timed(t.Context(), b, CallOptions{Replay: tt.replay}, writes(&runs, tt.call))
				if runs.Load() != tt.runs {
					t.Errorf("ran %d times, want %d", runs.Load(), tt.runs)
				}
				if tt.kind == "" {
					o.wantOK(t, 2, tt.after)
					return
				}
				e := o.wantErr(t, tt.kind, tt.ran, tt.after)
				if errors.Is(e, context.Canceled) || e.Phase != "call" || tt.ran && e.Remedy == "" {
					t.Errorf("%#v", e)
				}
			})
		})
	}
	t.Run("X-02 the replay waits for the session, within the same deadline", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			e := timed(ctxTimeout(t, 3*sec), b, CallOptions{Replay: ReplayAlways}, diesMid(ErrSessionLost)).wantErr(t, KindTimeout, true, 3*sec)
			if e.Phase != "wait" {
				t.Errorf("%#v", e)
			}
		}, dialOK, func(ctx context.Context, _ *bridgeSession) error { <-ctx.Done(); return ctx.Err() })
	})
	t.Run("a replay that finds no session says that the call may have run", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			timed(t.Context(), b, CallOptions{Replay: ReplayAlways}, diesMid(ErrSessionLost)).wantErr(t, KindUnavailable, true, sec)
		}, dialOK, dialErr(ErrPermanent))
	})
	t.Run("X-03 the call learns it first, and the session says nothing", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			other := async(t.Context(), b, CallOptions{}, mute)
			synctest.Wait()
			var runs atomic.Int32
			timed(t.Context(), b, CallOptions{Replay: ReplayUntilSent}, writes(&runs, func(context.Context, *bridgeSession) (int, error) {
				return 0, fmt.Errorf("%w: write: broken pipe", ErrSessionLost)
			})).wantErr(t, KindSessionLost, true, 0)
			(<-other).wantErr(t, KindSessionLost, true, settle)
			if st := wantState(t, b, StateReady); st.Epoch != 2 || runs.Load() != 1 || d.session(0).closed() != 1 {
				t.Errorf("%+v, %d runs, closed %d times", st, runs.Load(), d.session(0).closed())
			}
		})
	})
	t.Run("X-01 dead before the call", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			mustDo(t, b)
			d.session(0).die(errDropped) // and call before its owner has noticed
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
			if b.b.breaker.strikes != 0 {
				t.Error("a strike for a call that never met the loss")
			}
		})
	})
	t.Run("one that waits for a place is not put on a session that just died", func(t *testing.T) {
		inBubble(t, BridgeOptions{MaxInFlight: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			first := async(t.Context(), b, CallOptions{}, func(_ context.Context, s *bridgeSession) (int, error) {
				sleep(sec)
				s.die(errDropped)
				return s.n, nil
			})
			synctest.Wait()
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, sec)
			(<-first).wantOK(t, 1, sec)
		})
	})
	t.Run("an answer that came just before the loss gets through", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			timed(t.Context(), b, CallOptions{}, func(_ context.Context, s *bridgeSession) (int, error) {
				s.die(io.EOF) // answered and exited; the answer takes a while to get here
				sleep(settle - 1)
				return s.n, nil
			}).wantOK(t, 1, settle-1)
		})
	})
	t.Run("an answer that is there beats the end of the session and of the caller", func(t *testing.T) {
		for range 200 {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				ctx, cancel := context.WithCancel(t.Context())
				timed(ctx, b, CallOptions{}, func(_ context.Context, s *bridgeSession) (int, error) {
					defer s.die(errDropped)
					return s.n, nil
				}).wantOK(t, 1, 0)
				cancel()
			})
		}
	})
	t.Run("errors of another source inside say nothing about this one", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			inner := &CallError{Source: "other", Kind: KindSessionLost, MayHaveRun: true}
			_, err := Do(t.Context(), b, CallOptions{Replay: ReplayAlways}, func(context.Context, *bridgeSession) (int, error) { return 0, inner })
			if err != error(inner) {
				t.Error(err)
			}
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
		})
	})
}

func TestBridgeErrorsAsTheyAre(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		for _, want := range []error{&ToolError{Tool: "x"}, io.EOF, errors.New("-32602 session not found"), context.Canceled, ErrNeedsAuth} {
			_, err := Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, want })
			if err != want {
				t.Errorf("%v became %v", want, err)
			}
		}
		if d.dials() != 1 {
			t.Errorf("%d dials", d.dials())
		}
	})
}

func TestBridgeNotReachedGoesOnceMore(t *testing.T) {
	for _, tt := range []struct {
		replay Replay
		fails  int32
		runs   int32
		ok     bool
	}{{ReplayNever, 1, 1, false}, {ReplayUntilSent, 1, 2, true}, {ReplayUntilSent, 2, 2, false}, {ReplayAlways, 1, 2, true}} {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			var runs atomic.Int32
			refused := errors.Join(errors.New("401"), ErrNotReached)
			n, err := Do(t.Context(), b, CallOptions{Replay: tt.replay}, func(_ context.Context, s *bridgeSession) (int, error) {
				if runs.Add(1) <= tt.fails {
					return 0, refused
				}
				return s.n, nil
			})
			if runs.Load() != tt.runs || (err == nil) != tt.ok || !tt.ok && err != refused || tt.ok && n != 1 {
				t.Errorf("%+v: %d runs, %d, %v", tt, runs.Load(), n, err)
			}
		})
	}
}

func TestBridgeNothingIsSentAgainAfterTheEnd(t *testing.T) {
	b := newBridge(nil, nil)
	a := &attempt{c: newDoing(context.Background(), b, CallOptions{Replay: ReplayAlways}), ep: &epoch{}}
	a.Context, a.cancel = context.WithCancelCause(context.Background())
	a.cancel(ErrTimeout)
	for _, err := range []error{errors.Join(ErrNotReached, context.Canceled), ErrSessionLost} {
		if out, again := a.c.end(a, err, true); again || out == nil {
			t.Errorf("%v: again %t, %v", err, again, out)
		}
	}
}

// The caller looks for its answer once more, whatever else has happened.
func TestBridgeAwaitPrefersTheAnswer(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	ep := &epoch{gone: make(chan struct{})}
	ep.endLocked(errRecycled)
	for range 100 {
		reply := make(chan answer[int], 1)
		reply <- answer[int]{value: 7}
		if got, replied := await(&attempt{Context: over, ep: ep}, reply); !replied || got.value != 7 {
			t.Fatal(got, replied)
		}
	}
}

// A place that comes at the moment when its caller gives up waiting goes to the next.
func TestBridgeWithdrawnPlace(t *testing.T) {
	inBubble(t, BridgeOptions{MaxInFlight: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		first := async(t.Context(), b, CallOptions{}, lasting(sec))
		synctest.Wait()
		a := &attempt{c: newDoing(t.Context(), b.b, CallOptions{})}
		b.b.mu.Lock()
		w, err := b.b.admitLocked(a, time.Now())
		b.b.mu.Unlock()
		if w == nil || err != nil {
			t.Fatal(w, err)
		}
		// Nor does a place go to anybody while the session is dead and nobody has noticed.
		(<-first).wantOK(t, 1, sec)
		<-w.granted
		second := async(t.Context(), b, CallOptions{}, sessionNumber)
		synctest.Wait()
		b.b.mu.Lock()
		d.session(0).die(errDropped)
		b.b.releaseLocked(a.ep)
		queued := len(b.b.queue)
		a.ep.inflight++
		b.b.mu.Unlock()
		if queued != 1 {
			t.Error("a place on a dead session was given away")
		}
		(<-second).wantOK(t, 2, 0)
		b.b.withdraw(w)
		synctest.Wait()
		if a.ep.inflight != 0 || b.b.jobs.Load() != 0 {
			t.Errorf("%d in flight, %d jobs", a.ep.inflight, b.b.jobs.Load())
		}
	})
}

func TestBridgeCallThatPanics(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		_, err := Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { panic("boom") })
		var p *PanicError
		if !errors.As(err, &p) || p.Value != "boom" || !strings.Contains(string(p.Stack), "bridge_call_test.go") {
			t.Errorf("%#v", err)
		}
		_, err = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { runtime.Goexit(); return 0, nil })
		if !errors.Is(err, errNoReturn) {
			t.Errorf("%#v", err)
		}
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
	})
}
