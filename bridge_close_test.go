package toolsource

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// closeTimed closes and measures.
func closeTimed(b *Bridge[*bridgeSession]) (time.Duration, error) {
	start := time.Now()
	err := b.Close()
	return time.Since(start), err
}

func TestBridgeCloseInEveryState(t *testing.T) {
	hang := func(ctx context.Context, _ *bridgeSession) error { <-ctx.Done(); return ctx.Err() }
	down := dialErr(errDown)
	tests := []struct {
		state State
		steps []bridgeDial
		reach func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript)
	}{
		{StateIdle, nil, func(*testing.T, *Bridge[*bridgeSession], *bridgeScript) {}},
		{StateDialling, []bridgeDial{hang}, nil},
		{StateReady, nil, nil},
		{StateBackoff, []bridgeDial{down}, nil},
		{StateParked, []bridgeDial{down}, func(t *testing.T, b *Bridge[*bridgeSession], _ *bridgeScript) { _ = b.Start(t.Context()) }},
		{StateDormant, nil, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { mustDo(t, b); sleep(100 * sec) }},
	}
	for _, tt := range tests {
		t.Run(string(tt.state), func(t *testing.T) {
			inBubble(t, BridgeOptions{IdleStop: 50 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				if tt.reach != nil {
					tt.reach(t, b, d)
				} else {
					go func() { _ = b.Start(t.Context()) }()
				}
				wantState(t, b, tt.state)
				dials := d.dials()
				for range 3 {
					if after, err := closeTimed(b); err != nil || after != 0 {
						t.Errorf("%v after %v", err, after)
					}
				}
				if st := wantState(t, b, StateClosed); st.Abandoned != 0 || !st.NextTry.IsZero() {
					t.Errorf("%+v", st)
				}
				timed(t.Context(), b, CallOptions{Tool: "x"}, sessionNumber).wantErr(t, KindClosed, false, 0)
				b.Reconnect()
				sleep(1000 * sec)
				if d.dials() != dials {
					t.Errorf("%d dials after Close", d.dials()-dials)
				}
				for _, s := range d.sessions {
					if tt.state != StateDialling && tt.state != StateBackoff && tt.state != StateParked && s.closed() != 1 {
						t.Errorf("session %d closed %d times", s.n, s.closed())
					}
				}
			}, append(tt.steps, dialOK)[:max(1, len(tt.steps))]...)
		})
	}
}

func TestBridgeCloseEndsCalls(t *testing.T) {
	inBubble(t, BridgeOptions{MaxInFlight: 2}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		var calls []<-chan bridgeOutcome
		for range 2 {
			calls = append(calls, async(t.Context(), b, CallOptions{Replay: ReplayAlways}, mute))
			synctest.Wait()
		}
		queued := async(t.Context(), b, CallOptions{}, mute)
		sleep(sec)
		if after, err := closeTimed(b); after != 0 || err != nil {
			t.Error(after, err)
		}
		for _, c := range calls {
			e := (<-c).wantErr(t, KindClosed, true, sec)
			if errors.Is(e, context.Canceled) || errors.Is(e, ErrSessionLost) {
				t.Errorf("%#v", e)
			}
		}
		(<-queued).wantErr(t, KindClosed, false, sec)
	})
}

func TestBridgeCloseWhileDialling(t *testing.T) {
	t.Run("callers are free at once, a dial that ignores its context is given up", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			c := async(t.Context(), b, CallOptions{}, sessionNumber)
			sleep(sec)
			after, err := closeTimed(b)
			if after != 5*sec || err == nil || !strings.Contains(err.Error(), "close src: 1 functions have not returned within 5s") {
				t.Errorf("%v after %v", err, after)
			}
			(<-c).wantErr(t, KindClosed, false, sec)
			if st := b.Status(); st.Abandoned != 1 {
				t.Errorf("%+v", st)
			}
			sleep(20 * sec)
			if st := b.Status(); st.Abandoned != 0 || d.session(0).closed() != 1 {
				t.Errorf("%+v, late session closed %d times", st, d.session(0).closed())
			}
		}, func(context.Context, *bridgeSession) error { sleep(20 * sec); return nil })
	})
	t.Run("also where the grace is longer than the bound", func(t *testing.T) {
		inBubble(t, BridgeOptions{Grace: 30 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			go func() { _ = b.Start(t.Context()) }()
			synctest.Wait()
			if after, err := closeTimed(b); after != 5*sec || err == nil || b.Status().Abandoned != 1 {
				t.Error(after, err, b.Status())
			}
			sleep(20 * sec)
		}, func(context.Context, *bridgeSession) error { sleep(20 * sec); return nil })
	})
	t.Run("a session that comes while closing has what is left of the bound", func(t *testing.T) {
		inBubble(t, BridgeOptions{Grace: 3 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			go func() { _ = b.Start(t.Context()) }()
			synctest.Wait()
			if after, err := closeTimed(b); after != 4*sec || err != nil {
				t.Error(after, err)
			}
		}, func(_ context.Context, s *bridgeSession) error {
			s.onClose = func(ctx context.Context) error { <-ctx.Done(); return nil }
			sleep(2 * sec)
			return nil
		})
	})
	t.Run("a session that comes while closing is closed and waited for", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			go func() { _ = b.Start(t.Context()) }()
			synctest.Wait()
			if after, err := closeTimed(b); after != 3*sec || err != nil {
				t.Error(after, err)
			}
			if d.session(0).closed() != 1 {
				t.Error("late session left open")
			}
		}, func(_ context.Context, s *bridgeSession) error {
			s.onClose = func(context.Context) error { sleep(sec); return nil }
			sleep(2 * sec)
			return nil
		})
	})
}

