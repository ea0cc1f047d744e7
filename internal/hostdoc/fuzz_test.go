package hostdoc

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

const hush = "hunter2-Hush"

// check reads a text in which a secret stands as a value. No error and no note may show it; a note may if it
// came to be part of a key.
func check(t *testing.T, syntax Syntax, text string) {
	d, err := Parse("f", syntax, []byte(text))
	if err != nil {
		var p *tomldoc.Problem
		if !errors.As(err, &p) || p.File != "f" || p.Severity != tomldoc.SeverityError {
			t.Fatalf("not a problem: %#v", err)
		}
		if strings.Contains(err.Error(), "unter2") {
			t.Errorf("the error shows a value: %v", err)
		}
		return
	}
	lines := strings.Count(text, "\n") + 1
	if d.Root == nil || d.Empty && d.Root.Kind != Null {
		t.Fatalf("root %v, empty %v", d.Root, d.Empty)
	}
	inKey := false
	var walk func(n *Node, depth int)
	walk = func(n *Node, depth int) {
		if n.Line < 1 || n.Line > lines || n.Col < 1 || n.Kind == "" || depth > 2*MaxDepth {
			t.Errorf("%d:%d %s %s at depth %d of %d lines", n.Line, n.Col, n.Path, n.Kind, depth, lines)
		}
		for _, e := range n.Items {
			walk(e, depth+1)
		}
		for _, m := range n.Members {
			if m.Line < 1 || m.Line > lines || m.Col < 1 {
				t.Errorf("key at %d:%d of %d lines", m.Line, m.Col, lines)
			}
			inKey = inKey || strings.Contains(m.Name, "unter2")
			walk(m.Value, depth+1)
		}
	}
	walk(d.Root, 0)
	for _, n := range d.Notes {
		if strings.Contains(n.Error(), "unter2") && !inKey {
			t.Errorf("a note shows a value: %v", n)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range [][2]string{
		{"{", "}"}, {"{\"a\": 1,", ", \"a\": [{}, true,],}"}, {"// x\n[{", "}] /* y */"}, {"", ""}, {"{\"", "\"}"}, {"{'a", "'}"}, {"{\"a\": \"C:\\", "\\u00e4\"}"},
		{"{\"a\": \"\\ud800\", ", "\u2028}"}, {"\ufeff{", "}}"}, {"[[[[", "]]"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + `"k": "` + hush + `"` + after
		check(t, JSON, text)
		if !utf8.ValidString(text) {
			return
		}
		if empty, bad := checkJSON(text); bad == nil && !empty {
			if _, err := hujson.Parse([]byte(text + "\n")); err != nil {
				t.Errorf("%q is let pass, but the reader says %v", text, err)
			}
		} else if bad != nil && bad.message != tooDeep() && bad.message != tooMany() {
			if _, err := hujson.Parse([]byte(text + "\n")); err == nil {
				t.Errorf("%q is refused with %s, but the reader takes it", text, bad.message)
			}
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"a: &a {x: 1}\nb:\n  <<: *a\n", "c: |\n x\n"}, {"- ", "- y\n"}, {"x: {", "}"}, {"x: [", ", *no]"}, {"a: 'it's\n", "\tb"}, {"%YAML 1.2\n---\n", "---\nz: 1"},
		{"a: !x!y ", "b: @"}, {"? [", "]\n: 1"}, {"a: \"C:\\U", "\""}, {"a: \u2028b: \u0085", "\rc: 1"}, {"a: &a [*a]\n", "<<: [1]"}, {"{{", "}}"}, {"000", "?"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		check(t, YAML, before+`k: "`+hush+"\"\n"+after)
		check(t, YAML, before+`k: `+hush+"\n"+after)
	})
}

func FuzzTOML(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"[a]\n", "b = 1\n"}, {"a = [{", "}]"}, {"a = '''", "'''"}, {"[[a]]\n", "[[a]]\nb.c = 0x1F"}, {"a = 2001-01-01\n", "a = inf"}, {"\"a", "b\" = "}, {"[a.", "]"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		check(t, TOML, before+"\nk = \""+hush+"\"\n"+after)
		check(t, TOML, before+"\nk = "+hush+"\n"+after)
	})
}
