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
	maxBackoff     = 30 * time.Second
	maxStuckResume = 5 // resumptions in a row that bring nothing new
)

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

// watchOnce starts the watcher of the GET stream, on which a server sends what belongs to no call.
func (c *httpConn) watchOnce() {
	c.smu.Lock()
	first := !c.watching && !c.cfg.NoGetStream
	c.watching = true
	c.smu.Unlock()
	if first {
		c.spawn(c.watchGet)
	}
}

// watchGet keeps a GET stream open. Its end never ends the session; a server that has none is asked once.
func (c *httpConn) watchGet() {
	var pos position
	backoff := firstBackoff
	for {
		opened, again := c.getStream(&pos)
		if !again {
			return
		}
		if opened {
			backoff = firstBackoff
		}
		wait := backoff
		if opened && pos.retry > 0 {
			wait = min(pos.retry, maxBackoff)
		}
		if !pause(c.ctx, wait) {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (c *httpConn) getStream(pos *position) (opened, again bool) {
	f := c.takeoff(c.ctx, nil)
	defer f.land()
	o := order{method: http.MethodGet, url: c.url, accept: acceptEvents, lastID: pos.id}
	resp, err := c.do(f.ctx, f, o)
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
	er := c.events.Get().(*eventReader)
	er.reset(resp.Body)
	defer c.putEvents(er)
	for {
		ev, err := er.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.opts.Logger.Debug("the GET stream broke off", "err", redactError(err, c.opts.Redact))
			}
			return true, c.ctx.Err() == nil
		}
		pos.note(ev)
		switch {
		case !ev.isMessage():
		case ev.long:
			msg, answered, _ := c.malformedHead(ev.data, nil)
			c.other(f, msg, answered)
		default:
			messages(ev.data, func(m []byte) {
				msg, answered, err := c.receive(m, nil)
				c.other(f, msg, answered)
				if msg == nil {
					c.unusable(m, err)
				}
			})
		}
	}
}
