package toolsource_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	ts "github.com/toolsource/toolsource"
)

// FuzzResult builds a result of what is drawn, views and cuts it. Whatever it holds, nothing panics, the
// result itself stays, and what is given is within what was asked for.
func FuzzResult(f *testing.F) {
	f.Add("text", []byte{1}, `{"a":[1,"x"]}`, "demo://r", "image", 10)
	f.Add("\U0001F3F4\U000E0067\U000E0062\U000E007F\U000E0041", []byte{}, `"text"`, "", "resource_link", 1)
	f.Add("\xff\xfe", []byte(nil), `{"result":["\ud800"]}`, "%", "hologram", 300)
	f.Add("1", []byte("x"), `18446744073709551616`, "a/b", "audio", 1<<20)
	f.Fuzz(func(t *testing.T, text string, data []byte, value, uri, kind string, most int) {
		var v any
		dec := json.NewDecoder(strings.NewReader(value))
		dec.UseNumber()
		if dec.Decode(&v) != nil {
			v = ts.Blob{Data: data, URI: value}
		}
		res := ts.Value(v)
		res.Meta = map[string]any{uri: v, "mcp.dev/x": 1}
		res.Content = []ts.Content{
			{Type: ts.ContentText, Text: text, Annotations: json.RawMessage(value), Meta: map[string]any{uri: 1}},
			{Type: ts.ContentType(kind), Data: data, URI: uri, Name: text, Description: text, MIMEType: kind},
			{Type: ts.ContentType(kind), Raw: json.RawMessage(value)},
			{Type: ts.ContentResource, Text: value, URI: uri},
		}
		whole := res
		whole.Content = append([]ts.Content{}, res.Content...)

		short, cut := res.Cap(most)
		if cut != (short.Truncated) || !cut && !reflect.DeepEqual(short, res) {
			t.Errorf("cut %v: %+v", cut, short)
		}
		view := res.ForModel(&ts.ViewOptions{MaxText: most})
		valid := utf8.ValidString(text) && utf8.ValidString(value) && utf8.ValidString(uri) && utf8.ValidString(kind)
		total := 0
		for _, c := range view {
			total += len(c.Text)
			if valid && !utf8.ValidString(c.Text) {
				t.Errorf("a character was cut apart: %q", c.Text)
			}
		}
		if limit := most + 100; most > 0 && total > limit {
			t.Errorf("%d bytes of text, %d were asked for", total, most)
		}
		_ = short.ForModel(nil)
		_, _ = short.Text(), short.Blocks()
		if !reflect.DeepEqual(whole, res) {
			t.Error("the result changed")
		}
	})
}
