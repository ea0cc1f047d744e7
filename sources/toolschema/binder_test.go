package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

// fromJSON reads arguments as a host that keeps numbers would hand them over.
func fromJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bound is the JSON of the bound arguments, or the error without its prefix.
func bound(t *testing.T, b *Binder, args map[string]any) string {
	t.Helper()
	before := toolsource.ToolSpec{Meta: args}.Clone().Meta
	out, err := b.Bind(args)
	if diff := cmp.Diff(before, args); diff != "" {
		t.Errorf("Bind changed its arguments: %s", diff)
	}
	if err == nil {
		return toJSON(t, out)
	}
	if !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("%v is not ErrBadArguments", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("error %q has more than one line", err)
	}
	return strings.TrimPrefix(err.Error(), toolsource.ErrBadArguments.Error()+": ")
}

// TestBindNumbers is a table of real bug reports.
func TestBindNumbers(t *testing.T) {
	c := readCase(t, "45-schema-numbers.json")
	b := NewBinder(c.Schema)
	want := map[string]string{
		`{"n":0.5}`:                `n is a number with a fraction, want an integer`,
		`{"n":"50"}`:               `n is a string, want an integer (write it without quotes)`,
		`{"n":true}`:               `n is a boolean, want an integer`,
		`{"big":9007199254740993}`: `{"big":9007199254740993}`,
	}
	for _, row := range c.Rows {
		expect, ok := want[row[0]]
		if !ok {
			expect, _, _ = strings.Cut(row[1], " (") // what follows is a remark
		}
		if got := bound(t, b, fromJSON(t, row[0])); got != expect {
			t.Errorf("%s: got %s, want %s", row[0], got, expect)
		}
		raw := map[string]any{}
		for k, v := range fromJSON(t, row[0]) {
			raw[k] = json.RawMessage(toJSON(t, v))
		}
		if got := bound(t, b, raw); got != expect {
			t.Errorf("%s as raw JSON: got %s, want %s", row[0], got, expect)
		}
	}
	if got := bound(t, b.Lenient(), map[string]any{"n": "50"}); got != `{"n":50}` {
		t.Errorf("lenient: %s", got)
	}
}

