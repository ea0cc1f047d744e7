package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// era is a transport and what is spoken on it.
type eraWay struct {
	name, transport string
	b               mcptest.Behaviour
}

// eraWays are the ways in which a server asks: by itself on each transport, and by asking for input.
func eraWays() []eraWay {
	return []eraWay{
		{"stdio", mcptest.Stdio, mcptest.Behaviour{}},
		{"http, own stream", mcptest.HTTP, mcptest.Behaviour{SSE: true}},
		{"http, GET stream", mcptest.HTTP, mcptest.Behaviour{Stream: true}},
		{"sse", mcptest.SSE, mcptest.Behaviour{}},
		{"stdio 2026", mcptest.Stdio, mcptest.Behaviour{Modern: true}},
		{"http 2026", mcptest.HTTP, mcptest.Behaviour{Modern: true}},
		{"http 2026, stream", mcptest.HTTP, mcptest.Behaviour{Modern: true, SSE: true}},
	}
}

// on makes a server of a way. It is closed with the test.
func (w eraWay) on(t testing.TB, h *Handlers, change ...func(*ServerConfig)) *Server {
	t.Helper()
	return w.with(t, &Options{Handlers: h}, change...)
}

func (w eraWay) with(t testing.TB, o *Options, change ...func(*ServerConfig)) *Server {
	t.Helper()
	p, err := mcptest.Start(w.transport, w.b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	cfg := ServerConfig{ID: "srv", Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL}
	if w.transport == mcptest.SSE {
		cfg.Transport = TransportSSE
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request has the server ask, and gives the replies.
func request(ctx context.Context, s *Server, args map[string]any) ([]any, error) {
	res, err := s.Call(ctx, "request", args, CallOptions{})
	if err != nil {
		return nil, err
	}
	m, _ := res.Value.(map[string]any)
	replies, _ := m["replies"].([]any)
	return replies, nil
}

var formParams = map[string]any{
	"message":         "Who\u202e are\x07 you?",
	"requestedSchema": json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"age":{"type":"integer","default":9007199254740993}},"required":["z"]}`),
}

func TestHandlersInEveryEra(t *testing.T) {
	type key struct{}
	for _, w := range eraWays() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []string
			note := func(ctx context.Context, what, call string) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprint(what, " ", call, " ", ctx.Value(key{})))
			}
			var elicited *ElicitRequest
			var sampled *SampleRequest
			s := w.on(t, &Handlers{
				Roots: func(ctx context.Context, server string) ([]Root, error) {
					note(ctx, "roots", server)
					return []Root{{URI: "file:///a", Name: "a"}}, nil
				},
				Elicit: func(ctx context.Context, r *ElicitRequest) (*ElicitResult, error) {
					note(ctx, "elicit", r.Call)
					elicited = r
					return &ElicitResult{Action: ElicitAccept, Content: map[string]any{"z": "x"}}, nil
				},
				Sample: func(ctx context.Context, r *SampleRequest) (*SampleResult, error) {
					note(ctx, "sample", r.Call)
					sampled = r
					return &SampleResult{Content: []SampleBlock{SampleText("hi")}, Model: "m"}, nil
				},
			})
			ctx := context.WithValue(t.Context(), key{}, "mine")
			for _, c := range []struct {
				method string
				params map[string]any
				want   any
			}{
				{"roots/list", map[string]any{}, map[string]any{"roots": []any{map[string]any{"uri": "file:///a", "name": "a"}}}},
				{"elicitation/create", formParams, map[string]any{"action": "accept", "content": map[string]any{"z": "x", "age": int64(9007199254740993)}}},
				{"sampling/createMessage", map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "hello"}}}, "maxTokens": 100},
					map[string]any{"role": "assistant", "model": "m", "stopReason": "endTurn", "content": map[string]any{"type": "text", "text": "hi"}}},
			} {
				got, err := request(ctx, s, map[string]any{"method": c.method, "params": c.params})
				if err != nil || len(got) != 1 {
					t.Fatalf("%s: %v, %v", c.method, got, err)
				}
				if diff := cmp.Diff(c.want, got[0]); diff != "" {
					t.Errorf("%s: %s", c.method, diff)
				}
			}
			want := []string{"roots srv mine", "elicit request mine", "sample request mine"}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Error(diff)
			}
			if elicited.Message != "Who are you?" || string(elicited.Schema) != string(formParams["requestedSchema"].(json.RawMessage)) || elicited.Server != "srv" {
				t.Errorf("%+v %s", elicited, elicited.Schema)
			}
			if sampled.MaxTokens != 100 || len(sampled.Messages) != 1 || sampled.Messages[0].Content[0].Content.Text != "hello" {
				t.Errorf("%+v", sampled)
			}
		})
	}
}

// What is not declared, and what an untrusted server is not given, is refused; by option it is given.
func TestUndeclaredIsRefused(t *testing.T) {
	yes, no := true, false
	h := &Handlers{Roots: func(context.Context, string) ([]Root, error) { return nil, nil }}
	for _, tt := range []struct {
		why     string
		h       *Handlers
		change  func(*ServerConfig)
		refused bool
	}{
		{"no handlers", nil, nil, true},
		{"none for roots", &Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return nil, nil }}, nil, true},
		{"untrusted", h, func(c *ServerConfig) { c.Trust = toolsource.TrustUntrusted }, true},
		{"untrusted, and allowed", h, func(c *ServerConfig) { c.Trust, c.Asks = toolsource.TrustUntrusted, &AskConfig{Roots: &yes} }, false},
		{"trusted, and switched off", h, func(c *ServerConfig) { c.Asks = &AskConfig{Roots: &no} }, true},
		{"trusted", h, nil, false},
	} {
		for _, w := range []eraWay{{"", mcptest.Stdio, mcptest.Behaviour{}}, {" 2026", mcptest.Stdio, mcptest.Behaviour{Modern: true}}} {
			change := tt.change
			if change == nil {
				change = func(*ServerConfig) {}
			}
			s := w.on(t, tt.h, change)
			got, err := request(t.Context(), s, map[string]any{"method": "roots/list"})
			if w.b.Modern {
				if refused := toolsource.KindOf(err) == toolsource.KindDenied && strings.Contains(err.Error(), "was not declared"); refused != tt.refused {
					t.Errorf("%s%s: %v, %v", tt.why, w.name, got, err)
				}
				continue
			}
			m, _ := got[0].(map[string]any)
			if refused := m["code"] == int64(codeNoMethod); refused != tt.refused || err != nil {
				t.Errorf("%s: %v, %v", tt.why, got, err)
			}
		}
	}
}

// With several calls under way it is not known which one the server asks for, unless it asks on the call's own
// stream; then the context has no values, and says so.
func TestHandlerContextWithSeveralCalls(t *testing.T) {
	type key struct{}
	for _, tt := range []struct {
		w     eraWay
		known bool
	}{
		{eraWay{"stdio", mcptest.Stdio, mcptest.Behaviour{}}, false},
		{eraWay{"own stream", mcptest.HTTP, mcptest.Behaviour{SSE: true}}, true},
		{eraWay{"2026", mcptest.Stdio, mcptest.Behaviour{Modern: true}}, true},
	} {
		var value any
		var call string
		s := tt.w.on(t, &Handlers{Elicit: func(ctx context.Context, r *ElicitRequest) (*ElicitResult, error) {
			value, call = ctx.Value(key{}), r.Call
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a handler has no time limit")
			}
			return nil, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		busy := make(chan struct{})
		go func() {
			defer close(busy)
			_, _ = s.Call(ctx, "mute", nil, CallOptions{})
		}()
		waitFor(t, func() bool { return s.Status().InFlight == 1 })
		got, err := request(context.WithValue(t.Context(), key{}, "mine"), s, map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "?"}})
		if err != nil || len(got) != 1 || !cmp.Equal(got[0], map[string]any{"action": "decline"}) {
			t.Errorf("%s: %v, %v", tt.w.name, got, err)
		}
		if known := value == "mine" && call == "request"; known != tt.known || !known && (value != nil || call != "") {
			t.Errorf("%s: %v for %q", tt.w.name, value, call)
		}
		cancel()
		<-busy
	}
}

// A handler may call tools of the same server. Where the places are full it does not wait for the one that its
// own call holds.
func TestHandlerCallsTheSameServer(t *testing.T) {
	for _, w := range eraWays() {
		for places, want := range map[int]error{1: toolsource.ErrReentrant, 2: nil} {
			var s *Server
			var inner error
			s = w.on(t, &Handlers{Roots: func(ctx context.Context, _ string) ([]Root, error) {
				_, inner = s.Call(ctx, "echo", map[string]any{"text": "in"}, CallOptions{})
				return nil, nil
			}}, func(c *ServerConfig) { c.MaxInFlight = places })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := request(ctx, s, map[string]any{"method": "roots/list"}); err != nil || !errors.Is(inner, want) {
				t.Errorf("%s with %d places: %v, the inner call: %v", w.name, places, err, inner)
			}
			cancel()
		}
	}
}

// A handler that ignores its context costs a refusal after its time, and neither another call nor Close.
func TestStuckHandlerHoldsNobodyUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, w := range []eraWay{{"stdio", mcptest.Stdio, mcptest.Behaviour{}}, {"http", mcptest.HTTP, mcptest.Behaviour{SSE: true}}} {
		var n atomic.Int32
		h := &Handlers{
			Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { n.Add(1); <-release; return nil, nil },
			Limits: AskLimits{Sampling: 300 * time.Millisecond, AtOnce: 1},
		}
		s := w.on(t, h, func(c *ServerConfig) { c.CloseBound = 2 * time.Second })
		ask := map[string]any{"method": "sampling/createMessage", "params": map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "x"}}}}}
		done := make(chan error, 1)
		go func() {
			got, err := request(t.Context(), s, ask)
			if err == nil && !strings.Contains(fmt.Sprint(got), "timed out") {
				err = fmt.Errorf("%v", got)
			}
			done <- err
		}()
		waitFor(t, func() bool { return n.Load() == 1 })
		if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, CallOptions{}); err != nil || res.Value != "on" {
			t.Error(w.name, err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		got, err := request(t.Context(), s, ask) // the one left behind still counts
		if err != nil || !strings.Contains(fmt.Sprint(got), "at once") {
			t.Errorf("%s: %v, %v", w.name, got, err)
		}
		begin := time.Now()
		if err := s.Close(); err != nil || time.Since(begin) > 2*time.Second {
			t.Errorf("%s: closed after %v: %v", w.name, time.Since(begin), err)
		}
	}
}

// A request that the server takes back ends its handler, and has no answer.
func TestTakenBackRequest(t *testing.T) {
	for _, w := range []eraWay{{"stdio", mcptest.Stdio, mcptest.Behaviour{}}, {"http", mcptest.HTTP, mcptest.Behaviour{SSE: true}}} {
		ended := make(chan error, 1)
		s := w.on(t, &Handlers{Elicit: func(ctx context.Context, _ *ElicitRequest) (*ElicitResult, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		got, err := request(t.Context(), s, map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "?"}, "take_back_ms": 100})
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", w.name, got, err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, errTakenBack) {
				t.Errorf("%s: %v", w.name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the handler goes on", w.name)
		}
	}
}

// A flood of requests is refused, each by an answer, and costs no call.
func TestFloodOfRequests(t *testing.T) {
	var running, most atomic.Int32
	h := &Handlers{Roots: func(ctx context.Context, _ string) ([]Root, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(time.Millisecond)
		return nil, nil
	}}
	for _, w := range []eraWay{{"stdio", mcptest.Stdio, mcptest.Behaviour{}}, {"http", mcptest.HTTP, mcptest.Behaviour{SSE: true}}} {
		s := w.on(t, h)
		got, err := request(t.Context(), s, map[string]any{"method": "roots/list", "n": 200})
		if err != nil || len(got) != 200 {
			t.Fatalf("%s: %d, %v", w.name, len(got), err)
		}
		answered := 0
		for _, g := range got {
			if m, _ := g.(map[string]any); m["roots"] != nil {
				answered++
			} else if m["code"] != int64(codeRefused) {
				t.Errorf("%s: %v", w.name, g)
			}
		}
		if answered == 0 || answered > 60 || most.Load() > 8 {
			t.Errorf("%s: %d were answered, %d at once", w.name, answered, most.Load())
		}
		if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, CallOptions{}); err != nil || res.Value != "on" || s.Status().Epoch != 1 {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

// In revision 2026-07-28 a call that was asked back is not sent again as a whole.
func TestRoundsAreOneCall(t *testing.T) {
	h := &Handlers{Roots: func(context.Context, string) ([]Root, error) { panic("no") }}
	s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{Modern: true}}.on(t, h)
	_, err := s.Call(t.Context(), "request", map[string]any{"method": "roots/list"}, CallOptions{})
	var e *toolsource.CallError
	if !errors.As(err, &e) || e.Kind != toolsource.KindDenied || !e.MayHaveRun || strings.Contains(err.Error(), "panic") {
		t.Errorf("%v", err)
	}
	if n := stat(t, s, "tools/call request"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// ask is a session without a connection, for what is between a request and its answer.
func askedSession(t testing.TB, h *Handlers, change ...func(*ServerConfig)) *session {
	t.Helper()
	cfg := ServerConfig{ID: "srv", Command: "x", Env: map[string]toolsource.Secret{"KEY": "s3cr3t-Value"}}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, &Options{Handlers: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &session{srv: s, set: s.settings(), line: s.line}
}

func sampleParams(tools bool) json.RawMessage {
	more := ""
	if tools {
		more = `,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}`
	}
	return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":99999` + more + `}`)
}

