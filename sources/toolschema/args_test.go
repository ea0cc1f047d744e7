package toolschema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

// summary writes arguments as "name:type", "!" for required, "=" and the default, "{" and the enum.
func summary(args []toolsource.ArgSpec) string {
	var out []string
	for _, a := range args {
		s := a.Name + ":" + a.Type
		if a.Required {
			s += "!"
		}
		if a.Default != nil {
			s += "=" + string(a.Default)
		}
		if a.Enum != nil {
			s += fmt.Sprintf("%s", a.Enum)
		}
		if a.Description != "" {
			s += "(" + a.Description + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestArgs(t *testing.T) {
	for _, tt := range []struct{ why, schema, want, problem string }{
		{"absent", ``, "", ""},
		{"null", `null`, "", ""},
		{"true takes anything", `true`, "", ""},
		{"empty", `{}`, "", ""},
		{"no properties", `{"type":"object"}`, "", ""},
		{"null properties", `{"type":"object","properties":null}`, "", "#/properties"},
		{"properties is a list", `{"properties":[1]}`, "", "#/properties"},
		{"false", `false`, "", "#:"},
		{"a string", `"string"`, "", "#:"},
		{"a number", `1`, "", "#:"},
		{"garbage", `{"type":`, "", "#:"},
		{"two documents", `{} {}`, "", "#:"},
		{"white space", " \n ", "", ""},
		{"array root", `{"type":"array","items":{"type":"string"}}`, "", "#:"},
		{"object or null root", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, "a:str", ""},
		{"order of the text", `{"properties":{"z":{},"a":{},"m":{}}}`, "z:Any a:Any m:Any", ""},
		{"more than the index takes", `{"properties":{"j":{},"i":{},"h":{},"g":{},"f":{},"e":{},"d":{},"c":{},"b":{},"a":{}},"required":["a"]}`,
			"j:Any i:Any h:Any g:Any f:Any e:Any d:Any c:Any b:Any a:Any!", ""},
		{"a repeated key keeps its first place and its last value", `{"properties":{"a":{"type":"string"},"b":{},"a":{"type":"integer"}}}`, "a:int b:Any", ""},
		{"escaped key", `{"properties":{"a\u0062\"":{"type":"string"}}}`, `ab":str`, ""},
		{"every type", `{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"o":{"type":"object"},"l":{"type":"array"},"z":{"type":"null"},"u":{"type":"strnig"},"x":{"type":7}}}`,
			"s:str i:int n:float b:bool o:dict l:list z:Any u:Any x:Any", ""},
		{"type lists", `{"properties":{"a":{"type":["string","null"]},"b":{"type":["null"]},"c":{"type":["boolean","string"]},"d":{"type":["integer","number"]},"e":{"type":[]},"f":{"type":["null","integer","null"]}}}`,
			"a:str b:Any c:Any d:float e:Any f:int", ""},
		{"anyOf and oneOf with null", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"b":{"oneOf":[{"type":"null"},{"type":"string","description":"D"}]},"c":{"oneOf":[{"type":"string"},{"type":"array"}]},"d":{"anyOf":[{"type":"string"},{}]}}}`,
			"a:int=null b:str(D) c:Any d:Any", ""},
		{"enum and const", `{"properties":{"a":{"type":"string","enum":["x","y"]},"b":{"const":1},"c":{"enum":[1,"two",null]},"d":{"oneOf":[{"type":"string","const":"p"},{"type":"string","const":"q"}]},"e":{"anyOf":[{"type":"string","const":"p"},{"type":"string"}]},"f":{"enum":"x"}}}`,
			`a:str["x" "y"] b:Any[1] c:Any[1 "two" null] d:str["p" "q"] e:str f:Any`, ""},
		{"defaults keep their text", `{"properties":{"a":{"default":9007199254740993},"b":{"default":{"y":1, "x":2}},"c":{"default":1.0}}}`,
			`a:Any=9007199254740993 b:Any={"y":1, "x":2} c:Any=1.0`, ""},
		{"description", `{"properties":{"a":{"description":"D"},"b":{"description":7}}}`, "a:Any(D) b:Any", ""},
		{"property that is true", `{"properties":{"a":true}}`, "a:Any", ""},
		{"property that is false", `{"properties":{"a":false}}`, "a:Any", "#/properties/a"},
		{"property that is null", `{"properties":{"a":null,"b":{"type":"string"}}}`, "a:Any b:str", "#/properties/a"},
		{"property that is a word", `{"properties":{"a~/b":"string"}}`, "a~/b:Any", "#/properties/a~0~1b"},
		{"required", `{"properties":{"a":{},"b":{}},"required":["b",1,null]}`, "a:Any b:Any!", ""},
		{"required is a word", `{"properties":{"a":{}},"required":"a"}`, "a:Any", ""},
		{"required but not described", `{"properties":{"a":{}},"required":["x"]}`, "a:Any x:Any!", "#/required"},
		{"ref, with its own words beside it", `{"properties":{"a":{"$ref":"#/$defs/E","description":"mine","default":"q"},"b":{"$ref":"#/definitions/F"}},"$defs":{"E":{"type":"string","enum":["p","q"],"description":"theirs","default":"p"}},"definitions":{"F":{"type":"integer","description":"F"}}}`,
			`a:str="q"["p" "q"](mine) b:int(F)`, ""},
		{"ref through allOf, as older generators write", `{"properties":{"a":{"allOf":[{"$ref":"#/$defs/E"}],"default":1}},"$defs":{"E":{"type":"integer"}}}`, "a:int=1", ""},
		{"ref to a ref, escaped", `{"properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#/$defs/p%20q"},"c":{"$ref":"#/$defs/L/anyOf/1"}},"$defs":{"x/y":{"$ref":"#/$defs/p q"},"p q":{"type":"boolean"},"L":{"anyOf":[{"type":"string"},{"type":"number"}]}}}`,
			"a:bool b:bool c:float", ""},
		{"root ref", `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, "a:str!", ""},
		{"dangling ref", `{"properties":{"a":{"$ref":"#/$defs/No"},"b":{"type":"string"}}}`, "a:Any b:str", "#/properties/a"},
		{"ref that is a number", `{"properties":{"a":{"$ref":1}}}`, "a:Any", "#/properties/a"},
		{"ref cycle", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, "a:Any", ""},
		{"allOf adds", `{"properties":{"a":{}},"allOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"$ref":"#/$defs/C"}],"$defs":{"C":{"properties":{"c":{},"a":{"type":"integer"}}}}}`, "a:Any b:str! c:Any", ""},
		{"alternatives of requirements only", `{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, "a:Any b:Any", ""},
		{"alternatives that are null by their value, or nothing", `{"properties":{"a":{"anyOf":[{"type":"string"},{"const":null}]},"b":{"anyOf":[{"enum":[null]},{"type":"integer","enum":[1]}]},"c":{"anyOf":[{"type":"string"},false]}}}`,
			"a:str b:int[1] c:str", ""},
		{"ref to an address, as TypeBox writes recursion", `{"$id":"T0","type":"object","properties":{"id":{"type":"string"},"next":{"$ref":"T0"},"last":{"$ref":"T0#"}}}`, "id:str next:dict last:dict", ""},
		{"ref to an address inside", `{"properties":{"a":{"$ref":"https://x.test/s/a.json"},"b":{"$ref":"/s/b.json#/$defs/c"}},"$id":"https://x.test/s/root.json","$defs":{"a":{"$id":"a.json","type":"string"},"b":{"$id":"b.json","$defs":{"c":{"type":"integer"}}}}}`,
			"a:str b:int", ""},
		{"ref to an anchor", `{"properties":{"a":{"$ref":"#x"},"b":{"$ref":"#y"}},"$defs":{"X":{"$anchor":"x","type":"string"},"Y":{"$id":"#y","type":"integer"}}}`, "a:str b:int", ""},
		{"ref in a part with an address of its own", `{"properties":{"a":{"$id":"https://x.test/a","$ref":"#/$defs/T","$defs":{"T":{"type":"string"}}}},"$defs":{"T":{"type":"integer"}}}`, "a:str", ""},
		{"ref to definitions that were left inside", `{"properties":{"a":{"$ref":"#/$defs/T","$defs":{"T":{"type":"string"}}}}}`, "a:str", ""},
		{"ref to components, as of OpenAPI", `{"properties":{"a":{"$ref":"#/components/schemas/Pet"}},"components":{"schemas":{"Pet":{"type":"object"}}}}`, "a:dict", ""},
		{"refs to the top", `{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/"},"c":{"$ref":""}},"type":"object"}`, "a:dict b:dict c:dict", ""},
		{"properties called like keywords", `{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"type":{"type":"integer"},"properties":{"type":"object"},"required":{"type":"boolean"},"definitions":{"type":"array"},"__proto__":{"type":"number"},"constructor":{}},"required":["$ref","__proto__"]}`,
			"$ref:str! $id:str type:int properties:dict required:bool definitions:list __proto__:float! constructor:Any", ""},
		{"line breaks in a problem", "{\"properties\":{\"a\\nb\\u202e\":1}}", "a\nb\u202e:Any", "#/properties/a b :"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			args, problems := Args(json.RawMessage(tt.schema))
			if got := summary(args); got != tt.want {
				t.Errorf("args %s\nwant %s", got, tt.want)
			}
			switch {
			case tt.problem == "" && len(problems) > 0:
				t.Errorf("unwanted problem: %v", problems[0])
			case tt.problem != "" && len(problems) != 1:
				t.Errorf("problems %v, want one", problems)
			case tt.problem != "" && !strings.HasPrefix(problems[0].Error(), "schema "+tt.problem):
				t.Errorf("problem %q, want it at %q", problems[0].Error(), tt.problem)
			}
			NewBinder(json.RawMessage(tt.schema))
			Returns(json.RawMessage(tt.schema))
		})
	}
}

