package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ why, schema, want, rules string }{
		{"what is normal stays as it came, white space included", ` {"type": "object", "properties": {"a": {"type":"integer","minimum":1.0,"maximum":9007199254740993}}} `,
			` {"type": "object", "properties": {"a": {"type":"integer","minimum":1.0,"maximum":9007199254740993}}} `, ""},
		{"absent", ``, `{"type":"object","properties":{}}`, "empty"},
		{"null", `null`, `{"type":"object","properties":{}}`, "empty"},
		{"true", `true`, `{"type":"object","properties":{}}`, "empty"},
		{"a list", `[1]`, `{"type":"object","properties":{}}`, "empty"},
		{"no JSON", `{"a"`, `{"type":"object","properties":{}}`, "empty"},
		{"empty", `{}`, `{"type":"object","properties":{}}`, "object"},
		{"an object alone", `{"type":"object"}`, `{"type":"object","properties":{}}`, "object"},
		{"open objects stay open", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`, "object"},
		{"properties without a type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, "object"},
		{"properties that are none", `{"type":"object","properties":[1]}`, `{"type":"object","properties":{}}`, "keyword object"},
		{"an array at the root stays one", `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"string"}}`, ""},
		{"alternatives at the root stay", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, ""},
		{"a repeated key", `{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"integer"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, "repeated"},

		{"an optional value that may be null", `{"type":"object","properties":{"command":{"type":"string"},"workdir":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"D"}},"required":["command"]}`,
			`{"type":"object","properties":{"command":{"type":"string"},"workdir":{"type":"string","nullable":true,"default":null,"description":"D"}},"required":["command"]}`, "null-union"},
		{"a type list with null", `{"type":"object","properties":{"a":{"type":["string","null"],"minLength":1}}}`, `{"type":"object","properties":{"a":{"type":"string","nullable":true,"minLength":1}}}`, "null-union"},
		{"several types stay", `{"type":"object","properties":{"a":{"type":["string","integer","null"]}}}`, `{"type":"object","properties":{"a":{"type":["string","integer","null"]}}}`, ""},
		{"a union of two and null stays", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}}}`, ""},
		{"what is said beside the union wins", `{"type":"object","properties":{"a":{"title":"mine","oneOf":[{"const":null},{"type":"integer","title":"theirs","default":1}]}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","default":1,"nullable":true,"title":"mine"}}}`, "null-union"},
		{"a restriction beside the union keeps it", `{"type":"object","properties":{"a":{"minimum":1,"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"minimum":1,"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, ""},
		{"only null stays", `{"type":"object","properties":{"a":{"type":["null"]},"b":{"anyOf":[{"type":"null"},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"type":"null"},"b":{"anyOf":[{"type":"null"},{"type":"null"}]}}}`, "type"},

		{"constants", `{"type":"object","properties":{"a":{"oneOf":[{"const":"x"},{"const":"y"},{"const":"x"}],"description":"D"}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"description":"D"}}}`, "const-union"},
		{"constants and null", `{"type":"object","properties":{"a":{"anyOf":[{"const":1,"title":"one"},{"const":2},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2],"nullable":true}}}`, "const-union"},
		{"1 and true are not of one type", `{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"const":true}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"const":true}]}}}`, ""},
		{"1 and 1.5 are not of one type", `{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"const":1.5}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"const":1.5}]}}}`, ""},
		{"a constant beside more", `{"type":"object","properties":{"a":{"anyOf":[{"const":"x"},{"type":"string"}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"const":"x"},{"type":"string"}]}}}`, ""},

		{"a property called definitions", `{"type":"object","properties":{"definitions":{"type":"string"},"$defs":{"type":"string"},"required":{"type":"string"},"properties":{"type":"object","properties":{}}},"required":["definitions"]}`,
			`{"type":"object","properties":{"definitions":{"type":"string"},"$defs":{"type":"string"},"required":{"type":"string"},"properties":{"type":"object","properties":{}}},"required":["definitions"]}`, ""},
		{"definitions called like keywords", `{"type":"object","properties":{"a":{"$ref":"#/$defs/required"},"b":{"$ref":"#/$defs/properties"}},"$defs":{"required":{"type":"string"},"properties":{"enum":[1]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1]}}}`, "ref"},
		{"the old word for definitions", `{"type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"$ref":"#/definitions/B"},"B":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "definitions ref"},
		{"both words, with a name in common", `{"type":"object","properties":{"a":{"$ref":"#/definitions/A"},"b":{"$ref":"#/$defs/A"}},"definitions":{"A":{"type":"string"}},"$defs":{"A":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, "ref"},
		{"what stands beside a reference wins", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine","default":1,"x":2}},"$defs":{"A":{"type":"integer","description":"theirs","default":0}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","description":"mine","default":1,"x":2}}}`, "ref"},
		{"both of two restrictions hold", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","type":"string"}},"$defs":{"A":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","allOf":[{"type":["string","integer"]}]}}}`, "ref"},
		{"a reference for the root", `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "ref"},
		{"an object in itself", `{"type":"object","properties":{"self":{"$ref":"#","description":"D"}}}`, `{"type":"object","properties":{"self":{"type":"object","properties":{},"description":"D"}}}`, "cycle object"},
		{"a cycle of references alone", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `{"type":"object","properties":{"a":{}}}`, "cycle ref"},
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{}}}`, "cycle"},
		{"outside, and nowhere", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/x","description":"D"},"b":{"$ref":"file:///etc/hostname"},"c":{"$ref":"other.json#/x"},"d":{"$ref":"#/$defs/No"},"e":{"$ref":7}}}`,
			`{"type":"object","properties":{"a":{"description":"D"},"b":{},"c":{},"d":{},"e":{}}}`, "dangling-ref ref remote-ref"},
		{"identifiers in a part, which copies would share", `{"$id":"http://x.test/root","type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$id":"http://x.test/a","$anchor":"a","type":"string"}}}`,
			`{"$id":"http://x.test/root","type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "ref"},
		{"references by other words", `{"type":"object","properties":{"a":{"$dynamicRef":"#x","type":"string"},"b":{"$ref":"#x"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`, "dangling-ref ref"},
		{"a restriction beside what it depends on", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","additionalProperties":false}},"$defs":{"A":{"type":"object","properties":{"b":{}}}}}`,
			`{"type":"object","properties":{"a":{"additionalProperties":false,"allOf":[{"type":"object","properties":{"b":{}}}]}}}`, "ref"},
		{"a reference as a value is none", `{"type":"object","properties":{"a":{"default":{"$ref":"#/x"},"enum":[{"$ref":"#/y"}]}}}`, `{"type":"object","properties":{"a":{"default":{"$ref":"#/x"},"enum":[{"$ref":"#/y"}]}}}`, ""},

		{"what a reference leads to is put right wherever it stands", `{"type":"object","properties":{"a":{"$ref":"#/components/schemas/Pet"}},"components":{"schemas":{"Pet":{"type":"object","properties":{"age":{"type":"integer","minimum":0,"exclusiveMinimum":true},"w":{"type":"strnig"},"old":"string"},"required":["age","age",3]}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"age":{"type":"integer","exclusiveMinimum":0},"w":{},"old":{"type":"string"}},"required":["age"]}}}`, "keyword ref schema-word type"},
		{"a reference to what is no schema", `{"type":"object","properties":{"type":{"type":"string"},"a":{"$ref":"#/properties"}}}`, `{"type":"object","properties":{"type":{"type":"string"},"a":{"a":{"$ref":"#/properties"}}}}`, "ref type"},
		{"references by address and by anchor", `{"$id":"T0","type":"object","properties":{"a":{"$ref":"T0"},"b":{"$ref":"#x"}},"$defs":{"X":{"$anchor":"x","type":"string"}}}`,
			`{"$id":"T0","type":"object","properties":{"a":{"type":"object","properties":{}},"b":{"type":"string"}}}`, "cycle object ref"},
		{"an address that names a place", `{"$id":"#/root","type":"object","properties":{}}`, `{"type":"object","properties":{}}`, "ref"},
		{"an object in itself that may be null", `{"type":"object","properties":{"a":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","nullable":true,"properties":{"next":{"$ref":"#/$defs/N"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","nullable":true,"properties":{"next":{"type":"object","properties":{},"nullable":true}}}}}`, "cycle object ref"},
		{"not and if of what is unknown", `{"type":"object","properties":{"a":{"not":{"$ref":"#/gone"}},"b":{"not":{"type":"zzz"}},"c":{"if":{"$ref":"http://127.0.0.1:9/x"},"then":{"type":"string"},"else":{"type":"number"}},"d":{"not":{}}}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{"not":{}}}}`, "dangling-ref negation remote-ref type"},
		{"alternatives of which one is cut", `{"type":"object","properties":{"a":{"$ref":"#/$defs/E"}},"$defs":{"E":{"oneOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/E"}}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{}}]}}}`, "cycle negation ref"},
		{"names that a cut part would have made known", `{"type":"object","properties":{},"allOf":[{"$ref":"http://127.0.0.1:9/x"}],"unevaluatedProperties":false}`, `{"type":"object","properties":{},"allOf":[{}]}`, "negation remote-ref"},
		{"numbers past any range", `{"type":"object","properties":{"a":{"type":"number","maximum":1e400,"minimum":-9007199254740993},"b":{"type":"string","maxLength":1e30,"minLength":2.0}}}`,
			`{"type":"object","properties":{"a":{"type":"number","minimum":-9007199254740993},"b":{"type":"string","minLength":2.0}}}`, "keyword"},
		{"values beside properties say of what type", `{"type":"object","properties":{"a":{"enum":["x",null],"properties":{"b":{}}}}}`, `{"type":"object","properties":{"a":{"enum":["x",null],"properties":{"b":{}}}}}`, ""},

		{"words in a schema's place", `{"type":"object","properties":{"a":"string","b":"strnig","c":true,"d":false,"e":null,"f":7},"additionalProperties":true}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{},"d":{},"e":{},"f":{}},"additionalProperties":true}`, "schema-word"},
		{"items of any kind", `{"type":"object","properties":{"a":{"type":"array","items":true},"b":{"type":"array","items":"string"},"c":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"array"}}}`, "schema-word"},
		{"tuples of before", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},"integer"],"additionalItems":false}}}`,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}}}`, "schema-word tuple"},
		{"keywords of the wrong kind", `{"type":"object","properties":{"a":{"type":"string","minLength":"1","enum":"x","description":["D"],"required":true,"pattern":null,"anyOf":[]}},"required":["a","a",1]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "keyword"},
		{"bounds as they were before draft 6", `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":0,"maximum":9}}}`, "keyword"},
		{"types that are none", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":[]},"c":{"type":["string","date"]},"d":{"type":["string","string"]},"e":{"type":7}}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{"type":"string"},"e":{}}}`, "type"},
		{"a required name without a property", `{"type":"object","properties":{"a":{}},"required":["a","b"]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`, "object"},
		{"fragments stay", `{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got, cs := Normalize(json.RawMessage(tt.schema))
			if string(got) != tt.want {
				t.Errorf("is    %s\nwant  %s", got, tt.want)
			}
			if r := ruleWords(cs); r != tt.rules {
				t.Errorf("rules %q, want %q: %v", r, tt.rules, cs)
			}
			checkNormal(t, json.RawMessage(tt.schema))
		})
	}
}

// ruleWords are the rules of changes, sorted, each once.
func ruleWords(cs []Change) string {
	var words []string
	for _, c := range cs {
		words = append(words, c.Rule)
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// checkNormal: valid JSON, normal once and for all, and a change told for every difference.
func checkNormal(t failer, schema json.RawMessage) json.RawMessage {
	t.Helper()
	before := bytes.Clone(schema)
	once, cs := Normalize(schema)
	if !bytes.Equal(before, schema) {
		t.Errorf("the schema was changed: %s", before)
	}
	if !json.Valid(once) || len(once) > MaxBytes {
		t.Errorf("no valid JSON of %d bytes: %.200s", len(once), once)
		return once
	}
	if len(cs) == 0 && !bytes.Equal(once, schema) {
		t.Errorf("changed without a word: %.200s to %.200s", schema, once)
	}
	twice, again := Normalize(once)
	if !bytes.Equal(once, twice) || len(again) > 0 {
		t.Errorf("schema %.300s\nonce %.300s\ntwice %.300s\n%.5v", schema, once, twice, again)
	}
	for _, c := range cs {
		if strings.ContainsAny(c.String(), "\n\r") || c.Rule == "" || c.What == "" {
			t.Errorf("change %q", c)
		}
	}
	return once
}

// TestNormalizeHostile: schemas made to grow cost no more than large ones.
func TestNormalizeHostile(t *testing.T) {
	bombs := map[string]func() string{
		"aliases doubled in properties, 100 KB": func() string { return bomb(1200) },
		"a long text in many places": func() string {
			return `{"type":"object","properties":{` + strings.Repeat(`"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"},`, 1) + manyRefs(3000) + `},"$defs":{"A":{"description":"` + strings.Repeat("x", 100_000) + `"}}}`
		},
		"an object in itself in many ways": func() string {
			var b strings.Builder
			b.WriteString(`{"type":"object","properties":{"a":{}`)
			for i := range 1500 {
				fmt.Fprintf(&b, `,"p%d":{"allOf":[{"$ref":"#"},{"$ref":"#/properties/p%d"}]}`, i, (i*7)%1500)
			}
			return b.String() + "}}"
		},
		"definitions that hold each other": func() string {
			var b strings.Builder
			b.WriteString(`{"$ref":"#/$defs/d0","$defs":{"z":{}`)
			for i := range 40 {
				fmt.Fprintf(&b, `,"d%d":{"properties":{"z":{}`, i)
				for j := range 40 {
					fmt.Fprintf(&b, `,"q%d":{"$ref":"#/$defs/d%d"}`, j, j)
				}
				b.WriteString("}}")
			}
			return b.String() + "}}"
		},
		"a deep default": func() string {
			return `{"type":"object","properties":{"a":{"default":` + strings.Repeat("[", 96) + strings.Repeat("]", 96) + `},"b":{"type":"string"}}}`
		},
	}
	for name, f := range hostile {
		bombs[name] = f
	}
	for name, f := range bombs {
		t.Run(name, func(t *testing.T) {
			schema := json.RawMessage(f())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			out, _ := Normalize(schema)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			cost := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d bytes became %d in %v, and %d MB were allocated", len(schema), len(out), took, cost)
			if cost > 100 {
				t.Errorf("%d MB were allocated", cost)
			}
			if took > 2*time.Second && !raceEnabled {
				t.Errorf("took %v", took)
			}
			checkNormal(t, schema)
		})
	}
}

// bomb is a schema whose references double n times.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

func manyRefs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{"$ref":"#/$defs/A"},`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestNormalizeBounds: what is past a bound is cut and told, and what is within is written out.
func TestNormalizeBounds(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"string"}` + strings.Repeat("}}", n)
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"object","properties":{"a":{"type":"string"}}}}}`, n)
		return b.String()
	}
	for _, tt := range []struct {
		why, schema, rule string
		cut               bool
	}{
		{"31 objects in each other", nested(31), "depth", false},
		{"33 objects in each other", nested(33), "depth", true},
		{"a chain of references", chain(maxHops - 1), "cycle", false},
		{"a longer chain", chain(maxHops + 2), "cycle", true},
		{"references within the bytes", `{"properties":{` + manyRefs(20) + `},"$defs":{"A":{"description":"` + strings.Repeat("x", 10_000) + `"}}}`, "size", false},
		{"references past the bytes", `{"properties":{` + manyRefs(30) + `},"$defs":{"A":{"description":"` + strings.Repeat("x", 10_000) + `"}}}`, "size", true},
		{"more values than are read", `{"properties":{"a":{"enum":[` + strings.Repeat("1,", MaxValues) + `1]}}}`, "size", true},
		{"longer than is read", `{"properties":{"a":{"description":"` + strings.Repeat("x", MaxBytes) + `"}}}`, "empty", true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, cs := Normalize(json.RawMessage(tt.schema))
			cut := slices.ContainsFunc(cs, func(c Change) bool { return c.Rule == tt.rule }) ||
				len(cs) == MaxChanges && tt.cut && slices.ContainsFunc(cs, func(c Change) bool { return c.Rule == "more" })
			if cut != tt.cut {
				t.Errorf("cut %v, want %v: %.3v", cut, tt.cut, cs)
			}
			checkNormal(t, json.RawMessage(tt.schema))
		})
	}
}

// TestNormalizeCutsReferencesFirst: a long way through references ends in an object, before schemas are
// emptied for their depth, and costs no more than what is written.
func TestNormalizeCutsReferencesFirst(t *testing.T) {
	out, cs := Normalize(json.RawMessage(hostile["chain of properties and refs"]()))
	if !slices.ContainsFunc(cs, func(c Change) bool { return c.Rule == "depth" && strings.Contains(c.What, "is cut to any object") }) {
		t.Errorf("%v", cs)
	}
	if slices.ContainsFunc(cs, func(c Change) bool { return strings.Contains(c.What, "stands more than 64 deep") }) || len(out) > 4000 {
		t.Errorf("%d bytes, %v", len(out), cs)
	}
}

// propertyNames are the names of all maps of properties, wherever they stand.
func propertyNames(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if props, ok := e.(map[string]any); ok && k == "properties" {
				for name := range props {
					into[name] = true
				}
			}
			propertyNames(e, into)
		}
	case []any:
		for _, e := range v {
			propertyNames(e, into)
		}
	}
}

// TestNormalizeProperties: normal once and for all, no property called anything new, all the root's
// arguments there, and what the schema took is still taken.
func TestNormalizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := json.RawMessage(drawRoot(t))
		out := checkNormal(t, schema)
		var was, is any
		_ = json.Unmarshal(schema, &was)
		_ = json.Unmarshal(out, &is)
		before, after := map[string]bool{}, map[string]bool{}
		propertyNames(was, before)
		propertyNames(is, after)
		for _, r := range requiredNames(was, nil) {
			before[r] = true
		}
		for name := range after {
			if !before[name] {
				t.Errorf("property %q is new: %s to %s", name, schema, out)
			}
		}
		args, _ := Args(schema)
		normal, _ := Args(out)
		for _, name := range namesOf(args) {
			if !slices.Contains(namesOf(normal), name) {
				t.Errorf("argument %q of %s is none of %s", name, schema, out)
			}
		}
		for range 4 {
			args := drawObject(t, 3)
			if _, err := NewBinder(schema).Bind(args); err == nil {
				if _, err := NewBinder(out).Bind(args); err != nil {
					t.Errorf("%s takes %v, and %s says %v", schema, args, out, err)
				}
			}
		}
	})
}

