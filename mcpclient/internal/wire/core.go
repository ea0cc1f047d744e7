package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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
	late  atomic.Int64 // replies to calls that were given up, or never made
	// greeted is called with the result of initialize or discover before the SDK sees it. nil: nobody is
	// interested.
	greeted func(to *call, result []byte)
}

func newCore(o Options) core {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.CloseBound <= 0 {
		o.CloseBound = defaultCloseBound
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return core{opts: o, noise: noise{log: o.Logger, redact: o.Redact}}
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
		c.noise.add(text, err)
	}
}

// rejected is an error of Write that costs the call and not the session: the SDK tells the two apart by a
// code in the chain.
type rejected struct{ err error }

var rejectedCode = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

func (e *rejected) Error() string   { return e.err.Error() }
func (e *rejected) Unwrap() []error { return []error{e.err, rejectedCode} }

// outgoing is a message that is ready to go. A request is in the table of calls already, so that its reply
// cannot come too early: whoever fails to send it takes it out again.
type outgoing struct {
	text   []byte
	method string // "" for a reply
	call   *call  // nil for notifications and replies
}

func (o *outgoing) slot() *Slot {
	if o.call == nil {
		return nil
	}
	return o.call.slot
}

var errSkip = errors.New("not to be sent")

// prepare makes the text of a message, without a line end. Its errors cost the one message only; errSkip
// says that there is nothing to send.
func (c *core) prepare(ctx context.Context, msg jsonrpc.Message) (outgoing, error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		text, err := jsonrpc.EncodeMessage(msg)
		return outgoing{text: text}, err
	}
	if req.Method == methodCancelled {
		if err := c.cancelled(req.Params); err != nil {
			return outgoing{}, err
		}
	}
	out := outgoing{method: req.Method}
	var slot *Slot
	num, isNum := req.ID.Raw().(int64)
	if isNum && (req.Method == methodCallTool || req.Method == methodListTools) {
		slot = slotFrom(ctx)
	}
	params, err := splice(req.Params, slot)
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
	out.text = appendRequest(req, params)
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

// pieces are params cut around the place of the marker; without one there is only the first.
type pieces [3][]byte

var argumentsMarker = append([]byte(`"arguments":`), Marker...)

// splice puts the slot's arguments in the place of the marker. A marker that cannot be replaced is an
// error, so that no tool runs with empty arguments.
func splice(params []byte, slot *Slot) (pieces, error) {
	at := bytes.Index(params, Marker)
	if at < 0 {
		return pieces{params}, nil
	}
	if slot == nil || slot.Args == nil {
		return pieces{}, errors.New("wire: the arguments got lost on their way: nothing was sent")
	}
	if bytes.IndexByte(slot.Args, '\n') >= 0 || bytes.IndexByte(slot.Args, '\r') >= 0 {
		return pieces{}, fmt.Errorf("wire: %w: a line break inside raw arguments", toolsource.ErrBadArguments)
	}
	named := bytes.Index(params, argumentsMarker)
	after := at + len(Marker)
	if named < 0 || named+len(argumentsMarker) != after || bytes.Contains(params[after:], Marker) {
		return pieces{}, errors.New("wire: the arguments' place is not clear: nothing was sent")
	}
	return pieces{params[:at], slot.Args, params[after:]}, nil
}

func appendRequest(req *jsonrpc.Request, params pieces) []byte {
	n := len(params[0]) + len(params[1]) + len(params[2])
	b := make([]byte, 0, n+len(req.Method)+72)
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
	b = appendJSON(b, req.Method)
	if n > 0 {
		b = append(b, `,"params":`...)
		for _, p := range params {
			b = append(b, p...)
		}
	}
	return append(b, '}')
}

// appendJSON writes a string or another plain value.
func appendJSON(b []byte, v any) []byte {
	if s, ok := v.(string); ok && plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	j, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, j...)
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
