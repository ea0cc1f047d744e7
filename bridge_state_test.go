package toolsource

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

const sec = time.Second

func TestBridgeDialsWhenFirstNeeded(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		before := runtime.NumGoroutine()
		wantState(t, b, StateIdle)
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines before the first call", n-before)
		}
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 0)
		st := wantState(t, b, StateReady)
		if d.wantDials(t, 0); !st.Proven || st.Epoch != 1 || st.Err != nil || st.InFlight != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestBridgeCallersShareADial(t *testing.T) {
	slow := func(ctx context.Context, _ *bridgeSession) error { sleep(2 * sec); return ctx.Err() }
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		quick := async(ctxTimeout(t, sec), b, CallOptions{Tool: "x"}, sessionNumber)
		other := async(t.Context(), b, CallOptions{}, sessionNumber)
		e := (<-quick).wantErr(t, KindTimeout, false, sec)
		if e.Phase != "wait" || e.Tool != "x" || !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("%#v", e)
		}
		if st := wantState(t, b, StateDialling); st.Queued != 1 {
			t.Errorf("%+v", st)
		}
		(<-other).wantOK(t, 1, 2*sec) // the first one's deadline did not end the dial
		d.wantDials(t, 0)
	}, slow)
}

// The ladders, attempt by attempt.
func TestBridgeLadder(t *testing.T) {
	down := dialErr(errDown)
	tests := []struct {
		name  string
		steps []bridgeDial
		run   func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript)
		want  []float64
		state State
	}{
		{"never connects: the first ladder, parked, and all of it again after a probe", []bridgeDial{down},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(320 * sec) },
			[]float64{0, 1, 3, 7, 307, 308, 310, 314}, StateParked},
		{"R-01 first attempt fails, second succeeds", []bridgeDial{down, dialOK},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(20 * sec) },
			[]float64{0, 1}, StateReady},
		{"connected once, then every dial fails: 1 2 4 8 16, parked on the sixth, one probe per wake", []bridgeDial{dialOK, down},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				mustDo(t, b)
				sleep(10 * sec)
				d.session(0).die(errDropped)
				sleep(700 * sec)
			},
			[]float64{0, 10, 11, 13, 17, 25, 41, 341, 641}, StateParked},
		{"the same though the session had not proven itself", []bridgeDial{dialOK, down},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				sleep(10 * sec)
				d.session(0).die(errDropped)
				sleep(100 * sec)
			},
			[]float64{0, 10, 11, 13, 17, 25, 41}, StateParked},
		{"R-07 four failures after a success do not park", []bridgeDial{dialOK, down, down, down, down, dialOK},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				mustDo(t, b)
				d.session(0).die(errDropped)
				sleep(100 * sec)
			},
			[]float64{0, 0, 1, 3, 7, 15}, StateReady},
		{"failures before the first session do not count after it", []bridgeDial{down, down, down, dialOK, down},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				sleep(10 * sec)
				d.session(3).die(errDropped)
				sleep(100 * sec)
			},
			[]float64{0, 1, 3, 7, 10, 11, 13, 17, 25, 41}, StateParked},
		{"R-04 handshake ok, dropped at once, for ever: no pauses, parked on the sixth, one probe per wake", []bridgeDial{dialDrop},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(400 * sec) },
			[]float64{0, 0, 0, 0, 0, 0, 300}, StateParked},
		{"after a probe that connected only to drop, a failing one parks at once too", []bridgeDial{dialDrop, dialDrop, dialDrop, dialDrop, dialDrop, dialDrop, dialDrop, down},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(1000 * sec) },
			[]float64{0, 0, 0, 0, 0, 0, 300, 600, 900}, StateParked},
		{"R-06 parked, server returns: revived by the probe, with a budget again once proven", []bridgeDial{down, down, down, down, dialOK, down, dialOK},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				sleep(308 * sec)
				mustDo(t, b)
				d.session(4).die(errDropped)
				sleep(10 * sec)
			},
			[]float64{0, 1, 3, 7, 307, 308, 309}, StateReady},
		{"R-05 a drop of a session that had proven itself is none of the five that may drop unproven", []bridgeDial{dialOK, dialDrop, dialDrop, dialDrop, dialDrop, dialDrop, dialOK},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				mustDo(t, b)
				d.session(0).die(errDropped)
			},
			[]float64{0, 0, 0, 0, 0, 0, 0}, StateReady},
		{"R-13 a proof gives all the tries back", []bridgeDial{dialOK, down, down, down, down, dialOK, down, down, down, down, down, dialOK},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				mustDo(t, b)
				d.session(0).die(errDropped)
				sleep(20 * sec)
				mustDo(t, b)
				d.session(5).die(errDropped)
				sleep(40 * sec)
			},
			[]float64{0, 0, 1, 3, 7, 15, 20, 21, 23, 27, 35, 51}, StateReady},
		{"permanent error parks at once", []bridgeDial{dialErr(fmt.Errorf("not found: %w", ErrPermanent))},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(301 * sec) },
			[]float64{0, 300}, StateParked},
		{"R-09 so does a lack of authorisation", []bridgeDial{dialErr(ErrNeedsAuth)},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) { sleep(10 * sec) },
			[]float64{0}, StateParked},
		{"and a refusal, also of a reconnect", []bridgeDial{dialOK, dialErr(ErrForbidden)},
			func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				mustDo(t, b)
				d.session(0).die(errDropped)
				sleep(10 * sec)
			},
			[]float64{0, 0}, StateParked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				go func() { _ = b.Start(t.Context()) }()
				synctest.Wait()
				tt.run(t, b, d)
				wantState(t, b, tt.state)
				d.wantDials(t, tt.want...)
			}, tt.steps...)
		})
	}
}