func TestBind(t *testing.T) {
	numbers := `{"properties":{"i":{"type":"integer"},"n":{"type":"number"},"s":{"type":"string"},"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"z":{"type":["integer","null"]},"is":{"type":["integer","string"]}},"required":[]}`
	for _, tt := range []struct {
		why, schema string
		args        map[string]any
		want        string
	}{
		{"no schema", ``, map[string]any{"a": 1}, `{"a":1}`},
		{"no schema, no arguments", ``, nil, `{}`},
		{"null schema", `null`, map[string]any{"a": 1}, `{"a":1}`},
		{"a schema of something else is skipped", `{"type":"array"}`, map[string]any{"a": 1}, `{"a":1}`},
		{"garbage is skipped", `{"type"`, map[string]any{"a": 1}, `{"a":1}`},
		{"open object", `{"type":"object"}`, map[string]any{"a": []int{1}}, `{"a":[1]}`},
		{"what Go has and JSON has not", `{}`, map[string]any{"a": map[string]any{"f": struct{}{}}}, `a.f is a struct {}, which is not a value that JSON has; give a map, a slice, a string, a number, a bool or nil`},

		{"a digit string stays one", numbers, map[string]any{"s": "5"}, `{"s":"5"}`},
		{"a number is no string", numbers, map[string]any{"s": 5}, `s is an integer, want a string (put it in quotes)`},
		{"a boolean is no string", numbers, map[string]any{"s": true}, `s is a boolean, want a string (put it in quotes)`},
		{"whole float to integer", numbers, map[string]any{"i": 3.0}, `{"i":3}`},
		{"integer for a number", numbers, map[string]any{"n": 3}, `{"n":3}`},
		{"largest int64", numbers, map[string]any{"i": int64(math.MaxInt64)}, `{"i":9223372036854775807}`},
		{"larger than int64", numbers, map[string]any{"i": uint64(math.MaxUint64), "n": json.Number("123456789012345678901234567890")}, `{"i":18446744073709551615,"n":123456789012345678901234567890}`},
		{"whole float beyond int64 keeps its value", numbers, map[string]any{"i": math.Ldexp(1, 64)}, `{"i":18446744073709551616}`},
		{"fraction", numbers, map[string]any{"i": 3.5}, `i is a number with a fraction, want an integer`},
		{"string for a boolean", numbers, map[string]any{"b": "true"}, `b is a string, want a boolean (write it without quotes)`},
		{"number for a boolean", numbers, map[string]any{"b": 1}, `b is an integer, want a boolean`},
		{"null where it fits", numbers, map[string]any{"z": nil}, `{"z":null}`},
		{"whole float where null fits too", numbers, map[string]any{"z": 4.0}, `{"z":4}`},
		{"null where it does not", numbers, map[string]any{"i": nil}, `i is null, want an integer (leave it out instead)`},
		{"string of several types stays", numbers, map[string]any{"is": "5"}, `{"is":"5"}`},
		{"JSON text for a list", numbers, map[string]any{"l": "[1]"}, `l is a string, want an array (give the value itself, not its JSON text)`},
		{"object for a list", numbers, map[string]any{"l": map[string]any{}}, `l is an object, want an array`},
		{"list for an object", numbers, map[string]any{"o": []any{}}, `o is an array, want an object`},
		{"blob for a string", numbers, map[string]any{"s": toolsource.Blob{Data: []byte("x")}}, `s is a blob, want a string`},
		{"several at once, in the schema's order", numbers, map[string]any{"s": 1, "i": "x", "n": false}, `i is a string, want an integer; n is a boolean, want a number; s is an integer, want a string (put it in quotes)`},
		{"no more than five", `{"additionalProperties":{"type":"string"}}`, map[string]any{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1},
			`a is an integer, want a string (put it in quotes); b is an integer, want a string (put it in quotes); c is an integer, want a string (put it in quotes); d is an integer, want a string (put it in quotes); e is an integer, want a string (put it in quotes); and 2 more`},

		{"missing", `{"properties":{"path":{"type":"string"},"mode":{"enum":["r","w"]}},"required":["path","mode","x"]}`, nil, `path is missing, want a string; mode is missing, want one of "r", "w"; x is missing, want any value`},
		{"nested missing", `{"properties":{"o":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]}}}`, map[string]any{"o": map[string]any{}}, `o.k is missing, want an integer`},
		{"inside a list", `{"properties":{"l":{"items":{"properties":{"a b":{"type":"string"}}}}}}`, map[string]any{"l": []any{map[string]any{}, map[string]any{"a b": 1}}}, `l[1]."a b" is an integer, want a string (put it in quotes)`},
		{"tuple", `{"properties":{"l":{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"boolean"}}}}`, map[string]any{"l": []any{"x", 2.0, 1}}, `l[2] is an integer, want a boolean`},
		{"old tuple", `{"properties":{"l":{"items":[{"type":"string"},{"type":"integer"}]}}}`, map[string]any{"l": []any{"x", 2.0, 1}}, `{"l":["x",2,1]}`},
		{"items false leaves the list alone", `{"properties":{"l":{"items":false}}}`, map[string]any{"l": []any{1}}, `{"l":[1]}`},
		{"coercion deep inside copies only the way to it", `{"properties":{"o":{"properties":{"l":{"items":{"type":"integer"}}}}}}`, map[string]any{"o": map[string]any{"l": []any{1, 2.0}, "x": "y"}}, `{"o":{"l":[1,2],"x":"y"}}`},
		{"map of values", `{"additionalProperties":{"type":"integer"}}`, map[string]any{"a": 1.0, "b": "x"}, `b is a string, want an integer`},
		{"map of values, coerced", `{"additionalProperties":{"type":"integer"}}`, map[string]any{"a": 1.0}, `{"a":1}`},
		{"closed", `{"properties":{"path":{},"mode":{}},"additionalProperties":false}`, map[string]any{"pth": "x"}, `pth is not an argument here; known are path, mode`},
		{"closed and empty", `{"type":"object","additionalProperties":false}`, map[string]any{"x": 1}, `x is not an argument here; none are taken`},
		{"closed, but patterns may take it", `{"patternProperties":{"^x":{}},"additionalProperties":false}`, map[string]any{"x": 1}, `{"x":1}`},
		{"closed, but another part may know it", `{"allOf":[{"properties":{"x":{}}}],"additionalProperties":false}`, map[string]any{"x": 1}, `{"x":1}`},
		{"unknown where open", `{"properties":{"path":{}}}`, map[string]any{"pth": "x"}, `{"pth":"x"}`},
		{"property false takes anything", `{"properties":{"a":false}}`, map[string]any{"a": 1}, `{"a":1}`},

		{"enum", `{"properties":{"a":{"enum":["p","q",1,null]}}}`, map[string]any{"a": "r"}, `a is a string, want one of "p", "q", 1, null`},
		{"enum, number by value", `{"properties":{"a":{"enum":[1,2.5]}}}`, map[string]any{"a": 1.0}, `{"a":1}`},
		{"enum, big number", `{"properties":{"a":{"enum":[9007199254740993]}}}`, map[string]any{"a": int64(9007199254740992)}, `a is an integer, want 9007199254740993`},
		{"enum of objects", `{"properties":{"a":{"enum":[{"x":[1]}]}}}`, map[string]any{"a": map[string]any{"x": []int{1}}}, `{"a":{"x":[1]}}`},
		{"const", `{"properties":{"a":{"const":"x"}}}`, map[string]any{"a": "y"}, `a is a string, want "x"`},
		{"1 is not true", `{"properties":{"a":{"const":true}}}`, map[string]any{"a": 1}, `a is an integer, want true`},
		{"nullable as in OpenAPI", `{"properties":{"a":{"type":"string","nullable":true,"enum":["x"]}}}`, map[string]any{"a": nil}, `{"a":null}`},

		{"alternatives", `{"properties":{"u":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, map[string]any{"u": 4.0}, `{"u":4}`},
		{"no alternative", `{"properties":{"u":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, map[string]any{"u": "x"}, `u is a string, want an integer or null`},
		{"the one alternative of that kind explains", `{"properties":{"u":{"oneOf":[{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]},{"type":"null"}]}}}`, map[string]any{"u": map[string]any{"k": "x"}}, `u.k is a string, want an integer`},
		{"an alternative that takes anything", `{"properties":{"u":{"anyOf":[{"type":"integer"},true]}}}`, map[string]any{"u": "x"}, `{"u":"x"}`},
		{"alternatives that cannot be read", `{"properties":{"u":{"anyOf":[{"type":"integer"},{"$ref":"http://127.0.0.1:9/x"}]}}}`, map[string]any{"u": "x"}, `{"u":"x"}`},
		{"alternatives at the top", string(`{"anyOf":[{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}]}`), map[string]any{}, `the object of arguments fits none of its forms, want an object with id or an object with name`},
		{"alternatives that a value tells apart", `{"properties":{"u":{"anyOf":[{"$ref":"#/$defs/C"},{"$ref":"#/$defs/B"}]}},"$defs":{"C":{"type":"object","properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},"required":["kind","lives"]},"B":{"type":"object","properties":{"kind":{"enum":["bird","hen"]},"wings":{"type":"integer"}},"required":["kind"]}}}`,
			map[string]any{"u": map[string]any{"kind": "cat", "lives": "9"}}, `u.lives is a string, want an integer (write it without quotes)`},
		{"a value that tells of none", `{"properties":{"u":{"oneOf":[{"properties":{"kind":{"const":"cat"}}},{"properties":{"kind":{"enum":["bird","hen"]}}}]}}}`, map[string]any{"u": map[string]any{"kind": "dog"}}, `u.kind is a string, want one of "cat", "bird", "hen"`},
		{"and none", `{"properties":{"u":{"oneOf":[{"properties":{"kind":{"const":"cat"}},"required":["kind"]},{"properties":{"kind":{"const":"hen"}},"required":["kind"]}]}}}`, map[string]any{"u": map[string]any{"lives": 9}}, `u.kind is missing, want one of "cat", "hen"`},
		{"alternatives inside alternatives", `{"properties":{"u":{"anyOf":[{"anyOf":[{"type":"integer"},{"type":"boolean"}]},{"type":"null"}]}}}`, map[string]any{"u": "x"}, `u is a string, want an integer or a boolean or null`},
		{"allOf", `{"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["b"]}]}`, map[string]any{"a": "x"}, `a is a string, want an integer; b is missing, want any value`},
		{"ref", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"integer"}}}`, map[string]any{"a": 2.0}, `{"a":2}`},
		{"ref with a word beside it", `{"properties":{"a":{"$ref":"#/$defs/A","enum":[1]}},"$defs":{"A":{"type":"integer"}}}`, map[string]any{"a": 2.0}, `a is a number, want 1`},
		{"recursive", `{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"c":{"type":"array","items":{"$ref":"#/$defs/N"}}}}}}`,
			map[string]any{"n": map[string]any{"c": []any{map[string]any{"c": []any{map[string]any{"v": 1}}}}}}, `n.c[0].c[0].v is an integer, want a string (put it in quotes)`},
		{"cycle without values", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"allOf":[{"$ref":"#/$defs/A"}]}}}`, map[string]any{"a": 1}, `{"a":1}`},
		{"such a cycle does not use up what others are checked with", `{"properties":{"a":{"$ref":"#/$defs/A"},"z":{"allOf":[{"type":"integer"}]}},"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"allOf":[{"$ref":"#/$defs/A"}]}}}`, map[string]any{"a": 1, "z": "x"}, `z is a string, want an integer`},

		{"raw JSON passes as it is", `{"properties":{"a":{"type":"object"}}}`, map[string]any{"a": json.RawMessage(`{"z":1,"a":1e2}`)}, `{"a":{"z":1,"a":1e2}}`},
		{"raw JSON is checked", `{"properties":{"a":{"properties":{"z":{"type":"string"}}}}}`, map[string]any{"a": json.RawMessage(`{"z":1}`)}, `a.z is an integer, want a string (put it in quotes)`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if got := bound(t, NewBinder(json.RawMessage(tt.schema)), tt.args); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestBindLenient(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"is":{"type":["integer","string"]},"u":{"anyOf":[{"type":"integer"},{"type":"string"}]},"v":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`)
	b := NewBinder(schema).Lenient()
	for _, tt := range []struct {
		why  string
		args map[string]any
		want string
	}{
		{"written as JSON would", map[string]any{"i": "50", "n": "2.5", "b": "true"}, `{"b":true,"i":50,"n":2.5}`},
		{"big integer", map[string]any{"i": "123456789012345678901234567890"}, `{"i":123456789012345678901234567890}`},
		{"where a string fits it stays", map[string]any{"is": "5", "u": "5"}, `{"is":"5","u":"5"}`},
		{"inside alternatives", map[string]any{"v": "5"}, `{"v":5}`},
		{"white space", map[string]any{"i": "50 "}, `i is a string, want an integer`},
		{"leading zero", map[string]any{"i": "007"}, `i is a string, want an integer`},
		{"exponent", map[string]any{"n": "1e2"}, `n is a string, want a number`},
		{"fraction for an integer", map[string]any{"i": "2.5"}, `i is a string, want an integer`},
		{"another word", map[string]any{"b": "yes"}, `b is a string, want a boolean`},
		{"not a number", map[string]any{"n": "NaN"}, `n is a string, want a number`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if got := bound(t, b, tt.args); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestBindCases(t *testing.T) {
	for _, tt := range []struct{ file, tool, args, want string }{
		{"36-schema-defs-ref.json", "t", `{}`, `query_model is missing, want an object`},
		{"36-schema-defs-ref.json", "t", `{"query_model":{"inner":{}}}`, `query_model.inner.a is missing, want a string`},
		{"36-schema-defs-ref.json", "t", `{"query_model":{"limit":"x"},"kind":"fit","z":1}`, `query_model.limit is a string, want an integer; z is not an argument here; known are query_model, kind`},
		{"36-schema-defs-ref.json", "t", `{"query_model":{},"kind":"no"}`, `kind is a string, want one of "fit", "raw"`},
		{"38-schema-recursive.json", "t", `{"root":{"children":[{"children":[{"v":1}]}]}}`, `root.children[0].children[0].v is an integer, want a string (put it in quotes)`},
		{"38-schema-recursive.json", "t", `{"root":{},"cond":[1],"self":{"root":{}}}`, `{"cond":[1],"root":{},"self":{"root":{}}}`},
		{"38-schema-recursive.json", "t", `{"root":{},"self":{}}`, `self.root is missing, want an object`},
		{"39-schema-nullable.json", "t", `{"a":null,"b":null,"c":["x"],"d":"true","e":[1],"f":null,"g":null,"h":"x","i":null}`, `{"a":null,"b":null,"c":["x"],"d":"true","e":[1],"f":null,"g":null,"h":"x","i":null}`},
		{"39-schema-nullable.json", "t", `{"b":1.0}`, `a is missing, want a string or null`},
		{"39-schema-nullable.json", "t", `{"a":"","c":5}`, `c is an integer, want a string or an array`},
		{"39-schema-nullable.json", "t", `{"a":"","g":"r"}`, `g is a string, want one of "p", "q"`},
		{"39-schema-nullable.json", "t", `{"a":"","i":"2"}`, `i is a string, want one of 1, "two", null`},
		{"40-schema-array-items.json", "t", `{"texts":[1,"a"],"tuple":["a",1],"old_tuple":["a",1],"deep":[{"value":["x"]}]}`, `{"deep":[{"value":["x"]}],"old_tuple":["a",1],"texts":[1,"a"],"tuple":["a",1]}`},
		{"41-schema-no-properties.json", "bare", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "closed", `{"a":1}`, `a is not an argument here; none are taken`},
		{"41-schema-no-properties.json", "empty", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "null", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "missing", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "free", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "map", `{"a":"x"}`, `{"a":"x"}`},
		{"41-schema-no-properties.json", "map", `{"a":1}`, `a is an integer, want a string (put it in quotes)`},
		{"41-schema-no-properties.json", "array-root", `{"a":1}`, `{"a":1}`},
		{"41-schema-no-properties.json", "true", `{"a":1}`, `{"a":1}`},
		{"42-schema-top-anyof.json", "t", `{"name":"x"}`, `{"name":"x"}`},
		{"42-schema-top-anyof.json", "t", `{}`, `the object of arguments fits none of its forms, want an object with id or an object with name`},
		{"46-schema-remote-ref.json", "t", `{"a":1,"b":[],"c":null}`, `{"a":1,"b":[],"c":null}`},
	} {
		t.Run(tt.file+"/"+tt.tool+tt.args, func(t *testing.T) {
			if got := bound(t, NewBinder(readCase(t, tt.file).schema(t, tt.tool)), fromJSON(t, tt.args)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestBinderReportsWhatItSkips(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array"}`: "arguments are not checked",
		`false`:            "arguments are not checked",
		`{`:                "no valid JSON",
		`{"properties":{"a":{"$ref":"file:///etc/hostname"}}}`: "never fetched",
		`{"properties":{"a":7}}`:                               "any value is taken",
	} {
		if ps := NewBinder(json.RawMessage(schema)).Problems(); len(ps) != 1 || !strings.Contains(ps[0].Error(), want) {
			t.Errorf("%s: problems %v, want one with %q", schema, ps, want)
		}
	}
}

