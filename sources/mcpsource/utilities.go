package mcpsource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// utility is a tool of ours by which programs reach what a server has beside its tools.
type utility struct {
	name        string
	prompts     bool // else it is about resources
	title       string
	description string
	schema      string
	returns     string
	run         func(s *Source, ctx context.Context, args map[string]any, o mcpclient.CallOptions) (toolsource.Result, error)
}

// utilities are all of them, in their order.
var utilities = [...]utility{
	{"list_resources", false, "List resources", "Lists the resources of the server %s.",
		`{"type":"object","properties":{},"additionalProperties":false}`, "dict{resources}", (*Source).listResources},
	{"read_resource", false, "Read a resource", "Reads a resource of the server %s by its URI.",
		`{"type":"object","properties":{"uri":{"type":"string","description":"address of the resource, as list_resources gives it"}},"required":["uri"],"additionalProperties":false}`, "Any", (*Source).readResource},
	{"list_prompts", true, "List prompts", "Lists the prompts of the server %s, with their arguments.",
		`{"type":"object","properties":{},"additionalProperties":false}`, "dict{prompts}", (*Source).listPrompts},
	{"get_prompt", true, "Get a prompt", "Has the server %s fill one of its prompts in.",
		`{"type":"object","properties":{"name":{"type":"string","description":"name of the prompt, as list_prompts gives it"},` +
			`"arguments":{"type":"object","description":"values by argument","additionalProperties":true}},"required":["name"],"additionalProperties":false}`, "dict{messages, description}", (*Source).getPrompt},
}

// utilityNames are what programs, and models, call them.
func (s *Source) utilityNames(opt *Options) (names, qualified []string) {
	wire := make([]string, len(utilities))
	for i, u := range utilities {
		wire[i] = u.name
	}
	return s.names(opt, wire), toolschema.Qualified(s.server.ID(), wire, opt.Others...)
}

// wanted reports whether a server with such a listing gets a utility.
func (u *utility) wanted(opt *Options, raw *mcpclient.Listing) bool {
	if u.prompts {
		return opt.Prompts && raw.Prompts
	}
	return opt.Resources && raw.Resources
}

// addUtilities adds the tools of ours behind those of the server, which keep their names.
func (s *Source) addUtilities(raw *mcpclient.Listing, opt *Options, l *listing) {
	if !opt.Resources && !opt.Prompts {
		return
	}
	names, qualified := s.utilityNames(opt)
	own := len(l.specs)
	for i := range utilities {
		u := &utilities[i]
		if !u.wanted(opt, raw) {
			continue
		}
		taken := slices.ContainsFunc(l.specs[:own], func(t toolsource.ToolSpec) bool {
			return t.Name == names[i] || t.Origin.QualifiedName == qualified[i]
		})
		if taken {
			l.problems = append(l.problems, &mcpclient.ToolProblem{Server: s.server.ID(), Tool: u.name,
				Reason: fmt.Sprintf("the server has a tool of the name %s, which keeps it: the one that reads %s is left out", names[i], u.about())})
			continue
		}
		spec := s.utilitySpec(u, opt.Overrides[u.name], l)
		spec.Name, spec.Origin.QualifiedName = names[i], qualified[i]
		l.specs = append(l.specs, spec)
	}
}

// hasUtility reports whether a utility of that name was asked for.
func (o *Options) hasUtility(name string) bool {
	return slices.ContainsFunc(utilities[:], func(u utility) bool {
		return u.name == name && (u.prompts && o.Prompts || !u.prompts && o.Resources)
	})
}

func (u *utility) about() string {
	if u.prompts {
		return "prompts"
	}
	return "resources"
}

func (s *Source) utilitySpec(u *utility, over Override, l *listing) toolsource.ToolSpec {
	cfg := s.server.Config()
	schema := json.RawMessage(u.schema)
	args, _ := toolschema.Args(schema)
	g := grade.W1D0 // it reads, of a world of its own
	if cfg.Trust == toolsource.TrustUntrusted {
		g = grade.Max
	}
	if over.W != nil || over.D != nil {
		if given, err := g.With(over.W, over.D); err != nil {
			l.report(s, u.name, false, fmt.Sprintf("the configured grade is not used: %v", err))
		} else {
			g = given
		}
	}
	return toolsource.ToolSpec{
		Title: u.title, Description: fmt.Sprintf(u.description, cfg.ID), Args: args, Returns: u.returns,
		Grade: g, Examples: over.Examples, Docs: over.Docs, InputSchema: schema,
		Limits: over.Limits.Or(s.server.Limits("")),
		Origin: toolsource.Origin{
			Kind: kind, Source: s.name, Server: cfg.ID, File: cfg.File, Line: cfg.Line, Trust: cfg.Trust,
		},
	}
}

// utilityOf is the utility that a spec is of; nil: none. It has no name on the wire.
func (s *Source) utilityOf(spec *toolsource.ToolSpec, opt *Options) *utility {
	if spec.Origin.Kind != kind || spec.Origin.Server != s.server.ID() || spec.Origin.WireName != "" {
		return nil
	}
	names, _ := s.utilityNames(opt)
	for i := range utilities {
		if u := &utilities[i]; names[i] == spec.Name && opt.hasUtility(u.name) {
			return u
		}
	}
	return nil
}

