package toolsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestBridgeIdleStop(t *testing.T) {
	inBubble(t, BridgeOptions{IdleStop: 10 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		mustDo(t, b)
		sleep(9 * sec)
		timed(t.Context(), b, CallOptions{}, lasting(30*sec)).wantOK(t, 1, 30*sec) // never under a call
		sleep(10*sec - 1)
		wantState(t, b, StateReady)
		sleep(1)
		st := wantState(t, b, StateDormant)
		if d.session(0).closed() != 1 || st.Err != nil || st.Since.Sub(d.start) != 49*sec {
			t.Errorf("%+v", st)
		}
		sleep(1000 * sec)
		d.wantDials(t, 0)
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
		if st := wantState(t, b, StateReady); st.Epoch != 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestBridgeDormantWakeFails(t *testing.T) {
	inBubble(t, BridgeOptions{IdleStop: 10 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		mustDo(t, b)
		sleep(20 * sec)
		wantState(t, b, StateDormant)
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 3, sec) // the ordinary ladder
		d.wantDials(t, 0, 20, 21)
		sleep(20 * sec)
		wantState(t, b, StateDormant)
		if err := b.Start(t.Context()); err != nil {
			t.Error(err)
		}
		wantState(t, b, StateReady)
	}, dialOK, dialErr(errDown), dialOK)
}

func TestBridgeMaxLifetime(t *testing.T) {
	inBubble(t, BridgeOptions{MaxLifetime: 10 * sec}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		mustDo(t, b)
		sleep(5 * sec)
		timed(t.Context(), b, CallOptions{}, lasting(20*sec)).wantOK(t, 1, 20*sec)
		wantState(t, b, StateDormant) // when the last call ended
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, 0)
		sleep(10 * sec)
		wantState(t, b, StateDormant)
	})
}

// pinged is a session that can be pinged.
type pinged struct {
	*bridgeSession
	pings  *atomic.Int32
	answer func(ctx context.Context, n int32) error
}

func (p pinged) Ping(ctx context.Context) error { return p.answer(ctx, p.pings.Add(1)) }

func TestBridgeKeepalive(t *testing.T) {
	hang := func(ctx context.Context, _ int32) error { <-ctx.Done(); return ctx.Err() }
	tests := []struct {
		name   string
		answer func(ctx context.Context, n int32) error
		run    func(b *Bridge[pinged])
		pings  int32
		epoch  uint64
		proven bool
	}{
		{"answered: alive and proven", func(context.Context, int32) error { return nil },
			func(*Bridge[pinged]) { sleep(105 * sec) }, 10, 1, true},
		{"K-10 none while a call runs, and each call puts it off", func(context.Context, int32) error { return nil },
			func(b *Bridge[pinged]) {
				_, _ = Do(context.Background(), b, CallOptions{}, func(context.Context, pinged) (int, error) { sleep(55 * sec); return 0, nil })
				sleep(9 * sec)
				_, _ = Do(context.Background(), b, CallOptions{}, func(context.Context, pinged) (int, error) { return 0, nil })
				sleep(9 * sec)
			}, 0, 1, true},
		{"failed: lost", func(_ context.Context, n int32) error {
			if n == 1 {
				return errors.New("session terminated")
			}
			return nil
		}, func(*Bridge[pinged]) { sleep(11 * sec) }, 1, 2, false},
		{"no answer: lost", hang, func(*Bridge[pinged]) { sleep(41 * sec) }, 1, 2, false},
		{"stuck: lost, and given up", func(context.Context, int32) error { sleep(100 * sec); return nil },
			func(b *Bridge[pinged]) { sleep(42 * sec) }, 1, 2, false},
		{"panics: lost", func(context.Context, int32) error { panic("ping") }, func(*Bridge[pinged]) { sleep(11 * sec) }, 1, 2, false},
		{"no answer, but calls run: a busy server is alive", hang, func(b *Bridge[pinged]) {
			sleep(15 * sec)
			_, _ = Do(context.Background(), b, CallOptions{}, func(context.Context, pinged) (int, error) { sleep(sec); return 0, nil })
			sleep(26 * sec)
		}, 1, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pings atomic.Int32
				d := newScript()
				b := NewBridge(func(ctx context.Context) (pinged, error) {
					s, err := d.dial(ctx)
					return pinged{s, &pings, tt.answer}, err
				}, &BridgeOptions{Keepalive: 10 * sec})
				if err := b.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				tt.run(b)
				st := b.Status()
				if pings.Load() != tt.pings || st.Epoch != tt.epoch || st.Proven != tt.proven || st.State != StateReady {
					t.Errorf("%d pings, %+v", pings.Load(), st)
				}
				sleep(1)
				b.Close()
				sleep(200 * sec)
				if st := b.Status(); st.Abandoned != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func TestBridgeOnState(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var b *Bridge[*bridgeSession]
	o := BridgeOptions{OnState: func(st BridgeStatus) {
		_ = b.Status() // no lock is held
		sleep(100 * sec)
		mu.Lock()
		defer mu.Unlock()
		word := string(st.State)
		if st.Proven {
			word += " proven"
		}
		got = append(got, word)
		panic("hook")
	}, CloseBound: 10000 * sec}
	inBubble(t, o, func(t *testing.T, bb *Bridge[*bridgeSession], d *bridgeScript) {
		b = bb
		timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 2, sec) // a slow hook is in nobody's way
		d.session(1).die(errDropped)
		sleep(10 * sec)
		b.Close()
		want := "dialling, backoff, dialling, ready, ready proven, dialling, ready, closed"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("got %s\nwant %s", s, want)
		}
	}, dialErr(errDown), dialOK)
	t.Run("one that never returns does not keep Close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			b := NewBridge(newScript().dial, &BridgeOptions{OnState: func(BridgeStatus) { <-release }})
			for range 50 {
				mustDo(t, b)
			}
			if after, err := closeTimed(b); after != 5*sec || err == nil {
				t.Error(after, err)
			}
			if st := b.Status(); st.Abandoned != 1 {
				t.Errorf("%+v", st)
			}
			close(release)
		})
	})
}

