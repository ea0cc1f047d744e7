package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

// judged is a schema as another reader of JSON Schema reads it, nil where it cannot. Nullable, which it does
// not know, is written as it is meant.
func judged(schema json.RawMessage) *jsonschema.Resolved {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(schema)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	b, err := json.Marshal(sayNull(v))
	if err != nil {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(b, &s) != nil {
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// sayNull writes nullable: true as an alternative.
func sayNull(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = sayNull(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = sayNull(e)
		}
		if out["nullable"] == true {
			delete(out, "nullable")
			defs := out["$defs"]
			delete(out, "$defs")
			either := map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
			if defs != nil {
				either["$defs"] = defs
			}
			return either
		}
		return out
	}
	return v
}

// accepts reports whether the other reader takes a value.
func accepts(r *jsonschema.Resolved, v any) bool { return r.Validate(v) == nil }

// drawValid draws a schema of the current draft that says nothing that no reader can follow, also what no
// normal form and no check looks at. here are the references that lead into no cycle without a value.
func drawValid(t *rapid.T, depth int, here []string) string {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "pick") }
	same := func() string { return drawValid(t, depth-1, here) }
	more := func() string { return drawValid(t, depth-1, allRefs) }
	some := func() string {
		list := make([]string, rapid.IntRange(1, 3).Draw(t, "n"))
		for i := range list {
			list[i] = same()
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	if depth <= 0 {
		if rapid.IntRange(0, 3).Draw(t, "ref") == 0 {
			return fmt.Sprintf(`{"$ref":%q%s}`, pick(here...), pick(``, `,"description":"D"`, `,"type":"object"`, `,"nullable":true`, `,"type":"object","properties":{"a":{"type":"integer"}}`, `,"unevaluatedProperties":false`))
		}
		return pick(`{"type":"integer"}`, `{"type":"string"}`, `{"type":["string","null"]}`, `{"const":1}`, `{"enum":["a",1,null]}`, `true`, `{}`, `{"type":"null"}`,
			`{"type":["integer","null"],"enum":[1,2]}`, `{"type":"number","minimum":1}`, `{"not":{}}`, `{"required":["b"]}`, `{"oneOf":[{"const":1},{"const":2},{"type":"null"}]}`)
	}
	switch pick("object", "object", "union", "union", "array", "not", "if", "all", "leaf") {
	case "object":
		return fmt.Sprintf(`{"type":%s,"properties":{"a":%s,"b":%s}%s}`, pick(`"object"`, `["object","null"]`), more(), more(),
			pick(``, `,"required":["a"]`, `,"additionalProperties":false`, `,"additionalProperties":{"type":"integer"}`, `,"patternProperties":{"^c":{"type":"string"}},"additionalProperties":false`,
				`,"unevaluatedProperties":false`, `,"dependentRequired":{"a":["b"]}`, `,"dependentSchemas":{"a":{"required":["b"]}}`, `,"nullable":true`, `,"propertyNames":{"maxLength":1}`))
	case "union":
		return fmt.Sprintf(`{"%s":%s%s}`, pick("anyOf", "oneOf"), some(), pick(``, `,"nullable":true`, `,"default":1`, `,"minimum":1`))
	case "array":
		return fmt.Sprintf(`{"type":"array","items":%s%s}`, more(), pick(``, `,"prefixItems":[{"type":"string"}]`, `,"contains":{"const":1},"maxContains":1`, `,"contains":{"$ref":"#/$defs/A"},"maxContains":1`, `,"minItems":1`, `,"uniqueItems":true`))
	case "not":
		return fmt.Sprintf(`{"not":%s%s}`, same(), pick(``, `,"type":"object"`, `,"type":["string","null"]`))
	case "if":
		return fmt.Sprintf(`{"if":%s,"then":%s,"else":%s}`, same(), same(), same())
	case "all":
		return fmt.Sprintf(`{"allOf":%s%s}`, some(), pick(``, `,"unevaluatedProperties":false`, `,"type":"object"`))
	}
	return drawValid(t, 0, here)
}

var allRefs = []string{"#/$defs/A", "#/$defs/B", "#"}

// drawAny draws a value of which schemas drawn by drawValid speak.
func drawAny(t *rapid.T, depth int) any {
	if depth <= 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]any{nil, 1.0, 2.0, 0.5, "a", "bb", true}).Draw(t, "value")
	}
	if rapid.IntRange(0, 3).Draw(t, "list") == 0 {
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list = append(list, drawAny(t, depth-1))
		}
		return list
	}
	return drawArgs(t, depth)
}

func drawArgs(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, k := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, k) {
			m[k] = drawAny(t, depth-1)
		}
	}
	return m
}

// TestAnotherReaderAgrees: what another reader of JSON Schema takes by a schema, it takes by the normal form
// and by what is exported, and Bind lets it pass. A value counts only where no part of the schema that has
// properties and no type speaks of it, since those describe objects here.
func TestAnotherReaderAgrees(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s},"$defs":{"A":%s,"B":%s}%s}`,
			drawValid(t, 3, allRefs), drawValid(t, 2, allRefs), drawValid(t, 2, allRefs[1:]), drawValid(t, 2, allRefs[2:]), rapid.SampledFrom([]string{``, `,"required":["a"]`, `,"additionalProperties":false`}).Draw(t, "root")))
		original := judged(schema)
		if original == nil {
			t.Skip()
		}
		out, _ := Normalize(schema)
		normal := judged(out)
		if normal == nil {
			t.Fatalf("%s\nhas a normal form that is none: %s", schema, out)
		}
		binder := NewBinder(schema)
		exports := map[Provider]*jsonschema.Resolved{}
		texts := map[Provider]json.RawMessage{}
		for _, p := range []Provider{OpenAI, Anthropic} {
			e, _ := Export([]toolsource.ToolSpec{tool("t", string(schema))}, p, nil)
			if len(e.Tools) != 1 {
				t.Fatalf("%s is left out: %v", schema, e.LeftOut)
			}
			var api apiTool
			_ = json.Unmarshal(e.Tools[0].JSON, &api)
			if api.Function != nil {
				api = *api.Function
			}
			texts[p] = append(api.Parameters, api.InputSchema...)
			if exports[p] = judged(texts[p]); exports[p] == nil {
				t.Fatalf("%s is no schema for %s: %s", schema, p, texts[p])
			}
		}
		for range 12 {
			args := drawArgs(t, 4)
			if !accepts(original, args) {
				continue
			}
			taken++
			if !accepts(normal, args) {
				b, _ := json.Marshal(args)
				t.Fatalf("%s\ntakes %s, and its normal form\n%s\nsays %v", schema, b, out, normal.Validate(args))
			}
			if _, err := binder.Bind(args); err != nil {
				b, _ := json.Marshal(args)
				t.Fatalf("%s\ntakes %s, and bound: %v", schema, b, err)
			}
			for p, r := range exports {
				if !accepts(r, args) {
					b, _ := json.Marshal(args)
					t.Fatalf("%s\ntakes %s, and for %s\n%s\nsays %v", schema, b, p, texts[p], r.Validate(args))
				}
			}
		}
	})
	if taken == 0 {
		t.Error("nothing was taken")
	}
}
