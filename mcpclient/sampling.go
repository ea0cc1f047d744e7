package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/toolsource/toolsource"
)

// SampleRequest is what a server wants a model to go on with. Its texts are the server's own words, as they
// came: control characters, and instructions to the model, are in them.
type SampleRequest struct {
	Server string
	Call   string // wire name of the tool whose call caused it; "": not known, or there is none

	System         string // "": none
	Messages       []SampleMessage
	MaxTokens      int // the least of what was asked for and the limit
	Temperature    *float64
	StopSequences  []string
	Models         ModelPreferences
	IncludeContext string          // "none", "thisServer", "allServers"; "": not said
	Tools          []Tool          // that the model may use; they are the server's to run
	ToolChoice     string          // "auto", "required", "none"; "": not said
	Metadata       json.RawMessage // for the model's provider; nil: none
	Raw            json.RawMessage // all of the parameters, as the server sent them
}

// ModelPreferences are what a server would like of a model. Priorities are from 0 to 1; nil: not said.
type ModelPreferences struct {
	Hints                     []string // names, or parts of names; the first that can be had is meant
	Cost, Speed, Intelligence *float64
}

// SampleMessage is one message of a conversation.
type SampleMessage struct {
	Role    string // "user" or "assistant"
	Content []SampleBlock
}

// SampleBlock is one block of a message: one of ToolUse and ToolResult, or Content where both are nil.
type SampleBlock struct {
	Content    toolsource.Content // text, image, audio; a block of an unknown kind has Raw
	ToolUse    *ToolUse
	ToolResult *ToolResult
}

// ToolUse is a model's wish to use a tool.
type ToolUse struct {
	ID, Name string
	Input    map[string]any // as toolsource.Arguments takes it
	Meta     map[string]any
}

// ToolResult is what came of a ToolUse.
type ToolResult struct {
	ID         string // of the ToolUse
	Content    []toolsource.Content
	Structured any // nil: none
	IsError    bool
	Meta       map[string]any
}

// SampleResult is a model's answer.
type SampleResult struct {
	Content    []SampleBlock // at least one; text, image, audio and, where the host gives tools to the model, ToolUse
	Model      string        // its name; "": unknown
	StopReason string        // "": "toolUse" with a ToolUse in Content, else "endTurn"
}

// sample answers sampling/createMessage.
func (a *asked) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	r, err := a.readSample(params)
	if err != nil {
		return nil, err
	}
	res, err := handle(ctx, a, methodSample, a.limits.Sampling, func(ctx context.Context) (*SampleResult, error) {
		return a.srv.opt.Handlers.Sample(ctx, r)
	})
	switch {
	case errors.Is(err, toolsource.ErrDenied):
		return nil, refuse("User rejected sampling request")
	case err != nil && isRefusal(err):
		return nil, err
	case errors.Is(err, errHandlerTime):
		return nil, refuse("sampling timed out after %v", a.limits.Sampling)
	case err != nil:
		return nil, refuse("sampling failed: %s", a.told(err))
	case res == nil || len(res.Content) == 0:
		return nil, refuse("sampling failed: empty response of the model")
	}
	if err := a.countRound(res, len(r.Tools) > 0); err != nil {
		return nil, err
	}
	return encodeSample(res)
}

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// countRound counts answers in a row that use tools.
func (a *asked) countRound(res *SampleResult, offered bool) error {
	uses := false
	for _, b := range res.Content {
		uses = uses || b.ToolUse != nil
	}
	g := a.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !uses:
		g.rounds = 0
		return nil
	case a.limits.ToolRounds < 0 || a.set.offers&offerSamplingTools == 0:
		g.rounds = 0
		return refuse("Tool loops disabled")
	case !offered:
		return refuse("sampling failed: the model wants to use a tool, and the request has none")
	}
	if g.rounds++; g.rounds > a.limits.ToolRounds {
		g.rounds = 0
		return refuse("Tool loop limit exceeded: %d answers in a row used tools", a.limits.ToolRounds)
	}
	return nil
}

// readSample reads the parameters of sampling/createMessage.
func (a *asked) readSample(params json.RawMessage) (*SampleRequest, error) {
	m, err := paramsOf(params)
	if err != nil {
		return nil, err
	}
	var f fields
	r := &SampleRequest{
		Server: a.srv.id, Call: a.call, Raw: params,
		System: f.text(m, "systemPrompt"), IncludeContext: f.text(m, "includeContext"),
		Temperature: f.number(m, "temperature"), Metadata: f.object(m, "metadata"),
		MaxTokens: a.limits.MaxTokens,
	}
	if n := f.number(m, "maxTokens"); n != nil && *n >= 1 && *n < float64(r.MaxTokens) {
		r.MaxTokens = int(*n)
	}
	f.each(m, "stopSequences", func(t jsonText) {
		if s, ok := t.str(); ok {
			r.StopSequences = append(r.StopSequences, s)
		}
	})
	r.readModels(m.get("modelPreferences"), &f)
	f.each(m, "messages", func(t jsonText) {
		if msg, err := readMessage(t); err != nil {
			f.fail("message %d %v", len(r.Messages)+1, err)
		} else {
			r.Messages = append(r.Messages, msg)
		}
	})
	if f.err == nil && len(r.Messages) == 0 {
		f.fail("has no messages")
	}
	tools := &listReader{server: a.srv.id}
	f.each(m, "tools", func(t jsonText) {
		tools.index++
		if tool, ok := tools.readTool(t); ok {
			r.Tools = append(r.Tools, tool)
		} else {
			f.fail("has a tool number %d without a name", tools.index)
		}
	})
	r.ToolChoice = f.text(m.get("toolChoice").members(nil), "mode")
	if len(r.Tools) > 0 && a.set.offers&offerSamplingTools == 0 {
		f.fail("has tools, and sampling.tools was not declared")
	}
	if f.err != nil {
		return nil, invalid("params: %v", f.err)
	}
	return r, nil
}

