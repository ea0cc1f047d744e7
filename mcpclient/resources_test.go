package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

const allCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

func library() mcptest.Behaviour {
	return mcptest.Behaviour{Capabilities: allCapabilities, Answers: map[string]string{
		"resources/list":           `{"resources":[{"uri":"file:///a","name":"a","title":"A","description":"d","mimeType":"text/plain","size":9007199254740993,"annotations":{"x":1},"_meta":{"m":1}},{"name":"no uri"},7,{"uri":"file:///a"}],"nextCursor":"2"}`,
		"resources/list 2":         `{"resources":[{"uri":"file:///b"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"file:///{p}","name":"t"}]}`,
		"resources/read file:///a": `{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"hello"}],"_meta":{"v":9007199254740993}}`,
		"resources/read file:///b": `{"contents":[{"uri":"file:///b","blob":"aGk="},{"uri":"file:///b/1","text":"t"},{"uri":"file:///b/2"}]}`,
		"resources/read none":      `{"contents":[]}`,
		"resources/read odd":       `{"contents":7}`,
		"prompts/list":             `{"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","required":true},{"name":"b"}]}]}`,
		"prompts/get p":            `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},{"role":"user","content":{"type":"new"}}]}`,
		"completion/complete":      `{"completion":{"values":["aa","ab",1],"total":3,"hasMore":true}}`,
		"resources/subscribe":      `{}`,
		"resources/unsubscribe":    `{}`,
		"logging/setLevel":         `{}`,
	}, Refusals: map[string]string{
		"resources/read gone": `{"code":-32002,"message":"Resource not found"}`,
		"prompts/get q":       `{"code":-32602,"message":"Unknown prompt: q"}`,
	}}
}

func libraries() []eraWay {
	var ways []eraWay
	for _, w := range eraWays() {
		b := library()
		b.Modern, b.SSE, b.Stream = w.b.Modern, w.b.SSE, w.b.Stream
		ways = append(ways, eraWay{w.name, w.transport, b})
	}
	return ways
}

