package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/toolsource/toolsource"
)

const (
	firstBackoff   = time.Second
	leastBackoff   = 100 * time.Millisecond // whatever a server asks for
	maxBackoff     = 30 * time.Second
	maxStuckResume = 5 // resumptions in a row that bring nothing new
)

// backoff is how long a stream that ended is left alone. It grows while streams end soon and bring nothing,
// so that a server which closes each at once is not asked every second.
type backoff struct{ wait time.Duration }

// note learns how the last stream went.
func (b *backoff) note(heard bool, lasted time.Duration) {
	if heard || lasted >= maxBackoff {
		b.wait = 0
	}
}

// next is the time to wait now. What the server asks for counts while all is well.
func (b *backoff) next(asked time.Duration) time.Duration {
	b.wait = min(max(2*b.wait, firstBackoff), maxBackoff)
	switch {
	case asked <= 0:
		return b.wait
	case b.wait == firstBackoff:
		return min(max(asked, leastBackoff), maxBackoff)
	}
	return min(max(asked, b.wait), maxBackoff)
}

// pauseEither waits, and reports false if one of the contexts ends first.
func pauseEither(a, b context.Context, d time.Duration) bool {
	ctx, cancel := context.WithCancel(b)
	defer cancel()
	defer context.AfterFunc(a, cancel)()
	return pause(ctx, d)
}

// pause waits, and reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// resume opens a stream again after its last event, with growing pauses while the server cannot be had.
func (c *httpConn) resume(ctx context.Context, f *flight, pos *position) (*http.Response, error) {
	wait := firstBackoff
	if pos.retry > 0 {
		wait = min(pos.retry, maxBackoff)
	}
	if pos.moved {
		pos.stuck = 0
	}
	pos.moved = false
	for {
		if pos.stuck++; pos.stuck > maxStuckResume {
			return nil, fmt.Errorf("%s: the reply's stream broke off and could not be resumed", c.where())
		}
		if !pause(f.ctx, wait) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, errClosed
		}
		o := order{method: http.MethodGet, url: c.url, accept: acceptEvents, lastID: pos.id}
		resp, err := c.do(ctx, f, o)
		if err == nil && resp.StatusCode == http.StatusOK && mediaType(resp) == typeEvents {
			return resp, nil
		}
		if err == nil {
			again := resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests
			if err = c.refused(resp, o); !again {
				return nil, mayHaveRun{err}
			}
		}
		if f.ctx.Err() != nil {
			return nil, err
		}
		wait = min(2*wait, maxBackoff)
	}
}

// mayHaveRun takes "not reached" out of an error: what was refused is the resumption, not the call.
type mayHaveRun struct{ err error }

func (e mayHaveRun) Error() string { return "resuming the reply's stream: " + e.err.Error() }

// As gives the causes that say no more than they know.
func (e mayHaveRun) As(target any) bool {
	if st, ok := target.(**StatusError); ok {
		return errors.As(e.err, st)
	}
	return false
}

// Is matches every sentinel of the cause but ErrNotReached.
func (e mayHaveRun) Is(target error) bool {
	return target != toolsource.ErrNotReached && errors.Is(e.err, target)
}

// streamWait is how long the first call waits for the GET stream, where it does.
const streamWait = time.Second

// watchOnce starts the watcher of the GET stream, on which a server sends what belongs to no call.
func (c *httpConn) watchOnce(ctx context.Context) {
	c.smu.Lock()
	first := !c.watching && !c.cfg.NoGetStream
	c.watching = true
	c.smu.Unlock()
	if !first {
		return
	}
	if c.cfg.AwaitStream {
		c.opened = make(chan struct{})
	}
	if !c.spawn(c.watchGet) || c.opened == nil {
		return
	}
	t := time.NewTimer(streamWait)
	defer t.Stop()
	select {
	case <-c.opened:
	case <-t.C:
	case <-ctx.Done():
	case <-c.done:
	}
}

// streamAnswered tells the first call that the GET stream is open, or that there is none.
func (c *httpConn) streamAnswered() {
	select {
	case <-c.opened: // told before
	default:
		if c.opened != nil {
			close(c.opened)
		}
	}
}

// watchGet keeps a GET stream open. Its end never ends the session; a server that has none is asked once.
func (c *httpConn) watchGet() {
	var pos position
	var b backoff
	for {
		began := time.Now()
		heard, again := c.getStream(&pos)
		if !again {
			return
		}
		b.note(heard, time.Since(began))
		if !pause(c.ctx, b.next(pos.retry)) {
			return
		}
	}
}

// getStream opens the stream and reads what comes. heard: the server had something to say. again: it may be
// opened anew. What changed between two streams is not told again, unless by the events that the second one
// resumes after: so it counts as changed.
func (c *httpConn) getStream(pos *position) (heard, again bool) {
	f := c.takeoff(c.ctx, nil)
	defer f.land()
	o := order{method: http.MethodGet, url: c.url, accept: acceptEvents, lastID: pos.id}
	resp, err := c.do(f.ctx, f, o)
	c.streamAnswered()
	if err != nil {
		c.opts.Logger.Debug("the GET stream cannot be opened", "err", err)
		return false, c.ctx.Err() == nil
	}
	defer resp.Body.Close()
	switch s := resp.StatusCode; {
	case s == http.StatusOK && mediaType(resp) == typeEvents:
	case s/100 == 5 || s == http.StatusTooManyRequests || s == http.StatusUnauthorized:
		return false, true
	default:
		return false, false
	}
	if pos.opened && pos.id == "" {
		c.changed(f, c.changeable())
		if c.opts.Notify != nil {
			c.opts.Notify("", nil)
		}
	}
	pos.opened = true
	er := c.events.Get().(*eventReader)
	er.reset(resp.Body)
	defer c.putEvents(er)
	for {
		ev, err := er.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.opts.Logger.Debug("the GET stream broke off", "err", redactError(err, c.opts.Redact))
			}
			return heard, c.ctx.Err() == nil
		}
		pos.note(ev)
		heard = heard || ev.isMessage()
		switch {
		case !ev.isMessage():
		case ev.long:
			msg, answered, _ := c.malformedHead(ev.data, nil)
			c.other(f, msg, answered)
		default:
			messages(ev.data, func(m []byte) {
				msg, answered, err := c.receive(m, nil, false)
				c.other(f, msg, answered)
				if msg == nil {
					c.unusable(m, err)
				}
			})
		}
	}
}
