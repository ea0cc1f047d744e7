package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

// drainAfterReply is how long a stream is still read after its reply, so that its TCP connection can be
// used again; a server that holds it open longer is cut off.
const drainAfterReply = 250 * time.Millisecond

// NewHTTP makes a transport for streamable HTTP. Its Connect does no I/O: the first request is the SDK's.
func NewHTTP(cfg HTTPConfig, o Options) Transport {
	return &httpTransport{cfg: cfg, opts: o, over: func(b *httpBase) httpKind { return &httpConn{httpBase: b} }}
}

// httpConn is a connection over streamable HTTP. A call's request runs on the goroutine that makes the
// call, which also reads its reply; so a call ends with its context and there is nothing to hand over.
// Goroutines of ours are the watcher of the GET stream and, for a moment each, drains.
type httpConn struct {
	*httpBase
	watching bool // the GET stream has its watcher; under smu

	opened chan struct{} // closed by watchGet when the GET stream was first answered; nil: nobody waits for that
}

func (c *httpConn) open(context.Context) error { return nil }

// Read implements mcp.Connection.
func (c *httpConn) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.done:
		return c.ended()
	}
}

// ended is what Read gives after the end: what is still to be said, and then the reason.
func (b *httpBase) ended() (jsonrpc.Message, error) {
	if msg := b.lastWord(); msg != nil {
		return msg, nil
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Write implements mcp.Connection. For a request it returns once the reply has been handed over. Its
// errors cost the one message only.
func (c *httpConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	defer c.answered(msg)
	out, err := c.prepare(ctx, msg)
	if errors.Is(err, errSkip) {
		return nil
	}
	if err != nil {
		return reject(err)
	}
	o := order{method: http.MethodPost, url: c.url, text: out.text, accept: acceptBoth}
	if req, ok := msg.(*jsonrpc.Request); ok {
		o.mirror = c.mirror(req, out.slot())
	}
	switch {
	case out.call == nil:
		if out.method == methodCancelled && o.mirror.revision != "" {
			return nil // the end of its request has told the server
		}
		if err = c.tell(ctx, out, o); err == nil || ctx.Err() != nil {
			return err
		}
		return reject(err)
	case out.method == methodListen: // the SDK does not wait for its reply
		wanted, _ := notifications(msg.(*jsonrpc.Request).Params)
		s := &subscription{c: c, out: out, order: o, wanted: wanted}
		if !c.spawn(func() { s.keepListening(ctx) }) {
			c.abandon(out)
			return reject(errClosed)
		}
		return nil
	}
	out.call.asked = o.mirror.revision
	if err = c.asks(); err == nil {
		err = c.turnedAway(out.method)
	}
	if err == nil {
		err = c.ask(ctx, out, o)
		c.noteRefusal(out.method, err)
	}
	return c.asked(ctx, out, err)
}

// noteRefusal keeps a server's refusal of the probe for want of rights. The SDK goes on to initialize after
// any error, and asking again with the same rights is of no use and starts a second authorisation.
func (c *httpConn) noteRefusal(method string, err error) {
	var st *StatusError
	if method != methodDiscover || !errors.As(err, &st) || st.Status != http.StatusUnauthorized && st.Status != http.StatusForbidden {
		return
	}
	c.smu.Lock()
	c.denied = err
	c.smu.Unlock()
}

// turnedAway is the refusal that the probe met, for the initialize that follows it.
func (c *httpConn) turnedAway(method string) error {
	if method != methodInitialize {
		return nil
	}
	c.smu.Lock()
	defer c.smu.Unlock()
	return c.denied
}

// tell posts what has no reply.
func (c *httpConn) tell(ctx context.Context, out outgoing, o order) error {
	f := c.takeoff(ctx, nil)
	defer f.land()
	resp, err := c.do(ctx, f, o)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return c.refused(resp, o)
	}
	if out.method == methodInitialized {
		c.watchOnce(ctx)
	}
	discard(resp)
	return nil
}

// discard reads the little that may stand in a body nobody asked for, so that the connection is kept.
func discard(resp *http.Response) {
	if resp.ContentLength >= 0 && resp.ContentLength <= errorBody {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	_ = resp.Body.Close()
}

// ask posts a request and reads until its reply is there. The error is the slot itself where the reply
// went into it.
func (c *httpConn) ask(ctx context.Context, out outgoing, o order) error {
	f := c.takeoff(ctx, out.slot())
	landed := false
	defer func() {
		if !landed {
			f.land()
		}
	}()
	c.calls.onAnswer(out.call, f.cancel)
	resp, err := c.do(ctx, f, o)
	if err != nil {
		return c.orAnswered(out, err)
	}
	if out.method == methodInitialize && resp.StatusCode/100 == 2 {
		if id := resp.Header.Get(headerSession); id != "" {
			c.smu.Lock()
			c.sessionID = id
			c.smu.Unlock()
		}
	}
	mt := mediaType(resp)
	switch {
	case resp.StatusCode/100 != 2:
		return c.refusedCall(f, resp, out, o)
	case mt == typeJSON:
		return c.json(ctx, f, resp, out)
	case mt == typeEvents:
		var held bool
		held, err = c.stream(ctx, f, resp, out, o.mirror.revision == "")
		landed = held
		return err
	}
	return c.refused(resp, o)
}

// orAnswered is nil where the reply came on another way meanwhile, which is also why err came.
func (c *httpConn) orAnswered(out outgoing, err error) error {
	if c.calls.waiting(out.call) {
		return err
	}
	return nil
}

// refusedCall tells a JSON-RPC error that only came with an HTTP error status from a refusal. One that
// names no call answers the only one there is, where no session can be meant instead.
func (c *httpConn) refusedCall(f *flight, resp *http.Response, out outgoing, o order) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	_ = resp.Body.Close()
	s := resp.StatusCode
	if s != http.StatusUnauthorized && s != http.StatusForbidden && mediaType(resp) == typeJSON {
		env, err := scan(body)
		num, ok := integer(spanOr(env.id, body))
		own := ok && num == out.call.num || !env.id.given(body) && o.mirror.revision != ""
		if err == nil && own && env.err.given(body) {
			return c.take(f, body, out, true)
		}
	}
	return c.refusal(resp, body, o)
}

// json reads a reply that is the whole body. One whose length is known is read into a buffer of just that
// size, which the result may then stay in.
func (c *httpConn) json(ctx context.Context, f *flight, resp *http.Response, out outgoing) error {
	defer resp.Body.Close()
	var body []byte
	var err error
	n, max := resp.ContentLength, c.opts.MaxMessage
	ours := n >= 0
	switch {
	case n > int64(max):
		err = tooLong(max)
	case n >= 0:
		body = make([]byte, n)
		_, err = io.ReadFull(resp.Body, body)
	default:
		piece, _ := c.bodies.Get().(*bodyPiece)
		if piece == nil {
			piece = new(bodyPiece)
		}
		defer c.bodies.Put(piece)
		body, ours, err = readPieces(resp.Body, piece[:], max)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.orAnswered(out, redactError(fmt.Errorf("reading the reply of %s: %w", c.where(), err), c.opts.Redact))
	}
	return c.take(f, body, out, ours)
}

// bodyPiece is the room that a body of unknown length is read into at first.
type bodyPiece [32 << 10]byte

// readPieces reads a body of unknown length. A small one stays in the given room; of a larger one the
// pieces are put together once, at the end, in memory of its own.
func readPieces(r io.Reader, room []byte, max int) (body []byte, ours bool, err error) {
	var pieces [][]byte
	piece, n, size := room, 0, 0
	for {
		k, err := r.Read(piece[n:])
		n += k
		if size += k; size > max {
			return nil, false, tooLong(max)
		}
		switch {
		case errors.Is(err, io.EOF) && pieces == nil:
			return piece[:n], false, nil
		case errors.Is(err, io.EOF):
			pieces = append(pieces, piece[:n])
			return bytes.Join(pieces, nil), true, nil
		case err != nil:
			return nil, false, err
		case n == len(piece):
			pieces = append(pieces, piece)
			piece, n = make([]byte, min(4*len(piece), 1<<20)), 0
		}
	}
}

func tooLong(max int) error {
	return fmt.Errorf("%w: a message of more than %d bytes", toolsource.ErrProtocol, max)
}

// take reads a body that has to hold the call's reply.
func (c *httpConn) take(f *flight, body []byte, out outgoing, ours bool) error {
	done, err := c.acceptAll(f, body, out, ours)
	switch {
	case done || !c.calls.waiting(out.call):
		return err
	case len(body) == 0:
		return fmt.Errorf("%w: an empty reply", toolsource.ErrProtocol)
	}
	return fmt.Errorf("%w: not a reply to the call: %s", toolsource.ErrProtocol, firstLine(c.excerpt(body)))
}

// acceptAll reads a text that may be a batch.
func (c *httpConn) acceptAll(f *flight, text []byte, out outgoing, ours bool) (done bool, err error) {
	messages(text, func(m []byte) {
		if d, e := c.accept(f, m, out, ours); d {
			done, err = true, e
		}
	})
	return done, err
}

// accept reads one message of an answer. done says that it was the call's reply, and the error is then
// the slot if the reply went into it.
func (c *httpConn) accept(f *flight, text []byte, out outgoing, ours bool) (done bool, err error) {
	msg, answered, rerr := c.receive(text, out.call, ours)
	if done, err = c.settle(f, msg, answered, out); !done && msg == nil {
		c.unusable(text, rerr)
	}
	return done, err
}

// acceptHead reads the head of a message over the cap.
func (c *httpConn) acceptHead(f *flight, head []byte, out outgoing) (done bool, err error) {
	msg, answered, _ := c.malformedHead(head, out.call)
	return c.settle(f, msg, answered, out)
}

func (c *httpConn) settle(f *flight, msg jsonrpc.Message, answered *call, out outgoing) (done bool, err error) {
	if answered != nil && answered == out.call {
		if r, ok := msg.(*jsonrpc.Response); ok && out.call.slot != nil && r.Error == error(out.call.slot) {
			return true, out.call.slot
		}
		c.push(f, msg)
		return true, nil
	}
	c.other(f, msg, answered)
	return false, nil
}

// other passes on what came on a stream that it does not belong to.
func (c *httpConn) other(f *flight, msg jsonrpc.Message, answered *call) {
	if msg == nil {
		return
	}
	c.push(f, msg)
	if answered != nil && answered.free != nil {
		answered.free()
	}
}

// stream reads events until the call's reply, resuming a stream that was cut where the revision allows it
// and the server gave its events ids. held says that the flight goes on to drain the stream.
func (c *httpConn) stream(ctx context.Context, f *flight, resp *http.Response, out outgoing, resumable bool) (held bool, err error) {
	var pos position
	for {
		done, err := c.follow(f, resp, out, &pos)
		if done {
			return c.drain(f, resp), err
		}
		_ = resp.Body.Close()
		if !c.calls.waiting(out.call) {
			return false, nil // answered on another way
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if pos.id == "" || !resumable || f.ctx.Err() != nil {
			return false, redactError(fmt.Errorf("%s ended the stream without the reply: %w", c.where(), err), c.opts.Redact)
		}
		if resp, err = c.resume(ctx, f, &pos); err != nil {
			return false, c.orAnswered(out, err)
		}
	}
}

// drain keeps reading for a moment after the reply, on a goroutine that owns the flight from then on.
func (c *httpConn) drain(f *flight, resp *http.Response) (held bool) {
	f.stop()
	held = c.spawn(func() {
		defer f.cancel()
		t := time.AfterFunc(drainAfterReply, f.cancel)
		defer t.Stop()
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	})
	if !held {
		_ = resp.Body.Close()
	}
	return held
}

// position is how far a stream was read.
type position struct {
	id    string
	retry time.Duration
	moved bool // an event came with an id since the stream was opened
	stuck int  // resumptions since then

	opened bool // of a GET stream: this is not the first one
}

// follow reads events until the call's reply or the stream's end.
func (c *httpConn) follow(f *flight, resp *http.Response, out outgoing, pos *position) (done bool, err error) {
	er := c.events.Get().(*eventReader)
	er.reset(resp.Body)
	defer c.putEvents(er)
	for {
		ev, err := er.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return false, err
		}
		pos.note(ev)
		if !ev.isMessage() {
			continue
		}
		if ev.long {
			if done, err := c.acceptHead(f, ev.data, out); done {
				return true, err
			}
			continue
		}
		if done, err := c.acceptAll(f, ev.data, out, false); done {
			return true, err
		}
	}
}

func (b *httpBase) malformedHead(head []byte, own *call) (jsonrpc.Message, *call, error) {
	env, _ := scan(head)
	cause := tooLong(b.opts.MaxMessage)
	b.noise.add(&b.opts, head, cause)
	return b.malformed(head, env, own, cause)
}

func (e *event) isMessage() bool {
	return len(e.data) > 0 && (e.name == "" || e.name == "message")
}

func (p *position) note(ev event) {
	if ev.hasID {
		p.moved = p.moved || ev.id != p.id
		p.id = ev.id
	}
	if ev.retry > 0 {
		p.retry = ev.retry
	}
}

// putEvents keeps a reader for the next stream, unless a large message has blown it up.
func (b *httpBase) putEvents(er *eventReader) {
	if cap(er.data)+cap(er.line) > maxReuse {
		er.data, er.line = nil, nil
	}
	er.r.Reset(nil)
	b.events.Put(er)
}
