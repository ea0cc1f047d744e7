package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

// Prompt is a text that a server fills in. Prompts share memory and are read-only.
type Prompt struct {
	Name        string // never empty
	Title       string
	Description string
	Arguments   []PromptArgument // in their order
	Meta        map[string]any   // its _meta
}

// PromptArgument is one gap of a Prompt.
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
}

// PromptListing is what a server lists, in its order.
type PromptListing struct {
	Prompts   []Prompt
	Problems  []error // what is wrong with single entries, which are left out
	Truncated bool    // a cap cut it: MaxTools and MaxPages count here too
}

// PromptResult is a prompt that was filled in.
type PromptResult struct {
	Description string
	Messages    []PromptMessage
	Meta        map[string]any
}

// PromptMessage is one message of it.
type PromptMessage struct {
	Role    string // "user" or "assistant"
	Content toolsource.Content
}

// Prompts lists the server's prompts, all pages. It connects if there is no session. A server that declares no
// prompts is not asked: the error matches toolsource.ErrUnavailable. Errors are *toolsource.CallError.
func (s *Server) Prompts(ctx context.Context, o CallOptions) (PromptListing, error) {
	const method = "prompts/list"
	all, err := reading(ctx, s, method, o, lacksPrompts, func(ctx context.Context, sess *session) (items[Prompt], error) {
		return listItems(ctx, sess, method, "prompts", func(ctx context.Context, cursor string) (any, error) {
			return sess.cs.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		}, readPromptEntry)
	})
	return PromptListing{all.list, all.problems, all.truncated}, err
}

func readPromptEntry(m members, f *fields) (Prompt, string) {
	p := Prompt{Name: f.need(m, "name"), Title: f.text(m, "title"), Description: f.text(m, "description"), Meta: f.meta(m)}
	if f.err == nil && p.Name == "" {
		f.fail("has an empty name")
	}
	f.each(m, "arguments", func(t jsonText) {
		in := t.members(nil)
		a := PromptArgument{Name: f.need(in, "name"), Title: f.text(in, "title"), Description: f.text(in, "description"), Required: in.get("required") == "true"}
		p.Arguments = append(p.Arguments, a)
	})
	return p, p.Name
}

// GetPrompt has the server fill a prompt in. Of the options Tool, Source and Limits count.
func (s *Server) GetPrompt(ctx context.Context, name string, args map[string]string, o CallOptions) (PromptResult, error) {
	const method = "prompts/get"
	meta, err := s.readMeta(ctx, &o, method)
	if err != nil {
		return PromptResult{}, err
	}
	if name == "" {
		return PromptResult{}, s.named(o, bindError(fmt.Errorf("%w: the name is empty", toolsource.ErrBadArguments)))
	}
	type outcome struct {
		r     PromptResult
		notes []string
	}
	out, err := reading(ctx, s, method, o, lacksPrompts, func(ctx context.Context, sess *session) (outcome, error) {
		raw, err := sess.read(ctx, method, func(ctx context.Context) (any, error) {
			return sess.cs.GetPrompt(ctx, &mcp.GetPromptParams{Meta: sess.meta(meta), Name: name, Arguments: args})
		})
		if err != nil {
			return outcome{}, err
		}
		r, notes, err := decodePrompt(raw)
		if err != nil {
			return outcome{}, sess.malformed(method, err)
		}
		return outcome{r, notes}, nil
	})
	if err != nil {
		return PromptResult{}, err
	}
	s.odd(o.Tool, out.notes)
	return out.r, nil
}