type toolCase struct {
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
	Schema json.RawMessage `json:"schema"`
	Rows   [][2]string     `json:"rows"`
	Server string          `json:"server_id"`
}

func readCase(t *testing.T, name string) toolCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var c toolCase
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c toolCase) schema(t *testing.T, tool string) json.RawMessage {
	t.Helper()
	for _, x := range c.Tools {
		if x.Name == tool {
			return x.InputSchema
		}
	}
	t.Fatalf("the case has no tool %q", tool)
	return nil
}

// TestArgsCases reads the inputs of real bug reports.
func TestArgsCases(t *testing.T) {
	for _, tt := range []struct {
		file, tool, want string
		problems         int
	}{
		{"36-schema-defs-ref.json", "t", `query_model:dict!(what to list) kind:str["fit" "raw"]`, 0},
		{"38-schema-recursive.json", "t", "root:dict! cond:Any self:dict", 0},
		{"39-schema-nullable.json", "t", `a:str! b:int=null c:Any d:Any e:Any f:str g:str["p" "q"] h:Any["x"] i:Any[1 "two" null]`, 0},
		{"40-schema-array-items.json", "t", "texts:list!(no items) any:list empty:list tuple:list old_tuple:list deep:list", 0},
		{"41-schema-no-properties.json", "bare", "", 0},
		{"41-schema-no-properties.json", "closed", "", 0},
		{"41-schema-no-properties.json", "empty", "", 0},
		{"41-schema-no-properties.json", "null", "", 0},
		{"41-schema-no-properties.json", "missing", "", 0},
		{"41-schema-no-properties.json", "free", "", 0},
		{"41-schema-no-properties.json", "map", "", 0},
		{"41-schema-no-properties.json", "array-root", "", 1},
		{"41-schema-no-properties.json", "true", "", 0},
		{"42-schema-top-anyof.json", "t", "id:str name:str", 1},
		{"46-schema-remote-ref.json", "t", "a:Any b:Any c:Any", 3},
	} {
		t.Run(tt.file+"/"+tt.tool, func(t *testing.T) {
			c := readCase(t, tt.file)
			args, problems := Args(c.schema(t, tt.tool))
			if got := summary(args); got != tt.want || len(problems) != tt.problems {
				t.Errorf("args %s\nwant %s\nproblems %v, want %d", got, tt.want, problems, tt.problems)
			}
		})
	}
}

