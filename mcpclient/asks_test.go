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

// A call that loses its server in a further round may have run, and is not sent again from the start.
func TestLostInAFurtherRound(t *testing.T) {
	journal := t.TempDir() + "/journal"
	s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{Modern: true, DieAt: 2, Journal: journal}}.on(t,
		&Handlers{Roots: func(context.Context, string) ([]Root, error) { return nil, nil }})
	_, err := s.Call(t.Context(), "request", map[string]any{"method": "roots/list"}, CallOptions{})
	if !errors.Is(err, toolsource.ErrOutcomeUnknown) {
		t.Error(err)
	}
	if n := countLines(t, journal, "tools/call request"); n != 2 {
		t.Errorf("%d rounds were sent", n)
	}
}

// Rounds end: a server that asks for ever, or that never has time, costs its call only.
func TestRoundsEnd(t *testing.T) {
	asks := `{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list","params":{}}}}`
	for _, tt := range []struct {
		why, result, want string
		calls             int
	}{
		{"asks for ever", asks, "asked for input 10 times", 10},
		{"has no time", `{"resultType":"input_required","requestState":"s","inputRequests":{}}`, "has no time", 3},
		{"has no time, and says nothing else", `{"resultType":"input_required","requestState":"s"}`, "has no time", 3},
		{"asks for what nobody knows", `{"resultType":"input_required","inputRequests":{"r":{"method":"dance"}}}`, "dance was not declared", 1},
		{"asks for nothing", `{"resultType":"input_required","inputRequests":{"r":7}}`, "was not declared", 1},
	} {
		s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{Modern: true, Results: map[string]string{"echo": tt.result}}}.on(t,
			&Handlers{Roots: func(context.Context, string) ([]Root, error) { return nil, nil }})
		_, err := s.Call(t.Context(), "echo", nil, CallOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.why, err)
		}
		if n := stat(t, s, "tools/call echo"); n != tt.calls {
			t.Errorf("%s: %d calls, want %d", tt.why, n, tt.calls)
		}
	}
}

func TestAskConfigIsChecked(t *testing.T) {
	_, err := New(ServerConfig{ID: "x", Command: "x", Asks: &AskConfig{Limits: AskLimits{PerMinute: -1, Sampling: -1, ToolRounds: -1}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "asks.limits.per_minute is -1") || !strings.Contains(err.Error(), "asks.limits.sampling is -1ns") || strings.Contains(err.Error(), "rounds") {
		t.Error(err)
	}
	got := AskLimits{PerMinute: 3, Roots: time.Second}.Or(AskLimits{PerMinute: 9, MaxTokens: 5}).Or(defaultAskLimits)
	if got.PerMinute != 3 || got.MaxTokens != 5 || got.ToolRounds != 5 || got.Roots != time.Second || got.Sampling != 30*time.Second || got.MaxMessage != 1<<20 || got.AtOnce != 8 {
		t.Errorf("%+v", got)
	}
}
