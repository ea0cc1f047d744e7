package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

// From revision 2026-07-28 on a server tells of changes on the answer to subscriptions/listen only. The SDK
// sends that request once and never looks at it again; here it is kept open: asked anew when the stream
// ends, until the SDK takes it back, the connection ends, or the server refuses it for good. What may have
// changed while no stream was open is reported as changed.

// subscription is one subscriptions/listen that is kept open.
type subscription struct {
	c      *httpConn
	out    outgoing
	order  order
	wanted [][]byte // notifications that stand for a change, as messages
	agreed bool     // the server has acknowledged at least one kind
	gap    bool     // a stream was open before this one
}

// kinds are the lists that may change: the capability that promises to tell of it, the member of a
// subscription's notifications, and what it brings.
var kinds = [...]struct{ capability, member, method string }{
	{"tools", "toolsListChanged", "notifications/tools/list_changed"},
	{"prompts", "promptsListChanged", "notifications/prompts/list_changed"},
	{"resources", "resourcesListChanged", "notifications/resources/list_changed"},
}

const methodAcknowledged = "notifications/subscriptions/acknowledged"

const methodUpdated = "notifications/resources/updated"

// changeNote is the message that tells of a change.
func changeNote(method string) []byte { return []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`) }

// notifications reads which kinds of notifications params speak of, as the messages that tell of a change, and
// whether of any at all.
func notifications(params []byte) (notes [][]byte, any bool) {
	var p struct {
		Notifications map[string]json.RawMessage `json:"notifications"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, false
	}
	for _, k := range kinds {
		if string(p.Notifications[k.member]) == "true" {
			notes = append(notes, changeNote(k.method))
		}
	}
	var uris []string
	_ = json.Unmarshal(p.Notifications["resourceSubscriptions"], &uris)
	for _, uri := range uris {
		note := append([]byte(`{"jsonrpc":"2.0","method":"`+methodUpdated+`","params":{"uri":`), appendText(nil, uri)...)
		notes = append(notes, append(note, "}}"...))
	}
	for _, v := range p.Notifications {
		switch string(v) {
		case "false", "null", "[]", "{}":
		default:
			any = true
		}
	}
	return notes, any
}

// keepListening owns the goroutine of a subscription.
func (s *subscription) keepListening(ctx context.Context) {
	c := s.c
	defer c.abandon(s.out)
	var b backoff
	for c.calls.waiting(s.out.call) {
		began := time.Now()
		heard, again := s.listen(ctx)
		if !again {
			return
		}
		b.note(heard, time.Since(began))
		if !pauseEither(ctx, c.ctx, b.next(0)) {
			return
		}
	}
}

// listen asks once and reads what comes. heard: the server had something to say. again: it may be asked anew.
func (s *subscription) listen(ctx context.Context) (heard, again bool) {
	c := s.c
	f := c.takeoff(ctx, nil)
	defer f.land()
	c.calls.onAnswer(s.out.call, f.cancel)
	resp, err := c.do(ctx, f, s.order)
	if err != nil {
		c.opts.Logger.Debug("the subscription cannot be opened", "err", err)
		return false, ctx.Err() == nil && c.ctx.Err() == nil && !errors.Is(err, toolsource.ErrPermanent)
	}
	defer resp.Body.Close()
	mt := mediaType(resp)
	switch code := resp.StatusCode; {
	case code == http.StatusOK && mt == typeEvents:
	case code/100 == 5 || code == http.StatusTooManyRequests || code == http.StatusUnauthorized || code == http.StatusForbidden:
		return false, true
	default:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
		c.opts.Logger.Debug("the server offers no subscription", "status", code, "body", c.excerpt(body))
		return false, false
	}
	er := c.events.Get().(*eventReader)
	er.reset(resp.Body)
	defer c.putEvents(er)
	for {
		ev, err := er.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.opts.Logger.Debug("the subscription broke off", "err", redactError(err, c.opts.Redact))
			}
			return heard, ctx.Err() == nil && c.ctx.Err() == nil
		}
		if !ev.isMessage() || ev.long {
			continue
		}
		ended, refused := false, false
		messages(ev.data, func(m []byte) {
			switch s.message(f, m) {
			case listenHeard:
				heard = true
			case listenEnded:
				ended = true
			case listenRefused:
				refused = true
			}
		})
		if refused || ended && !s.agreed {
			return heard, false
		}
		if ended {
			return heard, true
		}
	}
}

// What a message on the stream means to the subscription.
const (
	listenNothing = iota
	listenHeard
	listenEnded   // the server has closed it
	listenRefused // and would not open it again
)

func (s *subscription) message(f *flight, text []byte) int {
	c := s.c
	msg, answered, err := c.receive(text, s.out.call, false)
	if msg == nil {
		c.unusable(text, err)
		return listenNothing
	}
	if answered == s.out.call {
		if r, ok := msg.(*jsonrpc.Response); ok && r.Error != nil || !s.agreed {
			c.push(f, msg)
			return listenRefused
		}
		c.calls.add(s.out.call) // the SDK need not know that it was closed: it is opened again
		return listenEnded
	}
	c.other(f, msg, answered)
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return listenNothing
	}
	if req.Method != methodAcknowledged {
		return listenHeard
	}
	if _, s.agreed = notifications(req.Params); s.agreed && s.gap {
		c.changed(f, s.wanted)
	}
	s.gap = true
	return listenNothing
}

// changed tells the SDK and the host of changes that nobody could tell us of.
func (c *httpConn) changed(f *flight, notes [][]byte) {
	for _, n := range notes {
		msg, _, _ := c.receive(n, nil, true)
		c.other(f, msg, nil)
	}
}
