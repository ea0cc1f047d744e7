package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

func exported(t *testing.T, p Provider, o *ExportOptions, specs ...toolsource.ToolSpec) *Exported {
	t.Helper()
	e, err := Export(specs, p, o)
	if err != nil {
		t.Fatal(err)
	}
	if bs := breaches(t, p, e.JSON()); len(bs) > 0 {
		t.Errorf("%s: %v\n%.2000s", p, bs, e.JSON())
	}
	validSchema(t, p, e)
	return e
}

func tool(name, schema string) toolsource.ToolSpec {
	return toolsource.ToolSpec{Name: name, InputSchema: json.RawMessage(schema)}
}

// TestExport shows what an ordinary tool becomes.
func TestExport(t *testing.T) {
	spec := toolsource.ToolSpec{
		Name: "search", Description: "Finds\ndocuments.", Origin: toolsource.Origin{QualifiedName: "mcp__docs__search"},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to find"},"limit":{"type":"integer","default":10},"order":{"enum":["up","down"],"type":"string"},"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"required":["query"],"$schema":"http://json-schema.org/draft-07/schema#"}`),
	}
	for _, tt := range []struct {
		p    Provider
		o    *ExportOptions
		want string
	}{
		{OpenAI, nil, `[{"type":"function","function":{"name":"search","description":"Finds\ndocuments.","parameters":{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to find"},"limit":{"type":"integer","default":10},"order":{"enum":["up","down"],"type":"string"},"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"required":["query"],"$schema":"http://json-schema.org/draft-07/schema#"}}}]`},
		{OpenAIStrict, &ExportOptions{Responses: true}, `[{"type":"function","name":"search","description":"Finds\ndocuments.","parameters":{"type":"object","properties":{"query":{"type":"string","description":"what to find"},"limit":{"type":["integer","null"],"description":"Default: 10."},"order":{"anyOf":[{"enum":["up","down"],"type":"string"},{"type":"null"}]},"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"required":["query","limit","order","since"],"additionalProperties":false},"strict":true}]`},
		{OpenAI, &ExportOptions{Responses: true}, `[{"type":"function","name":"search","description":"Finds\ndocuments.","parameters":{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to find"},"limit":{"type":"integer","default":10},"order":{"enum":["up","down"],"type":"string"},"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"required":["query"],"$schema":"http://json-schema.org/draft-07/schema#"},"strict":false}]`},
		{Anthropic, &ExportOptions{Qualified: true}, `[{"name":"mcp__docs__search","description":"Finds\ndocuments.","input_schema":{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to find"},"limit":{"type":"integer","default":10},"order":{"enum":["up","down"],"type":"string"},"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"required":["query"],"$schema":"http://json-schema.org/draft-07/schema#"}}]`},
		{Gemini, nil, `[{"functionDeclarations":[{"name":"search","description":"Finds\ndocuments.","parameters":{"type":"OBJECT","properties":{"query":{"type":"STRING","minLength":1,"description":"what to find"},"limit":{"type":"INTEGER","description":"Default: 10."},"order":{"enum":["up","down"],"type":"STRING"},"since":{"type":"STRING","nullable":true}},"required":["query"]}}]}]`},
	} {
		e := exported(t, tt.p, tt.o, spec)
		got := string(e.JSON())
		if tt.p == Gemini { // default is a field of Schema
			tt.want = strings.Replace(tt.want, `"description":"Default: 10."`, `"default":10`, 1)
		}
		if got != tt.want {
			t.Errorf("%s is\n%s\nwant\n%s", tt.p, got, tt.want)
		}
		if name, ok := e.Find(e.Tools[0].Name); !ok || name != "search" {
			t.Errorf("%s: %s is %q", tt.p, e.Tools[0].Name, name)
		}
	}
	if _, err := Export(nil, "claude", nil); err == nil || !strings.Contains(err.Error(), "anthropic") {
		t.Errorf("an unknown provider: %v", err)
	}
	if _, err := Check("claude", nil); err == nil {
		t.Error("an unknown provider is checked")
	}
	for _, p := range Providers() {
		for _, bad := range []string{``, `{}`, `7`, `[7]`} {
			if bs, err := Check(p, json.RawMessage(bad)); err == nil && len(bs) == 0 {
				t.Errorf("%s: %s is a list of tools", p, bad)
			}
		}
		deep := asItStands(p, tool("t", strings.Repeat(`{"type":"object","properties":{"a":`, 4000)+`{}`+strings.Repeat(`}}`, 4000)))
		if bs := breaches(t, p, requestOf(p, []string{deep})); !slices.ContainsFunc(bs, func(b Breach) bool { return b.Rule == "depth" && b.Path == "#" }) {
			t.Errorf("%s: 4000 objects in each other: %.3v", p, bs)
		}
	}
}

// TestExportOfArgs: a tool that declares nothing but its arguments is described by them.
func TestExportOfArgs(t *testing.T) {
	spec := toolsource.ToolSpec{Name: "read_file", Args: []toolsource.ArgSpec{
		{Name: "path", Type: "str", Required: true}, {Name: "lines", Type: "int"}, {Name: "tags", Type: "list"}, {Name: "any", Type: "Any"},
	}}
	want := []string{"path", "lines", "tags", "any"}
	for _, p := range Providers() {
		e := exported(t, p, nil, spec, toolsource.ToolSpec{Name: "now"})
		args, _ := Args(json.RawMessage(strings.ToLower(string(parameters(t, e.Tools[0].JSON)))))
		if got := namesOf(args); !slices.Equal(got, want) {
			t.Errorf("%s: %q", p, got)
		}
		if p == Gemini {
			if string(e.Tools[1].JSON) != `{"name":"now"}` {
				t.Errorf("%s", e.Tools[1].JSON)
			}
		} else if got := string(parameters(t, e.Tools[1].JSON)); !strings.Contains(got, `"properties":{}`) {
			t.Errorf("%s: %s", p, got)
		}
	}
}

// TestExportCases: the schemas of real reports are taken by every API, and so are their neighbours.
func TestExportCases(t *testing.T) {
	for _, file := range []string{
		"31-tool-names-illegal.json", "32-tool-names-long-prefix.json", "36-schema-defs-ref.json", "38-schema-recursive.json", "39-schema-nullable.json",
		"40-schema-array-items.json", "41-schema-no-properties.json", "42-schema-top-anyof.json", "46-schema-remote-ref.json",
	} {
		c := readCase(t, file)
		var specs []toolsource.ToolSpec
		for _, x := range c.Tools {
			specs = append(specs, toolsource.ToolSpec{Name: x.Name, InputSchema: x.InputSchema})
		}
		for _, p := range Providers() {
			e := exported(t, p, nil, specs...)
			left := map[string]bool{"": true, "array-root": true}
			for _, l := range e.LeftOut {
				if !left[l.Tool] || l.Reason == "" {
					t.Errorf("%s, %s: %s", file, p, l)
				}
			}
			want := slices.DeleteFunc(slices.Clone(specs), func(s toolsource.ToolSpec) bool { return left[s.Name] })
			if len(e.Tools) != len(want) {
				t.Errorf("%s, %s: %d of %d tools, left out %v", file, p, len(e.Tools), len(want), e.LeftOut)
				continue
			}
			for i, tool := range e.Tools {
				if got, ok := e.Find(tool.Name); !ok || got != want[i].Name {
					t.Errorf("%s, %s: %s is found as %q, not %q", file, p, tool.Name, got, want[i].Name)
				}
			}
		}
	}
}

// TestExportedCases: what the schemas of real reports say to a model.
func TestExportedCases(t *testing.T) {
	for _, tt := range []struct {
		file, tool string
		p          Provider
		want       string // properties as exported
	}{
		{"36-schema-defs-ref.json", "t", Anthropic, `{"query_model":{"type":"object","properties":{"text":{"type":"string","default":null},"limit":{"type":"integer","default":20},"inner":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"description":"what to list"},"kind":{"type":"string","enum":["fit","raw"]}}`},
		{"38-schema-recursive.json", "t", OpenAI, `{"root":{"type":"object","properties":{"v":{"type":"string"},"children":{"type":"array","items":{"type":"object","properties":{}}}}},"cond":{"allOf":[{"allOf":[{}]}]},"self":{"type":"object","properties":{}}}`},
		{"39-schema-nullable.json", "t", Gemini, `{"a":{"type":"STRING","nullable":true},"b":{"type":"INTEGER","nullable":true,"default":null},"c":{"anyOf":[{"type":"STRING"},{"type":"ARRAY","items":{"type":"STRING"}}]},"d":{"anyOf":[{"type":"BOOLEAN"},{"type":"STRING"}]},"e":{"anyOf":[{"type":"STRING","nullable":true},{"type":"NUMBER","nullable":true},{"type":"BOOLEAN","nullable":true},{"type":"ARRAY","items":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"},{"type":"OBJECT"},{"type":"ARRAY","items":{"type":"STRING"}}]},"nullable":true},{"type":"OBJECT","nullable":true}]},"f":{"type":"STRING","nullable":true},"g":{"type":"STRING","enum":["p","q"],"nullable":true},"h":{"type":"STRING","enum":["x"]},"i":{"anyOf":[{"type":"STRING","enum":["two"],"nullable":true},{"type":"INTEGER","description":"One of: 1.","nullable":true}]}}`},
		{"40-schema-array-items.json", "t", Anthropic, `{"texts":{"type":"array","description":"no items","items":{}},"any":{"type":"array","items":{}},"empty":{"type":"array","items":{}},"tuple":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":{}},"old_tuple":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":{}},"deep":{"type":"array","items":{"type":"object","properties":{"value":{"type":["string","array"],"items":{}}}}}}`},
		{"41-schema-no-properties.json", "bare", OpenAIStrict, `{}`},
		{"41-schema-no-properties.json", "missing", Anthropic, `{}`},
		{"42-schema-top-anyof.json", "t", OpenAI, `{"id":{"type":"string"},"name":{"type":"string"}}`},
		{"46-schema-remote-ref.json", "t", OpenAI, `{"a":{},"b":{},"c":{}}`},
	} {
		c := readCase(t, tt.file)
		e := exported(t, tt.p, nil, tool(tt.tool, string(c.schema(t, tt.tool))))
		var s struct {
			Properties json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(parameters(t, e.Tools[0].JSON), &s); err != nil {
			t.Fatal(err)
		}
		if string(s.Properties) != tt.want {
			t.Errorf("%s for %s is\n%s\nwant\n%s", tt.file, tt.p, s.Properties, tt.want)
		}
		if tt.file == "42-schema-top-anyof.json" && len(s.Required) > 0 {
			t.Errorf("required are %q", s.Required)
		}
	}
}

// TestOpenObjects: arguments that are not described still reach the tool.
func TestOpenObjects(t *testing.T) {
	c := readCase(t, "41-schema-no-properties.json")
	for _, name := range []string{"free", "map"} {
		for _, p := range Providers() {
			e := exported(t, p, nil, tool(name, string(c.schema(t, name))))
			if e.Tools[0].Strict {
				t.Errorf("%s is strict, so that nothing can be passed", name)
			}
			_, args, _, err := e.ParseArguments(name, []byte(`{"x":"1"}`))
			if err != nil || !reflect.DeepEqual(args, map[string]any{"x": "1"}) {
				t.Errorf("%s, %s: %v, %v", name, p, args, err)
			}
		}
	}
	e := exported(t, OpenAIStrict, &ExportOptions{OnlyStrict: true}, tool("a", `{}`), tool("free", `{"type":"object","additionalProperties":true}`), tool("b", `{}`))
	if len(e.Tools) != 2 || len(e.LeftOut) != 1 || e.LeftOut[0].Tool != "free" || !strings.Contains(e.LeftOut[0].Reason, "not described") {
		t.Errorf("left out %v", e.LeftOut)
	}
}

// TestStrictLosesNothing: where strict mode would keep a model from an argument, it is left off, and said why.
func TestStrictLosesNothing(t *testing.T) {
	for _, tt := range []struct{ why, property, reason string }{
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, "not described at #/properties/a"},
		{"properties by pattern", `{"type":"object","properties":{},"patternProperties":{"^x":{}},"additionalProperties":false}`, "not described at #/properties/a"},
		{"further properties", `{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":true}`, "not described at #/properties/a"},
		{"an object of any kind", `{"type":"object"}`, "nothing is described at #/properties/a"},
		{"any value", `{"description":"D"}`, "any value at #/properties/a"},
		{"a list of any values", `{"type":"array"}`, "any values at #/properties/a"},
		{"an open tuple", `{"type":"array","prefixItems":[{"type":"string"}]}`, "any values at #/properties/a"},
		{"alternatives of two kinds", `{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"}]}`, "two kinds at #/properties/a"},
		{"parts that disagree", `{"allOf":[{"anyOf":[{"type":"string"}]},{"anyOf":[{"type":"integer"}]}]}`, "anyOf at #/properties/a"},
		{"parts of different types", `{"allOf":[{"type":"string"},{"type":"integer"}]}`, "type at #/properties/a"},
		{"too deep inside", `{"type":"array","items":{"anyOf":[{"type":"string"},{}]}}`, "any value at #/properties/a/items/anyOf/1"},
	} {
		spec := tool("t", objectOf(tt.property))
		e := exported(t, OpenAIStrict, nil, spec)
		i := slices.IndexFunc(e.Changes(), func(c Change) bool { return c.Rule == "strict" })
		if e.Tools[0].Strict || i < 0 || !strings.Contains(e.Changes()[i].What, tt.reason) {
			t.Errorf("%s: %v", tt.why, e.Changes())
			continue
		}
		if r := ruleWords(e.Changes()); strings.Contains(r, "closed") || strings.Contains(r, "all-required") || strings.Contains(r, "keyword") {
			t.Errorf("%s: changes are told that were not made: %s", tt.why, r)
		}
		plain := exported(t, OpenAI, nil, spec)
		if string(parameters(t, plain.Tools[0].JSON)) != string(parameters(t, e.Tools[0].JSON)) {
			t.Errorf("%s: without strict mode it is %s, not as in plain %s", tt.why, e.Tools[0].JSON, plain.Tools[0].JSON)
		}
	}
	e := exported(t, OpenAIStrict, nil, tool("t", objectOf(`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"oneOf":[{"properties":{"c":{"type":"string"}},"required":["c"]},{"properties":{"d":{"type":"string"}}}]}`)))
	if got := string(parameters(t, e.Tools[0].JSON)); !e.Tools[0].Strict || !strings.Contains(got, `"required":["b","c","d"]`) {
		t.Errorf("an object with alternatives is %s: %v", got, e.Changes())
	}
}

// TestExportRefuses: what no arguments can satisfy is left out, with a reason.
func TestExportRefuses(t *testing.T) {
	for _, schema := range []string{` false `, `{"type":"array"}`, `{"type":["string","null"]}`, `{"$ref":"#/$defs/A","$defs":{"A":{"type":"integer"}}}`} {
		for _, p := range Providers() {
			e := exported(t, p, nil, tool("before", `{}`), tool("t", schema), tool("after", `{}`))
			if len(e.Tools) != 2 || len(e.LeftOut) != 1 || e.LeftOut[0].Rule != "root-object" || e.LeftOut[0].Reason == "" {
				t.Errorf("%s, %s: %v", schema, p, e.LeftOut)
			}
		}
	}
	e := exported(t, OpenAI, nil, tool("t", `{"type":["object","string"],"properties":{"a":{"type":"string"}},"nullable":true}`))
	if got := string(parameters(t, e.Tools[0].JSON)); got != `{"type":"object","properties":{"a":{"type":"string"}}}` || ruleWords(e.Changes()) != "root-object" {
		t.Errorf("%s by %v", got, e.Changes())
	}
}

// TestRootUnions: what all alternatives require stays required.
func TestRootUnions(t *testing.T) {
	for _, tt := range []struct{ why, schema, props, required string }{
		{"required by all", `{"anyOf":[{"properties":{"id":{"type":"string"},"x":{"type":"integer"}},"required":["x","id"]},{"properties":{"name":{"type":"string"},"x":{"type":"integer"}},"required":["name","x"]}]}`,
			`{"id":{"type":"string"},"x":{"type":"integer"},"name":{"type":"string"}}`, `["x"]`},
		{"one name, two kinds", `{"oneOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"integer"}}},{"properties":{"x":{"type":"string"}}}]}`,
			`{"x":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`, ``},
		{"what the schema says itself counts", `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"anyOf":[{"properties":{"x":{"const":"a"}}},{"properties":{"y":{"type":"integer"}}}]}`,
			`{"x":{"type":"string"},"y":{"type":"integer"}}`, `["x"]`},
		{"all of several", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"allOf":[{"properties":{"b":{"type":"integer"},"a":{}}}]}],"required":["b"]}`,
			`{"a":{"type":"string"},"b":{"type":"integer"}}`, `["b","a"]`},
		{"requirements alone", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"a":{"type":"string"},"b":{"type":"string"}}`, ``},
		{"an alternative that is no object", `{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}`, `{"a":{"type":"string"}}`, `["a"]`},
		{"required, and described in one alternative", `{"required":["a"],"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`,
			`{"a":{"type":"string"},"b":{"type":"string"}}`, `["a"]`},
	} {
		e := exported(t, Anthropic, nil, tool("t", tt.schema))
		var s struct{ Properties, Required json.RawMessage }
		if err := json.Unmarshal(parameters(t, e.Tools[0].JSON), &s); err != nil {
			t.Fatal(err)
		}
		if string(s.Properties) != tt.props || string(s.Required) != tt.required {
			t.Errorf("%s: %s, required %s", tt.why, s.Properties, s.Required)
		}
	}
}