func toolAnswer() *SampleResult {
	return &SampleResult{Content: []SampleBlock{{ToolUse: &ToolUse{ID: "1", Name: "t", Input: map[string]any{"n": int64(9007199254740993)}}}}}
}

func TestSamplingLimits(t *testing.T) {
	text := func(context.Context, *SampleRequest) (*SampleResult, error) {
		return &SampleResult{Content: []SampleBlock{SampleText("hi")}}, nil
	}
	for _, tt := range []struct {
		why   string
		h     Handlers
		tools bool
		after []time.Duration // before each request
		want  []string        // of each: part of the refusal; "": it is answered
	}{
		{"one a minute", Handlers{Sample: text, Limits: AskLimits{PerMinute: 1}}, false, []time.Duration{0, 0}, []string{"", "rate limit"}},
		{"the window slides", Handlers{Sample: text, Limits: AskLimits{PerMinute: 1}}, false, []time.Duration{0, 59 * time.Second, time.Second}, []string{"", "rate limit", ""}},
		{"a refusal does not count", Handlers{Sample: text, Limits: AskLimits{PerMinute: 2}}, false,
			[]time.Duration{0, 30 * time.Second, 29 * time.Second, time.Second}, []string{"", "", "rate limit", ""}},
		{"ten by default", Handlers{Sample: text}, false, make([]time.Duration, 11), append(make([]string, 10), "rate limit")},
		{"it takes too long", Handlers{Sample: func(ctx context.Context, _ *SampleRequest) (*SampleResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, false, []time.Duration{0}, []string{"timed out after 30s"}},
		{"an empty answer", Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return &SampleResult{}, nil }}, false, []time.Duration{0}, []string{"empty response"}},
		{"no answer", Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return nil, nil }}, false, []time.Duration{0}, []string{"empty response"}},
		{"the user says no", Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return nil, toolsource.ErrDenied }}, false, []time.Duration{0}, []string{"User rejected"}},
		{"it fails, with a secret", Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) {
			return nil, errors.New("no model for s3cr3t-Value\x1b[0m")
		}}, false, []time.Duration{0}, []string{"failed: no model for ***[0m"}},
		{"it panics", Handlers{Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { panic("s3cr3t") }}, false, []time.Duration{0}, []string{"failed: internal error"}},
		{"tools in a row", Handlers{SampleTools: true, Limits: AskLimits{ToolRounds: 2}, Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return toolAnswer(), nil }}, true,
			[]time.Duration{0, 0, 0, 0}, []string{"", "", "Tool loop limit exceeded", ""}},
		{"no tools at all", Handlers{SampleTools: true, Limits: AskLimits{ToolRounds: -1}, Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return toolAnswer(), nil }}, false,
			[]time.Duration{0}, []string{"Tool loops disabled"}},
		{"tools that were not declared", Handlers{Sample: text}, true, []time.Duration{0}, []string{"sampling.tools was not declared"}},
		{"too large a request", Handlers{Sample: text, Limits: AskLimits{MaxMessage: 50}}, false, []time.Duration{0}, []string{"bytes, more than the limit of 50"}},
		{"too large an answer", Handlers{Limits: AskLimits{MaxMessage: 200}, Sample: func(context.Context, *SampleRequest) (*SampleResult, error) {
			return &SampleResult{Content: []SampleBlock{SampleText(strings.Repeat("x", 300))}}, nil
		}}, false, []time.Duration{0}, []string{"the answer has"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := askedSession(t, &tt.h)
			for i, after := range tt.after {
				time.Sleep(after)
				_, err := s.answer(t.Context(), make(chan struct{}), methodSample, sampleParams(tt.tools), report{})
				if tt.want[i] == "" && err != nil || tt.want[i] != "" && (err == nil || !strings.Contains(err.Error(), tt.want[i])) {
					t.Errorf("%s: request %d: %v, want %q", tt.why, i+1, err, tt.want[i])
				}
			}
		})
	}
}

