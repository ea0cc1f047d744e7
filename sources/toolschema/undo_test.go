package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

func TestArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"path":{"type":"string"},
		"limit":{"type":"integer"},
		"since":{"type":["string","null"]},
		"order":{"type":"string","enum":["up","down"]},
		"filter":{"type":"object","properties":{"tag":{"type":"string"},"not":{"type":"object","properties":{"tag":{"type":"string"}}}}},
		"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old"]}},
		"who":{"anyOf":[{"type":"object","properties":{"id":{"type":"integer"},"as":{"type":"string"}},"required":["id"]},{"type":"object","properties":{"name":{"type":"string"},"as":{"type":["string","null"]}},"required":["name"]}]}
	},"required":["path"]}`
	e := exported(t, OpenAIStrict, nil, tool("t", schema))
	if !e.Tools[0].Strict {
		t.Fatalf("is not strict: %v", e.Changes())
	}
	for _, tt := range []struct{ why, model, tool, changed string }{
		{"nothing left out", `{"path":"p","limit":1}`, `{"path":"p","limit":1}`, ""},
		{"all left out", `{"path":"p","limit":null,"since":null,"order":null,"filter":null,"edits":null,"who":null}`, `{"path":"p","since":null}`, "#/edits #/filter #/limit #/order #/who"},
		{"null where the tool takes it", `{"path":"p","since":null}`, `{"path":"p","since":null}`, ""},
		{"a required null stays, to be refused", `{"path":null}`, `{"path":null}`, ""},
		{"inside objects", `{"path":"p","filter":{"tag":null,"not":{"tag":null}}}`, `{"path":"p","filter":{"not":{}}}`, "#/filter/not/tag #/filter/tag"},
		{"inside lists", `{"path":"p","edits":[{"old":"a","new":null},{"old":"b","new":"c"}]}`, `{"path":"p","edits":[{"old":"a"},{"old":"b","new":"c"}]}`, "#/edits/0/new"},
		{"in alternatives, where one takes null", `{"path":"p","who":{"id":1,"as":null}}`, `{"path":"p","who":{"id":1,"as":null}}`, ""},
		{"integers keep their digits", `{"path":"p","limit":123456789012345678901234567890}`, `{"path":"p","limit":123456789012345678901234567890}`, ""},
		{"what is not known stays, to be refused", `{"path":"p","other":null}`, `{"path":"p","other":null}`, ""},
		{"no text", ``, `{}`, ""},
	} {
		name, args, cs, err := e.ParseArguments("t", []byte(tt.model))
		if err != nil || name != "t" {
			t.Errorf("%s: %q, %v", tt.why, name, err)
			continue
		}
		var changed []string
		for _, c := range cs {
			changed = append(changed, c.Path)
		}
		if !reflect.DeepEqual(args, mustBind(t, tt.tool)) || strings.Join(changed, " ") != tt.changed {
			t.Errorf("%s: %s, changed %q", tt.why, toJSON(t, args), changed)
		}
	}
	for _, bad := range []string{`[]`, `"x"`, `{"a":`, `{} {}`, `7`} {
		if _, _, _, err := e.ParseArguments("t", []byte(bad)); !errors.Is(err, toolsource.ErrBadArguments) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, args, _, err := e.ParseArguments("t", []byte("null")); err != nil || len(args) != 0 {
		t.Errorf("null: %v, %v", args, err)
	}
}

func mustBind(t *testing.T, text string) map[string]any {
	t.Helper()
	args, err := toolsource.Arguments(fromJSON(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// TestArgumentsKeepTheirOwn: what the caller handed over is not changed.
func TestArgumentsKeepTheirOwn(t *testing.T) {
	e := exported(t, OpenAIStrict, nil, tool("t", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}}}}`))
	inner := map[string]any{"b": nil}
	args := map[string]any{"a": []any{inner}}
	_, out, _, err := e.Arguments("t", args)
	if err != nil || len(out["a"].([]any)[0].(map[string]any)) != 0 {
		t.Fatalf("%v, %v", out, err)
	}
	list := args["a"].([]any)
	if _, there := list[0].(map[string]any)["b"]; !there {
		t.Errorf("the list is %v now", list)
	}
	if _, there := inner["b"]; !there || len(args) != 1 {
		t.Errorf("the arguments are %v now", args)
	}
}