func (r *SampleRequest) readModels(t jsonText, f *fields) {
	m := t.members(nil)
	r.Models.Cost, r.Models.Speed = f.number(m, "costPriority"), f.number(m, "speedPriority")
	r.Models.Intelligence = f.number(m, "intelligencePriority")
	f.each(m, "hints", func(t jsonText) {
		if name, ok := t.members(nil).get("name").str(); ok && name != "" {
			r.Models.Hints = append(r.Models.Hints, name)
		}
	})
}

// readMessage reads one message, whose content is a block or a list of them. A block of an unknown kind is
// kept raw.
func readMessage(t jsonText) (msg SampleMessage, err error) {
	if err := wantObject(t); err != nil {
		return msg, err
	}
	m := t.members(nil)
	var f fields
	msg.Role = f.need(m, "role")
	content := m.get("content")
	if content.kind() == '[' {
		content.elements(func(t jsonText) { msg.Content = append(msg.Content, readSampleBlock(t)) })
	} else if content.present() {
		msg.Content = []SampleBlock{readSampleBlock(content)}
	}
	if len(msg.Content) == 0 {
		f.fail("has no content")
	}
	return msg, f.err
}

func readSampleBlock(t jsonText) SampleBlock {
	m := t.members(nil)
	var f fields
	switch kind, _ := m.get("type").str(); kind {
	case "tool_use":
		u := &ToolUse{ID: f.need(m, "id"), Name: f.need(m, "name"), Meta: f.meta(m)}
		if u.Input, _ = m.get("input").value().(map[string]any); u.Input == nil && m.get("input").present() {
			f.fail("has an input that is no object")
		}
		if f.err == nil {
			return SampleBlock{ToolUse: u}
		}
	case "tool_result":
		r := &ToolResult{ID: f.need(m, "toolUseId"), Meta: f.meta(m), IsError: m.get("isError") == "true"}
		if s := m.get("structuredContent"); s.present() {
			r.Structured = s.value()
		}
		f.each(m, "content", func(t jsonText) { r.Content = append(r.Content, blockOrRaw(t)) })
		if f.err == nil {
			return SampleBlock{ToolResult: r}
		}
	}
	return SampleBlock{Content: blockOrRaw(t)}
}

// blockOrRaw reads a block, and keeps one that is odd as it is.
func blockOrRaw(t jsonText) toolsource.Content {
	c, _, err := readBlock(t)
	if t == "" {
		t = "null"
	}
	if err != nil {
		return toolsource.Content{Type: c.Type, MIMEType: c.MIMEType, Raw: []byte(t)}
	}
	return c
}

// encodeSample writes a model's answer.
func encodeSample(res *SampleResult) (json.RawMessage, error) {
	blocks := make([]any, 0, len(res.Content))
	reason := "endTurn"
	for i, b := range res.Content {
		switch {
		case b.ToolResult != nil:
			return nil, refuse("sampling failed: block %d of the answer is a tool's result, which only a server sends", i+1)
		case b.ToolUse != nil:
			reason = "toolUse"
			input, err := encodeArguments(b.ToolUse.Input)
			if err != nil {
				return nil, refuse("sampling failed: the input of tool %q cannot be written", b.ToolUse.Name)
			}
			use := map[string]any{"type": "tool_use", "id": b.ToolUse.ID, "name": b.ToolUse.Name, "input": json.RawMessage(input)}
			if b.ToolUse.Meta != nil {
				use["_meta"] = b.ToolUse.Meta
			}
			blocks = append(blocks, use)
		default:
			switch b.Content.Type {
			case toolsource.ContentText, toolsource.ContentImage, toolsource.ContentAudio:
				blocks = append(blocks, b.Content)
			default:
				return nil, refuse("sampling failed: block %d of the answer has the type %q, want text, image or audio", i+1, string(b.Content.Type))
			}
		}
	}
	out := map[string]any{"role": "assistant", "model": res.Model, "stopReason": res.StopReason, "content": blocks}
	if res.Model == "" {
		out["model"] = "unknown"
	}
	if res.StopReason == "" {
		out["stopReason"] = reason
	}
	if len(blocks) == 1 {
		out["content"] = blocks[0] // which older servers want
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("sampling failed: the answer cannot be written: %w", err)
	}
	return raw, nil
}

// number is a number member; nil if it is absent, null or no number.
func (f *fields) number(m members, key string) *float64 {
	t := m.get(key)
	if !t.present() {
		return nil
	}
	n, err := strconv.ParseFloat(string(t), 64)
	if err != nil {
		f.fail("has a member %s that is no number", key)
		return nil
	}
	return &n
}

// each reads the elements of a list member, none if it is absent or null.
func (f *fields) each(m members, key string, read func(jsonText)) {
	switch t := m.get(key); {
	case !t.present():
	case t.kind() != '[':
		f.fail("has a member %s that is no list", key)
	default:
		t.elements(read)
	}
}

// SampleText is a block of text.
func SampleText(s string) SampleBlock {
	return SampleBlock{Content: toolsource.Content{Type: toolsource.ContentText, Text: s}}
}
