package toolsource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBridgeProgress(t *testing.T) {
	reporting := func(every, until time.Duration) bridgeFunc {
		return func(ctx context.Context, s *bridgeSession) (int, error) {
			for at := every; at <= until; at += every {
				sleep(every)
				ReportProgress(ctx, Progress{Progress: at.Seconds()})
			}
			return s.n, nil
		}
	}
	listen := func(t *testing.T) (context.Context, func() []float64) {
		var mu sync.Mutex
		var got []float64
		ctx := WithProgress(t.Context(), func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, p.Progress)
		})
		return ctx, func() []float64 { mu.Lock(); defer mu.Unlock(); return slices.Clone(got) }
	}
	t.Run("renews the silence limit and reaches the caller", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			ctx, got := listen(t)
			timed(ctx, b, CallOptions{Silence: 2 * sec}, reporting(1500*ms, 6*sec)).wantOK(t, 1, 6*sec)
			if want := []float64{1.5, 3, 4.5, 6}; !slices.Equal(got(), want) {
				t.Errorf("got %v", got())
			}
		})
	})
	t.Run("up to the ceiling", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			e := timed(t.Context(), b, CallOptions{Silence: 2 * sec, Limit: 5 * sec}, reporting(sec, 7*sec)).wantErr(t, KindTimeout, true, 5*sec)
			if !strings.Contains(e.Error(), "(configured timeout: 5s)") {
				t.Error(e)
			}
		})
	})
	t.Run("silence counts from the last report", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			timed(t.Context(), b, CallOptions{Silence: 2 * sec}, func(ctx context.Context, s *bridgeSession) (int, error) {
				sleep(1500 * ms)
				ReportProgress(ctx, Progress{})
				return mute(ctx, s)
			}).wantErr(t, KindTimeout, true, 3500*ms)
		})
	})
	t.Run("nothing after the call", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			ctx, got := listen(t)
			var kept context.Context
			timed(ctx, b, CallOptions{}, func(ctx context.Context, s *bridgeSession) (int, error) { kept = ctx; return s.n, nil }).wantOK(t, 1, 0)
			ReportProgress(kept, Progress{Progress: 1})
			timed(ctx, b, CallOptions{Limit: 2500 * ms}, func(_ context.Context, s *bridgeSession) (int, error) {
				return reporting(sec, 3*sec)(kept, s) // of a call that is over
			}).wantErr(t, KindTimeout, true, 2500*ms)
			sleep(sec)
			if len(got()) != 0 {
				t.Errorf("got %v", got())
			}
		})
	})
	t.Run("passes through a call inside the call, and a panic in the listener harms nobody", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			ctx := WithProgress(t.Context(), func(Progress) { panic("listener") })
			timed(ctx, b, CallOptions{Silence: 2 * sec}, func(ctx context.Context, _ *bridgeSession) (int, error) {
				return Do(ctx, b, CallOptions{}, reporting(1500*ms, 6*sec))
			}).wantOK(t, 1, 6*sec)
		})
	})
}

