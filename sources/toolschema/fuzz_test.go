package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

func seeds(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"anyOf":[{"type":"integer"},{"$ref":"#/$defs/A"},{"type":"null"}]}}}`,
		`{"allOf":[{"$ref":"#"},{"oneOf":[true,false,{"const":1}]}],"additionalProperties":{"$ref":"#"}}`,
		`{"properties":{"a":{"items":[{"type":["integer","null"]}],"prefixItems":null,"nullable":true,"enum":[1,{"x":null}]}}}`,
		`{"properties":{"result":{"type":"array","items":{"type":"object","properties":{"k":{}}}}}}`,
	} {
		f.Add([]byte(s), []byte(`{"a":1.0,"b":[{"a":"5"}],"c":9007199254740993}`))
	}
}

func FuzzArgs(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, schema, _ []byte) {
		before := bytes.Clone(schema)
		args, problems := Args(schema)
		seen := map[string]bool{}
		for _, a := range args {
			if seen[a.Name] {
				t.Errorf("argument %q twice", a.Name)
			}
			seen[a.Name] = true
			if !slices.Contains([]string{"str", "int", "float", "bool", "dict", "list", "Any"}, a.Type) {
				t.Errorf("argument %q has type %q", a.Name, a.Type)
			}
			for _, raw := range append(slices.Clone(a.Enum), a.Default) {
				if raw != nil && !json.Valid(raw) {
					t.Errorf("argument %q holds %q", a.Name, raw)
				}
			}
		}
		if len(args) > MaxArgs || len(problems) > MaxProblems {
			t.Errorf("%d arguments, %d problems", len(args), len(problems))
		}
		for _, p := range problems {
			if strings.ContainsAny(p.Error(), "\n\r") {
				t.Errorf("problem %q", p.Error())
			}
		}
		if r := Returns(schema); r == "" || len(r) > returnBytes {
			t.Errorf("returns %q", r)
		}
		again, _ := Args(FromArgs(args))
		if len(again) != len(args) {
			t.Errorf("%d arguments became %d", len(args), len(again))
		}
		if !bytes.Equal(schema, before) {
			t.Error("the schema was changed")
		}
	})
}

func FuzzBind(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, schema, text []byte) {
		var args map[string]any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if dec.Decode(&args) != nil {
			t.Skip()
		}
		before, _ := json.Marshal(args)
		for _, b := range []*Binder{NewBinder(schema), NewBinder(schema).Lenient()} {
			out, err := b.Bind(args)
			if exact, bad := toolsource.Arguments(args); bad == nil && exact != nil {
				slow, slowErr := b.check(exact)
				one, _ := json.Marshal(out)
				two, _ := json.Marshal(slow)
				if fmt.Sprint(err) != fmt.Sprint(slowErr) || !bytes.Equal(one, two) {
					t.Fatalf("bound %s, %v, and by a check alone %s, %v", one, err, two, slowErr)
				}
			}
			if after, _ := json.Marshal(args); !bytes.Equal(before, after) {
				t.Fatalf("the arguments were %s and are %s", before, after)
			}
			if err != nil {
				if !errors.Is(err, toolsource.ErrBadArguments) {
					t.Fatal(err)
				}
				continue
			}
			twice, err := b.Bind(out)
			if err != nil {
				t.Fatalf("bound once, and not again: %v", err)
			}
			one, _ := json.Marshal(out)
			two, _ := json.Marshal(twice)
			if !bytes.Equal(one, two) {
				t.Fatalf("bound once %s, twice %s", one, two)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("a-b\x00a_b\x00a_b_7c3f9e21\x00class\x00查\x00\x00a-b")
	f.Add(strings.Repeat("x", 80) + "\x00" + strings.Repeat("x", 81))
	f.Fuzz(func(t *testing.T, list string) {
		wire := strings.Split(list, "\x00")
		checkNames(t, wire, Names(wire), isIdentifier)
		checkNames(t, wire, Qualified(wire[0], wire), isIdentifier)
	})
}

// quickest is the best of several runs, which is what the work itself takes.
func quickest(f func()) time.Duration {
	best := time.Hour
	for range 7 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// textOfAll has something for every rule about texts.
func textOfAll() string {
	s := ""
	for _, x := range textCases {
		s += x.text
	}
	return s
}

// TestLinear: ten times the input takes about ten times as long, also where everything clashes.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // its pauses come at any size
	clashing := func(n int) []string {
		var wire []string
		for i := range n / 4 {
			wire = append(wire, fmt.Sprintf("a-%d", i), fmt.Sprintf("a_%d", i), fmt.Sprintf("%s%d", strings.Repeat("x", 64), i), strings.Repeat("-", i%50+1)+"b")
		}
		return wire
	}
	properties := func(n int) json.RawMessage {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{}`)
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":{"$ref":"#/$defs/d%d"}`, i, i)
		}
		b.WriteString(`},"$defs":{"d":{}`)
		for i := range n {
			fmt.Fprintf(&b, `,"d%d":{"type":["string","null"],"description":"what it is"}`, i)
		}
		return json.RawMessage(b.String() + "}}")
	}
	for _, tt := range []struct {
		name string
		work func(n int) func()
	}{
		{"Names", func(n int) func() { w := clashing(n); return func() { Names(w) } }},
		{"Qualified", func(n int) func() { w := clashing(n); return func() { Qualified("s", w) } }},
		{"Args", func(n int) func() { s := properties(n); return func() { Args(s) } }},
		{"NewBinder", func(n int) func() { s := properties(n); return func() { NewBinder(s) } }},
		{"Normalize", func(n int) func() { s := properties(n); return func() { Normalize(s) } }},
		{"Clean", func(n int) func() { s := strings.Repeat(textOfAll(), n); return func() { Clean(s); OneLine(s, 0) } }},
		{"Inspect", func(n int) func() { s := strings.Repeat(textOfAll(), n/20); return func() { Inspect(s) } }},
	} {
		const n = 400
		small, large := quickest(tt.work(n)), quickest(tt.work(10*n))
		t.Logf("%s: %v, ten times as many %v", tt.name, small, large)
		if large > 30*small { // quadratic would be 100
			t.Errorf("%s: %v, ten times as many %v", tt.name, small, large)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, schema, _ []byte) { checkNormal(t, schema) })
}