// TestExportNames: what the model calls finds the tool by a table, whatever the names are.
func TestExportNames(t *testing.T) {
	odd := []string{"ok", "a.b", "a b", "a/b", "查", "1st", strings.Repeat("n", 70), "ok", "", "a_b"}
	for _, p := range Providers() {
		var specs []toolsource.ToolSpec
		for _, n := range odd {
			specs = append(specs, toolsource.ToolSpec{Name: n})
		}
		e := exported(t, p, nil, specs...)
		if len(e.Tools) != len(odd)-2 || len(e.LeftOut) != 2 {
			t.Errorf("%s: %d tools, left out %v", p, len(e.Tools), e.LeftOut)
		}
		for _, tool := range e.Tools {
			if got, ok := e.Find(tool.Name); !ok || got != tool.Tool {
				t.Errorf("%s: %s is %q, not %q", p, tool.Name, got, tool.Tool)
			}
			if tool.Name != tool.Tool && !slices.ContainsFunc(tool.Changes, func(c Change) bool { return c.Rule == "name" && c.Path == "name" }) {
				t.Errorf("%s: %q is called %s without a word", p, tool.Tool, tool.Name)
			}
		}
		if _, ok := e.Find("mcp__no__such"); ok {
			t.Error("a name that was not exported is found")
		}
		if _, _, _, err := e.Arguments("nope", nil); !errors.Is(err, toolsource.ErrUnknownTool) {
			t.Errorf("an unknown name: %v", err)
		}
	}
}