// A text answer ends a row of answers that use tools.
func TestToolRoundsAreCountedInARow(t *testing.T) {
	answers := []*SampleResult{toolAnswer(), toolAnswer(), {Content: []SampleBlock{SampleText("done")}}, toolAnswer(), toolAnswer(), toolAnswer()}
	n := 0
	s := askedSession(t, &Handlers{SampleTools: true, Limits: AskLimits{ToolRounds: 2}, Sample: func(context.Context, *SampleRequest) (*SampleResult, error) {
		n++
		return answers[n-1], nil
	}})
	for i := range answers {
		_, err := s.answer(t.Context(), make(chan struct{}), methodSample, sampleParams(true), report{})
		if want := i == 5; want != (err != nil) {
			t.Errorf("answer %d: %v", i+1, err)
		}
	}
}

func TestSamplingReadsAndWritesAll(t *testing.T) {
	const params = `{"systemPrompt":"be brief","maxTokens":9999,"temperature":0.5,"stopSequences":["a",1,"b"],"includeContext":"none",
	"metadata":{"k":9007199254740993},"modelPreferences":{"hints":[{"name":"claude"},{}],"costPriority":0.25},
	"tools":[{"name":"t","inputSchema":{"type":"object","b":1,"a":2}}],"toolChoice":{"mode":"required"},
	"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"new","x":1}]},
	{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"t","input":{"n":9007199254740993}}},
	{"role":"user","content":[{"type":"tool_result","toolUseId":"u1","content":[{"type":"text","text":"y"}],"structuredContent":{"a":1},"isError":true}]}]}`
	var got *SampleRequest
	s := askedSession(t, &Handlers{SampleTools: true, Sample: func(_ context.Context, r *SampleRequest) (*SampleResult, error) {
		got = r
		return &SampleResult{Model: "m", Content: []SampleBlock{SampleText("a<b"), toolAnswer().Content[0]}}, nil
	}})
	raw, err := s.answer(t.Context(), make(chan struct{}), methodSample, json.RawMessage(params), report{call: "tool"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"text","text":"a<b"},{"type":"tool_use","id":"1","name":"t","input":{"n":9007199254740993}}]}`
	if diff := cmp.Diff(exact([]byte(want)), exact(raw)); diff != "" {
		t.Error(diff)
	}
	if got.System != "be brief" || got.MaxTokens != 4096 || *got.Temperature != 0.5 || !cmp.Equal(got.StopSequences, []string{"a", "b"}) || got.IncludeContext != "none" ||
		string(got.Metadata) != `{"k":9007199254740993}` || !cmp.Equal(got.Models.Hints, []string{"claude"}) || *got.Models.Cost != 0.25 || got.Models.Speed != nil ||
		got.ToolChoice != "required" || got.Call != "tool" || string(got.Raw) != params {
		t.Errorf("%+v", got)
	}
	if len(got.Tools) != 1 || string(got.Tools[0].InputSchema) != `{"type":"object","b":1,"a":2}` {
		t.Errorf("%+v", got.Tools)
	}
	m := got.Messages
	if len(m) != 3 || len(m[0].Content) != 3 || string(m[0].Content[1].Content.Data) != "hi" || string(m[0].Content[2].Content.Raw) != `{"type":"new","x":1}` ||
		m[1].Content[0].ToolUse.Input["n"] != int64(9007199254740993) || !m[2].Content[0].ToolResult.IsError || m[2].Content[0].ToolResult.Content[0].Text != "y" {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"messages":{}}`, `{"messages":[]}`, `{"messages":[1]}`, `{"messages":[{"role":"user"}]}`, `{"messages":[{"content":{"type":"text","text":"x"}}]}`} {
		_, err := s.answer(t.Context(), make(chan struct{}), methodSample, json.RawMessage(bad), report{})
		var r *refusal
		if !errors.As(err, &r) || r.code != codeInvalidParams {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestElicitation(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"default":5}},"required":["n"]}`
	form := `{"message":"m","requestedSchema":` + schema + `}`
	gives := func(a ElicitAction, content map[string]any) func(context.Context, *ElicitRequest) (*ElicitResult, error) {
		return func(context.Context, *ElicitRequest) (*ElicitResult, error) { return &ElicitResult{a, content}, nil }
	}
	for _, tt := range []struct {
		why, params string
		url         bool
		elicit      func(context.Context, *ElicitRequest) (*ElicitResult, error)
		want        string // the answer, or what begins with ! a part of the refusal
	}{
		{"accepted, with the defaults", form, false, gives(ElicitAccept, nil), `{"action":"accept","content":{"n":5}}`},
		{"accepted, over the default", form, false, gives(ElicitAccept, map[string]any{"n": 7}), `{"action":"accept","content":{"n":7}}`},
		{"accepted without a schema", `{"message":"m"}`, false, gives(ElicitAccept, nil), `{"action":"accept","content":{}}`},
		{"values that do not fit", form, false, gives(ElicitAccept, map[string]any{"n": 0}), `{"action":"decline"}`},
		{"declined", form, false, gives(ElicitDecline, map[string]any{"n": 7}), `{"action":"decline"}`},
		{"cancelled", form, false, gives(ElicitCancel, nil), `{"action":"cancel"}`},
		{"an unknown action", form, false, gives("maybe", nil), `{"action":"decline"}`},
		{"nothing", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, nil }, `{"action":"decline"}`},
		{"an error", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, errors.New("x") }, `{"action":"decline"}`},
		{"a panic", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { panic("x") }, `{"action":"decline"}`},
		{"no answer in time", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { <-time.After(time.Hour); return nil, nil }, `{"action":"cancel"}`},
		{"an address, not offered", `{"mode":"url","message":"m","url":"https://x/y","elicitationId":"1"}`, false,
			func(context.Context, *ElicitRequest) (*ElicitResult, error) { t.Error("asked"); return nil, nil }, `{"action":"decline"}`},
		{"an address", `{"mode":"url","message":"m","url":"https://x/y","elicitationId":"1"}`, true, func(_ context.Context, r *ElicitRequest) (*ElicitResult, error) {
			if r.URL != "https://x/y" || r.ID != "1" || r.Schema != nil {
				t.Errorf("%+v", r)
			}
			return &ElicitResult{ElicitAccept, map[string]any{"n": 1}}, nil
		}, `{"action":"accept"}`},
		{"an address that runs code", `{"mode":"url","message":"m","url":"javascript:alert(1)"}`, true, gives(ElicitAccept, nil), "!http or https"},
		{"a file", `{"mode":"url","message":"m","url":"file:///etc/passwd"}`, true, gives(ElicitAccept, nil), "!http or https"},
		{"an unknown mode", `{"mode":"voice","message":"m"}`, true, gives(ElicitAccept, nil), "!unknown mode"},
		{"a nested form", `{"message":"m","requestedSchema":{"type":"object","properties":{"o":{"type":"object"}}}}`, false, gives(ElicitAccept, nil), "!want string, number"},
		{"no object", `[]`, false, gives(ElicitAccept, nil), "!want an object"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := askedSession(t, &Handlers{Elicit: tt.elicit, ElicitURL: tt.url})
			begin := time.Now()
			raw, err := s.answer(t.Context(), make(chan struct{}), methodElicit, json.RawMessage(tt.params), report{})
			if part, ok := strings.CutPrefix(tt.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %s, %v", tt.why, raw, err)
				}
			} else if err != nil || string(raw) != tt.want {
				t.Errorf("%s: %s, %v, want %s", tt.why, raw, err, tt.want)
			}
			if d := time.Since(begin); d > 5*time.Minute {
				t.Errorf("%s: after %v", tt.why, d)
			}
			time.Sleep(2 * time.Hour) // what is left behind returns in the bubble
		})
	}
}

func TestFormFits(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"required":["s"],"properties":{
	"s":{"type":"string","minLength":2,"maxLength":3},"e":{"type":"string","enum":["a","b"]},"o":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
	"mail":{"type":"string","format":"email"},"d":{"type":"string","format":"date"},"dt":{"type":"string","format":"date-time"},"u":{"type":"string","format":"uri"},
	"p":{"type":"string","pattern":"^z"},"i":{"type":"integer","maximum":10},"f":{"type":"number"},"b":{"type":"boolean"},
	"l":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},"t":{"type":"array","items":{"anyOf":[{"const":"c","title":"C"}]}}}}`
	f, err := readForm(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		v    any
		fits bool
	}{
		{"s", "ab", true}, {"s", "a", false}, {"s", "abcd", false}, {"s", "\u00e4\u00f6\u00fc", true}, {"s", 1, false}, {"s", nil, false},
		{"e", "a", true}, {"e", "c", false}, {"o", "x", true}, {"o", "X", false},
		{"mail", "a@b.c", true}, {"mail", "a", false}, {"d", "2026-01-31", true}, {"d", "2026-02-31", false},
		{"dt", "2026-01-31T10:00:00Z", true}, {"dt", "2026-01-31", false}, {"u", "https://x", true}, {"u", "x", false},
		{"p", "zz", true}, {"p", "az", false}, {"i", 10, true}, {"i", 11, false}, {"i", 1.5, false}, {"i", 3.0, true}, {"i", "1", false},
		{"f", 1.5, true}, {"f", true, false}, {"b", false, true}, {"b", 0, false},
		{"l", []any{"a", "b"}, true}, {"l", []any{}, false}, {"l", []any{"c"}, false}, {"l", "a", false}, {"t", []any{"c"}, true},
		{"other", 1, false},
	} {
		given := map[string]any{"s": "ab"}
		given[tt.name] = tt.v
		if _, err := f.fit(given); (err == nil) != tt.fits {
			t.Errorf("%s = %v: %v", tt.name, tt.v, err)
		}
	}
	if _, err := f.fit(nil); err == nil || !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("what is required is missing: %v", err)
	}
	for _, bad := range []string{`{"type":"string"}`, `{"properties":{"a":{}}}`, `{"properties":{"a":{"type":["string","null"]}}}`,
		`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"properties":{"a":{"type":"string","pattern":"("}}}`, `{"properties":{"a":{"type":"string","minLength":"1"}}}`} {
		if _, err := readForm(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nhere": "plain\ttext\nhere", "a\x1b[31mb": "a[31mb", "\u202egnp": "gnp", "a\u200bb": "ab", "a\U000E0041b": "ab",
		"a\xffb": "a\uFFFDb", "\U0001F468\u200d\U0001F469": "\U0001F468\u200d\U0001F469", "a\rb": "ab",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzReadsOfRequests(f *testing.F) {
	f.Add(string(sampleParams(true)), `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"tool_use","id":1}]}]}`, `{"mode":"url","url":"x"}`)
	f.Fuzz(func(t *testing.T, sample, elicit string) {
		a := &asked{session: askedSession(t, &Handlers{
			Sample: func(context.Context, *SampleRequest) (*SampleResult, error) { return nil, nil }, SampleTools: true,
			Elicit: func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, nil }, ElicitURL: true,
		}), limits: &defaultAskLimits}
		if r, err := a.readSample(json.RawMessage(sample)); err == nil && (len(r.Messages) == 0 || r.MaxTokens < 1 || r.MaxTokens > 4096) {
			t.Errorf("%+v", r)
		}
		if r, err := a.readElicit(json.RawMessage(elicit)); err == nil {
			if plain(r.Message) != r.Message || r.Mode != ElicitForm && r.Mode != ElicitURL {
				t.Errorf("%+v", r)
			}
			if form, err := readForm(r.Schema); err == nil {
				if raw, err := form.fit(nil); err == nil && !json.Valid(raw) {
					t.Errorf("%s", raw)
				}
			}
		}
	})
}

// A handler that takes its time, as a user does, is not the server's silence.
func TestHandlerTimeIsNoSilence(t *testing.T) {
	for _, w := range []eraWay{{"own stream", mcptest.Memory, mcptest.Behaviour{SSE: true}}, {"2026", mcptest.Memory, mcptest.Behaviour{Modern: true}}} {
		synctest.Test(t, func(t *testing.T) {
			p, err := mcptest.Start(w.transport, w.b)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(ServerConfig{ID: "srv", URL: p.URL}, &Options{HTTPTransport: p.HTTP, Handlers: &Handlers{
				Elicit: func(context.Context, *ElicitRequest) (*ElicitResult, error) {
					time.Sleep(3 * time.Minute)
					return &ElicitResult{Action: ElicitAccept}, nil
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			ctx := toolsource.WithProgress(t.Context(), func(p toolsource.Progress) { told = append(told, p.Message) })
			got, err := request(ctx, s, map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "?"}})
			if err != nil || fmt.Sprint(got) != "[map[action:accept content:map[]]]" {
				t.Errorf("%s: %v, %v", w.name, got, err)
			}
			if len(told) < 10 || told[0] != "waiting for the answer to elicitation/create" {
				t.Errorf("%s: %q", w.name, told)
			}
			if _, err := s.Call(t.Context(), "mute", nil, CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) {
				t.Errorf("%s: silence has no end any more: %v", w.name, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			p.Close()
		})
	}
}

// What is offered follows the trust, at once.
func TestUpdateOfTrustTakesHandlersAway(t *testing.T) {
	p, err := mcptest.Start(mcptest.Stdio, mcptest.Behaviour{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := ServerConfig{ID: "srv", Command: p.Command, Args: p.Args, Env: p.Env}
	s, err := New(cfg, &Options{Handlers: &Handlers{Roots: func(context.Context, string) ([]Root, error) { return nil, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refused := func() bool {
		got, err := request(t.Context(), s, map[string]any{"method": "roots/list"})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := got[0].(map[string]any)
		return m["code"] != nil
	}
	if refused() {
		t.Error("refused by default")
	}
	cfg.Trust = toolsource.TrustUntrusted
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	if !refused() {
		t.Error("an untrusted server still has them")
	}
}

func TestElicitedIsHeard(t *testing.T) {
	note := map[string]any{"method": "notifications/elicitation/complete", "params": map[string]any{"elicitationId": "e1"}}
	for _, url := range []bool{true, false} {
		heard := make(chan string, 10)
		s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{}}.on(t, &Handlers{ElicitURL: url,
			Elicit:   func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, nil },
			Elicited: func(server, id string) { heard <- server + " " + id },
		})
		if _, err := s.Call(t.Context(), "notify", map[string]any{"notes": []any{note}}, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if !url {
			if err := s.Close(); err != nil || len(heard) > 0 {
				t.Error("heard without a handler for addresses", err)
			}
			continue
		}
		select {
		case got := <-heard:
			if got != "srv e1" {
				t.Error(got)
			}
		case <-time.After(5 * time.Second):
			t.Error("not heard")
		}
	}
}
