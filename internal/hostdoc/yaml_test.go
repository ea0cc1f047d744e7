package hostdoc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAMLFaults(t *testing.T) {
	const fits = "the line does not fit the lines before it (check how far it is indented, and that quotes are closed)"
	const escape = `an escape that YAML does not have (in a Windows path, write \\ or /, or write it in single quotes)`
	tests := []struct{ name, text, want string }{
		{"less indented", "a:\n  - x\n b: 1", "f:3:2: is not YAML: " + fits},
		{"less indented map", "x:\n  y: 2\n z: 1", "f:3:2: is not YAML: " + fits},
		{"list after keys", "x: 1\n- b", "f:2:1: is not YAML: " + fits},
		{"key after a list", "- a\nb: 1", "f:2:1: is not YAML: the line does not fit the list before it (check how far it is indented)"},
		{"quote in quotes", "x: 1\ny: 'it's'", "f:2:1: is not YAML: " + fits},
		{"quote in quotes, seen late", "x: 1\ny: 'it's'\n# 1\n# 2\n\n\n\n\n\n# 3", "f:2:1: is not YAML: " + fits},
		{"open bracket", "x: 1\na: [1, 2\nb: 3", "f:2:1: is not YAML: a [ is not closed, or a comma is missing after it"},
		{"open brace", "x: 1\na: {x: 1\nb: 3", "f:2:1: is not YAML: a { is not closed, or a comma is missing after it"},
		{"open bracket in line 1", "a: [1, 2\nb: 3", "f:1:1: is not YAML: a [ is not closed, or a comma is missing after it"},
		{"two colons", "a: b: c", `f:1:1: is not YAML: a : where no key can stand (write a text that holds ": " in quotes; check how far the line is indented)`},
		{"more indented", "x: 1\n  y: 2", `f:2:3: is not YAML: a : where no key can stand (write a text that holds ": " in quotes; check how far the line is indented)`},
		{"open quote", "x: 1\na: \"abc\nd: e", "f:2:1: is not YAML: a text in quotes has no end (add the closing quote)"},
		{"open quote in line 1", "a: \"abc\nd: e", "f:1:1: is not YAML: a text in quotes has no end (add the closing quote)"},
		{"tab", "x: 1\n\ta: 1", "f:2:1: is not YAML: a tab indents the line (indent with spaces)"},
		{"tab below a key", "x:\n\ta: 1", "f:2:1: is not YAML: a character that no value begins with (write the value in quotes; indent with spaces, not tabs)"},
		{"at sign", "x: 1\ny: @no", "f:2:1: is not YAML: a character that no value begins with (write the value in quotes; indent with spaces, not tabs)"},
		{"alias of nothing", "x: 1\ny: *no", "f:2:1: is not YAML: an alias has no anchor (write a text that begins with * in quotes)"},
		{"star", "x: 1\ny: *", "f:2:1: is not YAML: an anchor or alias has no name (write a text that begins with & or * in quotes)"},
		{"tag", "x: 1\ny: !foo!bar 1", "f:2:1: is not YAML: a tag that is not declared (write a text that begins with ! in quotes)"},
		{"windows path", "x: 1\ny: \"C:\\Users\\x\"", "f:2:1: is not YAML: " + escape},
		{"windows path, \\u", "x: 1\ny: \"C:\\users\\x\"", "f:2:1: is not YAML: " + escape},
		{"no colon", "x: 1\ny", `f:2:1: is not YAML: a : is missing after a key (write "key: value")`},
		{"control character", "x: 1\ny: \x01 2", "f:2:4: is not YAML: a control character (delete it)"},
		{"after |", "x: 1\ny: |9x\n 2", "f:2:1: is not YAML: something stands after | or > (write the text on the lines below it)"},
		{"closing bracket", "x: ]", "f:1:1: is not YAML: a value is missing (write a text that begins with [ ] { } , in quotes)"},
		{"anchor within itself", "a: &a [*a]", "f:1:8: an anchor holds an alias of itself"},
		{"anchor within itself, deeper", "a: &a {b: [{c: *a}]}", "f:1:16: an anchor holds an alias of itself"},
		{"anchor merged into itself", "a: &a {<<: *a}", "f:1:12: an anchor holds an alias of itself"},
		{"deep", strings.Repeat("[", 300) + strings.Repeat("]", 300), "f:1:201: is nested more than 200 deep"},
		{"deep lines", strings.Repeat("- ", 300) + "x", "f:1:401: is nested more than 200 deep"},
		{"deep, for the reader", strings.Repeat("[", 4<<20), "f:1:1: is not YAML: is nested more than 200 deep"},
		{"deep lines, for the reader", strings.Repeat("- ", 2<<20), "f:1:1: is not YAML: is nested more than 200 deep"},
		{"many", "[" + strings.Repeat("0,", MaxValues) + "]", "f:1:1000000: holds more than 500000 values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if len(text) < 1000 && !strings.Contains(text, "&a") {
				text += "\nz1: 1\nz2: 2\nz3: 3\nz4: 4\n"
				if strings.HasPrefix(tt.text, "[") || strings.HasPrefix(tt.text, "- -") {
					text = tt.text
				}
			}
			_, err := Parse("f", YAML, []byte(text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// An anchor that holds several aliases of another, and so on, stands for more than any memory holds.
func TestYAMLAliasBombs(t *testing.T) {
	for name, item := range map[string]string{
		"values":       "[x,x,x,x,x,x]",
		"merges":       "{x: 1}",
		"empty merges": "{}",
		"odd keys":     "{? [x] : 1}",
	} {
		open, shut := "[", "]"
		if name != "values" {
			open, shut = "{<<: [", "]}"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "a0: &a0 %s\n", item)
		for i := range 30 {
			fmt.Fprintf(&b, "a%d: &a%d %s%s%s\n", i+1, i+1, open, strings.Repeat(fmt.Sprintf("*a%d,", i), 6), shut)
		}
		_, err := Parse("f", YAML, []byte(b.String()))
		if err == nil || !strings.HasSuffix(err.Error(), "holds more than 500000 values") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestYAMLValues(t *testing.T) {
	tests := []struct {
		text string
		kind Kind
		want string
	}{
		{"yes", String, "yes"}, {"no", String, "no"}, {"on", String, "on"}, {"Off", String, "Off"}, {"y", String, "y"},
		{"true", Bool, "true"}, {"True", Bool, "True"}, {"FALSE", Bool, "FALSE"}, {"tRUE", String, "tRUE"},
		{"8080", Number, "8080"}, {"0755", Number, "0755"}, {"0o17", Number, "0o17"}, {"0xfF", Number, "0xfF"}, {"+1", Number, "+1"},
		{"1.50", Number, "1.50"}, {"1e3", Number, "1e3"}, {".5", Number, ".5"}, {"9007199254740993", Number, "9007199254740993"},
		{".inf", Number, ".inf"}, {"-.INF", Number, "-.INF"}, {".nan", Number, ".nan"},
		{"1_000", String, "1_000"}, {"12:30", String, "12:30"}, {"0b1", String, "0b1"}, {"1.2.3", String, "1.2.3"},
		{"2001-12-14", String, "2001-12-14"}, {"2001-12-14t21:59:43.10-05:00", String, "2001-12-14t21:59:43.10-05:00"},
		{"null", Null, ""}, {"~", Null, ""}, {"", Null, ""}, {`""`, String, ""}, {"''", String, ""},
		{`"8080"`, String, "8080"}, {`'true'`, String, "true"}, {`"~"`, String, "~"},
		{"!!str 8080", String, "8080"}, {"!!str true", String, "true"}, {"!!int 8080", Number, "8080"}, {`!!int "8080"`, String, "8080"},
		{"!!binary aGk=", String, "aGk="}, {"!!timestamp 2001-12-14", String, "2001-12-14"}, {"!Secret hush", String, "hush"}, {"!!null ''", String, ""},
		{"C:\\temp\\new", String, `C:\temp\new`}, {`"a\tb"`, String, "a\tb"}, {"|\n  a\n  b", String, "a\nb\n"}, {">-\n  a\n  b", String, "a b"},
		{"${{ secrets.X }}", String, "${{ secrets.X }}"}, {"a # comment", String, "a"}, {"a#b", String, "a#b"}, {"<<", String, "<<"},
	}
	for _, tt := range tests {
		n := must(t, YAML, "k: "+tt.text+"\n").Root.Get("k")
		if n.Kind != tt.kind || n.Text != tt.want {
			t.Errorf("%s: %s %q, want %s %q", tt.text, n.Kind, n.Text, tt.kind, tt.want)
		}
	}
}

// flat is a tree as text, without places.
func flat(n *Node) string {
	switch n.Kind {
	case List:
		var parts []string
		for _, e := range n.Items {
			parts = append(parts, flat(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case Map:
		var parts []string
		for _, m := range n.Members {
			parts = append(parts, m.Name+":"+flat(m.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case String:
		return "'" + n.Text + "'"
	case Null:
		return "null"
	}
	return n.Text
}

func TestYAMLTrees(t *testing.T) {
	tests := []struct {
		name, text, want string
		notes            []string
	}{
		{"alias", "a: &x [1, 2]\nb: *x", "{a:[1 2] b:[1 2]}", nil},
		{"merge, own keys win", "d: &d {a: 1, b: 2}\ns: {a: 3, <<: *d, c: 4}", "{d:{a:1 b:2} s:{a:3 b:2 c:4}}", nil},
		{"merge, an own key after it wins too", "d: &d {a: 1}\ns: {<<: *d, a: 3}", "{d:{a:1} s:{a:3}}", nil},
		{"merge of a list, the first wins", "d: &d {a: 1}\ne: &e {a: 2, b: 2}\ns: {<<: [*d, *e]}", "{d:{a:1} e:{a:2 b:2} s:{a:1 b:2}}", nil},
		{"merge within merge", "d: &d {a: 1}\ne: &e {<<: *d, b: 2}\ns: {<<: *e}", "{d:{a:1} e:{a:1 b:2} s:{a:1 b:2}}", nil},
		{"merge of a map that stands there", "s: {<<: {a: 1}, b: 2}", "{s:{a:1 b:2}}", nil},
		{"quoted merge key", "s: {'<<': 1}", "{s:{<<:1}}", nil},
		{"merge of no map", "s: {<<: 1, b: 2}", "{s:{b:2}}", []string{
			"f:1:9: warning: s: a merge key has no map; it is left out (write << with an alias of a map, or a list of them)"}},
		{"keys are text", "1: a\ntrue: b\n~: c\n2001-01-01: d\n1.0: e\n? f\n: g", "{1:'a' true:'b' ~:'c' 2001-01-01:'d' 1.0:'e' f:'g'}", nil},
		{"alias as a key", "a: &k key\n*k : 1", "{a:'key' key:1}", nil},
		{"list as a key", "? [x]\n: 1\nb: 2", "{b:2}", []string{
			"f:1:3: warning: a key is a list or a map; it is left out (write the key as text)"}},
		{"repeated key", "a: 1\nb: {x: 1, x: 2}\na: 3", "{a:1 b:{x:1 x:2} a:3}", []string{
			"f:2:11: warning: b.x: the key stands there already in line 2; the last one counts (rename or remove one of them)",
			"f:3:1: warning: a: the key stands there already in line 1; the last one counts (rename or remove one of them)"}},
		{"repeated key, noted once", "a: &a {x: 1, x: 2}\nb: *a\nc: {<<: *a}", "{a:{x:1 x:2} b:{x:1 x:2} c:{x:1 x:2}}", []string{
			"f:1:14: warning: a.x: the key stands there already in line 1; the last one counts (rename or remove one of them)"}},
		{"two documents", "a: 1\n---\nb: 2", "{a:1}", []string{
			"f: warning: holds several documents; the first counts (remove what follows after the --- line)"}},
		{"second document that is none", "a: 1\n---\nb: [", "{a:1}", []string{
			"f: warning: holds several documents; the first counts (remove what follows after the --- line)"}},
		{"one document with marks", "%YAML 1.2\n---\na: 1\n...\n", "{a:1}", nil},
		{"tabs that do no harm", "a:\t1\nb: [1,\t2]\n", "{a:1 b:[1 2]}", nil},
		{"JSON is YAML", `{"a": [1, true, null, "x\u0041"]}`, "{a:[1 true null 'xA']}", nil},
		{"list of maps", "- name: a\n  b: 1\n- name: c", "[{name:'a' b:1} {name:'c'}]", nil},
		{"text", "hello", "'hello'", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := must(t, YAML, tt.text)
			if got := flat(d.Root); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if diff := cmp.Diff(tt.notes, notes(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