// TestKeywordsOfRenamedArguments: what the top of a schema says of an argument that the API calls otherwise says it of
// the new name, or not at all.
func TestKeywordsOfRenamedArguments(t *testing.T) {
	schema := `{"type":"object","properties":{"a b":{"type":"string"},"c":{"type":"string"}},"required":["a b"],"propertyOrdering":["a b","c"],"if":{"required":["c"]},"then":{"required":["a b"]},"dependentRequired":{"c":["a b"]},"not":{"required":["a b","c"]}}`
	for _, p := range []Provider{Anthropic, Gemini} {
		e := exported(t, p, nil, tool("t", schema))
		if text := string(e.JSON()); strings.Contains(text, "a b") || !strings.Contains(text, `"propertyOrdering":["a_b","c"]`) || !strings.Contains(text, `"required":["a_b"]`) {
			t.Errorf("%s: %s", p, text)
		}
	}
}

// TestExportIsPerTool: a tool is exported as it is alone, whoever stands beside it.
func TestExportIsPerTool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var specs []toolsource.ToolSpec
		for i := range rapid.IntRange(1, 4).Draw(t, "tools") {
			specs = append(specs, tool(fmt.Sprintf("t%d", i), drawRoot(t)))
		}
		for _, p := range Providers() {
			all, _ := Export(specs, p, nil)
			bs, err := Check(p, all.JSON())
			if err != nil || len(bs) > 0 {
				t.Fatalf("%s: %v %v\nof %s\nis %s", p, err, bs, specs[0].InputSchema, all.JSON())
			}
			if len(all.Tools)+len(all.LeftOut) != len(specs) {
				t.Fatalf("%d tools and %d left out, of %d", len(all.Tools), len(all.LeftOut), len(specs))
			}
			var alone []string
			for _, s := range specs {
				one, _ := Export([]toolsource.ToolSpec{s}, p, nil)
				for _, x := range one.Tools {
					alone = append(alone, string(x.JSON))
				}
			}
			var together []string
			for _, x := range all.Tools {
				together = append(together, string(x.JSON))
			}
			if !slices.Equal(alone, together) {
				t.Fatalf("alone %q\ntogether %q", alone, together)
			}
		}
	})
}

