package sourcetest

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
)

// noJitter makes a Bridge's pauses exact.
func noJitter(d time.Duration) time.Duration { return d }

func say(ctx context.Context, s *Session) (any, error) { return s.Call(ctx, "hello") }

type outcome struct {
	v   any
	err error
	at  time.Time
}

func TestDialerWithABridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dialer
		b := toolsource.NewBridge(d.Dial, &toolsource.BridgeOptions{Jitter: noJitter})
		call := func(ctx context.Context) <-chan outcome {
			c := make(chan outcome, 1)
			go func() {
				v, err := toolsource.Do(ctx, b, toolsource.CallOptions{}, say)
				c <- outcome{v, err, time.Now()}
			}()
			return c
		}

		first := call(t.Context())
		s := d.WantDial(t)
		s.Finish(errors.New("refused"))
		start := time.Now()
		s = d.WantDial(t) // the Bridge's next try, a second later
		if pause := time.Since(start); pause != time.Second {
			t.Errorf("dialled again after %v", pause)
		}
		s.Finish(nil)
		c := s.WantCall(t)
		if c.Arg != "hello" {
			t.Errorf("called with %v", c.Arg)
		}
		c.Reply("hi", nil)
		if o := <-first; o.v != "hi" || o.err != nil {
			t.Errorf("got %v, %v", o.v, o.err)
		}

		second := call(t.Context())
		s.WantCall(t)
		s.Break(io.ErrUnexpectedEOF)
		if o := <-second; !errors.Is(o.err, toolsource.ErrOutcomeUnknown) && !errors.Is(o.err, toolsource.ErrSessionLost) {
			t.Errorf("the call of a session that broke: %v", o.err)
		}
		s.WantClosed(t)

		third := call(t.Context())
		s = d.WantDial(t)
		s.Finish(nil)
		s.WantCall(t)
		s.Stall()
		s.HoldClose()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if o := <-call(ctx); !errors.Is(o.err, context.DeadlineExceeded) || o.at.Sub(start) != time.Second {
			t.Errorf("a stalled session: %v after %v", o.err, o.at.Sub(start))
		}
		s.WantClosed(t) // the Bridge cuts it
		<-third
		redial := d.WantDial(t).DialContext()

		closed := make(chan error, 1)
		go func() { closed <- b.Close() }()
		<-closed
		<-redial.Done()
		s.Resume()
		s.Release()
		synctest.Wait()
		d.WantNoDial(t)
	})
}

func TestDialerStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Dialer{Patience: time.Minute}
		dial := func(ctx context.Context) <-chan error {
			c := make(chan error, 1)
			go func() { _, err := d.Dial(ctx); c <- err }()
			return c
		}
		ctx, cancel := context.WithCancel(t.Context())
		polite := dial(ctx)
		d.WantDial(t)
		cancel()
		if err := <-polite; !errors.Is(err, context.Canceled) {
			t.Errorf("a dial whose context ended: %v", err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		deaf := dial(ctx)
		s := d.WantDial(t)
		s.Stall()
		cancel()
		synctest.Wait()
		select {
		case err := <-deaf:
			t.Fatalf("a stalled dial came back: %v", err)
		default:
		}
		s.Finish(nil)
		if err := <-deaf; err != nil {
			t.Error(err)
		}
		s.Resume()

		closed := make(chan error, 1)
		s.HoldClose()
		s.WantOpen(t)
		go func() { closed <- s.Close(ctx) }()
		s.WantClosed(t)
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("a held Close came back")
		default:
		}
		s.Release()
		<-closed
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		if _, err := s.Call(t.Context(), nil); err == nil {
			t.Error("a closed session can be called")
		}
		s.WantCall(t)
		s.WantNoCall(t)
		s.Break(io.EOF)
		s.Break(io.ErrClosedPipe)
		<-s.Done()
		if s.Err() != io.EOF {
			t.Errorf("it ended by %v, and the first reason counts", s.Err())
		}
	})
}
