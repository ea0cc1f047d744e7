package toolsource

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// One call is refused with the session; another one, which runs, ends with it and may have reached its tool.
func TestBridgeRefusalOfOneIsNotOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newScript()
		b := NewBridge(d.dial, &BridgeOptions{Name: "srv"})
		defer b.Close()
		refuse := make(chan struct{})
		go func() {
			_, _ = Do(context.Background(), b, CallOptions{}, func(context.Context, *bridgeSession) (int, error) {
				<-refuse
				return 0, &CallError{Kind: KindSessionLost, Err: errors.Join(ErrSessionLost, ErrNotReached)}
			})
		}()
		done := make(chan error, 1)
		go func() {
			_, err := Do(context.Background(), b, CallOptions{}, func(ctx context.Context, _ *bridgeSession) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			done <- err
		}()
		synctest.Wait()
		close(refuse)
		err := <-done
		var e *CallError
		if !errors.As(err, &e) || !e.MayHaveRun || !errors.Is(err, ErrSessionLost) || errors.Is(err, ErrNotReached) {
			t.Errorf("%v", err)
		}
	})
}
