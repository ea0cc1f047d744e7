package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
)

const (
	soon     = 2 * time.Second  // longest time for what does not block or is told to end, and of a call's context
	patience = 10 * time.Second // of a listing's context
	closing  = 6 * time.Second  // for a close: a server's has 5 s unless it says otherwise
	moment   = 10 * time.Millisecond
)

// blocked is a method that did not come back.
type blocked struct {
	what  string
	after string
}

func (b *blocked) Error() string { return b.what + " did not return within " + b.after }

func isBlocked(err error) bool {
	var b *blocked
	return errors.As(err, &b)
}

// step runs f on a goroutine of its own. It reports if f does not return in time, which is within, or soon
// after ctx has ended if that is earlier; and if it panics.
func step[R any](ctx context.Context, what string, within time.Duration, f func() (R, error)) (R, error) {
	type answer struct {
		r   R
		err error
	}
	done := make(chan answer, 1) // room for the answer that nobody waits for any more
	go func() {
		var a answer
		defer func() { done <- a }()
		defer rescue(what, &a.err)
		a.r, a.err = f()
	}()
	var limit <-chan time.Time // nil: there is none but ctx
	if within > 0 {
		t := time.NewTimer(within)
		defer t.Stop()
		limit = t.C
	}
	stuck := &blocked{what, within.String()}
	select {
	case a := <-done:
		return a.r, a.err
	case <-limit:
	case <-ctx.Done():
		stuck.after = soon.String() + " of its context's end"
		rest := time.NewTimer(soon)
		defer rest.Stop()
		select {
		case a := <-done:
			return a.r, a.err
		case <-limit:
			stuck.after = within.String()
		case <-rest.C:
		}
	}
	var none R
	return none, stuck
}

// heeding runs what heeds ctx, and so has until soon after its end.
func heeding[R any](ctx context.Context, what string, f func() (R, error)) (R, error) {
	return step(ctx, what, 0, f)
}

// does is a step without a value.
func does(ctx context.Context, what string, within time.Duration, f func() error) error {
	_, err := step(ctx, what, within, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// rescue makes a panic an error of one line; the stack is in the chain's *toolsource.PanicError.
func rescue(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s %w", what, &toolsource.PanicError{Value: v, Stack: debug.Stack()})
	}
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
