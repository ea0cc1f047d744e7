package toolschema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolsource/toolsource"
)

// object writes a schema of one property.
func objectOf(property string) string {
	return `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false}`
}

// nest is a schema of objects in each other.
func nest(n int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"string"}` + strings.Repeat(`},"required":["a"],"additionalProperties":false}`, n)
}

func manyProperties(n int) string {
	var props, required []string
	for i := range n {
		props = append(props, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		required = append(required, fmt.Sprintf(`"p%d"`, i))
	}
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
}

func enumOf(n, width int) string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf(`"%0*d"`, width, i))
	}
	return `{"type":"string","enum":[` + strings.Join(values, ",") + `]}`
}

// broken is a tool that breaks one rule of an API. Its schema is written with JSON Schema's words for types;
// as it stands it goes to Gemini with Gemini's.
type broken struct {
	rule, name, description, schema string
	before                          int    // tools that stand before it
	change                          string // rule of the change that explains it; "": the same
}

var brokenTools = map[Provider][]broken{
	OpenAI: {
		{rule: "name", name: "a.b"},
		{rule: "tool-count", before: 128},
		{rule: "description-length", description: strings.Repeat("d", 1025)},
		{rule: "root-object", schema: `{"properties":{}}`, change: "object"},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"anyOf":[{"properties":{"a":{"type":"string"}}}]}`},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"oneOf":[{"required":["a"]},{"required":["b"]}]}`},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"allOf":[{"required":["a"]}]}`},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"not":{"required":["a"]}}`},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"enum":[{"a":1}]}`},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"const":{"a":1}}`},
		{rule: "properties", schema: `{"type":"object"}`, change: "object"},
		{rule: "items", schema: objectOf(`{"type":"array"}`)},
		{rule: "items", schema: objectOf(`{"type":["array","null"],"prefixItems":[{"type":"string"}]}`)},
		{rule: "ref", schema: objectOf(`{"$ref":"http://127.0.0.1:9/x"}`), change: "remote-ref"},
		{rule: "ref", schema: objectOf(`{"$ref":"#/$defs/No"}`), change: "dangling-ref"},
		{rule: "nullable", schema: objectOf(`{"type":"string","nullable":true}`)},
		{rule: "pattern", schema: objectOf(`{"type":"string","pattern":"^[\\p{L}]+$"}`)},
		{rule: "pattern", schema: objectOf(`{"type":"string","pattern":"^(?!null$)"}`)},
		{rule: "pattern", schema: objectOf(`{"type":"object","properties":{},"patternProperties":{"^(?=x)":{"type":"string"}},"additionalProperties":false}`)},
		{rule: "draft", schema: objectOf(`{"type":"strnig"}`), change: "type"},
		{rule: "draft", schema: objectOf(`{"type":"string","minLength":"1"}`), change: "keyword"},
		{rule: "draft", schema: objectOf(`{"type":"object","properties":{},"dependentRequired":{"a":"b"}}`), change: "keyword"},
		{rule: "draft", schema: objectOf(`{"type":"object","properties":{},"dependencies":{"a":["b","b"]}}`), change: "schema-word"},
		{rule: "draft", schema: objectOf(`{"type":"number","maximum":1e400}`), change: "keyword"},
		{rule: "draft", schema: `{"$id":"#/root","type":"object","properties":{}}`, change: "ref"},
	},
	OpenAIStrict: {
		{rule: "name", name: "a b"},
		{rule: "tool-count", before: 128},
		{rule: "description-length", description: strings.Repeat("é", 1025)},
		{rule: "root-object", schema: `{"type":"array","items":{"type":"string"},"properties":{}}`, change: "left out"},
		{rule: "root-keyword", schema: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false,"anyOf":[{"type":"object","properties":{},"required":[],"additionalProperties":false}]}`},
		{rule: "properties", schema: `{"type":"object","additionalProperties":false}`, change: "object"},
		{rule: "items", schema: objectOf(`{"type":"array"}`), change: "strict"},
		{rule: "ref", schema: objectOf(`{"$ref":"other.json"}`), change: "strict"},
		{rule: "closed", schema: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{rule: "closed", schema: objectOf(`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`)},
		{rule: "closed", schema: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, change: "strict"},
		{rule: "all-required", schema: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{rule: "all-required", schema: objectOf(`{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","enum":["x"]}},"additionalProperties":false}}`)},
		{rule: "keyword", schema: objectOf(`{"type":"string","minLength":1}`)},
		{rule: "keyword", schema: objectOf(`{"type":"string","default":"x"}`)},
		{rule: "keyword", schema: objectOf(`{"type":"array","items":{"type":"string"},"uniqueItems":true}`)},
		{rule: "keyword", schema: objectOf(`{"type":"string","allOf":[{"type":"string","pattern":"x"}]}`)},
		{rule: "keyword", schema: objectOf(`{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"}]}`), change: "strict"},
		{rule: "type", schema: objectOf(`{"description":"any"}`), change: "strict"},
		{rule: "type", schema: objectOf(`{"type":["string","integer"]}`)},
		{rule: "type", schema: objectOf(`{"enum":["x","y"]}`)},
		{rule: "type", schema: objectOf(`{"enum":["x",1,null]}`)},
		{rule: "keyword", schema: objectOf(`{"type":"string","nullable":true}`)},
		{rule: "format", schema: objectOf(`{"type":"string","format":"uri"}`)},
		{rule: "pattern", schema: objectOf(`{"type":"string","pattern":"^(?!\\.)[a-z]+@"}`)},
		{rule: "draft", schema: objectOf(`{"type":"string","pattern":7}`), change: "keyword"},
		{rule: "depth", schema: nest(11), change: "strict"},
		{rule: "property-count", schema: manyProperties(5001), change: "strict"},
		{rule: "enum-count", schema: objectOf(enumOf(1001, 5)), change: "strict"},
		{rule: "enum-length", schema: objectOf(enumOf(251, 60)), change: "strict"},
		{rule: "text-length", schema: objectOf(`{"type":"string","enum":["` + strings.Repeat("x", 120_000) + `"]}`), change: "strict"},
	},
	Anthropic: {
		{rule: "name", name: "a.b"},
		{rule: "name", name: strings.Repeat("n", 129)},
		{rule: "root-object", schema: `{"properties":{}}`, change: "object"},
		{rule: "root-keyword", schema: `{"type":"object","properties":{},"anyOf":[{"properties":{"a":{"type":"string"}}}]}`},
		{rule: "property-name", schema: `{"type":"object","properties":{"filter[id]":{"type":"string"}},"required":["filter[id]"]}`},
		{rule: "property-name", schema: `{"type":"object","properties":{"` + strings.Repeat("p", 65) + `":{"type":"string"}}}`},
		{rule: "draft", schema: objectOf(`{"type":"array","items":[{"type":"string"}]}`), change: "tuple"},
		{rule: "draft", schema: objectOf(`{"type":"integer","minimum":0,"exclusiveMinimum":true}`), change: "keyword"},
		{rule: "draft", schema: objectOf(`{"type":"any"}`), change: "type"},
		{rule: "draft", schema: objectOf(`{"type":"string","required":true}`), change: "keyword"},
		{rule: "draft", schema: `{"type":"object","properties":{"a":"string"}}`, change: "schema-word"},
		{rule: "ref", schema: objectOf(`{"$ref":"file:///etc/hostname"}`), change: "remote-ref"},
		{rule: "nullable", schema: objectOf(`{"type":"string","nullable":true}`)},
	},
	Gemini: {
		{rule: "name", name: "1st"},
		{rule: "tool-count", before: 512},
		{rule: "root-object", schema: `{"type":"string"}`, change: "left out"},
		{rule: "property-name", schema: `{"type":"object","properties":{"max-results":{"type":"string"}}}`},
		{rule: "keyword", schema: `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{rule: "keyword", schema: `{"type":"object","properties":{"a":{"type":"string","const":"x"}}}`},
		{rule: "keyword", schema: `{"type":"object","properties":{"a":{"type":"object","allOf":[{"type":"object","properties":{"b":{"type":"string"}}}]}}}`},
		{rule: "type", schema: `{"type":"object","properties":{"a":{"description":"any"}}}`},
		{rule: "type", schema: `{"type":"object","properties":{"a":{"type":["string","integer"]}}}`},
		{rule: "any-of-alone", schema: `{"type":"object","properties":{"a":{"description":"D","anyOf":[{"type":"string"},{"type":"integer"}]}}}`},
		{rule: "enum", schema: `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`},
		{rule: "enum", schema: `{"type":"object","properties":{"a":{"type":"string","enum":["x",""]}}}`},
		{rule: "format", schema: `{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`},
		{rule: "items", schema: `{"type":"object","properties":{"a":{"type":"array"}}}`},
		{rule: "pattern", schema: `{"type":"object","properties":{"a":{"type":"string","pattern":"\\p{L}"}}}`},
		{rule: "properties", schema: `{"type":"object","properties":{}}`},
		{rule: "properties", schema: `{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`},
		{rule: "required", schema: `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, change: "object"},
	},
}

var typeWord = regexp.MustCompile(`"type":"(\w+)"`)

// asItStands is a tool in an API's form with nothing rewritten.
func asItStands(p Provider, s toolsource.ToolSpec) string {
	schema := string(s.InputSchema)
	tool := fmt.Sprintf(`"name":%s,"description":%s`, quote(s.Name), quote(s.Description))
	switch p {
	case Anthropic:
		return `{` + tool + `,"input_schema":` + schema + `}`
	case Gemini:
		schema = typeWord.ReplaceAllStringFunc(schema, func(m string) string { return `"type":` + strings.ToUpper(m[len(`"type":`):]) })
		return `{` + tool + `,"parameters":` + schema + `}`
	}
	return `{"type":"function","function":{` + tool + fmt.Sprintf(`,"strict":%v`, p == OpenAIStrict) + `,"parameters":` + schema + `}}`
}

func requestOf(p Provider, tools []string) json.RawMessage {
	list := "[" + strings.Join(tools, ",") + "]"
	if p == Gemini {
		list = `[{"functionDeclarations":` + list + `}]`
	}
	return json.RawMessage(list)
}

func breaches(t *testing.T, p Provider, tools json.RawMessage) []Breach {
	t.Helper()
	bs, err := Check(p, tools)
	if err != nil {
		t.Fatal(err)
	}
	return bs
}

// TestEachRule: a tool that breaks one rule of an API is refused for it alone, taken after the export, and
// the change is told.
func TestEachRule(t *testing.T) {
	fine := `{"type":"object","properties":{"z":{"type":"string"}},"required":["z"],"additionalProperties":false}`
	for p, rows := range brokenTools {
		covered := map[string]bool{}
		for i, b := range rows {
			covered[b.rule] = true
			t.Run(fmt.Sprintf("%s/%s %d", p, b.rule, i), func(t *testing.T) {
				if b.name == "" {
					b.name = "tool"
				}
				if b.schema == "" {
					b.schema = fine
				}
				if p == Gemini {
					b.schema = strings.Replace(b.schema, fine, `{"type":"object","properties":{"z":{"type":"string"}}}`, 1)
				}
				var specs []toolsource.ToolSpec
				for n := range b.before {
					specs = append(specs, toolsource.ToolSpec{Name: fmt.Sprintf("t%d", n), InputSchema: json.RawMessage(b.schema)})
				}
				specs = append(specs, toolsource.ToolSpec{Name: b.name, Description: b.description, InputSchema: json.RawMessage(b.schema)})
				var raw []string
				for _, s := range specs {
					raw = append(raw, asItStands(p, s))
				}
				var broke []string
				for _, x := range breaches(t, p, requestOf(p, raw)) {
					broke = append(broke, x.Rule)
				}
				if broke = slices.Compact(broke); !slices.Equal(broke, []string{b.rule}) {
					t.Errorf("as it stands it breaks %q", broke)
				}
				e, err := Export(specs, p, nil)
				if err != nil {
					t.Fatal(err)
				}
				if bs := breaches(t, p, e.JSON()); len(bs) > 0 {
					t.Errorf("exported it breaks %v\n%.500s", bs, e.JSON())
				}
				if b.change == "left out" || b.rule == "tool-count" {
					if len(e.LeftOut) != 1 || e.LeftOut[0].Rule != b.rule || len(e.Tools) != b.before {
						t.Errorf("left out: %v", e.LeftOut)
					}
					return
				}
				if len(e.Tools) != 1 {
					t.Fatalf("left out: %v", e.LeftOut)
				}
				want := b.change
				if want == "" {
					want = b.rule
				}
				if !slices.ContainsFunc(e.Changes(), func(c Change) bool { return c.Rule == want }) {
					t.Errorf("no change by %q: %v", want, e.Changes())
				}
				if e.Tools[0].Strict != (p == OpenAIStrict && b.change != "strict") {
					t.Errorf("strict is %v", e.Tools[0].Strict)
				}
				validSchema(t, p, e)
			})
		}
		for _, r := range Rules(p) {
			if !covered[r.Name] {
				t.Errorf("%s: no tool breaks the rule %q", p, r.Name)
			}
			if r.Says == "" || !strings.HasPrefix(r.Source, "https://") {
				t.Errorf("%s: the rule %q cites nothing", p, r.Name)
			}
		}
	}
}

// validSchema has another reader of JSON Schema read what was exported.
func validSchema(t *testing.T, p Provider, e *Exported) {
	t.Helper()
	if p == Gemini {
		return
	}
	for _, tool := range e.Tools {
		var s jsonschema.Schema
		if err := json.Unmarshal(parameters(t, tool.JSON), &s); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		} else if _, err := s.Resolve(nil); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

// parameters are the schema in a tool's entry.
func parameters(t *testing.T, entry json.RawMessage) json.RawMessage {
	t.Helper()
	var x apiTool
	if err := json.Unmarshal(entry, &x); err != nil {
		t.Fatal(err)
	}
	if x.Function != nil {
		x = *x.Function
	}
	if x.InputSchema != nil {
		return x.InputSchema
	}
	return x.Parameters
}
