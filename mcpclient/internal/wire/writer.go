package wire

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
)

// maxJoin is how many bytes of waiting lines leave in one write: one that fits into a pipe whole.
const maxJoin = 4096

// lineWriter writes whole lines into a pipe. Whoever finds the pipe free writes by himself; the others
// queue, and a goroutine that lives as long as the queue writes for them, several lines at a time. Nobody
// waits longer than his context: a line of which nothing has left is taken back, one that has begun is
// finished by the goroutine.
type lineWriter struct {
	f  *os.File
	wg sync.WaitGroup // of the goroutine

	mu    sync.Mutex
	queue []*outLine
	busy  bool // somebody is writing, or will
	err   error
}

type outLine struct {
	b      []byte
	slot   *Slot
	off    int  // bytes that have left
	flying bool // handed to the system at this moment
	left   bool // its writer has gone: not to be begun any more
	done   chan struct{}
	err    error // set before done is closed
}

// write returns when the line has left, ctx ends, or the pipe is broken.
func (w *lineWriter) write(ctx context.Context, b []byte, slot *Slot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	if canTry && !w.busy {
		w.busy = true
		w.mu.Unlock()
		return w.direct(ctx, b, slot)
	}
	l := &outLine{b: b, slot: slot, done: make(chan struct{})}
	w.queue = append(w.queue, l)
	w.startLocked()
	w.mu.Unlock()
	return w.wait(ctx, l)
}

// direct tries to write on the caller's goroutine, without waiting for room.
func (w *lineWriter) direct(ctx context.Context, b []byte, slot *Slot) error {
	slot.setSent(true)
	n := 0
	var werr error
	err := whenRoom(w.f, func(write writer) bool {
		n, werr = write(b)
		return true
	})
	if n == 0 {
		slot.setSent(false)
	}
	if err = errors.Join(err, werr); err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	w.busy = false
	if n == len(b) {
		if len(w.queue) > 0 {
			w.startLocked()
		}
		w.mu.Unlock()
		return nil
	}
	l := &outLine{b: b, off: n, slot: slot, done: make(chan struct{})}
	w.queue = slices.Insert(w.queue, 0, l)
	w.startLocked()
	w.mu.Unlock()
	return w.wait(ctx, l)
}

// wait also takes the line back if nothing of it has left when ctx ends.
func (w *lineWriter) wait(ctx context.Context, l *outLine) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	default:
	}
	if l.off == 0 {
		l.left = true
		if i := slices.Index(w.queue, l); i >= 0 && !l.flying {
			w.queue = slices.Delete(w.queue, i, i+1)
		}
	}
	return ctx.Err()
}

func (w *lineWriter) startLocked() {
	if w.busy || w.err != nil {
		return
	}
	w.busy = true
	w.wg.Add(1)
	go w.drain()
}

// drain writes until the queue is empty. While it waits for room no line is on its way, so that each can
// still be taken back.
func (w *lineWriter) drain() {
	defer w.wg.Done()
	var joined []byte
	for {
		empty := false
		var werr error
		err := whenRoom(w.f, func(write writer) bool {
			lines := w.fly()
			if len(lines) == 0 {
				empty = true
				return true
			}
			out := lines[0].b[lines[0].off:]
			if len(lines) > 1 {
				joined = joined[:0]
				for _, l := range lines {
					joined = append(joined, l.b[l.off:]...)
				}
				out = joined
			}
			var n int
			n, werr = write(out)
			w.land(lines, n)
			return n > 0 || werr != nil
		})
		if err = errors.Join(err, werr); err != nil {
			_ = w.fail(err)
			return
		}
		if empty {
			return
		}
	}
}

// fly marks the lines that are to go next. They stay in the queue until they have gone. Without any, the
// pipe is free again.
func (w *lineWriter) fly() []*outLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(l *outLine) bool { return l.left && l.off == 0 })
	if len(w.queue) == 0 || w.err != nil {
		w.busy = false
		return nil
	}
	n, size := 0, 0
	for _, l := range w.queue {
		if size += len(l.b) - l.off; n > 0 && size > maxJoin {
			break
		}
		n++
	}
	lines := slices.Clone(w.queue[:n])
	for _, l := range lines {
		l.flying = true
		l.slot.setSent(true)
	}
	return lines
}

// land settles what became of n bytes of the lines.
func (w *lineWriter) land(lines []*outLine, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range lines {
		l.flying = false
		took := min(n, len(l.b)-l.off)
		n -= took
		l.off += took
		switch {
		case l.off == len(l.b) && w.err == nil: // else fail has told everybody while the lines were on their way
			w.queue = w.queue[1:]
			close(l.done)
		case l.off == 0:
			l.slot.setSent(false)
		}
	}
}

// fail breaks the writer for good and tells everybody who waits. It returns the first cause.
func (w *lineWriter) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	for _, l := range w.queue {
		l.err = w.err
		close(l.done)
	}
	w.queue, w.busy = nil, false
	return w.err
}
