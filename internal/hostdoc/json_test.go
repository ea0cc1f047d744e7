package hostdoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must(t *testing.T, syntax Syntax, text string) *Doc {
	t.Helper()
	d, err := Parse("f", syntax, []byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

func notes(d *Doc) []string {
	var out []string
	for _, n := range d.Notes {
		out = append(out, n.Error())
	}
	return out
}

func TestJSONFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"windows path", "{\n  \"a\": \"C:\\Users\\x\"\n}", `f:2:11: an escape that JSON does not have (a \ begins an escape; in a Windows path, write \\ or /)`},
		{"windows path, \\u", `{"a": "C:\users"}`, `f:1:10: an escape that JSON does not have (a \ begins an escape; in a Windows path, write \\ or /)`},
		{"windows folder", "{\"a\": \"C:\\\\x\\\",\n\"b\": 1}", `f:1:7: a text does not end on its line (\" does not end a text; a Windows path that ends in \ wants \\ there)`},
		{"missing comma, new line", "{\n\"a\": 1\n  \"b\": 2}", `f:3:3: a comma is missing (add one before this)`},
		{"missing comma in a list", `["a" "b"]`, `f:1:6: a comma is missing (add one before this)`},
		{"missing comma before a word", "[1\n true]", `f:2:2: a comma is missing (add one before this)`},
		{"quote in a text", `{"a": "say "hi" now"}`, `f:1:13: a text ended before this (write a " within a text as \")`},
		{"single quotes, key", `{'a': 1}`, `f:1:2: a text stands in the wrong quotes (write "...")`},
		{"single quotes, value", `{"a": 'hush'}`, `f:1:7: a text stands in the wrong quotes (write "...")`},
		{"typographic quotes", `{“a”: 1}`, `f:1:2: a text stands in typographic quotes (write "..." with straight quotes)`},
		{"unquoted key", `{ä: 1, b: 2}`, `f:1:2: a key stands without quotes (write it in "...")`},
		{"number as key", `{1: 1}`, `f:1:2: a key stands without quotes (write it in "...")`},
		{"unquoted value", `{"a": hush}`, `f:1:7: a value stands without quotes (write text in "..."; else true, false or null in small letters)`},
		{"Python", `{"a": True}`, `f:1:7: a value stands without quotes (write text in "..."; else true, false or null in small letters)`},
		{"number", `{"a": 007}`, `f:1:7: not a number as JSON writes them (write text in "..."; a number has no leading 0 or +)`},
		{"missing brace", "{\n\"a\": {\n\"b\": 1\n}", `f:4:2: the file ends too early (the { of line 1 has no })`},
		{"missing bracket", "{\"a\": [1}", `f:1:9: found } where ] is expected (close the [ of line 1 first)`},
		{"brace too many", `{"a": {}}}`, `f:1:10: something follows after the end (one } too many, here or before)`},
		{"text after the end", "{}\nhush", `f:2:1: something follows after the end (remove it; a file holds one value)`},
		{"inner part only", `"a": {}`, `f:1:4: a key stands outside of { } (put { before the first key and } at the end)`},
		{"no value", `{"a": }`, `f:1:7: a value is missing`},
		{"no value, comma", `{"a": , "b": 1}`, `f:1:7: a value is missing`},
		{"no value at all", `{"a"}`, `f:1:5: a key has no value (write "name": value)`},
		{"equals sign", `{"a" = 1}`, `f:1:6: found = where : is expected`},
		{"no colon", `{"a" "b"}`, `f:1:6: a : is missing after the key (write "name": value)`},
		{"two commas", `[1,,2]`, `f:1:4: a comma too many (remove it)`},
		{"two commas in a map", `{"a":1,,}`, `f:1:8: a comma too many (remove it)`},
		{"only a comma", `[,]`, `f:1:2: a comma too many (remove it)`},
		{"map in a list's place", `["a": 1]`, `f:1:5: a : where a comma is expected (a list has no keys, and a key has one value)`},
		{"no key", `{{}}`, `f:1:2: a key is missing (write "name": before the value)`},
		{"hash", "{\n# x\n}", `f:2:1: a # is no comment in JSON (write // or /* */)`},
		{"open comment", "{}\n/* x", `f:2:1: a comment has no end (add */)`},
		{"open text", "{\"a\": \"hush\n}", `f:1:7: a text does not end on its line (add the closing "; write a line end as \n)`},
		{"open text at the end", `{"a": "hush`, `f:1:7: a text does not end on its line (add the closing "; write a line end as \n)`},
		{"tab", "{\"a\": \"x\ty\"}", `f:1:9: a control character stands in a text (write a tab as \t)`},
		{"no-break space", "{\u00a0}", `f:1:2: an invisible character (U+00A0) (delete it)`},
		{"line separator between", "{\u2028}", `f:1:2: an invisible character (U+2028) (delete it)`},
		{"wide characters before", "{\"ä€😀\": hush}", `f:1:9: a value stands without quotes (write text in "..."; else true, false or null in small letters)`},
		{"deep", strings.Repeat("[", 4<<20), `f:1:201: is nested more than 200 deep`},
		{"deep maps", strings.Repeat(`{"":`, 1<<20), `f:1:801: is nested more than 200 deep`},
		{"many", "[" + strings.Repeat("0,", MaxValues) + "]", `f:1:1000000: holds more than 500000 values`},
		{"large", strings.Repeat(" ", MaxFile+1), `f: is larger than 4 MiB`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", JSON, []byte(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestJSONOddities(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"repeated key", "{\"m\": {\"db\": 1,\n\"db\": 2,\n \"DB\": 3, \"db\": 4}}", []string{
			"f:2:1: warning: m.db: the key stands there already in line 1; the last one counts (rename or remove one of them)",
			"f:3:11: warning: m.db: the key stands there already in line 2; the last one counts (rename or remove one of them)"}},
		{"same key by escapes", `{"a": 1, "\u0061": 2}`, []string{
			"f:1:10: warning: a: the key stands there already in line 1; the last one counts (rename or remove one of them)"}},
		{"half a pair", `{"a": "x\ud83dy", "b": "\ude00", "c": "\ud83d\ude00", "d": "\ud83d\u0041"}`, []string{
			`f:1:7: warning: a: an escape is half of a surrogate pair; it is read as the replacement character (write both halves, as \ud83d\ude00)`,
			`f:1:24: warning: b: an escape is half of a surrogate pair; it is read as the replacement character (write both halves, as \ud83d\ude00)`,
			`f:1:60: warning: d: an escape is half of a surrogate pair; it is read as the replacement character (write both halves, as \ud83d\ude00)`}},
		{"path whose escapes exist", `{"a": "C:\temp"}`, []string{
			`f:1:7: warning: a: looks like a Windows path with single backslashes: one of them was read as an escape (in a Windows path, write \\ or /)`}},
		{"mark", "\ufeff{}", []string{
			"f:1:1: warning: begins with a byte order mark, which is skipped (save it without one: some programs cannot read it)"}},
		{"comments and trailing commas", "// x\n{\"a\": [1,/* y */],} // z", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, notes(must(t, JSON, tt.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