func TestBridgePlaces(t *testing.T) {
	t.Run("first come, first served, and waiting counts against the deadline", func(t *testing.T) {
		inBubble(t, BridgeOptions{MaxInFlight: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			var calls []<-chan bridgeOutcome
			for range 4 {
				calls = append(calls, async(t.Context(), b, CallOptions{}, lasting(sec)))
				synctest.Wait()
			}
			short := async(ctxTimeout(t, 1500*ms), b, CallOptions{}, lasting(sec))
			synctest.Wait()
			if st := b.Status(); st.InFlight != 1 || st.Queued != 4 {
				t.Errorf("%+v", st)
			}
			last := async(t.Context(), b, CallOptions{Limit: 4500 * ms}, lasting(sec))
			for i, c := range calls {
				(<-c).wantOK(t, 1, time.Duration(i+1)*sec)
			}
			if e := (<-short).wantErr(t, KindTimeout, false, 1500*ms); e.Phase != "wait" {
				t.Errorf("%#v", e)
			}
			(<-last).wantErr(t, KindTimeout, true, 4500*ms)
			synctest.Wait()
			if st := b.Status(); st.QueueTime != (1+2+3+1.5+4)*1000*ms || st.Queued != 0 || st.InFlight != 0 {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("a place is free when the call function has returned, not when its caller has gone", func(t *testing.T) {
		inBubble(t, BridgeOptions{MaxInFlight: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			slowEnd := func(ctx context.Context, _ *bridgeSession) (int, error) {
				<-ctx.Done()
				sleep(500 * ms)
				return 0, ctx.Err()
			}
			timed(ctxTimeout(t, sec), b, CallOptions{}, slowEnd).wantErr(t, KindTimeout, true, sec)
			timed(t.Context(), b, CallOptions{}, sessionNumber).wantOK(t, 1, 500*ms)
		})
	})
	t.Run("places of a lost session are free, and the queue keeps its order", func(t *testing.T) {
		inBubble(t, BridgeOptions{MaxInFlight: 1}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			release := make(chan struct{})
			timed(ctxTimeout(t, sec), b, CallOptions{}, stuck(release)).wantErr(t, KindTimeout, true, sec)
			first := async(t.Context(), b, CallOptions{}, lasting(sec))
			synctest.Wait()
			second := async(t.Context(), b, CallOptions{}, lasting(sec))
			(<-first).wantOK(t, 2, 2*sec) // one grace, and its own second
			(<-second).wantOK(t, 2, 3*sec)
			close(release)
		})
	})
	t.Run("64 by default", func(t *testing.T) {
		inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
			for range 70 {
				async(t.Context(), b, CallOptions{}, lasting(sec))
			}
			synctest.Wait()
			if st := b.Status(); st.InFlight != 64 || st.Queued != 6 {
				t.Errorf("%+v", st)
			}
			sleep(3 * sec)
		})
	})
}

func TestBridgeReentrant(t *testing.T) {
	inBubble(t, BridgeOptions{MaxInFlight: 2}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		other := NewBridge(d.dial, &BridgeOptions{Name: "other", MaxInFlight: 1})
		defer other.Close()
		// Through another source, and with a context derived on the way: two places are there, so two
		// levels go, and the third fails at once instead of waiting for the first.
		var depth func(ctx context.Context, n int) (int, error)
		depth = func(ctx context.Context, n int) (int, error) {
			return Do(ctx, b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
				ctx, cancel := context.WithCancel(context.WithValue(ctx, callMetaKey{}, map[string]any{}))
				defer cancel()
				if n == 1 {
					return 42, nil
				}
				return depth(ctx, n-1)
			})
		}
		if v, err := depth(t.Context(), 2); v != 42 || err != nil {
			t.Error(v, err)
		}
		start := time.Now()
		_, err := depth(t.Context(), 3)
		var ce *CallError
		if !errors.As(err, &ce) || ce.Kind != KindReentrant || !errors.Is(err, ErrReentrant) || time.Since(start) != 0 || ce.Remedy == "" {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		_, err = Do(t.Context(), other, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
			return Do(ctx, b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
				return Do(ctx, other, CallOptions{}, sessionNumber)
			})
		})
		if !errors.Is(err, ErrReentrant) {
			t.Errorf("through another source: %v", err)
		}
		// A call with a context of a call that is over waits like any other.
		var kept context.Context
		_, _ = Do(t.Context(), b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
			kept = context.WithoutCancel(ctx)
			return 0, nil
		})
		for range 2 {
			async(t.Context(), b, CallOptions{}, lasting(sec))
		}
		synctest.Wait()
		if o := timed(kept, b, CallOptions{}, sessionNumber); o.err != nil || o.after != sec {
			t.Error(o)
		}
	})
}

func TestBridgeContextOfTheCall(t *testing.T) {
	inBubble(t, BridgeOptions{}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		type key struct{}
		ctx := context.WithValue(WithCallMeta(ctxTimeout(t, 5*sec), map[string]any{"a": 1}), key{}, "v")
		var kept context.Context
		_, err := Do(ctx, b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
			kept = ctx
			want, _ := ctx.Deadline()
			if time.Until(want) != 5*sec || ctx.Value(key{}) != "v" || CallMeta(ctx)["a"] != 1 {
				t.Error("the caller's deadline or values are missing")
			}
			return 0, nil
		})
		if err != nil || kept.Err() == nil {
			t.Errorf("%v, context after the call: %v", err, kept.Err())
		}
	})
}

func TestBridgeManyCalls(t *testing.T) {
	inBubble(t, BridgeOptions{MaxInFlight: 64}, func(t *testing.T, b *Bridge[*bridgeSession], d *bridgeScript) {
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				n, err := Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) { sleep(ms); return i, nil })
				if err != nil || n != i {
					t.Errorf("call %d: %d, %v", i, n, err)
				}
			})
		}
		wg.Wait()
		if d.dials() != 1 {
			t.Errorf("%d dials", d.dials())
		}
	})
}
