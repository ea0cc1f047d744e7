package toolsource

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func crewGoroutines() int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "(*crew).life(")
}

func TestBridgeCrew(t *testing.T) {
	inBubble(t, BridgeOptions{MaxInFlight: 200}, func(t *testing.T, b *Bridge[*bridgeSession], _ *bridgeScript) {
		mustDo(t, b)
		for range 100 {
			synctest.Wait() // the caller has its answer just before the goroutine waits again
			mustDo(t, b)
		}
		synctest.Wait()
		if n := crewGoroutines(); n != 1 {
			t.Errorf("calls one after another use %d goroutines, want 1", n)
		}
		var wg sync.WaitGroup
		for range 150 {
			wg.Go(func() { _, _ = Do(t.Context(), b, CallOptions{}, lasting(time.Millisecond)) })
		}
		wg.Wait()
		synctest.Wait()
		if n := crewGoroutines(); n != mostIdle {
			t.Errorf("%d goroutines wait after 150 calls at once, want %d", n, mostIdle)
		}
		time.Sleep(idleFor)
		synctest.Wait()
		if n := crewGoroutines(); n != 0 {
			t.Errorf("%d goroutines wait after %v, want none", n, idleFor)
		}
		_, err := Do(t.Context(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) {
			runtime.Goexit()
			return 0, nil
		})
		if err == nil {
			t.Error("a call function that ended its goroutine gave no error")
		}
		mustDo(t, b)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if n := b.b.crew.alive.Load(); n != 0 {
			t.Errorf("%d goroutines after Close", n)
		}
	})
}