func TestBridgeProvenBeforeEachDropNeverParks(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		for i := range 20 {
			if n := mustDo(t, b); n != i+1 {
				t.Fatalf("session %d in round %d", n, i)
			}
			d.session(i).die(errDropped)
			wantState(t, b, StateReady) // in the background, at once
		}
	})
}

func TestBridgeProof(t *testing.T) {
	tests := []struct {
		name  string
		prove func(t *testing.T, b *Bridge[*bridgeSession])
		want  bool
	}{
		{"an answer", func(t *testing.T, b *Bridge[*bridgeSession]) { mustDo(t, b) }, true},
		{"a tool's error is an answer", func(t *testing.T, b *Bridge[*bridgeSession]) {
			_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, &ToolError{Tool: "x"} })
		}, true},
		{"so is any error of the peer's", func(t *testing.T, b *Bridge[*bridgeSession]) {
			_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, errors.New("-32602") })
		}, true},
		{"a timeout is none", func(t *testing.T, b *Bridge[*bridgeSession]) { timed(ctxTimeout(t, sec), b, CallOptions{}, mute) }, false},
		{"nor is a call that did not reach the tool", func(t *testing.T, b *Bridge[*bridgeSession]) {
			_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { return 0, ErrNotReached })
		}, false},
		{"nor a panic", func(t *testing.T, b *Bridge[*bridgeSession]) {
			_, _ = Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { panic("x") })
		}, false},
		{"short of the proof time", func(t *testing.T, b *Bridge[*bridgeSession]) { sleep(180*sec - 1) }, false},
		{"the proof time", func(t *testing.T, b *Bridge[*bridgeSession]) { sleep(180 * sec) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				if err := b.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				tt.prove(t, b)
				if st := wantState(t, b, StateReady); st.Proven != tt.want {
					t.Errorf("proven %t, want %t", st.Proven, tt.want)
				}
			})
		})
	}
}

func TestBridgeDeadAtTheProofDeadline(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		_ = b.Start(t.Context())
		first := d.session(0)
		time.AfterFunc(180*sec, func() { first.die(errDropped) })
		sleep(181 * sec)
		if st := wantState(t, b, StateReady); st.Epoch != 2 || st.Proven || first.closed() != 1 {
			t.Errorf("%+v", st)
		}
	})
	// If death and deadline come together, the dead session proves nothing.
	b := newBridge(nil, nil)
	dead := &bridgeSession{done: make(chan struct{})}
	dead.die(errDropped)
	b.cur, b.state = &epoch{session: dead, lost: dead.done}, StateReady
	if b.act(b.cur); b.cur.proven {
		t.Error("a dead session has proven itself")
	}
}

