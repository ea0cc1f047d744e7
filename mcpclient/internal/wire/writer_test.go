package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
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
			w.queue = append(w.queue, &outLine{text: parts{[]byte("x\n")}, slot: s, done: make(chan struct{})})
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

func pipeWriter(t *testing.T) (*os.File, *lineWriter) {
	t.Helper()
	r, f, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = f.Close() })
	w := new(lineWriter)
	w.writes(f)
	return r, w
}

// Texts in several parts come out whole, whatever part the pipe has no room for, and in their order.
func TestPartsLeaveInOrder(t *testing.T) {
	r, w := pipeWriter(t)
	for _, large := range []int{1, largeArgs, 60 << 10, 1 << 20} {
		args := bytes.Repeat([]byte("a"), large)
		text := parts{[]byte("<"), args, []byte(">")}
		text.endLine()
		want := "<" + string(args) + ">\n"
		got := make(chan string)
		go func() { // begins late, so that lines wait
			time.Sleep(10 * time.Millisecond)
			b := make([]byte, 4*len(want))
			_, _ = io.ReadFull(r, b)
			got <- string(b)
		}()
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				if err := w.write(t.Context(), text, nil); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		if s := <-got; s != strings.Repeat(want, 4) {
			t.Errorf("%d bytes of arguments: lines are mixed", large)
		}
	}
	w.wg.Wait()
}

// A text that was given up when part of it had left is finished, so that the next one begins a line.
func TestBegunTextIsFinished(t *testing.T) {
	r, w := pipeWriter(t)
	text := parts{[]byte("<"), bytes.Repeat([]byte("a"), 1<<20), []byte(">\n")}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.write(ctx, text, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b := make([]byte, text.size()+5)
		_, _ = io.ReadFull(r, b)
		got <- string(b)
	}()
	if err := w.write(t.Context(), parts{[]byte("next\n")}, nil); err != nil {
		t.Fatal(err)
	}
	if s := <-got; !strings.HasSuffix(s, "a>\nnext\n") {
		t.Errorf("ends with %q", s[len(s)-10:])
	}
	w.wg.Wait()
}