// TestBindKeepsUntouched: where nothing is coerced, what comes back is what was given, not a copy.
func TestBindKeepsUntouched(t *testing.T) {
	b := NewBinder(json.RawMessage(`{"properties":{"o":{"properties":{"l":{"items":{"type":"string"}}}},"s":{"type":"string"}}}`))
	args := map[string]any{"o": map[string]any{"l": []any{"a", "b"}}, "s": strings.Repeat("x", 1<<20)}
	out, err := b.Bind(args)
	if err != nil || !sameMap(out, args) {
		t.Errorf("got a copy, or %v", err)
	}
	flat := map[string]any{"s": "x"}
	if n := testing.AllocsPerRun(100, func() { _, _ = b.Bind(flat) }); n > 3 {
		t.Errorf("binding one string takes %v allocations", n)
	}
}

// scalars are schemas with a value that fits each.
var scalars = []struct {
	schema string
	gen    *rapid.Generator[any]
}{
	{`{"type":"string"}`, rapid.String().AsAny()},
	{`{"type":"integer"}`, rapid.Int64().AsAny()},
	{`{"type":"number"}`, rapid.Float64Range(-1e300, 1e300).AsAny()},
	{`{"type":"boolean"}`, rapid.Bool().AsAny()},
	{`{"type":["string","null"]}`, rapid.Just[any](nil)},
	{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, rapid.Int64().AsAny()},
	{`{"type":"array","items":{"type":"integer"}}`, rapid.Map(rapid.SliceOf(rapid.Int64()), func(s []int64) any {
		out := make([]any, len(s))
		for i, v := range s {
			out[i] = v
		}
		return out
	})},
}