// TestRenamedArguments: names that an API does not take are put back, each to its own.
func TestRenamedArguments(t *testing.T) {
	schema := `{"type":"object","properties":{"filter[id]":{"type":"string"},"filter(id)":{"type":"string"},"filter_id_":{"type":"string"},"":{"type":"string"},"ok":{"type":"string"},"查":{"type":"integer"}},"required":["filter[id]","查"]}`
	for _, p := range []Provider{Anthropic, Gemini} {
		e := exported(t, p, nil, tool("t", schema))
		var s struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(parameters(t, e.Tools[0].JSON), &s); err != nil {
			t.Fatal(err)
		}
		model := map[string]any{}
		for name := range s.Properties {
			model[name] = "v"
		}
		if len(model) != 6 || len(s.Required) != 2 {
			t.Fatalf("%s: %v, required %q", p, s.Properties, s.Required)
		}
		for _, r := range s.Required {
			if model[r] == nil {
				t.Errorf("%s: %s is required and not described", p, r)
			}
		}
		_, out, cs, err := e.Arguments("t", model)
		want := map[string]any{"filter[id]": "v", "filter(id)": "v", "filter_id_": "v", "": "v", "ok": "v", "查": "v"}
		if err != nil || !reflect.DeepEqual(out, want) || len(cs) == 0 {
			t.Errorf("%s: %v, %v", p, out, err)
		}
		model["filter[id]"] = "again"
		if _, _, _, err := e.Arguments("t", model); !errors.Is(err, toolsource.ErrBadArguments) {
			t.Errorf("%s: one argument given twice: %v", p, err)
		}
	}
}

// asModel is what a model that keeps to a strict schema makes of a tool's arguments: what is left out is null.
func asModel(schema map[string]any, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = e
		}
		for _, s := range append([]map[string]any{schema}, branches(schema)...) {
			props, _ := s["properties"].(map[string]any)
			fits := len(props) > 0
			for k := range v {
				fits = fits && props[k] != nil
			}
			if !fits {
				continue
			}
			for k, p := range props {
				inner, _ := p.(map[string]any)
				if e, there := v[k]; there {
					out[k] = asModel(inner, e)
				} else {
					out[k] = nil
				}
			}
			return out
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
			for _, s := range append([]map[string]any{schema}, branches(schema)...) {
				if items, ok := s["items"].(map[string]any); ok {
					out[i] = asModel(items, e)
					break
				}
			}
		}
		return out
	}
	return v
}

func branches(s map[string]any) []map[string]any {
	var out []map[string]any
	list, _ := s["anyOf"].([]any)
	for _, b := range list {
		m, _ := b.(map[string]any)
		out = append(out, m)
		out = append(out, branches(m)...)
	}
	return out
}

// drawStrict draws a schema that strict mode can say, and a value that fits it.
func drawStrict(t *rapid.T, depth int) (schema string, value func() any) {
	kinds := []string{"string", "integer", "enum", "null"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "union")
	}
	switch k := rapid.SampledFrom(kinds).Draw(t, "kind"); k {
	case "string":
		return `{"type":"string"}`, func() any { return rapid.SampledFrom([]string{"", "x"}).Draw(t, "string") }
	case "integer":
		return `{"type":"integer","minimum":0}`, func() any { return int64(rapid.IntRange(0, 9).Draw(t, "integer")) }
	case "enum":
		return `{"enum":["a","b"]}`, func() any { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "value") }
	case "null":
		return `{"type":["string","null"]}`, func() any {
			if rapid.Bool().Draw(t, "null") {
				return nil
			}
			return "n"
		}
	case "array":
		s, v := drawStrict(t, depth-1)
		return `{"type":"array","items":` + s + `}`, func() any {
			list := make([]any, rapid.IntRange(0, 3).Draw(t, "elements"))
			for i := range list {
				list[i] = v()
			}
			return list
		}
	case "union":
		a, v := drawStrict(t, depth-1)
		word := rapid.SampledFrom([]string{"anyOf", "oneOf"}).Draw(t, "union")
		return `{"` + word + `":[` + a + `,{"type":"boolean"}]}`, func() any {
			if rapid.Bool().Draw(t, "boolean") {
				return true
			}
			return v()
		}
	}
	return drawStrictObject(t, depth)
}