// callable runs a utility. Its arguments are checked even where those of the server's tools are not.
func (u *utility) callable(s *Source, spec *toolsource.ToolSpec) toolsource.Callable {
	binder := toolschema.NewBinder(spec.InputSchema)
	o := mcpclient.CallOptions{Tool: spec.Name, Source: s.name, Limits: spec.Limits}
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		bound, err := binder.Bind(args)
		if err != nil {
			return toolsource.Result{}, badArguments(o, err)
		}
		return u.run(s, ctx, bound, o)
	}
}

func badArguments(o mcpclient.CallOptions, err error) error {
	return &toolsource.CallError{Tool: o.Tool, Source: o.Source, Phase: "bind", Kind: toolsource.KindBadArguments, Err: err}
}

func (s *Source) listResources(ctx context.Context, _ map[string]any, o mcpclient.CallOptions) (toolsource.Result, error) {
	l, err := s.server.Resources(ctx, o)
	if err != nil {
		return toolsource.Result{}, err
	}
	list := make([]any, len(l.Resources))
	for i, r := range l.Resources {
		entry := map[string]any{"uri": r.URI, "name": r.Name}
		set(entry, "description", r.Description)
		set(entry, "mimeType", r.MIMEType)
		list[i] = entry
	}
	return toolsource.Result{Value: map[string]any{"resources": list}, Truncated: l.Truncated}, nil
}

func set(m map[string]any, key, v string) {
	if v != "" {
		m[key] = v
	}
}

func (s *Source) readResource(ctx context.Context, args map[string]any, o mcpclient.CallOptions) (toolsource.Result, error) {
	uri, _ := args["uri"].(string)
	return s.server.ReadResource(ctx, uri, o)
}

func (s *Source) listPrompts(ctx context.Context, _ map[string]any, o mcpclient.CallOptions) (toolsource.Result, error) {
	l, err := s.server.Prompts(ctx, o)
	if err != nil {
		return toolsource.Result{}, err
	}
	list := make([]any, len(l.Prompts))
	for i, p := range l.Prompts {
		entry := map[string]any{"name": p.Name}
		set(entry, "description", p.Description)
		var args []any
		for _, a := range p.Arguments {
			arg := map[string]any{"name": a.Name, "required": a.Required}
			set(arg, "description", a.Description)
			args = append(args, arg)
		}
		if args != nil {
			entry["arguments"] = args
		}
		list[i] = entry
	}
	return toolsource.Result{Value: map[string]any{"prompts": list}, Truncated: l.Truncated}, nil
}

// getPrompt has a prompt filled in. A program sees each message's text, or what else it holds, with its role; a
// model sees the same blocks, each behind its role, where they are not text alone.
func (s *Source) getPrompt(ctx context.Context, args map[string]any, o mcpclient.CallOptions) (toolsource.Result, error) {
	name, _ := args["name"].(string)
	given, _ := args["arguments"].(map[string]any)
	texts, err := promptArguments(given)
	if err != nil {
		return toolsource.Result{}, badArguments(o, err)
	}
	p, err := s.server.GetPrompt(ctx, name, texts, o)
	if err != nil {
		return toolsource.Result{}, err
	}
	messages := make([]any, len(p.Messages))
	var blocks []toolsource.Content
	plain := true
	for i, m := range p.Messages {
		content, text := promptContent(m.Content)
		messages[i] = map[string]any{"role": m.Role, "content": content}
		blocks = append(blocks, toolsource.Content{Type: toolsource.ContentText, Text: m.Role + ":"}, m.Content)
		plain = plain && text
	}
	value := map[string]any{"messages": messages}
	set(value, "description", p.Description)
	res := toolsource.Result{Value: value, Meta: p.Meta}
	if !plain {
		res.Content = blocks
	}
	return res, nil
}

// promptArguments are strings: null is left out, and what is no string is its JSON.
func promptArguments(given map[string]any) (map[string]string, error) {
	texts := map[string]string{}
	for name, v := range given {
		switch v := v.(type) {
		case nil:
		case string:
			texts[name] = v
		default:
			args, err := toolsource.Arguments(map[string]any{name: v})
			if err != nil {
				return nil, err
			}
			raw, err := json.Marshal(args[name])
			if err != nil {
				return nil, fmt.Errorf("%w: arguments.%s: %w", toolsource.ErrBadArguments, name, err)
			}
			texts[name] = string(raw)
		}
	}
	return texts, nil
}

// promptContent is the value of a block, and whether it is nothing but text.
func promptContent(c toolsource.Content) (v any, text bool) {
	switch {
	case c.Raw != nil:
		return toolsource.Value(c.Raw).Value, false
	case c.Type == toolsource.ContentText:
		return c.Text, true
	case c.Data != nil:
		return toolsource.Blob{MIMEType: c.MIMEType, URI: c.URI, Data: c.Data}, false
	case c.Type == toolsource.ContentResource:
		return c.Text, false
	}
	return toolsource.Value(c).Value, false
}
