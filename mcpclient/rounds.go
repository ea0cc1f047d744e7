package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

const (
	maxRounds = 10                     // of one call
	maxIdle   = 3                      // of them that ask for nothing: the server has no time now
	idlePause = 200 * time.Millisecond // before the next of these, longer each time
)

// asksInput reports whether a reply is no result yet.
func (s *session) asksInput(slot *wire.Slot, raw []byte) bool {
	if slot.Asks() {
		return true
	}
	if s.era < Era20260728 || !bytes.Contains(raw, []byte("input_required")) {
		return false
	}
	t, err := parseJSON(raw)
	if err != nil {
		return false
	}
	kind, _ := t.members(nil).get("resultType").str()
	return kind == "input_required"
}

// goOn makes the further rounds of a call whose first reply asks for input: it is sent again with the answers
// of the host and with the server's own note of where it is. send makes the request once more.
func (s *session) goOn(ctx context.Context, slot *wire.Slot, raw json.RawMessage, cause report, send func(context.Context) (any, error)) (json.RawMessage, error) {
	idle := 0
	for round := 1; s.asksInput(slot, raw); round++ {
		members, asked, err := s.input(ctx, raw, cause)
		if err == nil && asked == 0 {
			idle++
		}
		switch {
		case err != nil:
			return nil, err
		case round == maxRounds:
			return nil, inputError(toolsource.KindProtocol, fmt.Errorf("the server asked for input %d times, and gave no result", round))
		case idle == maxIdle:
			return nil, inputError(toolsource.KindUnavailable, busyError{})
		case idle > 0 && !sleep(ctx, time.Duration(idle)*idlePause):
			return nil, context.Cause(ctx)
		}
		slot.NextRound(members)
		res, err := send(wire.WithSlot(ctx, slot))
		if raw, err = s.raw(ctx, slot, res, err); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// busyError is an answer of the server itself.
type busyError struct{}

func (busyError) Error() string {
	return "the server has no time: it asked to be called again, and again"
}
func (busyError) Answered() bool { return true }

func inputError(kind toolsource.Kind, err error) error {
	return &toolsource.CallError{Phase: "call", Kind: kind, MayHaveRun: true, Err: err}
}

// input gives the members of the next round's parameters.
func (s *session) input(ctx context.Context, raw json.RawMessage, cause report) (members []byte, asked int, err error) {
	t, err := parseJSON(raw)
	if err != nil {
		return nil, 0, inputError(toolsource.KindProtocol, err)
	}
	m := t.members(nil)
	requests := m.get("inputRequests").members(nil)
	answers := make([]json.RawMessage, len(requests))
	errs := make([]error, len(requests))
	var running sync.WaitGroup
	for i, r := range requests {
		running.Go(func() { answers[i], errs[i] = s.inputFor(ctx, r.value, cause) })
	}
	running.Wait() // each ends with ctx
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		e := inputError(toolsource.KindDenied, fmt.Errorf("the server wants to know more, and does not get it: %w", s.srv.redact.err(err)))
		return nil, 0, e
	}
	var b bytes.Buffer
	if m.get("inputRequests").present() {
		b.WriteString(`"inputResponses":{`)
		for i, r := range requests {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonString(r.name))
			b.WriteByte(':')
			b.Write(answers[i])
		}
		b.WriteByte('}')
	}
	if state := m.get("requestState"); state.kind() == '"' {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"requestState":` + string(state))
	}
	return b.Bytes(), len(requests), nil
}

// inputFor answers one of the requests that a reply holds. An elicitation that is refused is declined, since
// there is no other way to say so; any other refusal ends the call.
func (s *session) inputFor(ctx context.Context, request jsonText, cause report) (json.RawMessage, error) {
	m := request.members(nil)
	method, _ := m.get("method").str()
	params := json.RawMessage(m.get("params"))
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	answer, err := s.answer(ctx, s.conn.Done(), method, params, cause)
	var r *refusal
	if method == methodElicit && errors.As(err, &r) && r.code == codeRefused {
		s.noteRefusal("a request of the server was declined", method, err)
		return elicited(ElicitDecline, nil), nil
	}
	return answer, err
}

func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return strconv.AppendQuote(nil, s)
	}
	return b
}

// sleep waits, and is false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