func namesOf(args []toolsource.ArgSpec) []string {
	names := []string{}
	for _, a := range args {
		names = append(names, a.Name)
	}
	return names
}

// requiredNames are the words of all lists called required.
func requiredNames(v any, into []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if list, ok := e.([]any); ok && k == "required" {
				for _, name := range list {
					if s, ok := name.(string); ok {
						into = append(into, s)
					}
				}
			}
			into = requiredNames(e, into)
		}
	case []any:
		for _, e := range v {
			into = requiredNames(e, into)
		}
	}
	return into
}

// drawNormal draws a schema with everything that a step looks for. Objects have their type: without it a
// schema with properties takes values that are none, and the normal form does not.
func drawNormal(t *rapid.T, depth int) string {
	kinds := []string{"type", "type", "types", "enum", "const", "ref", "ref", "word", "bad", "null"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "array", "tuple", "union", "union", "union", "allOf", "beside", "consts")
	}
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	ref := func() string {
		return pick("ref", "#", "#/$defs/A", "#/$defs/B", "#/definitions/C", "#/$defs/required", "#/properties/a", "#/properties/b/items", "#/$defs/No", "http://127.0.0.1:9/x")
	}
	several := func(of func() string) string {
		list := make([]string, rapid.IntRange(1, 3).Draw(t, "alternatives"))
		for i := range list {
			list[i] = of()
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	more := func() string { return drawNormal(t, depth-1) }
	switch kind := pick("kind", kinds...); kind {
	case "type":
		return `{"type":` + pick("type", `"integer"`, `"string"`, `"boolean"`, `"null"`, `"number"`) + pick("with", ``, `,"description":"D"`, `,"default":null`, `,"nullable":true`, `,"minimum":1`) + `}`
	case "types":
		return `{"type":` + pick("types", `["string","null"]`, `["integer"]`, `[]`, `["string","string"]`, `["integer","string","null"]`, `["object","null"]`, `["x"]`, `"any"`) + `}`
	case "enum":
		return `{"enum":` + pick("enum", `[1,2]`, `["a",null]`, `[null]`, `[]`, `[{"$ref":"#"}]`) + `}`
	case "const":
		return `{"const":` + pick("const", `1`, `"a"`, `null`, `true`, `{"a":1}`) + `}`
	case "ref":
		return `{"$ref":"` + ref() + `"` + pick("beside", ``, `,"description":"mine"`, `,"nullable":true`, `,"type":"integer"`, `,"type":"object","properties":{"d":{}}`) + `}`
	case "word":
		return pick("word", `true`, `false`, `null`, `"nope"`, `7`, `{}`)
	case "bad":
		return pick("bad", `{"minLength":"x"}`, `{"type":"string","required":true}`, `{"exclusiveMinimum":true,"minimum":1}`, `{"items":null,"type":"array"}`, `{"anyOf":[]}`, `{"$id":"x","type":"string"}`)
	case "null":
		return pick("null", `{"type":"null"}`, `{"const":null}`, `{"enum":[null]}`, `{"type":"null","title":"T"}`)
	case "object":
		var members []string
		for _, name := range []string{"a", "definitions", "required"} {
			if rapid.Bool().Draw(t, name) {
				members = append(members, fmt.Sprintf(`%q:%s`, name, more()))
			}
		}
		return `{"type":` + pick("object", `"object"`, `["object","null"]`) + `,"properties":{` + strings.Join(members, ",") + `}` + pick("more", ``, `,"required":["a","b"]`, `,"additionalProperties":false`, `,"additionalProperties":{"type":"integer"}`) + `}`
	case "array":
		return `{"type":"array","items":` + more() + `}`
	case "tuple":
		return `{"` + pick("tuple", "items", "prefixItems") + `":` + several(more) + pick("rest", ``, `,"additionalItems":false`, `,"additionalItems":{"type":"string"}`) + `}`
	case "union":
		return `{"` + pick("union", "anyOf", "oneOf") + `":` + several(more) + pick("and", ``, `,"title":"T","default":1`, `,"nullable":false`) + `}`
	case "consts":
		return `{"oneOf":` + several(func() string {
			return pick("constant", `{"const":1}`, `{"const":"a"}`, `{"const":"b","title":"B"}`, `{"type":"null"}`, `{"const":2,"type":"integer"}`)
		}) + `}`
	case "beside":
		return `{"type":` + pick("type", `"string"`, `"object"`) + `,"anyOf":` + several(more) + `}`
	}
	return `{"allOf":` + several(more) + `}`
}

// drawRoot draws the schema of a tool.
func drawRoot(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return drawNormal(t, 2)
	}
	return fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s},"required":%s,"$defs":{"A":%s,"B":%s,"required":%s},"definitions":{%q:%s}%s}`,
		drawNormal(t, 3), drawNormal(t, 3), rapid.SampledFrom([]string{`["a"]`, `[]`, `true`, `["b","c"]`}).Draw(t, "required"),
		drawNormal(t, 2), drawNormal(t, 2), drawNormal(t, 1), rapid.SampledFrom([]string{"C", "A"}).Draw(t, "clash"), drawNormal(t, 1),
		rapid.SampledFrom([]string{``, `,"anyOf":[{"required":["a"]},{"properties":{"d":{"$ref":"#/$defs/B"}}}]`, `,"additionalProperties":false`}).Draw(t, "root"))
}
