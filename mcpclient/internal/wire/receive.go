package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

var (
	errNoise   = errors.New("no JSON-RPC message")
	errUnasked = errors.New("reply to no call under way")

	errAsksTooMuch = fmt.Errorf("a request while %d others of the peer wait for their answers: not answered", maxAsked)
)

// maxAsked is how many requests of the peer are answered at once. The SDK keeps a goroutine for each, and an
// answer that the peer does not read stays with us.
const maxAsked = 256

// receive reads one message. msg is what the SDK is to get, nil for nothing; answered is the call whose
// reply it was. A message that cannot be used is an error, and costs at most the call it names. own is the
// call whose very answer the text is, for an error reply that does not name it; nil: unknown. ours says that
// the text stays as it is, so that what is kept of it need not be copied.
func (c *core) receive(text []byte, own *call, ours bool) (msg jsonrpc.Message, answered *call, err error) {
	env, err := scan(text)
	if err != nil {
		return c.malformed(text, env, own, err)
	}
	if !env.method.absent() {
		msg, err = c.request(text, env, own)
		return msg, nil, err
	}
	if !env.result.absent() || !env.err.absent() || !env.version.absent() {
		if to := c.addressee(text, env, own); to != nil {
			return c.reply(text, env, to, ours), to, nil
		}
		if env.version.absent() {
			return nil, nil, errNoise
		}
		return nil, nil, errUnasked
	}
	return nil, nil, errNoise
}

// malformed fails the call that the beginning of a broken message names.
func (c *core) malformed(text []byte, env envelope, own *call, cause error) (jsonrpc.Message, *call, error) {
	if !env.method.absent() || env.version.absent() && own == nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoise, cause)
	}
	to := c.addressee(text, env, own)
	if to == nil && own != nil && !env.id.given(text) {
		to = c.calls.take(own.num) // whatever it is, it stands in the place of the answer
	}
	if to == nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoise, cause)
	}
	return c.bad(to, fmt.Errorf("%w: malformed reply: %w", toolsource.ErrProtocol, cause)), to, nil
}

// addressee takes the call that a reply is for. A number that comes back as a string is accepted.
func (c *core) addressee(text []byte, env envelope, own *call) *call {
	if env.id.given(text) {
		id := env.id.of(text)
		if id[0] == '"' {
			s, _ := stringOf(id)
			id = []byte(s)
		}
		if num, ok := integer(id); ok {
			return c.calls.take(num)
		}
	}
	if own != nil && env.err.given(text) {
		return c.calls.take(own.num)
	}
	return nil
}

// reply leads a reply to its slot, or to the SDK.
func (c *core) reply(text []byte, env envelope, to *call, ours bool) jsonrpc.Message {
	switch {
	case env.err.given(text):
		return c.failed(to, env.err.of(text))
	case env.result.absent():
		return c.bad(to, fmt.Errorf("%w: a reply with neither result nor error", toolsource.ErrProtocol))
	}
	result := env.result.of(text)
	if !ours {
		result = bytes.Clone(result)
	}
	if c.greeted != nil && (to.method == methodInitialize || to.method == methodDiscover) {
		c.greeted(to, result)
	}
	if to.slot == nil {
		return &jsonrpc.Response{ID: to.id, Result: result}
	}
	if env.inputRequests.given(text) {
		if to.slot.state.own {
			to.slot.ask(result)
			return &jsonrpc.Response{ID: to.id, Error: to.slot}
		}
		to.slot.unbind() // the SDK asks its handlers and calls again, with the same slot
		return &jsonrpc.Response{ID: to.id, Result: result}
	}
	to.slot.fill(result, nil, nil)
	return &jsonrpc.Response{ID: to.id, Error: to.slot}
}

// bad ends a call whose reply cannot be read.
func (c *core) bad(to *call, err error) jsonrpc.Message {
	if to.slot == nil {
		return &jsonrpc.Response{ID: to.id, Error: err}
	}
	to.slot.fill(nil, nil, err)
	return &jsonrpc.Response{ID: to.id, Error: to.slot}
}

