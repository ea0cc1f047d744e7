package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// standard is what encoding/json makes of arguments, the specification of EncodeArguments.
func standard(t *testing.T, args map[string]any) (string, error) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(args)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func sameAsStandard(t *testing.T, args map[string]any, why string) {
	t.Helper()
	want, werr := standard(t, args)
	got, err := EncodeArguments(args)
	if (err == nil) != (werr == nil) || werr == nil && string(got) != want {
		t.Errorf("%s: got %.200q, %v, want %.200q, %v", why, got, err, want, werr)
	}
}

func TestEncodeArguments(t *testing.T) {
	loop := map[string]any{}
	loop["again"] = loop
	deep := map[string]any{}
	for range 300 {
		deep = map[string]any{"d": []any{deep, "<&>\n"}}
	}
	var every strings.Builder
	for c := range rune(0x100) {
		every.WriteRune(c)
		every.WriteByte(byte(c))
	}
	many := map[string]any{}
	for i := range 100 {
		many[strings.Repeat("k", i%13)+string(rune('a'+i%7))] = i
	}
	for why, args := range map[string]map[string]any{
		"none":                    nil,
		"empty":                   {},
		"plain values":            {"s": "x", "t": true, "f": false, "n": nil, "i": -5, "l": int64(math.MinInt64)},
		"floats":                  {"a": 1e21, "b": 0.1, "c": math.Copysign(0, -1), "d": float32(1.5), "e": 1e-7},
		"no number":               {"a": math.NaN()},
		"other integers":          {"a": uint64(math.MaxUint64), "b": int8(-1), "c": uint8(255)},
		"numbers in words":        {"a": json.Number("1e2"), "b": json.Number("")},
		"a wrong number":          {"a": json.Number("x")},
		"raw":                     {"a": json.RawMessage("{\"z\":1,\n \"a\":[1e2,9007199254740993]}"), "b": json.RawMessage(nil)},
		"broken raw":              {"a": json.RawMessage("{")},
		"nil lists and objects":   {"a": []any(nil), "b": map[string]any(nil), "c": []any{}, "d": map[string]any{}},
		"structs, bytes, times":   {"a": struct{ X string }{"<>"}, "b": []byte("bytes"), "c": time.Unix(0, 0).UTC(), "d": []string{"x"}, "e": map[string]int{"z": 1, "a": 2}},
		"pointers":                {"a": new(int), "b": (*int)(nil)},
		"what JSON has not":       {"a": func() {}},
		"every byte":              {every.String(): every.String()},
		"JavaScript's line ends":  {"a": "x\u2028y\u2029z\u2027\u202a"},
		"surrogates, halves":      {"a": "\xed\xa0\x80 \xf0\x9f\x98 \xc0\x80", "b": "\U0001F600"},
		"U+FFFD itself":           {"a": "\uFFFD"},
		"keys that become alike":  {"\xff": 1, "\xfe": 2},
		"many keys":               many,
		"deeper than is followed": deep,
		"without end":             loop,
	} {
		sameAsStandard(t, args, why)
	}
}

// A large text costs one buffer of its size.
func TestLargeArgumentsAreCopiedOnce(t *testing.T) {
	for _, unit := range []string{"x", "line of \"code\"\n\t", "\x01"} {
		args := map[string]any{"text": strings.Repeat(unit, 1<<20/len(unit))}
		got, err := EncodeArguments(args)
		if err != nil || cap(got) > len(got)+len(got)/8 {
			t.Errorf("%q: %d bytes of room for %d, %v", unit, cap(got), len(got), err)
		}
		if n := testing.AllocsPerRun(3, func() { _, _ = EncodeArguments(args) }); n > 1 {
			t.Errorf("%q: %.0f allocations", unit, n)
		}
	}
}

func FuzzEncodeArguments(f *testing.F) {
	f.Add(`{"a":[1,"x",{"b":null}],"c":1.5e300}`, "k", "v\n\xff\u2028")
	f.Fuzz(func(t *testing.T, doc, key, value string) {
		var v any
		_ = json.Unmarshal([]byte(doc), &v)
		sameAsStandard(t, map[string]any{key: value, "doc": v, "list": []any{value, v, key}}, doc)
	})
}
