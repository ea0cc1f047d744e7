package tomldoc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ name, data, want string }{
		{"utf16le", "\xff\xfea\x00=\x001\x00", ":1:1: is UTF-16, and TOML must be UTF-8 (save it as UTF-8)"},
		{"utf16be", "\xfe\xff\x00a", ":1:1: is UTF-16, and TOML must be UTF-8 (save it as UTF-8)"},
		{"utf16 without mark", "a\x00=\x001\x00", ":1:1: is UTF-16, and TOML must be UTF-8 (save it as UTF-8)"},
		{"latin1", "a = 1\nä = \"\xe4\"\n", ":2:6: is not UTF-8 text (save it as UTF-8)"},
		{"syntax", "a = 1\n[tools\nb = 2\n", ":2:7: not TOML: "},
		{"value", "[x]\na = nope\n", ":2:5: x.a: not TOML: "},
		{"repeated key", "a = 1\na = 2\n", ":2:1: a: not TOML: "},
		{"deep array", "a = " + strings.Repeat("[", 2_000_000), ": is nested more than 64 deep"},
		{"deep dots", strings.Repeat("a.", 1_000_000) + "b = 1", ": is nested more than 64 deep"},
		{"deep header", "[" + strings.Repeat("a.", 1_000_000) + "b]", ": is nested more than 64 deep"},
		{"many keys below a long one", "[" + strings.Repeat("k", 1<<20) + "]\n" + strings.Repeat("a.b=1\n", 1000), ": has keys that are too long (shorten them)"},
		{"many keys within a long one", strings.Repeat("k", 1<<20) + " = {" + strings.Repeat("a={b=1},", 1000) + "c=1}", ": has keys that are too long (shorten them)"},
		{"large", "#" + strings.Repeat("x", MaxFile), ": is larger than 4 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, "f.toml")
			if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+tt.want) {
				t.Fatalf("got  %v\nwant %s%s", err, path, tt.want)
			}
			if strings.HasSuffix(tt.want, ")") && err.Error() != path+tt.want {
				t.Errorf("got %v", err)
			}
			var p *Problem
			if !errors.As(err, &p) || p.File != path || p.Severity != SeverityError {
				t.Errorf("not a *Problem of the file: %#v", err)
			}
		})
	}
}

func TestMissingFileAndFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(filepath.Join(dir, "no.toml"))
	if want := filepath.Join(dir, "no.toml") + ": no such file (check the path)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing file is not fs.ErrNotExist")
	}
	_, err = Read(dir)
	if want := dir + ": is a folder, not a file (name the TOML file in it)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEmptyAndBOM(t *testing.T) {
	for _, text := range []string{"", "\n# nothing\n", "\ufeff"} {
		d, err := Parse("f", []byte(text))
		if err != nil || !d.Empty {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	d, err := Parse("f", []byte("\ufeffa = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v := d.Root().Get("a"); v == nil || v.Line != 1 || v.Col != 1 {
		t.Errorf("the mark counts as a character: %+v", v)
	}
}

const sample = `# comment with [brackets] and = signs
title = "x"   # [[tools]]

[[tools]]
name = "a"
args = [
  { name = "p", type = "str" },   # ] }
  {name = 'q', "odd key" = 1},
]
grade.w = 1
text = """
[not.a.table]
x = 1 \"" "
"""

[[tools]]
"na\u006de" = 'b'

[mcp_servers."my server".env]
A = "1"
ä = """ # "ä" would be a bare key that TOML does not have
`

func TestPlaces(t *testing.T) {
	text := strings.TrimSuffix(sample, "ä = \"\"\" # \"ä\" would be a bare key that TOML does not have\n")
	text += "\"ä\" = { inner = 1 }\n"
	d, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]int{}
	walk(d.root, func(v *Value) { got[v.Key] = [2]int{v.Line, v.Col} })
	want := map[string][2]int{
		"": {1, 1}, "title": {2, 1}, "tools": {4, 3}, "tools[0]": {4, 1}, "tools[0].name": {5, 1},
		"tools[0].args": {6, 1}, "tools[0].args[0]": {7, 3}, "tools[0].args[0].name": {7, 5}, "tools[0].args[0].type": {7, 17},
		"tools[0].args[1]": {8, 3}, "tools[0].args[1].name": {8, 4}, `tools[0].args[1]."odd key"`: {8, 16},
		"tools[0].grade": {10, 1}, "tools[0].grade.w": {10, 7}, "tools[0].text": {11, 1},
		"tools[1]": {16, 1}, "tools[1].name": {17, 1},
		"mcp_servers": {19, 2}, `mcp_servers."my server"`: {19, 14}, `mcp_servers."my server".env`: {19, 26},
		`mcp_servers."my server".env.A`: {20, 1}, `mcp_servers."my server".env."ä"`: {21, 1}, `mcp_servers."my server".env."ä".inner`: {21, 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func walk(v *Value, f func(*Value)) {
	f(v)
	switch d := v.Data.(type) {
	case *Table:
		for _, n := range d.Names {
			walk(d.Get(n), f)
		}
	case []*Value:
		for _, e := range d {
			walk(e, f)
		}
	}
}

func TestReaderProblems(t *testing.T) {
	const text = `
nmae = "x"
zzz = 1
word = "fulll"
n = 99
s = 3
b = "true"
d1 = -1
d2 = "5 minutes"
d3 = true
list = ["a", 2]
tab = 4
tabs = [{}, 1]
f = nan
secret = { KEY = 5 }
`
	d, err := Parse("f.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	r.Str("name")
	r.Word("word", "full", "none")
	r.Int("n", 0, 3)
	r.Str("s")
	r.Bool("b", false)
	r.Duration("d1")
	r.Duration("d2")
	r.Duration("d3")
	r.Strs("list")
	r.Table("tab")
	if got := len(r.Tables("tabs")); got != 1 {
		t.Errorf("%d good tables, want 1", got)
	}
	r.Float("f")
	r.StrMap("secret")
	r.Warn("zzz", "", "odd")
	r.Finish()
	var got []string
	for _, p := range r.Problems() {
		got = append(got, p.Error())
	}
	want := []string{
		`f.toml:4:1: word: unknown word "fulll" (did you mean full?)`,
		`f.toml:5:1: n: is 99, want 0 to 3`,
		`f.toml:6:1: s: want a string, is an integer`,
		`f.toml:7:1: b: want a boolean, is a string`,
		`f.toml:8:1: d1: want a duration above zero (a number is seconds; a string is as "1m30s")`,
		`f.toml:9:1: d2: "5 minutes" is not a duration (a number is seconds; a string is as "1m30s")`,
		`f.toml:10:1: d3: want a duration, is a boolean`,
		`f.toml:11:14: list[1]: want a string, is an integer`,
		`f.toml:12:1: tab: want a table, is an integer`,
		`f.toml:13:13: tabs[1]: want a table, is an integer`,
		`f.toml:14:1: f: is NaN, want a finite number`,
		`f.toml:15:12: secret.KEY: want a string, is an integer`,
		`f.toml:3:1: warning: zzz: odd`,
		`f.toml:2:1: nmae: unknown key (did you mean name?)`,
		`f.toml:3:1: zzz: unknown key (known keys: b, d1, d2, d3, f, list, n, name, s, secret, tab, tabs, word)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.OK() {
		t.Error("OK in spite of errors")
	}
}

func TestReaderValues(t *testing.T) {
	d, err := Parse("f", []byte("a = 1.5\nb = \"90s\"\nc = 2\nd = 1979-05-27\ne = [1, {x = 'y'}]\nempty = []\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	if got := []time.Duration{r.Duration("a"), r.Duration("b"), r.Duration("c"), r.Duration("none")}; !cmp.Equal(got, []time.Duration{1500 * time.Millisecond, 90 * time.Second, 2 * time.Second, 0}) {
		t.Error(got)
	}
	if got := r.Get("d").Plain(); got != "1979-05-27" {
		t.Error(got)
	}
	if got := string(r.JSON(r.Get("e"))); got != `[1,{"x":"y"}]` {
		t.Error(got)
	}
	if got := r.Strs("empty"); got == nil || len(got) != 0 {
		t.Error("an empty array reads as absent")
	}
	if r.Strs("none") != nil || *r.Float("c") != 2 {
		t.Error("absent array or integer as float")
	}
	r.Finish()
	if !r.OK() {
		t.Error(r.Problems())
	}
}

// A bad entry's problems stay with it until they are adopted.
func TestEntry(t *testing.T) {
	d, _ := Parse("f", []byte("[[t]]\nx=1\n[[t]]\nx='a'\n"))
	root := d.Root()
	var ok []bool
	for _, r := range root.Tables("t") {
		e := r.Entry()
		e.Str("x")
		ok = append(ok, e.OK())
		root.Adopt(e)
	}
	if !cmp.Equal(ok, []bool{false, true}) || len(root.Problems()) != 1 {
		t.Error(ok, root.Problems())
	}
}

// Every key that the TOML reader sees has a place, and nothing panics or hangs.
// What is no TOML is told without the value, which may be a secret that lacks its quotes.
func TestSyntaxWithoutValues(t *testing.T) {
	for value, want := range map[string]string{
		`hunter2`:                `expected a value; text stands in quotes`,
		`1234567890123456789012`: `a number is out of range for int64`,
		`1e98765`:                `a number is out of range for float64`,
		`123__4567`:              `Invalid integer ...: underscores must be surrounded by digits`,
		`01234567`:               `Invalid integer ...: cannot have leading zeroes`,
		`1.2.3.4567`:             `Invalid float value: ...`,
		`2020-13-45T25:99:99Z`:   `invalid datetime: ...`,
		`"hunter2`:               `strings cannot contain newlines`,
		`"hunter2\q"`:            `invalid escape in string '\q'`,
	} {
		_, err := Parse("f", []byte("[a]\nT = "+value+"\n"))
		var p *Problem
		if !errors.As(err, &p) || p.Message != "not TOML: "+want || p.Line != 2 {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{
		sample, "a.b.c = 1\na.b.d = {x.y = [1, [2, {z = 3}]]}\n", "[a]\n[a.b]\n[[a.c]]\n[[a.c.d]]\nx=1\n[[a.c.d]]\ny=2\n",
		"x = [ # c\n 1,\n { a = 1, }, \n]\ny = \"\"\"a\"\"\"\"\"\nz = '''b'''\n", "a = 1979-05-27 07:32:00\nb = +inf\n", "\"\\x41\\e\\U0001F600\" = 1\r\n'' = 2",
		"\ufeffa = 1", "a = { b = { }, c = [ ] }", "a=\"\\\"\"\nb='\\'\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f", []byte(text))
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) || strings.ContainsAny(p.Error(), "\n\r") {
				t.Fatalf("not a one-line *Problem: %q", err)
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		walk(d.root, func(v *Value) {
			if v.Line < 1 || v.Line > lines || v.Col < 1 {
				t.Fatalf("%s has no place: %d:%d in %q", v.Key, v.Line, v.Col, text)
			}
		})
		var m map[string]any
		md, err := toml.Decode(strings.TrimPrefix(text, "\ufeff"), &m)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range md.Keys() {
			// The reader takes "a = [{b = 1}]" and then "a.c = 2", which is not TOML, and forgets a.b.
			if decoded(m, k) && !located([]*Value{d.root}, k) {
				t.Fatalf("%s is not located in %q", k, text)
			}
		}
	})
}

func decoded(v any, key toml.Key) bool {
	switch v := v.(type) {
	case map[string]any:
		if len(key) == 0 {
			return true
		}
		e, ok := v[key[0]]
		return ok && decoded(e, key[1:])
	case []map[string]any:
		return len(key) == 0 || slices.ContainsFunc(v, func(e map[string]any) bool { return decoded(e, key) })
	case []any:
		return len(key) == 0 || slices.ContainsFunc(v, func(e any) bool { return decoded(e, key) })
	}
	return len(key) == 0
}

func located(at []*Value, key toml.Key) bool {
	for i := 0; i < len(at); i++ {
		if items, ok := at[i].Data.([]*Value); ok {
			at = append(at, items...)
		}
	}
	if len(key) == 0 {
		return len(at) > 0
	}
	var next []*Value
	for _, v := range at {
		if t, ok := v.Data.(*Table); ok {
			if c := t.Get(key[0]); c != nil {
				next = append(next, c)
			}
		}
	}
	return len(next) > 0 && located(next, key[1:])
}

func TestNearest(t *testing.T) {
	known := []string{"connect_timeout", "command", "args", "url"}
	for in, want := range map[string]string{"connectTimeout": "connect_timeout", "comand": "command", "agrs": "args", "ulr": "url", "ur": "", "xyz": "", "headers": ""} {
		if got := Nearest(in, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPlacesOfValues(t *testing.T) {
	d, err := Parse("f", []byte("[a]\nb = [1_0, \"x\"] # c\nd.e = 1979-05-27\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := d.Value().Data.(*Table).Get("a").Data.(*Table)
	b, e := a.Get("b"), a.Get("d").Data.(*Table).Get("e")
	if b.Line != 2 || b.Col != 1 || b.At.Line != 2 || b.At.Col != 5 {
		t.Errorf("b: %+v", b)
	}
	if item := b.Data.([]*Value)[0]; item.At.Col != 6 || item.Col != 6 || item.Text != "1_0" || item.Data != int64(10) {
		t.Errorf("b[0]: %+v", item)
	}
	if e.At.Line != 3 || e.At.Col != 7 || e.Text != "1979-05-27" {
		t.Errorf("d.e: %+v", e)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("ä", 400)
	for _, s := range []string{Shorten(long, 80), Join("", long), Join(strings.Repeat("k.", 150), long), Index(Join(long, long), 7)} {
		if len(s) > maxPath || !strings.Contains(s, "ä…ä") || strings.Contains(s, "\ufffd") {
			t.Errorf("%d bytes: %s", len(s), s)
		}
	}
	if got := Join(`a."b c"`, "d"); got != `a."b c".d` {
		t.Error(got)
	}
}
