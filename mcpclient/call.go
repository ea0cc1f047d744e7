package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// CallOptions are what a caller knows about a tool. The zero value works: it is the most careful one.
type CallOptions struct {
	Tool       string            // name for errors; "": the wire name
	Source     string            // likewise; "": "mcp:" and the server's id
	Limits     toolsource.Limits // zero fields: the configuration's for the tool, then for the server
	Grade      grade.Grade       // effective; with a D of at most 1 a lost call is sent again
	Idempotent bool              // as hinted; with a fully trusted server a lost call is sent again
	Replay     *bool             // decides that by itself; nil: the configuration does, then Grade and Idempotent
	Listed     bool              // fail with ErrUnavailable if the session's listing has no such tool
}

// Call runs a tool and blocks until it is done, its limits or ctx end. args may hold what
// toolsource.Arguments accepts; integers go out exact. WithProgress, WithLimits and WithCallMeta of ctx
// count. The error is a *toolsource.ToolError for a tool that answered with one, else a
// *toolsource.CallError; a call that may have run and lost its session is ErrOutcomeUnknown, unless it may
// be sent again.
func (s *Server) Call(ctx context.Context, wireName string, args map[string]any, o CallOptions) (toolsource.Result, error) {
	if o.Tool == "" {
		o.Tool = wireName
	}
	if o.Source == "" {
		o.Source = sourceName(s.id)
	}
	raw, err := encodeArguments(args)
	if err != nil {
		return toolsource.Result{}, s.named(o, bindError(err))
	}
	meta, err := callMeta(ctx)
	if err != nil {
		return toolsource.Result{}, s.named(o, bindError(err))
	}
	line := s.enter()
	defer s.leave(line)
	cfg := &line.set.Load().cfg
	limits := o.Limits.Or(cfg.Tools[wireName].Limits).Or(toolsource.Limits{Silence: cfg.Silence, Ceiling: cfg.Ceiling})
	again := mayReplay(cfg, wireName, o)
	opts := toolsource.CallOptions{Tool: o.Tool, Limit: limits.Ceiling, Silence: limits.Silence, Replay: toolsource.ReplayUntilSent}
	if again {
		opts.Replay = toolsource.ReplayAlways
	}
	listed := o.Listed     // so that the function does not hold all of o
	var sends atomic.Int32 // a function that was given up may still run beside its replay
	d, err := toolsource.Do(ctx, line.bridge, opts, func(ctx context.Context, sess *session) (decoded, error) {
		n := sends.Add(1)
		if n > 2 {
			return decoded{twice: true}, nil // no error here: it says nothing about the session
		}
		d, err := sess.call(ctx, wireName, raw, meta, listed)
		if err != nil && again && n == 1 && brokeOff(err) && ctx.Err() == nil && sends.CompareAndSwap(1, 2) {
			d, err = sess.call(ctx, wireName, raw, meta, listed)
		}
		return d, err
	})
	if err != nil {
		return toolsource.Result{}, s.callError(o, err, again)
	}
	if d.gone {
		return toolsource.Result{}, s.named(o, &toolsource.CallError{Phase: "resolve", Kind: toolsource.KindUnavailable,
			Remedy: "list the server's tools again", Err: fmt.Errorf("the server lists no tool %q any more", wireName)})
	}
	if d.twice {
		return toolsource.Result{}, s.callError(o, &toolsource.CallError{Phase: "call", Kind: toolsource.KindSessionLost, MayHaveRun: true,
			Err: fmt.Errorf("%w: the connection broke, and the session was lost when the call had been sent again", toolsource.ErrSessionLost)}, again)
	}
	if len(d.notes) > 0 {
		s.log.Warn("odd result", "tool", wireName, "notes", s.redact.text(strings.Join(d.notes, "; ")))
	}
	if d.isError {
		return toolsource.Result{}, &toolsource.ToolError{Tool: o.Tool, Result: d.result}
	}
	return d.result, nil
}

