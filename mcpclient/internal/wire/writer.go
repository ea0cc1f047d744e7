package wire

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
)

// maxJoin is how many bytes of waiting lines leave in one write: one that fits into a pipe whole.
const maxJoin = 4096

// lineWriter writes whole lines into a pipe. Whoever finds the pipe free writes by himself; the others
// queue, and a goroutine that lives as long as the queue writes for them, several lines at a time. Nobody
// waits longer than his context: a line of which nothing has left is taken back, one that has begun is
// finished by the goroutine.
type lineWriter struct {
	f   *os.File
	raw syscall.RawConn // of f; nil: its writes wait
	wg  sync.WaitGroup  // of the goroutine

	mu    sync.Mutex
	queue []*outLine
	busy  bool // somebody is writing, or will
	err   error
}

type outLine struct {
	text   parts
	slot   *Slot
	off    int  // bytes that have left
	flying bool // handed to the system at this moment
	left   bool // its writer has gone: not to be begun any more
	done   chan struct{}
	err    error // set before done is closed
}

// writes sets the pipe to write to.
func (w *lineWriter) writes(f *os.File) {
	w.f = f
	if canTry {
		w.raw, _ = f.SyscallConn()
	}
}

// write returns when the line has left, ctx ends, or the pipe is broken. What of the text has not left in the
// second case may be sent later: it must not be changed.
func (w *lineWriter) write(ctx context.Context, text parts, slot *Slot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	if w.raw != nil && !w.busy {
		w.busy = true
		w.mu.Unlock()
		return w.direct(ctx, text, slot)
	}
	l := &outLine{text: text, slot: slot, done: make(chan struct{})}
	w.queue = append(w.queue, l)
	w.startLocked()
	w.mu.Unlock()
	return w.wait(ctx, l)
}

// attempt is one to write a text without waiting for room. It is used again, since nearly every call makes
// one.
type attempt struct {
	text parts
	n    int // bytes that have left
	err  error
	try  func(fd uintptr) bool
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.try = func(fd uintptr) bool {
		for rest := a.text.from(0); len(rest) > 0; rest = a.text.from(a.n) {
			n, err := tryWrite(fd, rest)
			a.n += n
			if a.err = err; err != nil || n < len(rest) {
				break
			}
		}
		return true
	}
	return a
}}

// direct tries to write on the caller's goroutine, without waiting for room.
func (w *lineWriter) direct(ctx context.Context, text parts, slot *Slot) error {
	slot.setSent(true)
	a := attempts.Get().(*attempt)
	a.text, a.n = text, 0
	err := w.raw.Write(a.try)
	n := a.n
	err = errors.Join(err, a.err)
	a.text, a.err = parts{}, nil
	attempts.Put(a)
	if n == 0 {
		slot.setSent(false)
	}
	if err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	w.busy = false
	if n == text.size() {
		if len(w.queue) > 0 {
			w.startLocked()
		}
		w.mu.Unlock()
		return nil
	}
	l := &outLine{text: text, off: n, slot: slot, done: make(chan struct{})}
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
		err := w.whenRoom(func(write func([]byte) (int, error)) bool {
			lines := w.fly()
			if len(lines) == 0 {
				empty = true
				return true
			}
			out := lines[0].text.from(lines[0].off)
			if len(lines) > 1 {
				joined = joined[:0]
				for _, l := range lines {
					joined = l.appendRest(joined)
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

// whenRoom calls once, again each time that the pipe takes bytes again, until it reports true. It has to
// write, or to report true: only a write that finds no room arms the wait for it.
func (w *lineWriter) whenRoom(once func(write func([]byte) (int, error)) bool) error {
	if w.raw == nil {
		for !once(w.f.Write) {
		}
		return nil
	}
	return w.raw.Write(func(fd uintptr) bool {
		return once(func(b []byte) (int, error) { return tryWrite(fd, b) })
	})
}

func (l *outLine) appendRest(b []byte) []byte {
	for off := l.off; ; {
		rest := l.text.from(off)
		if len(rest) == 0 {
			return b
		}
		b, off = append(b, rest...), off+len(rest)
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
		if size += l.text.size() - l.off; n > 0 && size > maxJoin {
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
		took := min(n, l.text.size()-l.off)
		n -= took
		l.off += took
		switch {
		case l.off == l.text.size() && w.err == nil: // else fail has told everybody while the lines were on their way
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