func drawStrictObject(t *rapid.T, depth int) (string, func() any) {
	names := []string{"a", "b", "c d"}[:rapid.IntRange(1, 3).Draw(t, "properties")]
	var props, required []string
	values := map[string]func() any{}
	must := map[string]bool{}
	for _, n := range names {
		s, v := drawStrict(t, depth-1)
		props = append(props, fmt.Sprintf("%q:%s", n, s))
		values[n] = v
		if must[n] = rapid.Bool().Draw(t, "required"); must[n] {
			required = append(required, fmt.Sprintf("%q", n))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]}`, func() any {
		m := map[string]any{}
		for _, n := range names {
			if must[n] || rapid.Bool().Draw(t, "given") {
				m[n] = values[n]()
			}
		}
		return m
	}
}

// TestUnbindingIsTheIdentity: arguments that fit a tool, as a model has to write them in strict mode, come
// back as they were; but for null where the tool takes null and the argument might be left out, which cannot
// be told apart, and which the tool takes either way.
func TestUnbindingIsTheIdentity(t *testing.T) {
	strict, undone := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		schema, value := drawStrictObject(t, 3)
		e, err := Export([]toolsource.ToolSpec{tool("t", schema)}, OpenAIStrict, nil)
		if err != nil || len(e.Tools) != 1 {
			t.Fatal(err, e)
		}
		if !e.Tools[0].Strict {
			t.Fatalf("%s is not strict: %v", schema, e.Changes())
		}
		strict++
		args, _ := value().(map[string]any)
		bound, err := NewBinder(json.RawMessage(schema)).Bind(args)
		if err != nil {
			t.Fatalf("%s does not take %v: %v", schema, args, err)
		}
		var api apiTool
		_ = json.Unmarshal(e.Tools[0].JSON, &api)
		var strictSchema map[string]any
		_ = json.Unmarshal(api.Function.Parameters, &strictSchema)
		model := asModel(strictSchema, bound).(map[string]any)
		if _, err := NewBinder(api.Function.Parameters).Bind(model); err != nil {
			t.Fatalf("the strict schema %s does not take %v: %v", api.Function.Parameters, model, err)
		}
		_, back, _, err := e.Arguments("t", model)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(model, back) {
			undone++
		}
		if why := unlike(bound, back); why != "" {
			t.Fatalf("%s\nof %s: as a model writes it %v, and back %v\n%s", toJSONText(bound), schema, model, back, why)
		}
		if _, err := NewBinder(json.RawMessage(schema)).Bind(back); err != nil {
			t.Fatalf("%s does not take what came back, %v: %v", schema, back, err)
		}
	})
	if strict == 0 || undone == 0 {
		t.Errorf("%d tools were strict, and %d calls changed: nothing was tried", strict, undone)
	}
}

func toJSONText(v any) string { b, _ := json.Marshal(v); return string(b) }

// unlike says where back is not v; more members may stand in it that are null.
func unlike(v, back any) string {
	switch v := v.(type) {
	case map[string]any:
		m, ok := back.(map[string]any)
		if !ok {
			return fmt.Sprintf("%v is %v", v, back)
		}
		for k, e := range v {
			got, there := m[k]
			if !there {
				return k + " is lost"
			}
			if why := unlike(e, got); why != "" {
				return k + ": " + why
			}
		}
		for k, e := range m {
			if _, there := v[k]; !there && e != nil {
				return fmt.Sprintf("%s is new, %v", k, e)
			}
		}
		return ""
	case []any:
		list, ok := back.([]any)
		if !ok || len(list) != len(v) {
			return fmt.Sprintf("%v is %v", v, back)
		}
		for i, e := range v {
			if why := unlike(e, list[i]); why != "" {
				return fmt.Sprintf("%d: %s", i, why)
			}
		}
		return ""
	}
	if v != back {
		return fmt.Sprintf("%v is %v", v, back)
	}
	return ""
}