func TestResourcesAndPromptsInEveryEra(t *testing.T) {
	for _, w := range libraries() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := w.on(t, nil)
			ctx, none := t.Context(), CallOptions{}
			l, err := s.Resources(ctx, none)
			if err != nil || len(l.Resources) != 2 || len(l.Problems) != 3 || l.Truncated {
				t.Fatalf("%+v, %v", l, err)
			}
			size := int64(9007199254740993)
			want := Resource{URI: "file:///a", Name: "a", Title: "A", Description: "d", MIMEType: "text/plain", Size: &size, Annotations: json.RawMessage(`{"x":1}`), Meta: map[string]any{"m": int64(1)}}
			if diff := cmp.Diff(want, l.Resources[0]); diff != "" || l.Resources[1].URI != "file:///b" {
				t.Error(diff)
			}
			tl, err := s.ResourceTemplates(ctx, none)
			if err != nil || len(tl.Templates) != 1 || tl.Templates[0].URITemplate != "file:///{p}" {
				t.Errorf("%+v, %v", tl, err)
			}
			res, err := s.ReadResource(ctx, "file:///a", none)
			if err != nil || res.Value != "hello" || res.Content[0].MIMEType != "text/plain" || res.Meta["v"] != int64(9007199254740993) {
				t.Errorf("%+v, %v", res, err)
			}
			res, err = s.ReadResource(ctx, "file:///b", none)
			if err != nil || len(res.Content) != 3 || string(res.Content[0].Data) != "hi" || res.Content[1].URI != "file:///b/1" || res.Content[2].Raw == nil {
				t.Errorf("%+v, %v", res, err)
			}
			if res, err = s.ReadResource(ctx, "none", none); err != nil || res.Value != nil || res.Content == nil {
				t.Errorf("%+v, %v", res, err)
			}
			_, err = s.ReadResource(ctx, "odd", none)
			_, gone := s.ReadResource(ctx, "gone", none)
			_, unknown := s.GetPrompt(ctx, "q", nil, none)
			if toolsource.KindOf(err) != toolsource.KindProtocol || toolsource.KindOf(gone) != toolsource.KindBadArguments || toolsource.KindOf(unknown) != toolsource.KindBadArguments {
				t.Errorf("%v; %v; %v", err, gone, unknown)
			}
			pl, err := s.Prompts(ctx, none)
			if err != nil || len(pl.Prompts) != 1 || !cmp.Equal(pl.Prompts[0].Arguments, []PromptArgument{{Name: "a", Required: true}, {Name: "b"}}) {
				t.Errorf("%+v, %v", pl, err)
			}
			p, err := s.GetPrompt(ctx, "p", map[string]string{"a": "1"}, none)
			if err != nil || p.Description != "d" || len(p.Messages) != 3 || p.Messages[0].Content.Text != "hi" || string(p.Messages[1].Content.Data) != "hi" || string(p.Messages[2].Content.Raw) != `{"type":"new"}` {
				t.Errorf("%+v, %v", p, err)
			}
			c, err := s.Complete(ctx, CompleteRequest{Prompt: "p", Argument: "a", Value: "a", Known: map[string]string{"b": "1"}}, none)
			if err != nil || !cmp.Equal(c.Values, []string{"aa", "ab"}) || *c.Total != 3 || !c.HasMore {
				t.Errorf("%+v, %v", c, err)
			}
			if st := s.Status(); st.Epoch != 1 || st.State != toolsource.StateReady {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Nothing is asked of a server that does not declare it, and what is wrong with the arguments shows before.
func TestUndeclaredIsNotAsked(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	ctx, none := t.Context(), CallOptions{}
	for what, ask := range map[string]func() error{
		"resources/list":           func() error { _, err := s.Resources(ctx, none); return err },
		"resources/templates/list": func() error { _, err := s.ResourceTemplates(ctx, none); return err },
		"resources/read":           func() error { _, err := s.ReadResource(ctx, "x", none); return err },
		"resources/subscribe":      func() error { _, err := s.Subscribe(ctx, "x", func(string) {}); return err },
		"prompts/list":             func() error { _, err := s.Prompts(ctx, none); return err },
		"prompts/get":              func() error { _, err := s.GetPrompt(ctx, "x", nil, none); return err },
		"completion/complete":      func() error { _, err := s.Complete(ctx, CompleteRequest{Prompt: "p", Argument: "a"}, none); return err },
	} {
		var e *toolsource.CallError
		if err := ask(); !errors.Is(err, toolsource.ErrUnavailable) || !errors.As(err, &e) || e.Tool != what || e.MayHaveRun {
			t.Errorf("%s: %v", what, err)
		}
		if n := stat(t, s, what); n != 0 {
			t.Errorf("%s was asked %d times", what, n)
		}
	}
	if st := s.Status(); st.State != toolsource.StateReady || st.Epoch != 1 {
		t.Errorf("%+v", st)
	}
	l, err := s.List(ctx)
	if err != nil || l.Resources || l.Prompts {
		t.Errorf("%+v, %v", l, err)
	}
	idle, err := New(ServerConfig{ID: "x", Command: "/no/such/command"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	_, empty := idle.ReadResource(ctx, " ", none)
	_, unnamed := idle.GetPrompt(ctx, "", nil, none)
	_, both := idle.Complete(ctx, CompleteRequest{Prompt: "p", Template: "t", Argument: "a"}, none)
	for _, err := range []error{empty, unnamed, both} {
		if !errors.Is(err, toolsource.ErrBadArguments) {
			t.Error(err)
		}
	}
	if st := idle.Status(); st.Attempts != 0 {
		t.Errorf("it was connected to: %+v", st)
	}
}

func TestListingsOfResourcesAreCapped(t *testing.T) {
	b := library()
	b.Answers["resources/list"] = `{"resources":[{"uri":"a"},{"uri":"b"}],"nextCursor":"2"}`
	b.Answers["resources/list 2"] = `{"resources":[{"uri":"c"},{"uri":"d"}],"nextCursor":"2"}`
	for _, tt := range []struct {
		tools, pages, want int
		truncated          bool
		why                string
	}{
		{3, 0, 3, true, "too many entries"},
		{0, 1, 2, true, "too many pages"},
		{0, 0, 4, false, "a cursor that comes again"},
	} {
		s := eraWay{"", mcptest.Stdio, b}.on(t, nil, func(c *ServerConfig) { c.MaxTools, c.MaxPages = tt.tools, tt.pages })
		l, err := s.Resources(t.Context(), CallOptions{})
		if err != nil || len(l.Resources) != tt.want || l.Truncated != tt.truncated || !tt.truncated && len(l.Problems) != 1 {
			t.Errorf("%s: %+v, %v", tt.why, l, err)
		}
	}
}

// Reads stop at their limits, and the server is told.
func TestReadsAreBounded(t *testing.T) {
	stuck := newServer(t, mcptest.Behaviour{Capabilities: allCapabilities, NeverRead: true})
	if err := stuck.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := overshoot(t, 200*time.Millisecond, func(ctx context.Context) {
		if _, err := stuck.ReadResource(ctx, "x", CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) {
			t.Error(err)
		}
	})
	if late > 50*time.Millisecond {
		t.Errorf("%v late", late)
	}
	begin := time.Now()
	if _, err := stuck.GetPrompt(t.Context(), "x", nil, CallOptions{Limits: toolsource.Limits{Ceiling: 100 * time.Millisecond}}); !errors.Is(err, toolsource.ErrTimeout) || time.Since(begin) > time.Second {
		t.Error(err, time.Since(begin))
	}
}

// Reads may be sent again: one that loses its session is.
func TestReadsSurviveALostSession(t *testing.T) {
	b := library()
	b.HTTP = []mcptest.HTTPFault{{At: "resources/read", Count: 1, Status: 404, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`}}
	s := eraWay{"", mcptest.HTTP, b}.on(t, nil)
	res, err := s.ReadResource(t.Context(), "file:///a", CallOptions{})
	if err != nil || res.Value != "hello" {
		t.Errorf("%v, %v", res.Value, err)
	}
	if st := s.Status(); st.Epoch != 2 {
		t.Errorf("%+v", st)
	}
}

func TestChangesOfResourcesAndPrompts(t *testing.T) {
	for _, w := range libraries() {
		if w.name == "http 2026, stream" {
			continue // there the server tells on the stream of the call, which is the same as on stdio
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := w.on(t, nil)
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			var resources, prompts atomic.Int32
			var mu sync.Mutex
			updates := map[string]int{}
			stopR := s.WatchResources(func() { resources.Add(1) })
			stopP := s.WatchPrompts(func() { prompts.Add(1); panic("of the host") })
			defer stopP()
			stopS, err := s.Subscribe(t.Context(), "file:///dir", func(uri string) {
				mu.Lock()
				defer mu.Unlock()
				updates[uri]++
			})
			if err != nil {
				t.Fatal(err)
			}
			tell := func() {
				t.Helper()
				notes := []any{}
				for _, n := range []string{"resources/list_changed", "prompts/list_changed"} {
					notes = append(notes, map[string]any{"method": "notifications/" + n})
				}
				for _, uri := range []string{"file:///dir", "file:///dir/x", "file:///dirt", "file:///other"} {
					notes = append(notes, map[string]any{"method": "notifications/resources/updated", "params": map[string]any{"uri": uri}})
				}
				if _, err := s.Call(t.Context(), "notify", map[string]any{"notes": notes}, CallOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			heard := func() string {
				mu.Lock()
				defer mu.Unlock()
				return fmt.Sprint(len(updates), updates["file:///dir"] > 0, updates["file:///dir/x"] > 0, resources.Load() > 0, prompts.Load() > 0)
			}
			waitFor(t, func() bool { tell(); return heard() == "2 true true true true" })
			stopR()
			stopS()
			stopS()
			resources.Store(0)
			prompts.Store(0)
			mu.Lock()
			clear(updates)
			mu.Unlock()
			waitFor(t, func() bool { tell(); return prompts.Load() > 1 })
			if heard() != "0 false false false true" {
				t.Errorf("heard after the end: %s", heard())
			}
		})
	}
}

// A subscription outlives its session: the next one has it too, and it is told that something may have changed.
func TestSubscriptionOutlivesTheSession(t *testing.T) {
	for _, w := range libraries() {
		if w.transport != mcptest.Stdio {
			continue
		}
		s := w.on(t, nil)
		var n atomic.Int32
		stop, err := s.Subscribe(t.Context(), "file:///a", func(string) { n.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		_, _ = s.Call(t.Context(), "die", nil, CallOptions{})
		waitFor(t, func() bool { return s.Status().Epoch == 2 && s.Status().State == toolsource.StateReady })
		waitFor(t, func() bool { return n.Load() > 0 })
		method := "resources/subscribe"
		if w.b.Modern {
			method = "subscriptions/listen"
		}
		waitFor(t, func() bool { return stat(t, s, method) > 0 })
	}
}

// A slow function of the host holds up neither the calls nor the other notes, which are kept or counted.
func TestSlowListenersHoldNobodyUp(t *testing.T) {
	release := make(chan struct{})
	var seen atomic.Int32
	h := &Handlers{Log: slog.New(&slowHandler{release: release, seen: &seen})}
	var log logBuffer
	s := eraWay{"", mcptest.Stdio, library()}.with(t, &Options{Handlers: h, Logger: testLogger(&log)})
	note := map[string]any{"method": "notifications/message", "params": map[string]any{"level": "error", "data": "x"}}
	if _, err := s.Call(t.Context(), "notify", map[string]any{"notes": []any{note}, "n": 1000}, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, CallOptions{}); err != nil || res.Value != "on" {
		t.Error(err)
	}
	close(release)
	waitFor(t, func() bool { return strings.Contains(log.String(), "were lost") })
	if n := seen.Load(); n < 2 || n > maxNotes+2 {
		t.Errorf("%d of 1000", n)
	}
}

type slowHandler struct {
	slog.Handler
	release chan struct{}
	seen    *atomic.Int32
}

func (h *slowHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *slowHandler) Handle(context.Context, slog.Record) error {
	h.seen.Add(1)
	<-h.release
	return nil
}

func TestLogsOfServers(t *testing.T) {
	b := library()
	b.Answers = map[string]string{"logging/setLevel": `{}`}
	for _, modern := range []bool{false, true} {
		b.Modern = modern
		var log logBuffer
		s := eraWay{"", mcptest.Stdio, b}.with(t, &Options{Handlers: &Handlers{Log: testLogger(&log), LogLevel: slog.LevelDebug}}, func(c *ServerConfig) {
			c.Env["KEY"] = "s3cr3t-Value"
		})
		var notes []any
		for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "odd"} {
			notes = append(notes, map[string]any{"method": "notifications/message", "params": map[string]any{"level": level, "logger": "l\x1b", "data": level + " s3cr3t-Value\x1b[0m"}})
		}
		notes = append(notes,
			map[string]any{"method": "notifications/message", "params": map[string]any{"level": "info", "data": map[string]any{"b": 1, "a": []any{2}}}},
			map[string]any{"method": "notifications/message", "params": map[string]any{"level": "info", "data": strings.Repeat("\u00e4", 3000)}},
			map[string]any{"method": "notifications/message", "params": map[string]any{"level": "info", "data": "last"}})
		if _, err := s.Call(t.Context(), "notify", map[string]any{"notes": notes}, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return strings.Contains(log.String(), "last") })
		text := log.String()
		for word, level := range map[string]string{"debug": "DEBUG", "info": "INFO", "notice": "INFO", "warning": "WARN", "error": "ERROR", "critical": "ERROR", "alert": "ERROR", "emergency": "ERROR", "odd": "INFO"} {
			if !strings.Contains(text, `level=`+level+` msg="`+word+` ***[0m" server=srv logger=l`) {
				t.Errorf("%s: %s", word, text)
			}
		}
		if !strings.Contains(text, `{\"a\":[2],\"b\":1}`) || !strings.Contains(text, strings.Repeat("\u00e4", 2000)+"... (cut)") {
			t.Errorf("%s", text)
		}
		if modern {
			meta, err := s.Call(t.Context(), "meta", nil, CallOptions{})
			if m, _ := meta.Value.(map[string]any); err != nil || m["io.modelcontextprotocol/logLevel"] != "debug" {
				t.Errorf("%v, %v", meta.Value, err)
			}
		} else {
			waitFor(t, func() bool { return stat(t, s, "logging/setLevel") == 1 })
		}
	}
}

func TestRootsChanged(t *testing.T) {
	h := &Handlers{Roots: func(context.Context, string) ([]Root, error) { return nil, nil }}
	for _, tt := range []struct {
		w    eraWay
		h    *Handlers
		want int
	}{
		{eraWay{"stdio", mcptest.Stdio, mcptest.Behaviour{}}, h, 1},
		{eraWay{"http", mcptest.HTTP, mcptest.Behaviour{}}, h, 1},
		{eraWay{"2026", mcptest.Stdio, mcptest.Behaviour{Modern: true}}, h, 0},
		{eraWay{"no handler", mcptest.Stdio, mcptest.Behaviour{}}, nil, 0},
	} {
		s := tt.w.on(t, tt.h)
		s.RootsChanged() // there is nobody to tell yet
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.RootsChanged()
		if tt.want > 0 {
			waitFor(t, func() bool { return stat(t, s, "notifications/roots/list_changed") == tt.want })
		} else if n := stat(t, s, "notifications/roots/list_changed"); n != 0 {
			t.Errorf("%s: told %d times", tt.w.name, n)
		}
	}
}

func FuzzReadResults(f *testing.F) {
	for _, raw := range library().Answers {
		f.Add(raw)
	}
	f.Add(`{"contents":[{"uri":1},null,[],{"text":2,"blob":"!"}]}`)
	f.Add(`{"messages":[{"role":1,"content":[{"type":"text"}]},7]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if d, err := decodeContents([]byte(raw)); err == nil {
			if list, ok := exact([]byte(raw)).(map[string]any)["contents"].([]any); !ok || len(list) != len(d.result.Content) {
				t.Errorf("%d parts of %v", len(d.result.Content), list)
			}
			if _, err := json.Marshal(d.result.Content); err != nil {
				t.Error(err)
			}
		}
		if p, _, err := decodePrompt([]byte(raw)); err == nil {
			if _, err := json.Marshal(p); err != nil {
				t.Error(err)
			}
		}
		_, _ = decodeCompletion([]byte(raw))
		if m, err := resultObject([]byte(raw)); err == nil {
			for _, list := range []string{"resources", "resourceTemplates", "prompts"} {
				m.get(list).elements(func(e jsonText) {
					var f fields
					_, _ = readResourceEntry(e.members(nil), &f)
					_, _ = readTemplateEntry(e.members(nil), &f)
					_, _ = readPromptEntry(e.members(nil), &f)
				})
			}
		}
	})
}
