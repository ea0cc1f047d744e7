// Package specdoc reads what tool and server tables of a configuration file have in common: the spec of a
// tool with its arguments, grade, examples and limits, and values with variables in them. It also holds
// the check of a call's arguments against such a spec. Every kind of source that is declared in a file
// goes through the one reader, so that no kind loses a key.
//
// All that is wrong goes to the reader's problems; nothing here fails otherwise.
package specdoc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// Types are the words for ArgSpec.Type.
var Types = []string{"str", "int", "float", "bool", "dict", "list", "Any"}

// aliases are other words that people write for a type.
var aliases = map[string]string{
	"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict", "array": "list", "any": "Any",
}

// Read reads the keys that every declared tool may have. The name is a key of the table, or name where the
// table's own header gives it.
func Read(r *tomldoc.Reader, name string) toolsource.ToolSpec {
	s := toolsource.ToolSpec{Name: name}
	if name == "" {
		s.Name = r.Str("name")
	} else if r.Has("name") {
		if n := r.Str("name"); n != "" && n != name {
			r.Fail("name", "remove the key", "the table's header names it %q", name)
		}
	}
	readName(r, s.Name)
	s.Title = r.Str("title")
	s.Description = r.Str("description")
	s.Args = readArgs(r)
	s.Returns = r.Str("returns")
	if s.Returns == "" {
		s.Returns = "Any"
	}
	s.Grade = readGrade(r)
	s.Examples = Examples(r)
	s.Docs = r.Str("docs")
	s.Limits = Limits(r)
	s.Origin.File, s.Origin.Line = r.File(), r.Line()
	return s
}

func readName(r *tomldoc.Reader, name string) {
	switch {
	case name == "" && !r.Has("name"):
		r.Fail("", `add name = "..."`, "has no name")
	case name == "":
		if r.Get("name").Data == "" {
			r.Fail("name", "", "is empty")
		}
	default:
		if good := toolschema.Names([]string{name})[0]; good != name {
			r.Fail("name", "use "+good, "%q is no name that programs can call", name)
		}
	}
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func readArgs(r *tomldoc.Reader) []toolsource.ArgSpec {
	var args []toolsource.ArgSpec
	for _, t := range r.Tables("args") {
		a := toolsource.ArgSpec{Name: t.Str("name"), Description: t.Str("description"), Type: readType(t)}
		switch {
		case !t.Has("name") || a.Name == "":
			t.Fail("name", `add name = "..."`, "the argument has no name")
		case !isIdentifier(a.Name):
			t.Fail("name", "letters, digits and _ only", "the argument's name %q is not an identifier", a.Name)
		case slices.ContainsFunc(args, func(b toolsource.ArgSpec) bool { return b.Name == a.Name }):
			t.Fail("name", "", "the argument %q is declared twice", a.Name)
		}
		if v := t.Get("default"); v != nil {
			a.Default = readJSON(t, v, a.Type)
		}
		for _, v := range t.Array("enum") {
			if e := readJSON(t, v, a.Type); e != nil {
				a.Enum = append(a.Enum, e)
			}
		}
		if a.Enum != nil && a.Default != nil && !contains(a.Enum, a.Default) {
			t.Fail("default", "", "is none of the enum")
		}
		a.Required = t.Bool("required", a.Default == nil)
		t.Finish()
		args = append(args, a)
	}
	return args
}

func contains(enum []json.RawMessage, v json.RawMessage) bool {
	return slices.ContainsFunc(enum, func(e json.RawMessage) bool { return bytes.Equal(e, v) })
}

// readType gives one of Types. "list[str]" and the like count as their container.
func readType(t *tomldoc.Reader) string {
	typ := strings.TrimSpace(t.Str("type"))
	if typ == "" {
		return "Any"
	}
	outer, _, _ := strings.Cut(typ, "[")
	outer, _, _ = strings.Cut(outer, "{")
	if a, ok := aliases[outer]; ok {
		outer = a
	}
	if slices.Contains(Types, outer) && (outer == typ || aliases[typ] != "" || outer == "list" || outer == "dict") {
		return outer
	}
	hint := "types: " + strings.Join(Types, ", ")
	if near := tomldoc.Nearest(typ, Types); near != "" {
		hint = "did you mean " + near + "?"
	}
	t.Fail("type", hint, "unknown type %q", typ)
	return "Any"
}

func readJSON(t *tomldoc.Reader, v *tomldoc.Value, typ string) json.RawMessage {
	raw := t.JSON(v)
	if raw != nil && !fits(v.Plain(), typ) {
		t.FailAt(v, "", "does not fit the type %s", typ)
		return nil
	}
	return raw
}

// readGrade reads grade = {w, d} or "w,d", or grade_w and effects_ceiling. An axis that is not given is 3.
func readGrade(r *tomldoc.Reader) grade.Grade {
	w, d := r.Int("grade_w", 0, 3), r.Int("effects_ceiling", 0, 3)
	if r.Has("grade") {
		if r.Has("grade_w") || r.Has("effects_ceiling") {
			r.Fail("grade", "give either grade or grade_w and effects_ceiling", "is given twice")
		}
		gw, gd := Axes(r, "grade")
		return with(gw, gd)
	}
	return with(toInt(w), toInt(d))
}

func with(w, d *int) grade.Grade {
	g, err := grade.Max.With(w, d)
	if err != nil { // the reader has checked the range
		return grade.Max
	}
	return g
}

func toInt(n *int64) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

// Axes reads a grade as a table with w, d or both, or as the string "w,d".
func Axes(r *tomldoc.Reader, name string) (w, d *int) {
	v := r.Get(name)
	if v == nil {
		return nil, nil
	}
	if s, ok := v.Data.(string); ok {
		g, err := grade.Parse(s)
		if err != nil || g == grade.Unknown {
			r.FailAt(v, `want "w,d" with 0 to 3 each`, "%q is not a grade", s)
			return nil, nil
		}
		gw, gd := g.W(), g.D()
		return &gw, &gd
	}
	t := r.TableOf(v)
	if t == nil {
		return nil, nil
	}
	w, d = toInt(t.Int("w", 0, 3)), toInt(t.Int("d", 0, 3))
	if len(t.Names()) == 0 {
		r.FailAt(v, "give w, d or both", "is empty")
	}
	t.Finish()
	return w, d
}

// Examples reads an array of {intent, code, tags}. One without intent or code is left out with a warning.
func Examples(r *tomldoc.Reader) []toolsource.Example {
	var out []toolsource.Example
	for _, t := range r.Tables("examples") {
		e := toolsource.Example{Intent: t.Str("intent"), Code: t.Str("code"), Tags: t.Strs("tags")}
		t.Finish()
		if e.Intent == "" || e.Code == "" {
			t.Warn("", "an example needs intent and code", "the example is left out")
			continue
		}
		out = append(out, e)
	}
	return out
}

// Limits reads timeout, which sets both limits of a call, and silence and ceiling, which set one each.
func Limits(r *tomldoc.Reader) toolsource.Limits {
	l := toolsource.Limits{Silence: r.Duration("silence"), Ceiling: r.Duration("ceiling")}
	t := r.Duration("timeout")
	l = l.Or(toolsource.Limits{Silence: t, Ceiling: t})
	if l.Silence > 0 && l.Ceiling > 0 && l.Silence > l.Ceiling {
		r.Fail("silence", "", "is longer than the ceiling of %v", l.Ceiling)
	}
	return l
}