// call sends one tools/call and reads its answer. A server that misses a header, which says that the tool
// has changed, has not run it: the tools are listed again, and the call is sent once more.
func (s *session) call(ctx context.Context, name string, args []byte, meta mcp.Meta, listed bool) (decoded, error) {
	facts, known := s.lists(name)
	if listed && !known {
		return decoded{gone: true}, nil // no error here: it says nothing about the session
	}
	raw, err := s.request(ctx, name, args, meta, facts.params)
	if err != nil && s.mirrors() && missesHeader(err) {
		if _, lerr := s.srv.listOn(ctx, s); lerr != nil {
			return decoded{}, err
		}
		if facts, known = s.lists(name); known {
			raw, err = s.request(ctx, name, args, meta, facts.params)
		}
	}
	if err != nil {
		return decoded{}, err
	}
	d, err := decodeResult(raw, facts.unwrap || !known)
	if err != nil {
		return decoded{}, &toolsource.CallError{Phase: "call", Kind: toolsource.KindProtocol, MayHaveRun: true,
			Remedy: tellAuthor, Err: s.srv.redact.err(err)}
	}
	if d.isError { // here, where the caller does not wait for it beyond its deadline
		d.result = s.srv.redactResult(d.result)
	}
	return d, nil
}

func missesHeader(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && rpc.Code == wire.CodeHeaderMismatch
}

// request sends one tools/call.
func (s *session) request(ctx context.Context, name string, args []byte, meta mcp.Meta, headers *wire.HeaderParams) (json.RawMessage, error) {
	token := s.reports.add(ctx, name)
	defer s.reports.remove(token)
	params := &mcp.CallToolParams{Name: name, Arguments: wire.Marker, Meta: s.meta(meta)}
	slot := &wire.Slot{Args: args, Token: token, HeaderParams: headers}
	slot.OwnRounds()
	res, err := s.cs.CallTool(wire.WithSlot(ctx, slot), params)
	raw, err := s.raw(ctx, slot, res, err)
	if err != nil || !s.asksInput(slot, raw) {
		return raw, err
	}
	return s.goOn(ctx, slot, raw, report{token: token, call: name}, func(ctx context.Context) (any, error) {
		return s.cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: wire.Marker, Meta: s.meta(meta)})
	})
}

// meta is the _meta of one request, which the SDK writes into.
func (s *session) meta(given mcp.Meta) mcp.Meta {
	m := maps.Clone(given)
	if s.set.offers&offerLog != 0 && s.era >= Era20260728 && s.logs() {
		if m == nil {
			m = mcp.Meta{}
		}
		m[metaLogLevel] = s.logLevel()
	}
	return m
}

// mayReplay decides whether a call that was lost with its session may be sent again.
func mayReplay(cfg *ServerConfig, wireName string, o CallOptions) bool {
	switch {
	case o.Replay != nil:
		return *o.Replay
	case cfg.Tools[wireName].Replay != nil:
		return *cfg.Tools[wireName].Replay
	case cfg.Replay:
		return true
	}
	return o.Grade.D() <= 1 || o.Idempotent && cfg.Trust == toolsource.TrustFull
}

// brokeOff reports whether a call lost its connection and not its session, which over HTTP are two things.
// The Bridge sends only the calls again that lost their session; these go again under the limits that they
// began with.
func brokeOff(err error) bool {
	var e *toolsource.CallError
	var st *StatusError
	return errors.As(err, &e) && e.Kind == toolsource.KindOutcomeUnknown && !errors.As(err, &st)
}

