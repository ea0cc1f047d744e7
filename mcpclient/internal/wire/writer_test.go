package wire

import (
	"errors"
	"testing"
)

// A connection that is closed while lines are on their way tells their writers once, whatever has left by then.
func TestWriterFailsInFlight(t *testing.T) {
	cause := errors.New("closed")
	for _, tc := range []struct {
		why  string
		left int
		sent bool
	}{
		{"both lines have left", 4, true},
		{"nothing has left", 0, false},
	} {
		a, b := &Slot{}, &Slot{}
		var w lineWriter
		for _, s := range []*Slot{a, b} {
			w.queue = append(w.queue, &outLine{b: []byte("x\n"), slot: s, done: make(chan struct{})})
		}
		lines := w.fly()
		if len(lines) != 2 {
			t.Fatal("lines", len(lines))
		}
		_ = w.fail(cause)
		w.land(lines, tc.left)
		for _, l := range lines {
			select {
			case <-l.done:
			default:
				t.Error(tc.why, ": a writer still waits")
			}
			if l.err != cause || l.slot.Sent() != tc.sent {
				t.Error(tc.why, ":", l.err, l.slot.Sent())
			}
		}
	}
}