// TestExportIsLinear: a thousand tools take ten times as long as a hundred.
func TestExportIsLinear(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures time and bytes")
	}
	specs := func(n int) []toolsource.ToolSpec {
		schemas, _, wire := listed(n)
		out := make([]toolsource.ToolSpec, n)
		for i := range out {
			out[i] = toolsource.ToolSpec{Name: wire[i], Description: "what it does", InputSchema: schemas[i]}
		}
		return out
	}
	few, many := specs(100), specs(1000)
	for _, p := range Providers() {
		run := func(s []toolsource.ToolSpec) func() {
			return func() {
				if e, err := Export(s, p, &ExportOptions{MaxTools: -1}); err != nil || len(e.Tools) != len(s) {
					t.Fatal(err)
				}
			}
		}
		small, large := quickest(run(few)), quickest(run(many))
		bytes := func(f func()) float64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f()
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		less, more := bytes(run(few)), bytes(run(many))
		t.Logf("%s: 100 tools %v and %.0f bytes, 1000 tools %v and %.0f bytes", p, small, less, large, more)
		if large > 50*small || more > 12*less { // quadratic would be 100
			t.Errorf("%s: 100 tools %v and %.0f bytes, 1000 tools %v and %.0f bytes", p, small, less, large, more)
		}
	}
}

