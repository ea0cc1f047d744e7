package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// reading makes a request that changes nothing, under the limits, the places and the breaker of calls. It may
// be sent again. missing says why the server is not asked; "": it is.
func reading[R any](ctx context.Context, s *Server, what string, o CallOptions, missing func(*mcp.ServerCapabilities) string, ask func(context.Context, *session) (R, error)) (R, error) {
	var none R
	if o.Tool == "" {
		o.Tool = what
	}
	if o.Source == "" {
		o.Source = sourceName(s.id)
	}
	line := s.enter()
	defer s.leave(line)
	cfg := &line.set.Load().cfg
	limits := o.Limits.Or(toolsource.Limits{Silence: cfg.Silence, Ceiling: cfg.Ceiling})
	opts := toolsource.CallOptions{Tool: o.Tool, Limit: limits.Ceiling, Silence: limits.Silence, Replay: toolsource.ReplayAlways}
	type outcome struct {
		r       R
		missing string
	}
	out, err := toolsource.Do(ctx, line.bridge, opts, func(ctx context.Context, sess *session) (outcome, error) {
		if why := missing(sess.capabilities()); why != "" {
			return outcome{missing: why}, nil // no error here: it says nothing about the session
		}
		r, err := ask(ctx, sess)
		if err != nil && brokeOff(err) && ctx.Err() == nil {
			r, err = ask(ctx, sess)
		}
		return outcome{r: r}, err
	})
	if err != nil {
		return none, s.callError(o, err, true)
	}
	if out.missing != "" {
		return none, s.named(o, &toolsource.CallError{Phase: "resolve", Kind: toolsource.KindUnavailable,
			Err: fmt.Errorf("%w: the server declares no %s", toolsource.ErrUnavailable, out.missing)})
	}
	return out.r, nil
}

func lacksResources(c *mcp.ServerCapabilities) string {
	if c.Resources == nil {
		return "resources"
	}
	return ""
}

func lacksPrompts(c *mcp.ServerCapabilities) string {
	if c.Prompts == nil {
		return "prompts"
	}
	return ""
}

// read sends one request around the SDK. send makes it, with the token of its progress; it is made again for
// each further round.
func (s *session) read(ctx context.Context, what string, send func(context.Context) (any, error)) (json.RawMessage, error) {
	token := s.reports.add(ctx, what)
	defer s.reports.remove(token)
	slot := &wire.Slot{Token: token}
	slot.OwnRounds()
	res, err := send(wire.WithSlot(ctx, slot))
	raw, err := s.raw(ctx, slot, res, err)
	if err != nil {
		return nil, readError(err)
	}
	if s.asksInput(slot, raw) {
		return s.goOn(ctx, slot, raw, report{token: token, call: what}, send)
	}
	return raw, nil
}

// codeNoResource is the code for a resource that is not there, before 2026-07-28.
const codeNoResource = -32002

// readError makes the words that suit a tool fit what is no tool.
func readError(err error) error {
	var e *toolsource.CallError
	var rpc *RPCError
	if errors.As(err, &e) && errors.As(err, &rpc) {
		switch {
		case rpc.Code == codeNoResource, e.Kind == toolsource.KindUnknownTool, e.Kind == toolsource.KindBadArguments:
			e.Kind, e.MayHaveRun, e.Remedy = toolsource.KindBadArguments, false, "list again what there is, and compare"
		}
	}
	return err
}

// malformed is a result that cannot be read.
func (s *session) malformed(method string, err error) error {
	return &toolsource.CallError{Phase: "result", Kind: toolsource.KindProtocol, Remedy: tellAuthor,
		Err: fmt.Errorf("the result of %s %w", method, s.srv.redact.err(err))}
}

// resultObject reads the members of a result.
func resultObject(raw []byte) (members, error) {
	t, err := parseJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("does not parse: %w", err)
	}
	if err := wantObject(t); err != nil {
		return nil, err
	}
	return t.members(nil), nil
}

// items are what a listing of something else than tools holds.
type items[T any] struct {
	list      []T
	problems  []error
	truncated bool
}

// listItems follows the pages of a listing under the caps of tools. read takes one entry, and the name that tells it
// apart; an entry without one, or with one that came before, is left out and reported.
func listItems[T any](ctx context.Context, s *session, method, member string, page func(ctx context.Context, cursor string) (any, error), read func(m members, f *fields) (v T, name string)) (items[T], error) {
	var all items[T]
	cfg := &s.line.set.Load().cfg
	problem := func(name, reason string, leftOut bool) {
		all.problems = append(all.problems, &ToolProblem{Server: s.srv.id, LeftOut: leftOut, Remedy: authorRemedy,
			Reason: s.srv.redact.text(strings.TrimSpace(method + " " + name + " " + reason))})
	}
	names, cursors := map[string]bool{}, map[string]bool{"": true}
	cursor, index := "", 0
	for n := 1; ; n++ {
		raw, err := s.read(ctx, method, func(ctx context.Context) (any, error) { return page(ctx, cursor) })
		if err != nil {
			return items[T]{}, err
		}
		m, err := resultObject(raw)
		if err == nil && m.get(member).present() && m.get(member).kind() != '[' {
			err = fmt.Errorf("has %s that is no list", member)
		}
		if err != nil {
			return items[T]{}, s.malformed(method, err)
		}
		if !m.get(member).present() {
			problem("", member+" is missing; taken as none", false)
		}
		m.get(member).elements(func(t jsonText) {
			index++
			if err := wantObject(t); err != nil {
				problem("", fmt.Sprintf("entry %d %v", index, err), true)
				return
			}
			var f fields
			v, name := read(t.members(nil), &f)
			switch {
			case f.err != nil:
				problem("", fmt.Sprintf("entry %d %v", index, f.err), true)
			case names[name]:
				problem("", fmt.Sprintf("entry %d: an earlier one is %q too", index, clip(jsonText(name))), true)
			default:
				names[name] = true
				all.list = append(all.list, v)
			}
		})
		next, _ := m.get("nextCursor").str()
		switch {
		case cursors[next]:
			if next != "" {
				problem("", fmt.Sprintf("cursor did not advance after %d pages", n), false)
			}
			return all.capped(cfg.MaxTools), nil
		case len(all.list) >= cfg.MaxTools || n == cfg.MaxPages:
			all.truncated = true
			return all.capped(cfg.MaxTools), nil
		}
		cursors[next], cursor = true, strings.Clone(next)
	}
}

func (i items[T]) capped(most int) items[T] {
	if len(i.list) > most {
		i.list, i.truncated = slices.Clip(i.list[:most]), true
	}
	return i
}