// FuzzExport: whatever the schema is, what is exported keeps the API's rules, and reading arguments ends.
func FuzzExport(f *testing.F) {
	seeds(f)
	f.Add([]byte(`{"type":"object","properties":{"a b":{"enum":[1,"",null]},"c":{"type":["array","null"],"prefixItems":[true]}},"oneOf":[{"allOf":[{"$ref":"#"}]}]}`), []byte(`{"a_b":null}`))
	f.Fuzz(func(t *testing.T, schema, text []byte) {
		before := bytes.Clone(schema)
		for _, p := range Providers() {
			e, err := Export([]toolsource.ToolSpec{{Name: "t", Description: string(text), InputSchema: schema}}, p, nil)
			if err != nil || len(e.Tools)+len(e.LeftOut) != 1 {
				t.Fatal(e, err)
			}
			if bs, err := Check(p, e.JSON()); err != nil || len(bs) > 0 {
				t.Fatalf("%s: %v %v\n%s", p, err, bs, e.JSON())
			}
			_, args, _, err := e.ParseArguments("t", text)
			if err == nil && args == nil || err != nil && len(e.Tools) == 1 && !errors.Is(err, toolsource.ErrBadArguments) {
				t.Fatalf("%s: %v, %v", p, args, err)
			}
		}
		if !bytes.Equal(schema, before) {
			t.Error("the schema was changed")
		}
	})
}

// FuzzText: a text cleaned is clean, on one line if asked, and nothing goes without a word.
func FuzzText(f *testing.F) {
	for _, x := range textCases {
		f.Add(x.text, 20)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		clean, edits := Clean(s)
		if !utf8.ValidString(clean) || (clean != s) != (len(edits) > 0) {
			t.Errorf("%q is %q after %v", s, clean, edits)
		}
		if again, more := Clean(clean); again != clean || len(more) > 0 {
			t.Errorf("%q is %q, and then %q after %v", s, clean, again, more)
		}
		line, edits := OneLine(s, max)
		if strings.ContainsFunc(line, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == 0x2028 || r == 0x1b }) || (line != s) != (len(edits) > 0) {
			t.Errorf("%q is %q after %v", s, line, edits)
		}
		if max <= 0 {
			max = MaxLine
		}
		if n := utf8.RuneCountInString(line); n > max {
			t.Errorf("%d characters of %d", n, max)
		}
		for _, e := range edits {
			if e.Count < 1 || e.What == "" || editWords[e.Rule] == "" || strings.ContainsAny(e.String(), "\n\r") {
				t.Errorf("edit %+v", e)
			}
		}
		Inspect(s)
	})
}