// hostile are schemas made to overflow a stack, or to grow as they are read.
var hostile = map[string]func() string{
	"a long address with many anchors": func() string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"$id":"https://x.test/%s","properties":{"a":{"$ref":"#no"}},"$defs":{"z":{}`, strings.Repeat("x", 400_000))
		for i := range 10_000 {
			fmt.Fprintf(&b, `,"d%d":{"$anchor":"n%d","$id":"y%d"}`, i, i, i)
		}
		return b.String() + "}}"
	},
	"many references to nothing, deep inside": func() string {
		refs := strings.Repeat(`{"$ref":"#/no/such/%41"},{"$ref":"x#no"},{"$ref":"#no"},`, 5000)
		return `{"properties":{"a":` + strings.Repeat(`{"allOf":[`, 45) + refs + `{}` + strings.Repeat(`]}`, 45) + `}}`
	},
	"nested objects": func() string {
		return strings.Repeat(`{"properties":{"a":`, 4000) + "{}" + strings.Repeat("}}", 4000)
	},
	"nested arrays": func() string { return strings.Repeat("[", 9000) + strings.Repeat("]", 9000) },
	"nested past what encoding/json reads": func() string {
		return `{"properties":{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}}"
	},
	"chain of refs": func() string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range 9000 {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		return b.String() + `"d9000":{"type":"string"}}}`
	},
	"chain of properties and refs": func() string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range 9000 {
			fmt.Fprintf(&b, `"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"}}},`, i, i+1)
		}
		return b.String() + `"d9000":{"type":"string"}}}`
	},
	"aliases doubled through allOf": func() string { return doubled("allOf") },
	"aliases doubled through anyOf": func() string { return doubled("anyOf") },
	"aliases doubled through oneOf": func() string { return doubled("oneOf") },
	"aliases doubled at the root": func() string {
		return strings.Replace(doubled("allOf"), `{"properties"`, `{"$ref":"#/$defs/d0","properties"`, 1)
	},
	"aliases doubled through items and anyOf": func() string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/d%d"}},{"type":"array","items":{"$ref":"#/$defs/d%d"}}]},`, i, i+1, i+1)
		}
		return b.String() + `"d60":{"type":"string"}}}`
	},
	"wide aliases": func() string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range 12 {
			fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"}%s]},`, i, i+1, strings.Repeat(fmt.Sprintf(`,{"$ref":"#/$defs/d%d"}`, i+1), 30))
		}
		return b.String() + `"d12":{"type":"string"}}}`
	},
	"many properties": func() string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{}`)
		for i := range 20000 {
			fmt.Fprintf(&b, `,"p%d":{}`, i)
		}
		return b.String() + "}}"
	},
	"many problems": func() string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":0`)
		for i := range 5000 {
			fmt.Fprintf(&b, `,"p%d":{"$ref":"http://127.0.0.1:9/x"}`, i)
		}
		return b.String() + "}}"
	},
	"long enum":    func() string { return `{"properties":{"a":{"enum":[0` + strings.Repeat(",0", 100_000) + "]}}}" },
	"long pointer": func() string { return `{"properties":{"a":{"$ref":"#` + strings.Repeat("/a", 100_000) + `"}}}` },
	"too long":     func() string { return `{"properties":{"a":{"description":"` + strings.Repeat("x", MaxBytes) + `"}}}` },
}