func TestBridgeCloseBound(t *testing.T) {
	tests := []struct {
		name    string
		onClose func(release chan struct{}) func(context.Context) error
		call    bool // a call is in flight that ignores everything
		after   time.Duration
		err     string // "": none
		left    int
	}{
		{"a session's own close has four fifths", func(chan struct{}) func(context.Context) error {
			return func(ctx context.Context) error { <-ctx.Done(); return nil }
		}, false, 4 * sec, "", 0},
		{"and the rest to return, with its error", func(chan struct{}) func(context.Context) error {
			return func(ctx context.Context) error { <-ctx.Done(); sleep(sec - 1); return errors.New("killed") }
		}, false, 5*sec - 1, "toolsource: close src: killed", 0},
		{"blocked for good", func(release chan struct{}) func(context.Context) error {
			return func(context.Context) error { <-release; return nil }
		}, false, 5 * sec, "1 functions have not returned within 5s", 1},
		{"a call blocked for good", nil, true, 5 * sec, "1 functions have not returned within 5s", 1},
		{"both", func(release chan struct{}) func(context.Context) error {
			return func(context.Context) error { <-release; return nil }
		}, true, 5 * sec, "2 functions have not returned within 5s", 2},
		{"panics", func(chan struct{}) func(context.Context) error {
			return func(context.Context) error { panic("close") }
		}, false, 0, "panicked: close", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				release := make(chan struct{})
				mustDo(t, b)
				if tt.onClose != nil {
					d.session(0).onClose = tt.onClose(release)
				}
				if tt.call {
					defer func(c <-chan bridgeOutcome) { (<-c).wantErr(t, KindClosed, true, 0) }(async(t.Context(), b, CallOptions{}, stuck(release)))
					synctest.Wait()
				}
				after, err := closeTimed(b)
				if after != tt.after || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v after %v; want %q after %v", err, after, tt.err, tt.after)
				}
				if st := b.Status(); st.Abandoned != tt.left {
					t.Errorf("abandoned %d, want %d", st.Abandoned, tt.left)
				}
				close(release)
				if st := wantState(t, b, StateClosed); st.Abandoned != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func TestBridgeCloseOfALostSessionIsBoundedToo(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		release := make(chan struct{})
		mustDo(t, b)
		d.session(0).onClose = func(context.Context) error { <-release; return nil }
		d.session(0).die(errDropped)
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0) // in nobody's way
		sleep(5*sec - 1)
		if st := b.Status(); st.Abandoned != 0 {
			t.Errorf("%+v", st)
		}
		sleep(1)
		if st := wantState(t, b, StateReady); st.Abandoned != 1 {
			t.Errorf("%+v", st)
		}
		close(release)
	})
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		mustDo(t, b)
		d.session(0).onClose = func(ctx context.Context) error { <-ctx.Done(); return nil }
		d.session(0).die(errDropped)
		sleep(2 * sec)
		if after, err := closeTimed(b); after != 2*sec || err != nil { // what is left of the four seconds
			t.Error(after, err)
		}
	})
}

func TestBridgeConcurrentClose(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		mustDo(t, b)
		d.session(0).onClose = func(ctx context.Context) error { sleep(sec); return errDropped }
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if after, err := closeTimed(b); after != sec || !errors.Is(err, errDropped) {
					t.Error(after, err)
				}
			})
		}
		wg.Wait()
		if d.session(0).closed() != 1 {
			t.Errorf("closed %d times", d.session(0).closed())
		}
	})
}