func TestBridgeLogHygiene(t *testing.T) {
	var buf bytes.Buffer
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { mu.Lock(); defer mu.Unlock(); return buf.Write(p) }),
		&slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	inBubble(t, BridgeOptions{Logger: log}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		_ = b.Start(t.Context())
		sleep(30 * 24 * time.Hour) // a month
		d.set(dialErr(fmt.Errorf("%w: command not found", ErrPermanent)))
		sleep(24 * time.Hour)
		d.set(dialOK)
		sleep(310 * sec)
		mustDo(t, b)
		b.Close()
		want := `level=WARN msg="cannot connect" source=src state=backoff error="connection refused" attempts=1 next_try=1s
level=WARN msg="cannot connect, given up for now" source=src state=parked error="connection refused" attempts=4 next_try=5m0s
level=WARN msg="cannot connect, given up for now" source=src state=parked error="permanent failure: command not found"`
		mu.Lock()
		defer mu.Unlock()
		text := buf.String()
		if !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "level=INFO msg=connected source=src state=ready\n") || strings.Count(text, "\n") != 4 {
			t.Errorf("log:\n%s", text)
		}
	}, dialErr(errDown))
}

func TestBridgeLogRevival(t *testing.T) {
	var mu sync.Mutex
	var got []string
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		_, msg, _ := strings.Cut(string(p), "msg=")
		msg, _, _ = strings.Cut(msg, " source=")
		got = append(got, strings.Trim(msg, `"`))
		return len(p), nil
	}), &slog.HandlerOptions{Level: slog.LevelInfo}))
	inBubble(t, BridgeOptions{Logger: log}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		_ = b.Start(t.Context())
		wantState(t, b, StateParked)
		sleep(3010 * sec) // ten probes that connect, only to drop
		mustDoAfterRevival := func() { d.set(dialOK); sleep(300 * sec); mustDo(t, b) }
		mustDoAfterRevival()
		b.Close()
		want := []string{"connected", "session lost, connecting again", "cannot connect, given up for now", "connected"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	}, dialDrop)
}

func TestBridgeSlowOnStateMissesTheOldest(t *testing.T) {
	var release chan struct{}
	var got []BridgeStatus
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		d := newScript()
		b := NewBridge(d.dial, &BridgeOptions{OnState: func(st BridgeStatus) { <-release; got = append(got, st) }})
		for i := range 100 {
			mustDo(t, b)
			d.session(i).die(errDropped)
			synctest.Wait()
		}
		close(release)
		b.Close()
		if last := got[len(got)-1]; len(got) != maxNotes+1 || last.State != StateClosed {
			t.Errorf("%d, last %+v", len(got), last)
		}
		for i := range got[1:] {
			if got[i+1].Epoch < got[i].Epoch {
				t.Errorf("out of order: %+v, %+v", got[i], got[i+1])
			}
		}
	})
}

// deaf panics in Done or Err.
type deaf struct {
	*bridgeSession
	inDone bool
}

func (s deaf) Done() <-chan struct{} {
	if s.inDone {
		panic("done")
	}
	return s.done
}
func (s deaf) Err() error { panic("err") }

func TestBridgeSessionThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		var last *bridgeSession
		b := NewBridge(func(context.Context) (deaf, error) {
			n++
			last = &bridgeSession{n: n, done: make(chan struct{})}
			return deaf{last, n == 1}, nil
		}, &BridgeOptions{Jitter: noJitter})
		defer b.Close()
		call := func(context.Context, deaf) (int, error) { return n, nil }
		if v, err := Do(t.Context(), b, CallOptions{}, call); v != 2 || err != nil {
			t.Error(v, err)
		}
		last.die(nil)
		synctest.Wait()
		if st := b.Status(); st.State != StateReady || !errors.Is(st.Err, ErrPanic) || !errors.Is(st.Err, ErrSessionLost) {
			t.Errorf("%+v", st)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// handClock is a Clock whose time is moved by hand.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*handTimer]struct{}
}

type handTimer struct {
	c  *handClock
	at time.Time
	f  func()
}

func (c *handClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *handClock) AfterFunc(d time.Duration, f func()) ClockTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c, c.now.Add(d), f}
	c.timers[t] = struct{}{}
	return t
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if !t.at.After(c.now) {
			delete(c.timers, t)
			go t.f()
		}
	}
}

func (t *handTimer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	_, was := t.c.timers[t]
	delete(t.c.timers, t)
	return was
}

func (t *handTimer) Reset(d time.Duration) bool {
	was := t.Stop()
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.at = t.c.now.Add(d)
	t.c.timers[t] = struct{}{}
	return was
}

func TestBridgeInjectedClock(t *testing.T) {
	c := &handClock{now: time.Unix(1000, 0), timers: map[*handTimer]struct{}{}}
	hang := func(ctx context.Context, _ *bridgeSession) error { <-ctx.Done(); return context.Cause(ctx) }
	inBubble(t, BridgeOptions{Clock: c}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		call := async(t.Context(), b, CallOptions{Limit: 100 * sec}, mute)
		synctest.Wait()
		c.move(30 * sec) // the dial's bound
		if st := wantState(t, b, StateBackoff); !st.Since.Equal(time.Unix(1030, 0)) || !errors.Is(st.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", st)
		}
		c.move(sec)
		wantState(t, b, StateReady)
		c.move(29 * sec) // silence: 60 s since the start
		e := (<-call).wantErr(t, KindTimeout, true, 0)
		if !strings.Contains(e.Error(), "1m0s") {
			t.Error(e)
		}
		again := async(t.Context(), b, CallOptions{}, sessionNumber)
		(<-again).wantOK(t, 2, 0)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.timers) > 1 { // the session's proof
			t.Errorf("%d timers left", len(c.timers))
		}
	}, hang, dialOK)
}

// nosy is an error of the host's that looks at its Bridge whenever it is asked anything.
type nosy struct{ look func() }

func (e nosy) Error() string   { e.look(); return "nosy" }
func (e nosy) Is(error) bool   { e.look(); return false }
func (e nosy) Unwrap() []error { e.look(); return nil }

// Nothing of the host's runs under the mutex: with one that does, this test does not end.
func TestBridgeCallsTheHostUnlocked(t *testing.T) {
	var b *Bridge[*bridgeSession]
	look := func() { _ = b.Status() }
	e := nosy{look}
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { look(); return len(p), nil }), &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := BridgeOptions{Logger: log, OnState: func(BridgeStatus) { look() }, Reconnects: []time.Duration{}, MaxInFlight: 1,
		Jitter: func(d time.Duration) time.Duration { look(); return d }}
	inBubble(t, o, func(t *testing.T, bb *Bridge[*bridgeSession], d *bridgeScript) {
		b = bb
		_ = b.Start(ctxTimeout(t, 500*ms))
		mustDo(t, b)
		for _, f := range []bridgeFunc{
			func(context.Context, *bridgeSession) (int, error) { return 0, e },
			func(_ context.Context, s *bridgeSession) (int, error) { s.die(e); return 0, e },
		} {
			_, err := Do(t.Context(), b, CallOptions{}, f)
			_ = err.Error()
		}
		sleep(sec)
		c := async(ctxTimeout(t, sec), b, CallOptions{}, lasting(10*sec))
		synctest.Wait()
		queued := async(t.Context(), b, CallOptions{}, sessionNumber)
		synctest.Wait()
		d.set(dialErr(errors.Join(ErrNeedsAuth, e)))
		d.session(2).die(e)
		_ = (<-c).err.Error()
		_ = (<-queued).err.Error()
		_, err := Do(t.Context(), b, CallOptions{}, sessionNumber)
		_ = err.Error()
		_ = b.Start(t.Context())
		wantState(t, b, StateParked)
	}, dialErr(e), dialOK, dialOK)
}
