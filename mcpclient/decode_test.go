package mcpclient

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

// readCase reads one of the shared cases.
func readCase(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type resultCase struct {
	Rows []struct {
		Result json.RawMessage
		Error  json.RawMessage
		Expect string
	}
}

func TestCase53Structured(t *testing.T) {
	var c resultCase
	readCase(t, "53-structured-only.json", &c)
	answer := map[string]any{"answer": int64(42)}
	want := []struct {
		value any
		text  string
	}{
		{answer, `{"answer":42}`},
		{answer, `{"answer":42}`},
		{map[string]any{"a": int64(1)}, `{"a":1}`},
		{map[string]any{"message": "pong"}, "ok status=ok"},
		{map[string]any{"t": int64(36)}, `{"t":36}`},
		{map[string]any{"a": int64(1)}, `{"a":1}`},
		{[]any{int64(1), int64(2)}, "[1,2]"},
		{nil, ""},
		{nil, ""},
	}
	if len(want) != len(c.Rows) {
		t.Fatalf("%d rows, want %d", len(c.Rows), len(want))
	}
	for i, row := range c.Rows {
		d, err := decodeResult(row.Result, true)
		if err != nil || d.isError {
			t.Errorf("row %d (%s): error %v, isError %v", i, row.Expect, err, d.isError)
			continue
		}
		if diff := cmp.Diff(want[i].value, d.result.Value); diff != "" {
			t.Errorf("row %d (%s): value %s", i, row.Expect, diff)
		}
		if got := d.result.Text(); got != want[i].text {
			t.Errorf("row %d (%s): text %q, want %q", i, row.Expect, got, want[i].text)
		}
	}
}

func TestCase54IsError(t *testing.T) {
	var c resultCase
	readCase(t, "54-is-error.json", &c)
	want := []struct {
		isError bool
		text    string
	}{
		{true, "no such site"},
		{true, ""}, // ToolError has the stock message
		{true, "a\nb"},
		{true, `{"error":{"code":"E1"}}`},
		{false, "Error: boom"},
		{true, "MCP error -32602: Tool x not found"},
		{}, // an error of the protocol: TestCase54RPCError
		{true, ""},
	}
	for i, row := range c.Rows {
		if row.Result == nil {
			continue
		}
		d, err := decodeResult(row.Result, true)
		if err != nil {
			t.Errorf("row %d: %v", i, err)
			continue
		}
		if d.isError != want[i].isError {
			t.Errorf("row %d (%s): isError %v", i, row.Expect, d.isError)
		}
		if got := d.result.Text(); got != want[i].text {
			t.Errorf("row %d (%s): text %q, want %q", i, row.Expect, got, want[i].text)
		}
	}
	d, _ := decodeResult(c.Rows[2].Result, true)
	if n := len(d.result.Content); n != 3 || d.result.Content[2].Type != toolsource.ContentImage {
		t.Errorf("the image is lost: %+v", d.result.Content)
	}
	empty := &toolsource.ToolError{Tool: "x"}
	if !strings.Contains(empty.Error(), "answered with an error and no text") {
		t.Errorf("no stock message: %v", empty)
	}
}

func TestCase55ContentKinds(t *testing.T) {
	var c resultCase
	readCase(t, "55-content-kinds.json", &c)
	png := []byte("\x89PNG\r\n\x1a\n")
	size := int64(3)
	type row struct {
		content []toolsource.Content
		value   any
		text    string
		notes   int
	}
	raw := func(i int, kind toolsource.ContentType) toolsource.Content {
		var r struct{ Content []json.RawMessage }
		if err := json.Unmarshal(c.Rows[i].Result, &r); err != nil {
			t.Fatal(err)
		}
		return toolsource.Content{Type: kind, Raw: r.Content[0]}
	}
	badImage := raw(9, toolsource.ContentImage)
	badImage.MIMEType = "image/png"
	want := []row{
		{[]toolsource.Content{{Type: "image", Data: png, MIMEType: "image/png"}}, []any{toolsource.Blob{MIMEType: "image/png", Data: png}}, "", 0},
		{[]toolsource.Content{{Type: "audio", Data: []byte("RIFF"), MIMEType: "audio/wav"}}, []any{toolsource.Blob{MIMEType: "audio/wav", Data: []byte("RIFF")}}, "", 0},
		{[]toolsource.Content{{Type: "resource", URI: "file:///a.txt", Text: "hello"}}, []any{map[string]any{"type": "resource", "uri": "file:///a.txt", "text": "hello"}}, "hello", 0},
		{[]toolsource.Content{{Type: "resource", URI: "file:///b", Data: []byte{0, 0, 0}, MIMEType: octetStream}}, []any{toolsource.Blob{MIMEType: octetStream, URI: "file:///b", Data: []byte{0, 0, 0}}}, "", 0},
		{[]toolsource.Content{{Type: "resource_link", URI: "demo://r/1", Name: "R1", MIMEType: "text/plain", Size: &size}}, []any{map[string]any{"type": "resource_link", "uri": "demo://r/1", "name": "R1", "mimeType": "text/plain", "size": size}}, "", 0},
		{[]toolsource.Content{raw(5, "hologram")}, []any{map[string]any{"type": "hologram", "x": int64(1)}}, "", 1},
		{[]toolsource.Content{raw(6, "text")}, []any{map[string]any{"type": "text"}}, "", 1},
		{[]toolsource.Content{raw(7, "")}, []any{map[string]any{"text": "no type"}}, "", 1},
		{[]toolsource.Content{{Raw: []byte("null")}, {Raw: []byte(`"str"`)}, {Type: "text", Text: "ok"}}, []any{nil, "str", "ok"}, "ok", 2},
		{[]toolsource.Content{badImage}, []any{map[string]any{"type": "image", "data": "!!not base64!!", "mimeType": "image/png"}}, "", 1},
		{[]toolsource.Content{{Type: "text", Text: "null"}}, "null", "null", 0},
		{[]toolsource.Content{{Type: "resource", URI: "file:///../../etc/x%00y", MIMEType: "text/plain", Data: []byte{0}}}, []any{toolsource.Blob{MIMEType: "text/plain", URI: "file:///../../etc/x%00y", Data: []byte{0}}}, "", 0},
		{[]toolsource.Content{{Type: "text", Text: "object, not array"}}, "object, not array", "object, not array", 1},
		{[]toolsource.Content{{Type: "text", Text: "2024 shape"}}, "2024 shape", "2024 shape", 1},
	}
	if len(want) != len(c.Rows) {
		t.Fatalf("%d rows, want %d", len(c.Rows), len(want))
	}
	for i, r := range c.Rows {
		d, err := decodeResult(r.Result, true)
		if err != nil || d.isError {
			t.Errorf("row %d: error %v, isError %v", i, err, d.isError)
			continue
		}
		if diff := cmp.Diff(want[i].content, d.result.Content); diff != "" {
			t.Errorf("row %d: content %s", i, diff)
		}
		if diff := cmp.Diff(want[i].value, d.result.Value); diff != "" {
			t.Errorf("row %d: value %s", i, diff)
		}
		text := d.result.Text()
		if want[i].text != "" && text != want[i].text || strings.Contains(text, "0xc0") {
			t.Errorf("row %d: text %q, want %q", i, text, want[i].text)
		}
		if len(d.notes) != want[i].notes {
			t.Errorf("row %d: notes %q, want %d", i, d.notes, want[i].notes)
		}
	}
}

func TestValueRules(t *testing.T) {
	for _, tc := range []struct {
		why    string
		raw    string
		unwrap bool
		want   any
	}{
		{"several texts are a list", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, true, []any{"a", "b"}},
		{"text among blocks is a string", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA=="}]}`, true, []any{"a", toolsource.Blob{MIMEType: octetStream, Data: []byte{0}}}},
		{"the envelope is unwrapped", `{"structuredContent":{"result":5}}`, true, int64(5)},
		{"a schema that is no envelope keeps it", `{"structuredContent":{"result":5}}`, false, map[string]any{"result": int64(5)}},
		{"more than result is no envelope", `{"structuredContent":{"result":5,"x":1}}`, true, map[string]any{"result": int64(5), "x": int64(1)}},
		{"an envelope around null", `{"structuredContent":{"result":null}}`, true, nil},
		{"structured null is absent", `{"content":[{"type":"text","text":"a"}],"structuredContent":null}`, true, "a"},
		{"an empty text is a text", `{"content":[{"type":"text","text":""}]}`, true, ""},
		{"above 2^53", `{"structuredContent":{"n":9007199254740993}}`, true, map[string]any{"n": int64(9007199254740993)}},
		{"beyond int64", `{"structuredContent":{"n":18446744073709551616}}`, true, map[string]any{"n": json.Number("18446744073709551616")}},
		{"smallest int64", `{"structuredContent":[-9223372036854775808]}`, true, []any{int64(-9223372036854775808)}},
		{"floats stay floats", `{"structuredContent":[1.0,1e2,0.5]}`, true, []any{1.0, 100.0, 0.5}},
		{"keys are told apart by case", `{"Content":[{"type":"text","text":"no"}],"content":[{"type":"text","text":"yes"}]}`, true, "yes"},
		{"unpadded base64", `{"content":[{"type":"audio","data":"AA","mimeType":"a/b"}]}`, true, []any{toolsource.Blob{MIMEType: "a/b", Data: []byte{0}}}},
		{"empty data is no nil", `{"content":[{"type":"image","data":"","mimeType":"a/b"}]}`, true, []any{toolsource.Blob{MIMEType: "a/b", Data: []byte{}}}},
		{"the first protocol revisions' bare value", `{"toolResult":[1]}`, true, []any{int64(1)}},
	} {
		d, err := decodeResult([]byte(tc.raw), tc.unwrap)
		if err != nil {
			t.Errorf("%s: %v", tc.why, err)
			continue
		}
		if diff := cmp.Diff(tc.want, d.result.Value); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
	for _, raw := range []string{"", "null", "42", `"x"`, "[]", "{"} {
		if _, err := decodeResult([]byte(raw), true); err == nil {
			t.Errorf("%q passes for a result", raw)
		}
	}
}

// FuzzDecodeResult holds the decoder against encoding/json: it never panics, takes every object that
// encoding/json takes, counts every block, and its structured value is encoding/json's.
func FuzzDecodeResult(f *testing.F) {
	for _, name := range []string{"53-structured-only.json", "54-is-error.json", "55-content-kinds.json"} {
		var c resultCase
		readCase(f, name, &c)
		for _, r := range c.Rows {
			f.Add([]byte(r.Result))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := decodeResult(raw, false)
		var m map[string]json.RawMessage
		isObject := json.Unmarshal(raw, &m) == nil && m != nil
		if errors.Is(err, errDepth) {
			return
		}
		if isObject != (err == nil) {
			t.Fatalf("%q: error %v, object %v", raw, err, isObject)
		}
		if err != nil || m["toolResult"] != nil {
			return
		}
		var blocks []json.RawMessage
		if json.Unmarshal(m["content"], &blocks) == nil && len(blocks) != len(d.result.Content) {
			t.Errorf("%q: %d blocks of %d", raw, len(d.result.Content), len(blocks))
		}
		if s := m["structuredContent"]; s != nil && string(s) != "null" {
			if got := toolsource.Value(s).Value; !reflect.DeepEqual(got, d.result.Value) {
				t.Errorf("%q: value %#v, want %#v", raw, d.result.Value, got)
			}
		}
		if _, err := json.Marshal(d.result.Content); err != nil {
			t.Errorf("%q: content cannot be written: %v", raw, err)
		}
	})
}

// Numbers keep their digits, however they are written.
func TestExactNumber(t *testing.T) {
	for in, want := range map[string]any{
		"9007199254740993.0":             int64(9007199254740993),
		"-9007199254740993.0":            int64(-9007199254740993),
		"9.007199254740993e15":           int64(9007199254740993),
		"90071992547409930E-1":           int64(9007199254740993),
		"0.09007199254740993e+17":        int64(9007199254740993),
		"18446744073709551617.0":         json.Number("18446744073709551617"),
		"9007199254740992.0":             9007199254740992.0,
		"9007199254740993.5":             9007199254740993.5,
		"1.0":                            1.0,
		"1e23":                           1e23,
		"1.2345678901234567e30":          1.2345678901234567e30,
		"0.1234567890123456789":          0.1234567890123456789,
		"-0.0":                           math.Copysign(0, -1),
		"123456789012345678901234567e-9": 123456789012345678.901234567,
	} {
		if got := exactNumber(json.Number(in)); got != want {
			t.Errorf("%s: %T %v", in, got, got)
		}
	}
}
