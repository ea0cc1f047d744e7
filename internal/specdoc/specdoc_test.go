package specdoc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

func read(t *testing.T, text, name string) (toolsource.ToolSpec, []string) {
	t.Helper()
	d, err := tomldoc.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	s := Read(r, name)
	r.Finish()
	var problems []string
	for _, p := range r.Problems() {
		problems = append(problems, p.Error())
	}
	return s, problems
}

func TestWholeSpec(t *testing.T) {
	got, problems := read(t, `
name = "count_lines"
title = "Count"
description = "Counts lines"
returns = "int"
grade_w = 1
effects_ceiling = 0
docs = "docs/count.md"
timeout = "90s"
args = [
  { name = "path", type = "str", description = "File" },
  { name = "mode", type = "string", default = "all", enum = ["all", "code"] },
  { name = "tags", type = "list[str]", required = false },
  { name = "n" },
]
examples = [{ intent = "count", code = "count_lines('a')", tags = ["x"] }, { intent = "no code" }]
`, "")
	want := toolsource.ToolSpec{
		Name: "count_lines", Title: "Count", Description: "Counts lines", Returns: "int", Docs: "docs/count.md", Grade: grade.W1D0,
		Args: []toolsource.ArgSpec{
			{Name: "path", Type: "str", Description: "File", Required: true},
			{Name: "mode", Type: "str", Default: []byte(`"all"`), Enum: raws(`"all"`, `"code"`)},
			{Name: "tags", Type: "list"},
			{Name: "n", Type: "Any", Required: true},
		},
		Examples: []toolsource.Example{{Intent: "count", Code: "count_lines('a')", Tags: []string{"x"}}},
		Limits:   toolsource.Limits{Silence: 90 * time.Second, Ceiling: 90 * time.Second},
		Origin:   toolsource.Origin{File: "f", Line: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := []string{"f:16:76: warning: examples[1]: the example is left out (an example needs intent and code)"}; !cmp.Equal(problems, want) {
		t.Error(problems)
	}
}

func raws(s ...string) (out []json.RawMessage) {
	for _, e := range s {
		out = append(out, json.RawMessage(e))
	}
	return out
}

func TestSpecDefaults(t *testing.T) {
	got, problems := read(t, `name = "x"`, "")
	if got.Returns != "Any" || got.Grade != grade.Max || got.Args != nil || got.Examples != nil || got.Docs != "" || problems != nil {
		t.Errorf("%+v %v", got, problems)
	}
}

func TestBadSpecs(t *testing.T) {
	tests := []struct{ text, want string }{
		{`title = "x"`, `f:1:1: has no name (add name = "...")`},
		{`name = ""`, `f:1:1: name: is empty`},
		{`name = 3`, `f:1:1: name: want a string, is an integer`},
		{`name = "get-x"`, `f:1:1: name: "get-x" is no name that programs can call (use get_x)`},
		{`name = "import"`, `f:1:1: name: "import" is no name that programs can call (use import_)`},
		{"name = 'x'\ndescripton = 'd'", `f:2:1: descripton: unknown key (did you mean description?)`},
		{"name = 'x'\ngrade_w = 4", `f:2:1: grade_w: is 4, want 0 to 3`},
		{"name = 'x'\ngrade_w = -1", `f:2:1: grade_w: is -1, want 0 to 3`},
		{"name = 'x'\ngrade = 'high'", `f:2:1: grade: "high" is not a grade (want "w,d" with 0 to 3 each)`},
		{"name = 'x'\ngrade = {}", `f:2:1: grade: is empty (give w, d or both)`},
		{"name = 'x'\ngrade = {w=1, e=2}", `f:2:15: grade.e: unknown key (known keys: d, w)`},
		{"name = 'x'\ngrade = {w=1}\ngrade_w = 1", `f:2:1: grade: is given twice (give either grade or grade_w and effects_ceiling)`},
		{"name = 'x'\nargs = [{type='str'}]", `f:2:9: args[0]: the argument has no name (add name = "...")`},
		{"name = 'x'\nargs = [{name='a b'}]", `f:2:10: args[0].name: the argument's name "a b" is not an identifier (letters, digits and _ only)`},
		{"name = 'x'\nargs = [{name='a'},{name='a'}]", `f:2:21: args[1].name: the argument "a" is declared twice`},
		{"name = 'x'\nargs = [{name='a',type='sting'}]", `f:2:19: args[0].type: unknown type "sting" (types: str, int, float, bool, dict, list, Any)`},
		{"name = 'x'\nargs = [{name='a',type='flaot'}]", `f:2:19: args[0].type: unknown type "flaot" (did you mean float?)`},
		{"name = 'x'\nargs = [{name='a',type='int',default='3'}]", `f:2:30: args[0].default: does not fit the type int`},
		{"name = 'x'\nargs = [{name='a',default='c',enum=['a','b']}]", `f:2:19: args[0].default: is none of the enum`},
		{"name = 'x'\nargs = 'a'", `f:2:1: args: want an array, is a string`},
		{"name = 'x'\ntimeout = 0", `f:2:1: timeout: want a duration above zero (a number is seconds; a string is as "1m30s")`},
		{"name = 'x'\nsilence = 9\nceiling = 3", `f:2:1: silence: is longer than the ceiling of 3s`},
	}
	for _, tt := range tests {
		if _, got := read(t, tt.text, ""); !cmp.Equal(got, []string{tt.want}) {
			t.Errorf("%q:\n got %v\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestPartialGrade(t *testing.T) {
	for text, want := range map[string]grade.Grade{
		"grade = {w=1}": grade.W1D3, "grade = {d=0}": grade.W3D0, "grade = {w=0,d=0}": grade.Pure, "grade = '1,2'": grade.W1D2,
		"grade_w = 1": grade.W1D3, "effects_ceiling = 1": grade.W3D1,
	} {
		got, problems := read(t, "name='x'\n"+text, "")
		if got.Grade != want || problems != nil {
			t.Errorf("%s: %v %v", text, got.Grade, problems)
		}
	}
}

func TestNameFromHeader(t *testing.T) {
	if s, p := read(t, `description = "d"`, "ping"); s.Name != "ping" || p != nil {
		t.Error(s, p)
	}
	if _, p := read(t, `name = "pong"`, "ping"); !cmp.Equal(p, []string{`f:1:1: name: the table's header names it "ping" (remove the key)`}) {
		t.Error(p)
	}
}

func TestExpand(t *testing.T) {
	lookup := func(n string) (string, bool) {
		v, ok := map[string]string{"A": "1", "NESTED": "${A}", "EMPTY": ""}[n]
		return v, ok
	}
	for in, want := range map[string]string{
		"": "", "plain": "plain", "${A}": "1", "x${A}y${A}": "x1y1", "${B:-d}": "d", "${B:-}": "", "${EMPTY:-d}": "d", "${EMPTY}": "",
		"${NESTED}": "${A}", "$A": "$A", "pa$$word": "pa$$word", "$${A}": "${A}", "a$": "a$", "${A}$": "1$", "${B:-x:-y}": "x:-y",
	} {
		if got, err := Expand(in, lookup); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{"${B}": "variable B is not set and has no default", "${A": "a ${ has no }", "${}": "a ${} names no variable"} {
		if _, err := Expand(in, lookup); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
	_, err := ExpandAll(map[string]string{"T": "secret-${B}"}, lookup)
	var unset *UnsetError
	if !errors.As(err, &unset) || unset.Name != "B" || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "T: ") {
		t.Error(err)
	}
}

func TestChecker(t *testing.T) {
	spec, problems := read(t, `
name = "x"
args = [
  { name = "s", type = "str" }, { name = "i", type = "int", default = 7 }, { name = "f", type = "float", required = false },
  { name = "e", enum = ["a", 1], required = false }, { name = "l", type = "list", required = false },
]`, "")
	if problems != nil {
		t.Fatal(problems)
	}
	c := NewChecker(spec)
	tests := []struct {
		in, want map[string]any
	}{
		{map[string]any{"s": "x"}, map[string]any{"s": "x", "i": int64(7)}},
		{map[string]any{"s": "5", "i": nil, "f": 3, "e": int8(1), "l": []string{"a"}}, map[string]any{"s": "5", "i": int64(7), "f": 3.0, "e": int64(1), "l": []any{"a"}}},
		{map[string]any{"s": "x", "i": 3.0, "f": nil}, map[string]any{"s": "x", "i": int64(3)}},
		{map[string]any{"s": "x", "l": json.RawMessage("[1]")}, map[string]any{"s": "x", "i": int64(7), "l": []any{int64(1)}}},
	}
	for _, tt := range tests {
		if got, err := c.Check(tt.in); err != nil || !cmp.Equal(got, tt.want) {
			t.Errorf("%v: %v %v", tt.in, got, err)
		}
	}
	for name, in := range map[string]map[string]any{
		"s": {}, "i": {"s": "x", "i": 1.5}, "e": {"s": "x", "e": "c"}, "zz": {"s": "x", "zz": 1}, "l": {"s": "x", "l": "a"},
	} {
		if _, err := c.Check(in); !errors.Is(err, toolsource.ErrBadArguments) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v does not name %s", in, err, name)
		}
	}
}

func TestDecode(t *testing.T) {
	got, err := Decode([]byte(` {"a": [1, 2.5, 9007199254740993, 18446744073709551615]} `))
	want := map[string]any{"a": []any{int64(1), 2.5, int64(9007199254740993), json.Number("18446744073709551615")}}
	if err != nil || !cmp.Equal(got, want) {
		t.Error(got, err)
	}
	for text, want := range map[string]string{"": "there is no JSON", "1 2": "more text follows the JSON", "{": "unexpected EOF"} {
		if _, err := Decode([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Any TOML gives a spec or problems of one line each, and never a panic.
func FuzzRead(f *testing.F) {
	f.Add("name='x'\nargs=[{name='a',type='list[str]',default=[1],enum=[[1]]}]\ngrade={w=1}\nexamples=[{intent='a'}]\ntimeout=1e300")
	f.Add("name=1\nargs=[1,{}]\ngrade=nan\ntimeout='x'\nsilence=inf")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := tomldoc.Parse("f", []byte(text))
		if err != nil {
			return
		}
		r := d.Root()
		s := Read(r, "")
		r.Finish()
		for _, p := range r.Problems() {
			if strings.ContainsAny(p.Error(), "\r\n") || p.Message == "" || p.Line < 1 {
				t.Fatalf("bad problem %q", p)
			}
		}
		if r.OK() {
			_, _ = NewChecker(s).Check(map[string]any{"a": 1})
			if s.Name == "" || s.Grade == grade.Unknown {
				t.Fatalf("a bad spec passes: %+v", s)
			}
		}
	})
}