func TestBridgeCallInBackoff(t *testing.T) {
	down := dialErr(errDown)
	tests := []struct {
		name  string
		at    time.Duration // of the call, after the ladder 0 1 3 7 began, server back at 7
		limit time.Duration // negative: its context's deadline
		check func(t *testing.T, o bridgeOutcome)
	}{
		{"waits for the next try", 3500 * time.Millisecond, 0, func(t *testing.T, o bridgeOutcome) { o.wantOK(t, 4, 3500*time.Millisecond) }},
		{"unless that lies behind its deadline: at once", 3500 * time.Millisecond, 3 * sec, func(t *testing.T, o bridgeOutcome) {
			e := o.wantErr(t, KindUnavailable, false, 0)
			if e.RetryAfter != 3500*time.Millisecond || !errors.Is(e, errDown) || e.Remedy == "" {
				t.Errorf("%#v", e)
			}
		}},
		{"which may be its context's", 3500 * time.Millisecond, -3 * sec, func(t *testing.T, o bridgeOutcome) {
			o.wantErr(t, KindUnavailable, false, 0)
		}},
		{"also when it has waited for a try that failed", 500 * time.Millisecond, -2 * sec, func(t *testing.T, o bridgeOutcome) {
			o.wantErr(t, KindUnavailable, false, 500*time.Millisecond) // at 1 s: its end is at 2.5, the next try at 3
		}},
		{"a call waits through failed tries as long as they come within five seconds in all", 500 * time.Millisecond, 0, func(t *testing.T, o bridgeOutcome) {
			o.wantErr(t, KindUnavailable, false, 2500*time.Millisecond) // at 3 s: the try at 7 s is too late
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				go func() { _ = b.Start(t.Context()) }()
				sleep(tt.at)
				wantState(t, b, StateBackoff)
				ctx := t.Context()
				if tt.limit < 0 {
					ctx = ctxTimeout(t, -tt.limit)
				}
				tt.check(t, timed(ctx, b, CallOptions{Limit: tt.limit}, sessionNumber))
			}, down, down, down, dialOK)
		})
	}
	t.Run("never longer than five seconds", func(t *testing.T) {
		inBubble(t, BridgeOptions{Reconnects: []time.Duration{6 * sec}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			mustDo(t, b)
			d.session(0).die(errDropped)
			wantState(t, b, StateBackoff)
			e := timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 0)
			if e.RetryAfter != 6*sec {
				t.Errorf("retry after %v", e.RetryAfter)
			}
			sleep(sec + 1)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 3, 5*sec-1)
		}, dialOK, down, dialOK)
	})
}

func TestBridgeParked(t *testing.T) {
	inBubble(t, BridgeOptions{FirstTries: []time.Duration{}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		e := timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 0)
		if !errors.Is(e, errDown) { // its text is kept
			t.Error(e)
		}
		sleep(100 * sec)
		e = timed(t.Context(), b, CallOptions{Tool: "x"}, sessionNumber).wantErr(t, KindUnavailable, false, 0)
		if e.RetryAfter != 200*sec {
			t.Errorf("retry after %v", e.RetryAfter)
		}
		want := `toolsource: x: source "src": connect: tool is unavailable: connection refused (the next try to connect is in 3m20s)`
		if e.Error() != want {
			t.Errorf("%s\nwant %s", e, want)
		}
		st := wantState(t, b, StateParked)
		if st.Err != errDown || time.Until(st.NextTry) != 200*sec || st.Attempts != 1 {
			t.Errorf("%+v", st)
		}
		d.set(dialOK)
		b.Reconnect() // R-08, and Reconnect twice is no second try
		b.Reconnect()
		st = wantState(t, b, StateReady)
		if d.wantDials(t, 0, 100); !st.NextTry.IsZero() || st.Attempts != 0 {
			t.Errorf("%+v", st)
		}
		mustDo(t, b)
		if st := b.Status(); st.Err != nil {
			t.Errorf("error %v after an answer", st.Err)
		}
	}, dialErr(errDown))
}

func TestBridgeParkedKeepsItsKind(t *testing.T) {
	for err, kind := range map[error]Kind{ErrNeedsAuth: KindNeedsAuth, ErrForbidden: KindForbidden, ErrPermanent: KindUnavailable} {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			for range 2 {
				e := timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, kind, false, 0)
				if !errors.Is(e, ErrUnavailable) || !errors.Is(e, err) {
					t.Error(e)
				}
			}
		}, dialErr(err))
	}
}

func TestBridgeReconnectTwiceIsOneTry(t *testing.T) {
	inBubble(t, BridgeOptions{FirstTries: []time.Duration{sec}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		_ = b.Start(t.Context())
		sleep(9 * sec)
		b.b.mu.Lock() // so that the owner cannot begin its try in between
		b.b.reconnectLocked()
		for len(b.b.cur.nudge) > 0 {
			runtime.Gosched()
		}
		b.b.reconnectLocked()
		b.b.mu.Unlock()
		wantState(t, b, StateBackoff)
		d.wantDials(t, 0, 1, 10)
	}, dialErr(errDown))
}

func TestBridgeReconnectEndsABackoff(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		b.Reconnect() // idle: nothing
		wantState(t, b, StateIdle)
		go func() { _ = b.Start(t.Context()) }()
		sleep(3500 * time.Millisecond)
		b.Reconnect()
		wantState(t, b, StateReady)
		d.wantDials(t, 0, 1, 3, 3.5)
		b.Reconnect() // ready: nothing
		wantState(t, b, StateReady)
	}, dialErr(errDown), dialErr(errDown), dialErr(errDown), dialOK)
}