// TestManyAlternatives: ten times as many alternatives take about ten times as long.
func TestManyAlternatives(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures time")
	}
	many := func(n int, each string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(each, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for name, schema := range map[string]func(n int) string{
		"top":   func(n int) string { return `{"anyOf":` + many(n, `{"properties":{"k":{"const":"v%d"}}}`) + `}` },
		"tuple": func(n int) string { return objectOf(`{"prefixItems":` + many(n, `{"const":"v%d"}`) + `}`) },
		"parts": func(n int) string {
			return objectOf(`{"allOf":` + many(n, `{"properties":{"p%[1]d":{"type":"string"}},"required":["p%[1]d"]}`) + `}`)
		},
		"inner": func(n int) string {
			return objectOf(`{"properties":{"z":{}},"anyOf":` + many(n, `{"properties":{"k":{"const":"v%d"}}}`) + `}`)
		},
	} {
		for _, p := range Providers() {
			run := func(n int) func() {
				specs := []toolsource.ToolSpec{tool("t", schema(n))}
				return func() { _, _ = Export(specs, p, nil) }
			}
			small, large := quickest(run(200)), quickest(run(2000))
			t.Logf("%s, %s: %v, ten times as many %v", name, p, small, large)
			if large > 40*small { // quadratic would be 100
				t.Errorf("%s, %s: %v, ten times as many %v", name, p, small, large)
			}
		}
	}
}

// TestExportHostile: schemas made to grow are exported in little time, to something the API takes.
func TestExportHostile(t *testing.T) {
	bombs := map[string]func() string{"aliases doubled, 100 KB": func() string { return bomb(1200) }}
	for name, f := range hostile {
		bombs[name] = f
	}
	for name, f := range bombs {
		schema := f()
		for _, p := range Providers() {
			start := time.Now()
			e, err := Export([]toolsource.ToolSpec{tool("before", `{}`), tool("t", schema), tool("after", `{}`)}, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 2*time.Second && !raceEnabled {
				t.Errorf("%s, %s: %v", name, p, took)
			}
			if len(e.Tools)+len(e.LeftOut) != 3 || len(e.Tools) < 2 || len(e.JSON()) > 4*MaxBytes {
				t.Errorf("%s, %s: %d bytes, left out %v", name, p, len(e.JSON()), e.LeftOut)
			}
			if bs := breaches(t, p, e.JSON()); len(bs) > 0 {
				t.Errorf("%s, %s: %.5v", name, p, bs)
			}
		}
	}
}
