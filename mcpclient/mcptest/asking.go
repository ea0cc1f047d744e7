package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// askingTools are those that have the client do something.
func askingTools(t func(name, description, schema, hints string, run func(context.Context, *call) (json.RawMessage, error)) Tool) []Tool {
	return []Tool{
		t("request", "Asks the client as it is told to.", `{"type":"object"}`, "null", runRequest),
		t("notify", "Tells the client what it is told to.", `{"type":"object"}`, "null", runNotify),
	}
}

// runRequest sends one request n times at once, and answers with the list of replies: results, or errors. In
// revision 2026-07-28 it asks for input instead, under the keys q0, q1, ..., and answers with what came, and how
// often it was called. A request that is taken back after take_back_ms has no reply.
func runRequest(ctx context.Context, c *call) (json.RawMessage, error) {
	a := struct {
		Method   string
		Params   json.RawMessage
		N        int
		TakeBack int `json:"take_back_ms"`
	}{N: 1, Params: json.RawMessage(`{}`)}
	c.read(&a)
	if c.server.b.Modern {
		return c.input(a.Method, a.Params, a.N)
	}
	var ids []string
	var answers []<-chan message
	for range a.N {
		id := c.server.nextID()
		ids, answers = append(ids, id), append(answers, c.server.askWith(c.write, id, a.Method, a.Params))
	}
	var none <-chan time.Time
	if a.TakeBack > 0 {
		if !wait(ctx, time.Duration(a.TakeBack)*time.Millisecond) {
			return nil, nil
		}
		for _, id := range ids {
			c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
		}
		t := time.NewTimer(100 * time.Millisecond)
		defer t.Stop()
		none = t.C
	}
	replies := []json.RawMessage{}
	for _, answer := range answers {
		select {
		case m := <-answer:
			if m.Error != nil {
				m.Result = m.Error
			}
			replies = append(replies, m.Result)
		case <-none:
			return structured(encode(map[string]any{"replies": replies})), nil
		case <-ctx.Done():
			return nil, nil
		}
	}
	return structured(encode(map[string]any{"replies": replies})), nil
}

// input asks for input, or answers with it.
func (c *call) input(method string, params json.RawMessage, n int) (json.RawMessage, error) {
	if c.state == "" {
		requests := map[string]any{}
		for i := range n {
			requests[fmt.Sprint("q", i)] = map[string]any{"method": method, "params": params}
		}
		return encode(map[string]any{"resultType": "input_required", "requestState": "round 1", "inputRequests": requests}), nil
	}
	var given map[string]json.RawMessage
	_ = json.Unmarshal(c.inputs, &given)
	replies := []json.RawMessage{}
	for i := range n {
		replies = append(replies, given[fmt.Sprint("q", i)])
	}
	return structured(encode(map[string]any{"replies": replies, "state": c.state})), nil
}

// runNotify sends notifications and answers.
func runNotify(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct {
		Notes []struct {
			Method string
			Params json.RawMessage
		}
		N int
	}
	c.read(&a)
	for range max(a.N, 1) {
		for _, n := range a.Notes {
			if n.Params == nil {
				n.Params = json.RawMessage(`{}`)
			}
			c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, n.Method, n.Params))
		}
	}
	return text("told"), nil
}

func (s *server) nextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return fmt.Sprintf(`"q%d"`, s.requests)
}

// answerAs is what Behaviour.Answers has for a request: under its method and what it asks for, else under its
// method.
func (s *server) answerAs(m message) (json.RawMessage, error, bool) {
	var p struct{ Cursor, URI, Name string }
	_ = json.Unmarshal(m.Params, &p)
	for _, key := range []string{m.Method + " " + p.Cursor + p.URI + p.Name, m.Method} {
		if raw, ok := s.b.Refusals[key]; ok {
			return nil, rawError(raw), true
		}
		if raw, ok := s.b.Answers[key]; ok {
			return json.RawMessage(raw), nil, true
		}
	}
	return nil, nil, false
}
