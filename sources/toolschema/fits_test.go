package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

// drawSchema draws a schema of a few properties in which alternatives overlap.
func drawSchema(t *rapid.T, depth int) string {
	kinds := []string{"type", "type", "enum", "any", "false", "ref", "nullable"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "tuple", "anyOf", "oneOf", "allOf")
	}
	word := rapid.SampledFrom([]string{`"integer"`, `"number"`, `"string"`, `"boolean"`, `"null"`, `"object"`, `"array"`, `["integer","null"]`, `["number","string"]`})
	several := func() string {
		list := make([]string, rapid.IntRange(1, 3).Draw(t, "alternatives"))
		for i := range list {
			list[i] = drawSchema(t, depth-1)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	switch k := rapid.SampledFrom(kinds).Draw(t, "kind"); k {
	case "type":
		return `{"type":` + word.Draw(t, "type") + `}`
	case "enum":
		return `{"enum":` + rapid.SampledFrom([]string{`[1,2]`, `["a",null]`, `[1.5,true,"1"]`, `[[1],{"a":1}]`}).Draw(t, "enum") + `}`
	case "any":
		return `{}`
	case "false":
		return `false`
	case "ref":
		return `{"$ref":"#"}`
	case "nullable":
		return `{"nullable":true,"type":` + word.Draw(t, "type") + `}`
	case "object":
		var members []string
		for _, name := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, name) {
				members = append(members, fmt.Sprintf(`%q:%s`, name, drawSchema(t, depth-1)))
			}
		}
		more := rapid.SampledFrom([]string{``, `,"required":["a"]`, `,"additionalProperties":false`, `,"additionalProperties":{"type":"integer"}`, `,"type":"object"`}).Draw(t, "more")
		return `{"properties":{` + strings.Join(members, ",") + `}` + more + `}`
	case "array":
		return `{"items":` + drawSchema(t, depth-1) + `}`
	case "tuple":
		return `{"prefixItems":` + several() + `,"items":` + drawSchema(t, depth-1) + `}`
	default:
		return `{"` + k + `":` + several() + `}`
	}
}

// drawValue draws what may be in arguments.
func drawValue(t *rapid.T, depth int) any {
	kinds := 9
	if depth > 0 {
		kinds = 13
	}
	switch rapid.IntRange(0, kinds).Draw(t, "value") {
	case 0:
		return nil
	case 1:
		return true
	case 2, 3:
		return int64(rapid.IntRange(0, 3).Draw(t, "integer"))
	case 4:
		return 1.5
	case 5:
		return float64(rapid.IntRange(0, 3).Draw(t, "whole"))
	case 6:
		return rapid.SampledFrom([]string{"a", "1", "true"}).Draw(t, "string")
	case 7:
		return json.RawMessage(rapid.SampledFrom([]string{`1`, `2.0`, `"a"`, `[1.0]`, `{"a":1}`}).Draw(t, "raw"))
	case 8:
		return json.Number("123456789012345678901234567890")
	case 9:
		return toolsource.Blob{}
	case 10, 11:
		return drawObject(t, depth-1)
	}
	list := make([]any, rapid.IntRange(0, 3).Draw(t, "elements"))
	for i := range list {
		list[i] = drawValue(t, depth-1)
	}
	return list
}

func drawObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, name := range []string{"a", "b", "d"} {
		if rapid.Bool().Draw(t, name) {
			m[name] = drawValue(t, depth)
		}
	}
	return m
}

// TestHoldsIsWhatACheckFinds: passing arguments as they are gives what a checker would have given.
func TestHoldsIsWhatACheckFinds(t *testing.T) {
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		schema := `{"properties":{"a":` + drawSchema(t, 3) + `,"b":` + drawSchema(t, 3) + `}}`
		b := NewBinder(json.RawMessage(schema))
		if rapid.Bool().Draw(t, "lenient") {
			b = b.Lenient()
		}
		for range 5 {
			args := drawObject(t, 3)
			if steps := maxSteps; !b.root.holds(args, &steps) {
				continue
			}
			held++
			out, err := b.check(args)
			if err != nil || !sameMap(out, args) {
				t.Fatalf("%s\nholds %s, which a check makes %s, %v\n%s", schema, fmt.Sprint(args), fmt.Sprint(out), err, cmp.Diff(args, out))
			}
		}
	})
	if held < 50 { // of 500
		t.Errorf("only %d arguments hold: nothing was compared", held)
	}
}

// TestHolds: the common forms of arguments that fit need no checker, and those that would be coerced do.
func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		why, schema, args string
		want              bool
	}{
		{"nothing to check", `{}`, `{"a":1}`, true},
		{"types", `{"properties":{"s":{"type":"string"},"n":{"type":"number"},"z":{"type":["integer","null"]}}}`, `{"s":"x","n":1.5,"z":null}`, true},
		{"whole float for an integer", `{"properties":{"i":{"type":"integer"}}}`, `{"i":3.0}`, false},
		{"inside", `{"properties":{"o":{"properties":{"l":{"items":{"type":"string"}}}}}}`, `{"o":{"l":["x"]}}`, true},
		{"not inside", `{"properties":{"o":{"properties":{"l":{"items":{"type":"string"}}}}}}`, `{"o":{"l":["x",1]}}`, false},
		{"X or null, X", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":"x"}`, true},
		{"X or null, null", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null}`, true},
		{"an earlier alternative would coerce", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"number"}]}}}`, `{"a":3.0}`, false},
		{"one of constants", `{"properties":{"a":{"oneOf":[{"const":"p"},{"const":"q"}]}}}`, `{"a":"q"}`, true},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"allOf":[{"type":"integer"}]}}}`, `{"a":1}`, true},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, true},
		{"missing", `{"required":["a"]}`, `{}`, false},
		{"unknown", `{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, false},
		{"extra", `{"additionalProperties":{"type":"string"}}`, `{"b":"x"}`, true},
		{"extra of another type", `{"additionalProperties":{"type":"string"}}`, `{"b":1}`, false},
		{"a cycle without a value", `{"allOf":[{"$ref":"#"}]}`, `{}`, false},
	} {
		steps := maxSteps
		args, err := toolsource.Arguments(fromJSON(t, tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := NewBinder(json.RawMessage(tt.schema)).root.holds(args, &steps); got != tt.want {
			t.Errorf("%s: %v", tt.why, got)
		}
	}
}