// decodePrompt reads the raw result of a prompts/get. One odd message costs only itself.
func decodePrompt(raw []byte) (r PromptResult, notes []string, err error) {
	m, err := resultObject(raw)
	if err != nil {
		return r, nil, err
	}
	list := m.get("messages")
	if list.kind() != '[' {
		return r, nil, errors.New("has no list of messages")
	}
	var f fields
	r.Description, r.Meta = f.text(m, "description"), f.meta(m)
	if f.err != nil {
		notes = append(notes, "the result "+f.err.Error())
	}
	list.elements(func(t jsonText) {
		in := t.members(nil)
		var f fields
		msg := PromptMessage{Role: f.need(in, "role")}
		content := in.get("content")
		if content.kind() == '[' { // which some servers send; each block is a message
			content.elements(func(b jsonText) {
				r.Messages = append(r.Messages, PromptMessage{Role: msg.Role, Content: blockOrRaw(b)})
			})
		} else {
			msg.Content = blockOrRaw(content)
			r.Messages = append(r.Messages, msg)
		}
		if f.err == nil && !content.present() {
			f.fail("has no content")
		}
		if f.err != nil {
			notes = append(notes, fmt.Sprintf("message %d %v", len(r.Messages), f.err))
		}
	})
	return r, notes, nil
}

// WatchPrompts has changed called after each change of what Prompts would return that the server tells of, and
// after each new session, until stop, as Watch does for tools.
func (s *Server) WatchPrompts(changed func()) (stop func()) {
	return s.audience().watch(topicPrompts, changed)
}

// CompleteRequest asks how a value may go on.
type CompleteRequest struct {
	Prompt   string            // its name; or
	Template string            // the URITemplate of a ResourceTemplate; exactly one of the two
	Argument string            // of the prompt, or variable of the template
	Value    string            // as far as it is known
	Known    map[string]string // other arguments or variables
}

// Completion are values, the likeliest first.
type Completion struct {
	Values  []string
	Total   *int64 // how many there are; nil: not said
	HasMore bool
}

// Complete asks the server how a value may go on. A server that declares no completions is not asked: the error
// matches toolsource.ErrUnavailable.
func (s *Server) Complete(ctx context.Context, r CompleteRequest, o CallOptions) (Completion, error) {
	const method = "completion/complete"
	meta, err := s.readMeta(ctx, &o, method)
	if err != nil {
		return Completion{}, err
	}
	ref := &mcp.CompleteReference{Type: "ref/prompt", Name: r.Prompt}
	if r.Prompt == "" {
		ref = &mcp.CompleteReference{Type: "ref/resource", URI: r.Template}
	}
	if (r.Prompt == "") == (r.Template == "") || r.Argument == "" {
		return Completion{}, s.named(o, bindError(fmt.Errorf("%w: a prompt or a template, and an argument of it, have to be named", toolsource.ErrBadArguments)))
	}
	lacks := func(c *mcp.ServerCapabilities) string {
		if c.Completions == nil {
			return "completions"
		}
		return ""
	}
	return reading(ctx, s, method, o, lacks, func(ctx context.Context, sess *session) (Completion, error) {
		raw, err := sess.read(ctx, method, func(ctx context.Context) (any, error) {
			p := &mcp.CompleteParams{Meta: sess.meta(meta), Ref: ref, Argument: mcp.CompleteParamsArgument{Name: r.Argument, Value: r.Value}}
			if len(r.Known) > 0 {
				p.Context = &mcp.CompleteContext{Arguments: r.Known}
			}
			return sess.cs.Complete(ctx, p)
		})
		if err != nil {
			return Completion{}, err
		}
		c, err := decodeCompletion(raw)
		if err != nil {
			return Completion{}, sess.malformed(method, err)
		}
		return c, nil
	})
}

func decodeCompletion(raw []byte) (c Completion, err error) {
	m, err := resultObject(raw)
	if err != nil {
		return c, err
	}
	in := m.get("completion").members(nil)
	if in.get("values").kind() != '[' {
		return c, errors.New("has no values")
	}
	in.get("values").elements(func(t jsonText) {
		if s, ok := t.str(); ok {
			c.Values = append(c.Values, s)
		}
	})
	if n, ok := in.get("total").value().(int64); ok {
		c.Total = &n
	}
	c.HasMore = in.get("hasMore") == "true"
	return c, nil
}
