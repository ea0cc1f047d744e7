package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

const (
	defaultMaxMessage = 10 << 20
	defaultCloseBound = 5 * time.Second

	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodDiscover    = "server/discover"
	methodCallTool    = "tools/call"
	methodListTools   = "tools/list"
	methodCancelled   = "notifications/cancelled"
	methodProgress    = "notifications/progress"
	methodListen      = "subscriptions/listen"
)

// core is what the three connections share: it turns the SDK's messages into text and back, keeps the
// calls under way and leads raw replies to their slots.
type core struct {
	opts  Options
	calls calls
	noise noise
	asked atomic.Int32 // requests of the peer that wait for their answers
	late  atomic.Int32 // replies to calls that were given up, or never made
	// greeted is called with the result of initialize or discover before the SDK sees it. nil: nobody is
	// interested.
	greeted func(to *call, result []byte)
	reuses  bool // texts are given back by left
	self    Conn // the whole connection
}

func newCore(o Options) *core {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.CloseBound <= 0 {
		o.CloseBound = defaultCloseBound
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &core{opts: o}
}

func (c *core) redact(s string) string {
	if c.opts.Redact == nil {
		return s
	}
	return c.opts.Redact(s)
}

// unusable counts what receive gave no message for.
func (c *core) unusable(text []byte, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errUnasked):
		c.opts.Logger.Debug("dropped a reply to no call under way", "count", c.late.Add(1))
	default:
		c.noise.add(&c.opts, text, err)
	}
}

// rejected is an error of Write that costs the call and not the session: the SDK tells the two apart by a
// code in the chain.
type rejected struct{ chain [2]error }

var rejectedCode = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

func reject(err error) error { return &rejected{[2]error{err, rejectedCode}} }

func (e *rejected) Error() string   { return e.chain[0].Error() }
func (e *rejected) Unwrap() []error { return e.chain[:] }

// outgoing is a message that is ready to go. A request is in the table of calls already, so that its reply
// cannot come too early: whoever fails to send it takes it out again.
type outgoing struct {
	text   parts
	method string // "" for a reply
	call   *call  // nil for notifications and replies
	buf    *textBuf
}

// parts are a text: its beginning, large arguments that are not copied, and what comes after them. The last
// two may be empty.
type parts [3][]byte

func (p *parts) size() int { return len(p[0]) + len(p[1]) + len(p[2]) }

// from is what is left of the part that byte off lies in; at the end it is empty.
func (p *parts) from(off int) []byte {
	for _, b := range p {
		if off < len(b) {
			return b[off:]
		}
		off -= len(b)
	}
	return nil
}

// endLine puts a line end behind the last part.
func (p *parts) endLine() {
	last := 0
	if len(p[1]) > 0 {
		last = 2
	}
	p[last] = append(p[last], '\n')
}

// textBuf is a text that may be used again once it has left, by any connection.
type textBuf struct{ b []byte }

var texts = sync.Pool{New: func() any { return new(textBuf) }}

// largeArgs is from how many bytes on arguments are not copied into a text.
const largeArgs = 16 << 10

const maxReuse = 4 << 20 // bytes of a buffer that is kept for the next message

// room gives room for a text of n bytes. Only a connection that knows when a text has left shares them.
func (c *core) room(n int) *textBuf {
	if !c.reuses {
		return &textBuf{make([]byte, 0, n)}
	}
	t := texts.Get().(*textBuf)
	if cap(t.b) < n {
		t.b = make([]byte, 0, n)
	}
	return t
}

// left takes the text of a message back of which every byte has left.
func (c *core) left(out outgoing) {
	if out.buf != nil && cap(out.buf.b) <= maxReuse {
		texts.Put(out.buf)
	}
}

func (o *outgoing) slot() *Slot {
	if o.call == nil {
		return nil
	}
	return o.call.slot
}

// answered counts down when an answer to the peer has left, or cannot.
func (c *core) answered(msg jsonrpc.Message) {
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.asked.Add(-1)
	}
}

var errSkip = errors.New("not to be sent")

// goesAround reports whether a request may have a slot.
func goesAround(method string) bool {
	switch method {
	case methodCallTool, methodListTools, "resources/list", "resources/templates/list", "resources/read",
		"prompts/list", "prompts/get", "completion/complete":
		return true
	}
	return false
}

// prepare makes the text of a message, without a line end. Its errors cost the one message only; errSkip
// says that there is nothing to send.
func (c *core) prepare(ctx context.Context, msg jsonrpc.Message) (outgoing, error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		text, err := jsonrpc.EncodeMessage(msg)
		return outgoing{text: parts{text}}, err
	}
	if req.Method == methodCancelled {
		if err := c.cancelled(req.Params); err != nil {
			return outgoing{}, err
		}
	}
	out := outgoing{method: req.Method}
	var slot *Slot
	num, isNum := req.ID.Raw().(int64)
	if isNum && goesAround(req.Method) {
		slot = slotFrom(ctx)
	}
	params, err := splice(slot.rounds(req.Params), slot)
	if err != nil {
		return outgoing{}, err
	}
	if slot != nil && !slot.begin(num) {
		if slot.Args != nil {
			return outgoing{}, fmt.Errorf("wire: %s: the slot belongs to another call", req.Method)
		}
		slot = nil // a call made within another one's context: the SDK takes the reply
	}
	if isNum {
		out.call = &call{id: req.ID, num: num, method: req.Method, slot: slot}
		c.calls.add(out.call)
	}
	if len(params.args) > largeArgs && (params.token == "" || params.at <= params.place.start) {
		out.text[1] = params.args
		params.args = nil
	}
	out.buf = c.room(params.size() + len(req.Method) + 72)
	text, cut := appendRequest(out.buf.b[:0], req, params)
	out.buf.b, out.text[0] = text, text
	if out.text[1] != nil {
		out.text[0], out.text[2] = text[:cut], text[cut:]
	}
	return out, nil
}