func doubled(word string) string {
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"title":"t","$ref":"#/$defs/d%d"}]},`, i, word, i+1, i+1)
	}
	return b.String() + `"d60":{"not":{}}}}`
}

func TestHostileSchemas(t *testing.T) {
	deep := any("x")
	for range 400 {
		deep = map[string]any{"x": []any{deep, deep}}
	}
	shallow := []any{[]any{[]any{[]any{[]any{[]any{[]any{1.5}}}}}}}
	for range 20 {
		shallow = []any{shallow, true}
	}
	for name, make := range hostile {
		t.Run(name, func(t *testing.T) {
			schema := json.RawMessage(make())
			start := time.Now()
			args, problems := Args(schema)
			if len(args) > MaxArgs || len(problems) > MaxProblems {
				t.Errorf("%d arguments and %d problems", len(args), len(problems))
			}
			if s := Returns(schema); len(s) > returnBytes {
				t.Errorf("Returns is %d bytes long", len(s))
			}
			b := NewBinder(schema)
			if len(b.Problems()) > MaxProblems {
				t.Errorf("%d problems", len(b.Problems()))
			}
			for _, v := range []any{"x", deepest(deep, 100), shallow} {
				_, _ = b.Bind(map[string]any{"a": v})
				_, _ = b.Lenient().Bind(map[string]any{"a": v})
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// deepest is the first n levels of a chain without its doubling.
func deepest(v any, n int) any {
	if n == 0 {
		return 1.5
	}
	return map[string]any{"x": deepest(v, n-1)}
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		why, schema, problem string
		args                 int
	}{
		{"longer than MaxBytes", hostile["too long"](), "bytes long", 0},
		{"nested past MaxDepth", `{"properties":{"b":{},"a":` + strings.Repeat(`{"x":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth) + `}}`, "nested more than", 2},
		{"more than MaxArgs", hostile["many properties"](), "the first 1000 are listed", MaxArgs},
		{"more than MaxValues", `{"x":[0` + strings.Repeat(",0", MaxValues) + `],"properties":{"a":{}}}`, "holds more than", 0},
		{"more than MaxProblems", hostile["many problems"](), "more problems", MaxArgs},
	} {
		t.Run(tt.why, func(t *testing.T) {
			args, problems := Args(json.RawMessage(tt.schema))
			if len(args) != tt.args {
				t.Errorf("%d arguments, want %d", len(args), tt.args)
			}
			if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Error(), tt.problem) }) {
				t.Errorf("problems %v, want one with %q", problems, tt.problem)
			}
		})
	}
	exact := `{"properties":{"a":` + strings.Repeat(`{"properties":{"x":`, MaxDepth/2-2) + `{"type":"string"}` + strings.Repeat("}}", MaxDepth/2-2) + `}}`
	if _, problems := Args(json.RawMessage(exact)); len(problems) > 0 {
		t.Errorf("a schema within the bounds has a problem: %v", problems)
	}
}