// failed ends a call with the peer's error.
func (c *core) failed(to *call, raw []byte) jsonrpc.Message {
	e := c.rpcError(raw)
	if to.slot != nil {
		to.slot.fill(nil, e, nil)
		return &jsonrpc.Response{ID: to.id, Error: to.slot}
	}
	switch e.Code {
	case -32003, -32004, -32005: // the SDK would take these for its own
		return &jsonrpc.Response{ID: to.id, Error: e}
	}
	return &jsonrpc.Response{ID: to.id, Error: &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}}
}

// rpcError reads an error however odd: what is no error object becomes its message.
func (c *core) rpcError(raw []byte) *RPCError {
	var p struct {
		Code    json.Number     `json:"code"`
		Message any             `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	e := new(RPCError)
	if err := json.Unmarshal(raw, &p); err != nil {
		var any json.RawMessage
		if s, ok := stringOf(raw); ok {
			e.Message = s
		} else if json.Unmarshal(raw, &any) == nil {
			e.Message = cut(string(any), 500)
		}
	} else {
		e.Code, _ = integer([]byte(p.Code))
		e.Data = p.Data
		if s, ok := p.Message.(string); ok {
			e.Message = s
		}
	}
	if e.Message == "" {
		e.Message = "the server answered with an error and no message"
	}
	if c.opts.Redact != nil {
		e.Message = c.opts.Redact(e.Message)
		if d := []byte(c.opts.Redact(string(e.Data))); json.Valid(d) {
			e.Data = d
		} else {
			e.Data = nil
		}
	}
	return e
}

// request reads a request or notification of the peer.
func (c *core) request(text []byte, env envelope, own *call) (jsonrpc.Message, error) {
	method, ok := stringOf(env.method.of(text))
	if version, _ := stringOf(spanOr(env.version, text)); !ok || version != "2.0" {
		return nil, errNoise
	}
	req := &jsonrpc.Request{Method: method}
	if env.id.given(text) {
		id, err := peerID(env.id.of(text))
		if err != nil {
			return nil, err
		}
		req.ID = id
		if c.asked.Add(1) > maxAsked {
			c.asked.Add(-1)
			return nil, errAsksTooMuch
		}
	}
	if !req.IsCall() && method == methodProgress && c.opts.Progress != nil {
		return nil, c.progress(spanOr(env.params, text))
	}
	if env.params.given(text) {
		req.Params = bytes.Clone(env.params.of(text))
	}
	if req.IsCall() && c.opts.Ask != nil {
		asked := PeerRequest{ID: bytes.Clone(env.id.of(text)), Method: method, Params: req.Params, Conn: c.self, id: req.ID, c: c}
		if own != nil {
			asked.Slot = own.slot
		}
		if c.opts.Ask(asked) {
			return nil, nil
		}
	}
	if !req.IsCall() && c.opts.Notify != nil {
		c.opts.Notify(method, req.Params)
	}
	if !req.IsCall() && c.opts.Drop != nil && c.opts.Drop(method) {
		return nil, nil
	}
	return req, nil
}

func spanOr(s span, text []byte) []byte {
	if s.absent() {
		return nil
	}
	return s.of(text)
}

func peerID(raw []byte) (jsonrpc.ID, error) {
	if s, ok := stringOf(raw); ok {
		return jsonrpc.MakeID(s)
	}
	if num, ok := integer(raw); ok {
		return jsonrpc.MakeID(float64(num))
	}
	return jsonrpc.ID{}, fmt.Errorf("%w: a request's id is neither a string nor a whole number", errNoise)
}

// progress hands a report over before any later message is read.
func (c *core) progress(params []byte) error {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return fmt.Errorf("%w: malformed progress", errNoise)
	}
	token, ok := stringOf(p.Token)
	if !ok {
		token = string(p.Token)
	}
	c.opts.Progress(token, toolsource.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
	return nil
}

// cut shortens text for errors and logs.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "..."
}