// abandon takes back a request that could not be sent. It is false if the request is answered or given up.
func (c *core) abandon(out outgoing) bool {
	if out.call == nil || c.calls.take(out.call.num) == nil {
		return false
	}
	if out.call.slot != nil {
		out.call.slot.unbind()
	}
	return true
}

// cancelled forgets a call that the SDK gave up. An initialize is not cancelled at the server, since the
// protocol forbids it.
func (c *core) cancelled(params json.RawMessage) error {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	num, ok := integer(p.ID)
	if !ok {
		return nil
	}
	initializing := c.calls.method(num) == methodInitialize
	if call := c.calls.take(num); call != nil && call.slot != nil {
		call.slot.unbind()
	}
	if initializing {
		return errSkip
	}
	return nil
}

// Forget implements Conn.
func (c *core) Forget(s *Slot) {
	if num := s.drop(); num != 0 {
		c.calls.take(num)
	}
}

// spliced are params with what is put into them on their way out.
type spliced struct {
	params []byte
	place  span   // of the marker; absent: there is none
	args   []byte // to stand there
	token  string // progress token; "": none is to be put in
	at     int    // where it goes
	meta   bool   // into a _meta of its own
}

var argumentsMarker = append([]byte(`"arguments":`), Marker...)

// splice finds out where the slot's arguments and token go. A marker that cannot be replaced is an error,
// so that no tool runs with empty arguments.
func splice(params []byte, slot *Slot) (spliced, error) {
	s := spliced{params: params}
	if slot != nil && slot.Token != "" {
		s.findToken(slot.Token)
	}
	at := bytes.Index(params, Marker)
	if at < 0 {
		return s, nil
	}
	if slot == nil || slot.Args == nil {
		return s, errors.New("wire: the arguments got lost on their way: nothing was sent")
	}
	if bytes.IndexByte(slot.Args, '\n') >= 0 || bytes.IndexByte(slot.Args, '\r') >= 0 {
		return s, fmt.Errorf("wire: %w: a line break inside raw arguments", toolsource.ErrBadArguments)
	}
	named := bytes.Index(params, argumentsMarker)
	after := at + len(Marker)
	if named < 0 || named+len(argumentsMarker) != after || bytes.Contains(params[after:], Marker) {
		return s, errors.New("wire: the arguments' place is not clear: nothing was sent")
	}
	s.place, s.args = span{at, after}, slot.Args
	return s, nil
}

// findToken puts the token into the _meta of the params, unless one is there.
func (s *spliced) findToken(token string) {
	env, err := scanParams(s.params)
	if err != nil || !env.token.absent() {
		return
	}
	s.token, s.meta = token, env.meta.absent()
	if s.meta {
		s.at = bytes.IndexByte(s.params, '{') + 1
	} else if s.at = env.meta.start + 1; s.params[env.meta.start] != '{' {
		s.token = ""
	}
}

// size is more than the text takes, unless the token needs escapes.
func (s *spliced) size() int {
	return len(s.params) + len(s.args) + len(s.token) + len(`"_meta":{"progressToken":""},`)
}

// append also says where the arguments end in the text.
func (s *spliced) append(b []byte) (text []byte, end int) {
	pos := 0
	put := func() {
		b = append(b, s.params[pos:s.at]...)
		pos = s.at
		if s.meta {
			b = append(b, `"_meta":{`...)
		}
		b = append(b, `"progressToken":`...)
		b = appendText(b, s.token)
		if s.meta {
			b = append(b, '}')
		}
		if rest := bytes.TrimLeft(s.params[pos:], " \t\r\n"); rest[0] != '}' {
			b = append(b, ',')
		}
	}
	before := s.place.absent() || s.at <= s.place.start
	if s.token != "" && before {
		put()
	}
	if !s.place.absent() {
		b = append(b, s.params[pos:s.place.start]...)
		b = append(b, s.args...)
		end = len(b)
		pos = s.place.end
	}
	if s.token != "" && !before {
		put()
	}
	return append(b, s.params[pos:]...), end
}

func appendRequest(b []byte, req *jsonrpc.Request, params spliced) (text []byte, end int) {
	b = append(b, `{"jsonrpc":"2.0",`...)
	if req.ID.IsValid() {
		b = append(b, `"id":`...)
		switch id := req.ID.Raw().(type) {
		case int64:
			b = strconv.AppendInt(b, id, 10)
		default:
			b = appendJSON(b, id)
		}
		b = append(b, ',')
	}
	b = append(b, `"method":`...)
	b = appendText(b, req.Method)
	if len(params.params) > 0 {
		b = append(b, `,"params":`...)
		b, end = params.append(b)
	}
	return append(b, '}'), end
}

// appendJSON writes a plain value.
func appendJSON(b []byte, v any) []byte {
	j, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, j...)
}