func TestReturns(t *testing.T) {
	for _, tt := range []struct{ why, schema, want string }{
		{"none", ``, "Any"},
		{"null", `null`, "Any"},
		{"true", `true`, "Any"},
		{"not JSON", `{`, "Any"},
		{"scalar", `{"type":"string"}`, "str"},
		{"scalar", `{"type":"integer"}`, "int"},
		{"scalar", `{"type":"number"}`, "float"},
		{"scalar", `{"type":"boolean"}`, "bool"},
		{"null alone", `{"type":"null"}`, "Any"},
		{"unknown", `{"type":"thing"}`, "Any"},
		{"array of object", `{"type":"array","items":{"type":"object"}}`, "list[dict]"},
		{"array without items", `{"type":"array"}`, "list[Any]"},
		{"array with items true", `{"type":"array","items":true}`, "list[Any]"},
		{"envelope", `{"type":"object","properties":{"result":{"type":"string"}}}`, "str"},
		{"envelope of an envelope", `{"properties":{"result":{"properties":{"result":{"type":"integer"}}}}}`, "int"},
		{"no envelope: two keys", `{"type":"object","properties":{"result":{},"n":{}}}`, "dict{result, n}"},
		{"alternatives", `{"anyOf":[{"type":"array","items":{"type":"object"}},{"type":"object"}]}`, "list[dict] | dict"},
		{"alternatives, oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, "str | int"},
		{"alternatives, twice the same", `{"anyOf":[{"type":"string"},{"type":"string"},{}]}`, "str"},
		{"null disappears", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, "str"},
		{"only null", `{"anyOf":[{"type":"null"}]}`, "Any"},
		{"type list", `{"type":["string","null"]}`, "str"},
		{"nullable list", `{"type":["array","null"],"items":{"type":"integer"}}`, "list[int]"},
		{"type list of two", `{"type":["integer","string"]}`, "str | int"},
		{"object", `{"type":"object","properties":{"events":{},"total_count":{}}}`, "dict{events, total_count}"},
		{"six keys", `{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{}}}`, "dict{a, b, c, d, e, f}"},
		{"seven keys", `{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{}}}`, "dict{a, b, c, d, e, f, …}"},
		{"open object", `{"type":"object","additionalProperties":true}`, "dict"},
		{"null properties", `{"type":"object","properties":null}`, "dict"},
		{"ref", `{"type":"array","items":{"$ref":"#/$defs/R"},"$defs":{"R":{"type":"object","properties":{"id":{}}}}}`, "list[dict{id}]"},
		{"recursive", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"array","items":{"$ref":"#/$defs/N"}}}}`, "list[list[list[list[list[list[list[list[list[Any]]]]]]]]]"},
		{"remote ref", `{"$ref":"http://127.0.0.1:9/x"}`, "Any"},
		{"hostile key", `{"type":"object","properties":{"a\nb":{}, "c":{}}}`, "dict{a b, c}"},
		{"long keys", `{"type":"object","properties":{"` + strings.Repeat("k", 300) + `":{}}}`, "dict"},
		{"long list", `{"type":"array","items":{"type":"object","properties":{"` + strings.Repeat("k", 190) + `":{}}}}`, "list"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if got := Returns(json.RawMessage(tt.schema)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFromArgs(t *testing.T) {
	args := []toolsource.ArgSpec{
		{Name: "path", Type: "str", Required: true, Description: `a "path" <b>`},
		{Name: "n", Type: "int", Default: json.RawMessage("9007199254740993")},
		{Name: "opt", Type: "float", Default: json.RawMessage("null")},
		{Name: "mode", Type: "str", Enum: []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}},
		{Name: "any", Type: "Any"},
		{Name: "d", Type: "dict"},
		{Name: "l", Type: "list"},
		{Name: "b", Type: "bool"},
	}
	schema := FromArgs(args)
	got, problems := Args(schema)
	if diff := cmp.Diff(args, got); diff != "" || len(problems) > 0 {
		t.Errorf("reading it back differs: %s\n%v\n%s", diff, problems, schema)
	}
	if s := string(FromArgs(nil)); s != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("no arguments: %s", s)
	}
	b := NewBinder(schema)
	if _, err := b.Bind(map[string]any{"path": "p", "opt": nil}); err != nil {
		t.Errorf("an argument whose default is null refuses null: %v", err)
	}
	if _, err := b.Bind(map[string]any{"path": "p", "pth": 1}); err == nil {
		t.Error("an unknown argument is taken")
	}
	bad := FromArgs([]toolsource.ArgSpec{{Name: "a", Type: "str", Default: json.RawMessage("{"), Enum: []json.RawMessage{json.RawMessage("]")}}})
	if !json.Valid(bad) {
		t.Errorf("bad values spoil the schema: %s", bad)
	}
}
