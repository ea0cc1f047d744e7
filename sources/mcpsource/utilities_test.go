package mcpsource

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// reader has one resource, one prompt, and the tools of mcptest.
func reader() mcptest.Behaviour {
	return mcptest.Behaviour{Capabilities: `{"tools":{},"resources":{},"prompts":{}}`, Answers: map[string]string{
		"resources/list":    `{"resources":[{"uri":"file:///a","name":"a","description":"d","mimeType":"text/plain"},{"uri":"file:///b","name":"b"}]}`,
		"resources/read":    `{"contents":[{"uri":"file:///a","text":"hello"}]}`,
		"prompts/list":      `{"prompts":[{"name":"p","description":"d","arguments":[{"name":"a","description":"x","required":true},{"name":"b"}]},{"name":"q"}]}`,
		"prompts/get":       `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`,
		"prompts/get image": `{"messages":[{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},{"role":"user","content":{"type":"resource","resource":{"uri":"u","text":"in"}}}]}`,
	}}
}

func names(specs []toolsource.ToolSpec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

func TestUtilitiesAreOnRequest(t *testing.T) {
	only := func(capabilities string, tools ...string) mcptest.Behaviour {
		b := reader()
		b.Capabilities, b.Pages = capabilities, serves(tools...).Pages
		return b
	}
	const tool = `{"name":"t"}`
	for _, tt := range []struct {
		why  string
		b    mcptest.Behaviour
		o    Options
		want []string
	}{
		{"not asked for", only(`{"tools":{},"resources":{},"prompts":{}}`, tool), Options{}, []string{"t"}},
		{"all, and one tool", only(`{"tools":{},"resources":{},"prompts":{}}`, tool), Options{Resources: true, Prompts: true},
			[]string{"t", "list_resources", "read_resource", "list_prompts", "get_prompt"}},
		{"only resources are asked for", only(`{"tools":{},"resources":{},"prompts":{}}`, tool), Options{Resources: true}, []string{"t", "list_resources", "read_resource"}},
		{"the server declares tools only", only(`{"tools":{}}`, tool), Options{Resources: true, Prompts: true}, []string{"t"}},
		{"the server declares prompts only", only(`{"prompts":{}}`), Options{Resources: true, Prompts: true}, []string{"list_prompts", "get_prompt"}},
		{"no filter counts for them", only(`{"tools":{},"prompts":{}}`, tool), Options{Prompts: true, Allow: []string{}, Deny: []string{"*"}}, []string{"list_prompts", "get_prompt"}},
		{"a native tool wins", only(`{"tools":{},"resources":{}}`, `{"name":"read_resource","description":"mine"}`, tool), Options{Resources: true}, []string{"read_resource", "t", "list_resources"}},
		{"a native tool that cleans to the name wins too", only(`{"tools":{},"resources":{}}`, `{"name":"read-resource"}`), Options{Resources: true}, []string{"read_resource", "list_resources"}},
		{"qualified", only(`{"tools":{},"prompts":{}}`, tool), Options{Prompts: true, Qualified: true}, []string{"mcp__srv__t", "mcp__srv__list_prompts", "mcp__srv__get_prompt"}},
	} {
		s := newSource(t, tt.b, &tt.o)
		specs := discover(t, s)
		if diff := cmp.Diff(tt.want, names(specs)); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
		if native := strings.HasPrefix(tt.why, "a native"); native != strings.Contains(problemText(s), "keeps it") || native && len(s.Status().Problems) != 1 {
			t.Errorf("%s: %s", tt.why, problemText(s))
		}
		if tt.why == "a native tool wins" && specs[0].Description != "mine" {
			t.Errorf("%+v", specs[0])
		}
		seen := map[string]bool{}
		for _, spec := range specs {
			if seen[spec.Origin.QualifiedName] || spec.Origin.QualifiedName == "" {
				t.Errorf("%s: %q twice or empty", tt.why, spec.Origin.QualifiedName)
			}
			seen[spec.Origin.QualifiedName] = true
			if _, err := s.Resolve(spec); err != nil {
				t.Errorf("%s: %v", tt.why, err)
			}
		}
	}
}

func TestUtilitySpecs(t *testing.T) {
	zero := 0
	for _, tt := range []struct {
		trust toolsource.Trust
		over  map[string]Override
		want  grade.Grade
	}{
		{toolsource.TrustDefault, nil, grade.W1D0},
		{toolsource.TrustFull, nil, grade.W1D0},
		{toolsource.TrustUntrusted, nil, grade.Max},
		{toolsource.TrustUntrusted, map[string]Override{"read_resource": {W: &zero, D: &zero, Docs: "x"}}, grade.Pure},
	} {
		s := newSource(t, reader(), &Options{Resources: true, Prompts: true, Overrides: tt.over}, func(c *mcpclient.ServerConfig) { c.Trust = tt.trust })
		for _, spec := range discover(t, s) {
			if spec.Name != "read_resource" {
				continue
			}
			if spec.Grade != tt.want || tt.over != nil && spec.Docs != "x" || spec.Origin.Kind != "mcp" || spec.Origin.WireName != "" {
				t.Errorf("%v: %+v", tt.trust, spec)
			}
			if len(spec.Args) != 1 || spec.Args[0].Name != "uri" || spec.Args[0].Type != "str" || !spec.Args[0].Required || !json.Valid(spec.InputSchema) {
				t.Errorf("%+v", spec.Args)
			}
		}
		if p := problemText(s); p != "" {
			t.Error(p)
		}
	}
}

func TestUtilitiesRun(t *testing.T) {
	s := newSource(t, reader(), &Options{Resources: true, Prompts: true, Lax: true})
	for _, tt := range []struct {
		tool string
		args map[string]any
		want any
	}{
		{"list_resources", nil, map[string]any{"resources": []any{
			map[string]any{"uri": "file:///a", "name": "a", "description": "d", "mimeType": "text/plain"}, map[string]any{"uri": "file:///b", "name": "b"}}}},
		{"read_resource", map[string]any{"uri": "file:///a"}, "hello"},
		{"list_prompts", nil, map[string]any{"prompts": []any{
			map[string]any{"name": "p", "description": "d", "arguments": []any{map[string]any{"name": "a", "description": "x", "required": true}, map[string]any{"name": "b", "required": false}}},
			map[string]any{"name": "q"}}}},
		{"get_prompt", map[string]any{"name": "p"}, map[string]any{"description": "d", "messages": []any{map[string]any{"role": "user", "content": "hi"}}}},
		{"get_prompt", map[string]any{"name": "image"}, map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": toolsource.Blob{MIMEType: "image/png", Data: []byte("hi")}}, map[string]any{"role": "user", "content": "in"}}}},
	} {
		res, err := resolve(t, s, tt.tool)(t.Context(), tt.args)
		if err != nil {
			t.Fatal(tt.tool, err)
		}
		if diff := cmp.Diff(tt.want, res.Value); diff != "" {
			t.Errorf("%s: %s", tt.tool, diff)
		}
		if tt.args["name"] == "image" && (len(res.Content) != 4 || string(res.Content[1].Data) != "hi") {
			t.Errorf("%+v", res.Content)
		}
	}
	if got, err := promptArguments(map[string]any{"a": nil, "b": "s", "c": int64(9007199254740993), "d": []any{1}}); err != nil || !cmp.Equal(got, map[string]string{"b": "s", "c": "9007199254740993", "d": "[1]"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// What is wrong with the arguments shows before the server is asked, or even started.
func TestUtilitiesBindFirst(t *testing.T) {
	journal := t.TempDir() + "/journal"
	b := reader()
	b.Journal = journal
	s := newSource(t, b, &Options{Resources: true, Prompts: true, Lax: true})
	for tool, args := range map[string][]map[string]any{
		"read_resource": {nil, {"uri": 7}, {"uri": " "}, {"uri": "x", "other": 1}},
		"get_prompt":    {nil, {"name": ""}, {"name": "p", "arguments": "a"}},
	} {
		call := resolve(t, s, tool)
		for _, a := range args {
			_, err := call(t.Context(), a)
			var e *toolsource.CallError
			if !errors.Is(err, toolsource.ErrBadArguments) || !errors.As(err, &e) || e.Tool != tool || e.Source != "mcp:srv" {
				t.Errorf("%s %v: %v", tool, a, err)
			}
		}
	}
	raw, err := os.ReadFile(journal)
	if err != nil || strings.Contains(string(raw), "resources/read") || strings.Contains(string(raw), "prompts/get") {
		t.Errorf("%s, %v", raw, err)
	}
	plain := newSource(t, reader(), &Options{})
	spec := discover(t, s)
	for _, sp := range spec {
		if sp.Name == "read_resource" {
			if _, err := plain.Resolve(sp); !errors.Is(err, toolsource.ErrUnknownTool) {
				t.Errorf("a source without them resolves one: %v", err)
			}
		}
	}
}
