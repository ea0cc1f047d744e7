package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
)

// byEncodingJSON is what encoding/json makes of a text, with integers as a Result has them.
func byEncodingJSON(raw []byte) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, false
	}
	var fix func(any) any
	fix = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			return exactNumber(v)
		case []any:
			for i := range v {
				v[i] = fix(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = fix(v[k])
			}
		}
		return v
	}
	return fix(v), true
}

func compareJSON(t *testing.T, raw []byte) {
	t.Helper()
	got, err := parseJSON(raw)
	if errors.Is(err, errDepth) {
		return
	}
	if valid := json.Valid(raw); valid != (err == nil) {
		t.Fatalf("%q: error %v, valid %v", raw, err, valid)
	}
	if err != nil {
		return
	}
	want, _ := byEncodingJSON(raw)
	if v := got.value(); !reflect.DeepEqual(v, want) {
		t.Fatalf("%q: %#v, want %#v", raw, v, want)
	}
	if got.kind() != '{' {
		return
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	list := got.members(nil)
	for name, raw := range m {
		if v := list.get(name); string(v) != string(raw) {
			t.Fatalf("member %q is %q, want %q", name, v, raw)
		}
	}
	for _, e := range list {
		if _, ok := m[e.name]; !ok {
			t.Fatalf("a member %q too many", e.name)
		}
	}
}

var jsonSeeds = []string{
	``, ` `, `{}`, `[]`, `null`, `true`, `false`, `tru`, `nul`, `"`, `""`, `"a`, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{1:2}`, `[1 2]`, `1 2`,
	`0`, `-0`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `1E-2`, `1.5e300`, `1e400`, `9007199254740993`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `1.0`,
	`"\u00e9\n\t\"\\\/\b\f\r"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800\ud800\udc00"`, `"\udc00\ud800"`, `"\u12"`, `"\x"`, "\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"a\xc3\xa9\xc3\"", "\"\xed\xa0\x80\\n\"",
	`{"a":1,"a":{"x":1},"a":{"y":2}}`, `{"\u0061":1,"a":2}`, `{"":0}`, ` { "a" : [ 1 , { } , [ ] , "x" ] , "b" : null } `, "\ufeff{}", "{\"a\xff\":1}", `"12345678\u0022"`, `"1234567` + "\x1f" + `"`,
	`{"a":"\\","b":"\\\"","c":"]}"}`, `[[[[[[]]]]]]`, `{"k":"` + strings.Repeat("x", 40) + `\\"}`, strings.Repeat("[", 999) + strings.Repeat("]", 999),
}

func TestJSONText(t *testing.T) {
	for _, s := range jsonSeeds {
		compareJSON(t, []byte(s))
	}
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := parseJSON(deep(maxDepth)); err != nil {
		t.Error(err)
	}
	if _, err := parseJSON(deep(maxDepth + 1)); !errors.Is(err, errDepth) {
		t.Error(err)
	}
	if _, err := parseJSON([]byte(strings.Repeat("[{},", 2000))); err == nil {
		t.Error("depth is not given back")
	}
	if _, err := parseJSON([]byte("[" + strings.Repeat(`[{}],{"a":[]},`, 2000) + "1]")); err != nil {
		t.Errorf("depth is not given back: %v", err)
	}
	// every place of a word of eight bytes
	for i := range 24 {
		for _, b := range []string{`"`, `\`, "\x00", "\x1f", "\x20", "\x7f", "\x80", "\xff"} {
			compareJSON(t, []byte(`"`+strings.Repeat("y", i)+b+strings.Repeat("z", 24-i)+`"`))
			compareJSON(t, []byte(`"`+strings.Repeat("\xe9", i)+b+strings.Repeat("!", 24-i)+`"`))
		}
	}
}

func FuzzJSONText(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	files, _ := filepath.Glob("../testdata/cases/*.json")
	for _, name := range files {
		if raw, err := os.ReadFile(name); err == nil {
			f.Add(raw)
		}
	}
	f.Fuzz(compareJSON)
}

// FuzzJSONBytes has the fuzzer's bytes inside a string and inside a document, where mutations get further.
func FuzzJSONBytes(f *testing.F) {
	f.Add("a\\u00e9", "b")
	f.Fuzz(func(t *testing.T, a, b string) {
		compareJSON(t, []byte(`"`+a+`"`))
		compareJSON(t, []byte(`{"k":[`+a+`,"`+b+`"],"`+b+`":{"x":"`+a+`"}}`))
		doc, err := json.Marshal(map[string]any{"a": a, b: []any{a, b, nil, 1.5}})
		if err != nil {
			t.Fatal(err)
		}
		compareJSON(t, doc)
	})
}

// A result's text is one piece of memory, and what a listing keeps is not the listing's whole text.
func TestDecodingIsLight(t *testing.T) {
	raw := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}],"isError":false}`)
	per := testing.AllocsPerRun(20, func() {
		if d, err := decodeResult(raw, true); err != nil || len(d.result.Content) != 1 {
			t.Fatal(err)
		}
	})
	if per > 8 {
		t.Errorf("%v allocations for one text", per)
	}
	if raceEnabled {
		return
	}
	b := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = decodeResult(raw, true)
		}
	})
	if n := b.AllocedBytesPerOp(); n > int64(len(raw))*5/4 {
		t.Errorf("%d bytes for a result of %d", n, len(raw))
	}
}

func BenchmarkDecodeResult(b *testing.B) {
	object := `{"id":12345,"name":"a name of it","ok":true,"score":0.5,"tags":null,"note":"some words, and \"more\" of them"}`
	for name, raw := range map[string]string{
		"text 100 B":   `{"content":[{"type":"text","text":"` + strings.Repeat(`line \"q\"\n`, 6) + `"}]}`,
		"struct 100 B": `{"content":[],"structuredContent":` + object + `}`,
		"text 10 KB":   `{"content":[{"type":"text","text":"` + strings.Repeat(`line \"q\"\n`, 1000) + `"}]}`,
		"struct 10 KB": `{"content":[],"structuredContent":{"list":[` + strings.Repeat(object+",", 90) + object + `]}}`,
		"plain 1 MB":   `{"content":[{"type":"text","text":"` + strings.Repeat(`x`, 1<<20) + `"}]}`,
		"struct 1 MB":  `{"content":[],"structuredContent":{"list":[` + strings.Repeat(object+",", 9000) + object + `]}}`,
	} {
		data := []byte(raw)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := decodeResult(data, false); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", encoding/json", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				dec := json.NewDecoder(bytes.NewReader(data))
				dec.UseNumber()
				var m map[string]any
				if dec.Decode(&m) != nil {
					b.Fatal("bad")
				}
				_ = toolsource.Value(m)
			}
		})
	}
}