func TestBridgeStart(t *testing.T) {
	t.Run("waits through the ladder", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.wantDials(t, 0, 1)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, dialErr(errDown), dialOK)
	})
	t.Run("until it is parked, and unparks it", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			if err := b.Start(t.Context()); !errors.Is(err, errDown) || !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
			d.wantDials(t, 0, 1, 3, 7)
			d.set(dialOK)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.wantDials(t, 0, 1, 3, 7, 7)
		}, dialErr(errDown))
	})
	t.Run("at most ctx, and the ladder goes on", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			err := b.Start(ctxTimeout(t, 2*sec))
			if KindOf(err) != KindTimeout || !errors.Is(err, errDown) || time.Since(d.start) != 2*sec {
				t.Fatal(err, time.Since(d.start))
			}
			sleep(2 * sec)
			wantState(t, b, StateReady)
		}, dialErr(errDown), dialErr(errDown), dialOK)
	})
	t.Run("shutdown during the first backoff", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			got := make(chan error, 1)
			go func() { got <- b.Start(t.Context()) }()
			sleep(2 * sec)
			b.Close()
			if err := <-got; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			sleep(100 * sec)
			d.wantDials(t, 0, 1)
			if err := b.Start(t.Context()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}, dialErr(errDown))
	})
}

// hop lets other goroutines run about n times, without time passing.
func hop(n int) {
	for range n {
		c := make(chan struct{})
		go close(c)
		<-c
	}
}

func TestBridgeDialBounds(t *testing.T) {
	t.Run("R-11 a dial that hangs ends at the bound", func(t *testing.T) {
		inBubble(t, BridgeOptions{Connect: 200 * time.Millisecond, FirstTries: []time.Duration{}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			e := timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 200*time.Millisecond)
			if want := "no session within 200ms: no answer to initialize"; !errors.Is(e, ErrUnavailable) || e.Err.Error() != want {
				t.Errorf("%v, want %s", e.Err, want)
			}
		}, func(ctx context.Context, _ *bridgeSession) error {
			<-ctx.Done()
			return errors.New("no answer to initialize")
		})
	})
	t.Run("one that ignores its context is abandoned, and its late session closed", func(t *testing.T) {
		inBubble(t, BridgeOptions{Connect: 2 * sec, FirstTries: []time.Duration{}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantErr(t, KindUnavailable, false, 3*sec) // bound and grace
			if st := wantState(t, b, StateParked); st.Abandoned != 1 {
				t.Errorf("%+v", st)
			}
			sleep(7 * sec)
			if st := wantState(t, b, StateParked); st.Abandoned != 0 || d.session(0).closed() != 1 {
				t.Errorf("%+v, late session closed %d times", st, d.session(0).closed())
			}
		}, func(context.Context, *bridgeSession) error { sleep(10 * sec); return nil })
	})
	t.Run("one that returns at the last moment leaks no session", func(t *testing.T) {
		for i := range 200 {
			inBubble(t, BridgeOptions{Connect: 2 * sec, FirstTries: []time.Duration{}}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
				_ = b.Start(t.Context())
				ready := wantState(t, b, b.Status().State).State == StateReady
				if closed := d.session(0).closed(); ready && closed != 0 || !ready && closed != 1 {
					t.Errorf("ready %t, closed %d times", ready, closed)
				}
			}, func(context.Context, *bridgeSession) error { sleep(3 * sec); hop(i % 10); return nil })
		}
	})
	t.Run("panic, nil and Goexit", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			if n := mustDo(t, b); n != 3 {
				t.Error(n)
			}
		}, func(context.Context, *bridgeSession) error { panic("dial") },
			func(context.Context, *bridgeSession) error { runtime.Goexit(); return nil }, dialOK)
		synctest.Test(t, func(t *testing.T) {
			b := NewBridge(func(context.Context) (Session, error) { return nil, nil }, &BridgeOptions{FirstTries: []time.Duration{}})
			defer b.Close()
			if err := b.Start(t.Context()); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		})
	})
}

func TestBridgeDefaultJitter(t *testing.T) {
	o := (*BridgeOptions)(nil).complete()
	lo, hi := time.Hour, time.Duration(0)
	for range 1000 {
		d := o.Jitter(10 * sec)
		lo, hi = min(lo, d), max(hi, d)
	}
	if lo < 8*sec || hi > 12*sec || hi-lo < sec {
		t.Errorf("jitter of 10 s from %v to %v, want 8 to 12", lo, hi)
	}
}
