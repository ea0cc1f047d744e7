package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

// NewSSE makes a transport for the HTTP with SSE of 2024-11-05: one GET stream that brings everything, and
// a POST for each message to the address that its first event names. Its Connect opens the stream and waits for
// that event; ctx bounds that, not the stream's life.
func NewSSE(cfg HTTPConfig, o Options) Transport {
	return &httpTransport{cfg: cfg, opts: o, over: func(b *httpBase) httpKind { return &sseConn{httpBase: b} }}
}

// sseConn is a connection over the legacy transport. The SDK's reading goroutine reads the stream itself.
type sseConn struct {
	*httpBase
	stream   *flight
	resp     *http.Response
	er       *eventReader // the reading goroutine's own, once open
	endpoint *url.URL
	backlog  []jsonrpc.Message // the reading goroutine's own
}

func (c *sseConn) open(ctx context.Context) error {
	f := c.takeoff(ctx, nil)
	o := order{method: http.MethodGet, url: c.url, accept: acceptEvents}
	resp, err := c.do(ctx, f, o)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 || mediaType(resp) != typeEvents {
		return c.refused(resp, o)
	}
	c.stream, c.resp, c.er = f, resp, c.events.Get().(*eventReader)
	c.er.reset(resp.Body)
	for c.endpoint == nil {
		ev, err := c.er.next()
		if err != nil {
			_ = resp.Body.Close()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return redactError(fmt.Errorf("%s ended the stream before it named an endpoint: %w", c.where(), noEOF(err)), c.opts.Redact)
		}
		if ev.name == "endpoint" {
			if c.endpoint, err = c.resolve(string(ev.data)); err != nil {
				_ = resp.Body.Close()
				return err
			}
		}
	}
	f.stop() // from here on the stream lives as long as the connection
	if f.ctx.Err() != nil {
		_ = resp.Body.Close()
		return errors.Join(ctx.Err(), c.ctx.Err())
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// resolve reads the address of the endpoint event. One on another origin is refused before anything is
// sent to it.
func (c *sseConn) resolve(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	u, err := c.url.Parse(s)
	if s == "" || err != nil {
		return nil, fmt.Errorf("wire: %w: %s named no usable endpoint", toolsource.ErrProtocol, c.where())
	}
	if !sameOrigin(u, c.url) {
		return nil, fmt.Errorf("wire: %w: %s named an endpoint on another origin, %s://%s, which is refused", toolsource.ErrPermanent, c.where(), u.Scheme, u.Host)
	}
	u.Fragment, u.User = "", c.url.User
	return u, nil
}

// Read implements mcp.Connection.
func (c *sseConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.backlog) > 0 {
			msg := c.backlog[0]
			c.backlog = c.backlog[1:]
			return msg, nil
		}
		ev, err := c.er.next()
		if err != nil {
			_ = c.resp.Body.Close()
			c.shut(redactError(fmt.Errorf("%s ended the event stream: %w", c.where(), noEOF(err)), c.opts.Redact))
			return c.ended()
		}
		if !ev.isMessage() {
			continue
		}
		if ev.long {
			msg, answered, _ := c.malformedHead(ev.data, nil)
			c.keep(msg, answered)
			continue
		}
		messages(ev.data, func(m []byte) {
			msg, answered, err := c.receive(m, nil, false)
			c.keep(msg, answered)
			if msg == nil {
				c.unusable(m, err)
			}
		})
	}
}

// keep takes a message for the SDK, and frees a POST that still waits although its reply has come.
func (c *sseConn) keep(msg jsonrpc.Message, answered *call) {
	if msg != nil {
		c.backlog = append(c.backlog, msg)
	}
	if answered != nil && answered.free != nil {
		answered.free()
	}
}

// Write implements mcp.Connection. It returns once the server has taken the message; a reply comes on the
// stream. Its errors cost the one message only.
func (c *sseConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	defer c.answered(msg)
	out, err := c.prepare(ctx, msg)
	if errors.Is(err, errSkip) {
		return nil
	}
	if err != nil {
		return reject(err)
	}
	if out.call == nil {
		f := c.takeoff(ctx, nil)
		defer f.land()
		if err = c.post(ctx, f, out); err == nil || ctx.Err() != nil {
			return err
		}
		return reject(err)
	}
	if err = c.asks(); err == nil {
		err = c.ask(ctx, out)
	}
	return c.asked(ctx, out, err)
}

// lateAnswer is how long the answer to a POST is still waited for whose reply has already come. Cutting it
// off at once would cost its TCP connection.
const lateAnswer = 2 * time.Second

// ask posts a request on a goroutine of its own, since its reply may be faster than the answer to the POST.
func (c *sseConn) ask(ctx context.Context, out outgoing) error {
	f := c.takeoff(ctx, out.slot())
	answered, posted := make(chan struct{}), make(chan error, 1)
	c.calls.onAnswer(out.call, func() { close(answered) })
	if !c.spawn(func() {
		defer f.land()
		posted <- c.post(ctx, f, out)
	}) {
		f.land()
		return errClosed
	}
	select {
	case err := <-posted:
		return err
	case <-answered:
		f.stop()
		time.AfterFunc(lateAnswer, f.cancel)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *sseConn) post(ctx context.Context, f *flight, out outgoing) error {
	o := order{method: http.MethodPost, url: c.endpoint, text: out.text}
	resp, err := c.do(ctx, f, o)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return c.refused(resp, o)
	}
	discard(resp)
	return nil
}