// TestBindIsTheIdentityOnWhatFits, and a fault names the argument that does not fit.
func TestBindIsTheIdentityOnWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		props := make([]string, n)
		args := map[string]any{}
		for i := range n {
			s := scalars[rapid.IntRange(0, len(scalars)-1).Draw(t, "kind")]
			props[i] = fmt.Sprintf(`"p%d":%s`, i, s.schema)
			if rapid.Bool().Draw(t, "given") {
				args[fmt.Sprintf("p%d", i)] = s.gen.Draw(t, "value")
			}
		}
		b := NewBinder(json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"additionalProperties":false}`))
		out, err := b.Bind(args)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(args, out); diff != "" {
			t.Fatal(diff)
		}
		for name := range args {
			args[name] = toolsource.Blob{}
			if _, err := b.Bind(args); err == nil || !strings.Contains(err.Error(), name+" is a blob") {
				t.Fatalf("%s is wrong, and the error is %v", name, err)
			}
			break
		}
	})
}

func BenchmarkBind(b *testing.B) {
	binder := NewBinder(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"mode":{"enum":["r","w"]}},"required":["path"]}`))
	args := map[string]any{"path": "go.mod", "limit": int64(5), "mode": "r"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := binder.Bind(args); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is what discovering one common tool costs.
func BenchmarkRead(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the file to read"},"head":{"type":"number","description":"if given, only the first lines"},"mode":{"type":"string","enum":["r","w"],"default":"r"}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`)
	for name, f := range map[string]func(){
		"Args": func() { Args(schema) }, "NewBinder": func() { NewBinder(schema) }, "Returns": func() { Returns(schema) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

// TestDeepPlaces: a fault far inside tells where the way to it starts and ends, not all of it.
func TestDeepPlaces(t *testing.T) {
	var v any = "x"
	for range 400 {
		v = []any{v}
	}
	_, err := NewBinder(json.RawMessage(`{"properties":{"u":{"$ref":"#/$defs/L"}},"$defs":{"L":{"type":["array","integer"],"items":{"$ref":"#/$defs/L"}}}}`)).Bind(map[string]any{"u": v})
	if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "u[0][0]") || !strings.Contains(err.Error(), "…") || !strings.Contains(err.Error(), "[0] is a string, want an integer or an array") {
		t.Error(err)
	}
}