// callError completes an error of a call. One that lost its session or its connection after it may have run
// has an unknown outcome, unless running it twice would not matter.
func (s *Server) callError(o CallOptions, err error, again bool) error {
	var e *toolsource.CallError
	if !errors.As(err, &e) {
		kind, unsent := toolsource.KindOf(err), errors.Is(err, toolsource.ErrNotReached)
		if unsent && kind == toolsource.KindTool { // no cause that has a kind: it could not be sent, and no tool said anything
			kind = toolsource.KindUnavailable
		}
		return s.named(o, &toolsource.CallError{Phase: "call", Kind: kind, MayHaveRun: !unsent, Err: s.redact.err(err)})
	}
	c := *e
	switch {
	case again && c.Kind == toolsource.KindOutcomeUnknown:
		c.Kind = toolsource.KindUnavailable
	case again || !c.MayHaveRun:
	case c.Kind == toolsource.KindSessionLost:
		c.Kind, c.Phase, c.Err = toolsource.KindOutcomeUnknown, "call", lost{c.Err}
		fallthrough
	case c.Kind == toolsource.KindOutcomeUnknown:
		c.Remedy = fmt.Sprintf("find out whether %s took effect before calling it again; it was not sent a second time", o.Tool)
	}
	return s.named(o, &c)
}

// lost keeps ErrSessionLost in the chain of an error whose kind is another.
type lost struct{ err error }

func (l lost) Error() string {
	if l.err == nil {
		return toolsource.ErrSessionLost.Error()
	}
	return l.err.Error()
}
func (l lost) Unwrap() error        { return l.err }
func (l lost) Is(target error) bool { return target == toolsource.ErrSessionLost }

func (s *Server) named(o CallOptions, e *toolsource.CallError) error {
	e.Tool, e.Source = o.Tool, o.Source
	e.Err = s.redact.err(e.Err)
	e.Remedy = s.redact.text(e.Remedy)
	return e
}

func bindError(err error) *toolsource.CallError {
	return &toolsource.CallError{Phase: "bind", Kind: toolsource.KindBadArguments, Err: err}
}

// redactResult takes secrets out of the texts of a tool's error. A result that is none is data, and left
// as it is.
func (s *Server) redactResult(r toolsource.Result) toolsource.Result {
	for i := range r.Content {
		c := &r.Content[i]
		for _, text := range []*string{&c.Text, &c.URI, &c.Name, &c.Title, &c.Description} {
			*text = s.redact.text(*text)
		}
		c.Raw = s.redact.json(c.Raw)
		c.Annotations = s.redact.json(c.Annotations)
		c.Meta, _ = s.redactValue(c.Meta).(map[string]any)
	}
	r.Value = s.redactValue(r.Value)
	r.Meta, _ = s.redactValue(r.Meta).(map[string]any)
	return r
}

// redactValue changes a value that nobody else has yet.
func (s *Server) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return s.redact.text(v)
	case []any:
		for i, e := range v {
			v[i] = s.redactValue(e)
		}
	case map[string]any:
		if v == nil {
			return v
		}
		clean := make(map[string]any, len(v))
		for k, e := range v {
			clean[s.redact.text(k)] = s.redactValue(e)
		}
		return clean
	case toolsource.Blob:
		v.URI = s.redact.text(v.URI)
		return v
	}
	return v
}

// encodeArguments writes arguments as one line of JSON.
func encodeArguments(args map[string]any) ([]byte, error) {
	args, err := toolsource.Arguments(args)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return []byte("{}"), nil
	}
	text, err := wire.EncodeArguments(args)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", toolsource.ErrBadArguments, err)
	}
	return text, nil
}

// callMeta reads what the host adds to a call's _meta.
func callMeta(ctx context.Context) (mcp.Meta, error) {
	extra := toolsource.CallMeta(ctx)
	if len(extra) == 0 {
		return nil, nil
	}
	for k := range extra {
		if reservedMeta(k) {
			return nil, fmt.Errorf("%w: the key %q of _meta is reserved for the protocol", toolsource.ErrBadArguments, k)
		}
	}
	m, err := toolsource.Arguments(extra)
	if err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	return mcp.Meta(m), nil
}

// reservedMeta reports whether the protocol keeps a key of _meta for itself: its progress token, and keys
// whose prefix has a label modelcontextprotocol or mcp with another label after it.
func reservedMeta(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return key == "progressToken"
	}
	labels := strings.Split(strings.ToLower(prefix), ".")
	for i, l := range labels {
		if (l == "modelcontextprotocol" || l == "mcp") && i+1 < len(labels) {
			return true
		}
	}
	return false
}
