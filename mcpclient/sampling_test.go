package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

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
