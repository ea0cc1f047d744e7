package toolsource_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	ts "github.com/toolsource/toolsource"
)

func texts(blocks []ts.Content) []string {
	out := []string{}
	for _, c := range blocks {
		if c.Data != nil {
			out = append(out, "<"+string(c.Type)+">")
			continue
		}
		out = append(out, c.Text)
	}
	return out
}

func text(s ...string) (blocks []ts.Content) {
	for _, t := range s {
		blocks = append(blocks, ts.Content{Type: ts.ContentText, Text: t})
	}
	return blocks
}

func TestForModel(t *testing.T) {
	object := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	size := int64(3)
	image := ts.Content{Type: ts.ContentImage, MIMEType: "image/png", Data: []byte{1, 2}}
	link := ts.Content{Type: ts.ContentResourceLink, URI: "demo://r/1", Name: "R1", MIMEType: "text/plain", Size: &size}
	for _, tt := range []struct {
		why  string
		res  ts.Result
		want []string
	}{
		{"text alone", ts.Result{Value: "hello", Content: text("hello")}, []string{"hello"}},
		{"nothing", ts.Result{}, []string{}},
		{"a value alone", ts.Value(object("answer", 42)), []string{`{"answer":42}`}},
		{"structured, and no block", ts.Result{Value: object("answer", int64(42)), Content: []ts.Content{}}, []string{`{"answer":42}`}},
		{"structured beside a text that says something else", ts.Result{Value: object("message", "pong"), Content: text("ok status=ok")}, []string{"ok status=ok", `{"message":"pong"}`}},
		{"a text that is its JSON, in another order and indent, and one more", ts.Result{Value: object("a", int64(1), "b", "\u00e9"), Content: text("{\n \"b\": \"\\u00e9\", \"a\": 1}", "done")}, []string{"{\n \"b\": \"\\u00e9\", \"a\": 1}", "done"}},
		{"a text of white space is no text", ts.Result{Value: object("a", int64(1)), Content: text(" \n")}, []string{`{"a":1}`}},
		{"true and 1 are two things", ts.Result{Value: object("enabled", true), Content: text(`{"enabled": 1}`)}, []string{`{"enabled": 1}`, `{"enabled":true}`}},
		{"0 and false are two things", ts.Result{Value: object("result", false), Content: text("0")}, []string{"0", `{"result":false}`}},
		{"a wrapped string that the text shows", ts.Result{Value: object("result", "hello"), Content: text("hello")}, []string{"hello"}},
		{"an unwrapped string that the text shows", ts.Result{Value: "hello", Content: text("hello")}, []string{"hello"}},
		{"a wrapped list, a block for each item", ts.Result{Value: object("result", []any{"a", object("b", int64(1))}), Content: text("a", `{"b": 1}`)}, []string{"a", `{"b": 1}`}},
		{"a wrapped list whose items a summary does not show", ts.Result{Value: object("result", []any{"a", "b"}), Content: text("2 names")}, []string{"2 names", `{"result":["a","b"]}`}},
		{"a wrapped list whose item holds a newline", ts.Result{Value: object("result", []any{"a\nb", "c"}), Content: text("a", "b", "c")}, []string{"a", "b", "c", `{"result":["a\nb","c"]}`}},
		{"the items themselves", ts.Result{Value: []any{"a", "b"}, Content: text("a", "b")}, []string{"a", "b"}},
		{"large integers are told apart", ts.Result{Value: json.Number("18446744073709551616"), Content: text("18446744073709551617")}, []string{"18446744073709551617", "18446744073709551616"}},
		{"an image", ts.Result{Value: []any{ts.Blob{MIMEType: "image/png", Data: []byte{1, 2}}}, Content: []ts.Content{image}}, []string{"<image>"}},
		{"a link is not fetched", ts.Result{Value: []any{object("type", "resource_link", "uri", "demo://r/1")}, Content: []ts.Content{link}}, []string{"[link to R1: demo://r/1, text/plain, 3 bytes]"}},
		{"a kind that is not known", ts.Result{Value: []any{object("type", "hologram")}, Content: []ts.Content{{Type: "hologram", Raw: []byte(`{"type":"hologram","x":1}`)}}}, []string{`[a block of the kind "hologram", which is not known here: {"type":"hologram","x":1}]`}},
		{"tag characters are taken out", ts.Result{Value: "a\U000E0041\U000E0042b", Content: text("a\U000E0041\U000E0042b")}, []string{"ab", "[2 invisible tag characters were taken out]"}},
		{"a flag stays", ts.Result{Value: "x", Content: text("x\U0001F3F4\U000E0067\U000E0062\U000E007F")}, []string{"x\U0001F3F4\U000E0067\U000E0062\U000E007F", "x"}},
		{"bytes that are no UTF-8 stay", ts.Result{Value: "a\xff\U000E0041b", Content: text("a\xff\U000E0041b")}, []string{"a\xffb", "[1 invisible tag characters were taken out]"}},
		{"a message is no flag", ts.Result{Value: "x", Content: text("\U0001F3F4\U000E0068\U000E0065\U000E006C\U000E0070\U000E0020\U000E006D\U000E0065\U000E007F")}, []string{"\U0001F3F4", "x", "[8 invisible tag characters were taken out]"}},
		{"a long word is no flag", ts.Result{Content: text("\U0001F3F4" + strings.Repeat("\U000E0061", 7) + "\U000E007F")}, []string{"\U0001F3F4", "[8 invisible tag characters were taken out]"}},
		{"a flag that does not end", ts.Result{Content: text("\U0001F3F4\U000E0067")}, []string{"\U0001F3F4", "[1 invisible tag characters were taken out]"}},
		{"an image of no bytes", ts.Result{Value: []any{ts.Blob{MIMEType: "image/png"}}, Content: []ts.Content{{Type: ts.ContentImage, MIMEType: "image/png"}}}, []string{"[image image/png, 0 bytes]"}},
		{"a resource of no bytes", ts.Result{Value: []any{ts.Blob{}}, Content: []ts.Content{{Type: ts.ContentResource, URI: "demo://r", Data: []byte{}}}}, []string{"[resource, 0 bytes]"}},
	} {
		if diff := cmp.Diff(tt.want, texts(tt.res.ForModel(nil))); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
	}
	placed := ts.Result{Content: []ts.Content{image}}.ForModel(&ts.ViewOptions{Place: func(c ts.Content) string { return "/tmp/" + c.FileName() }})
	wantText(t, "a block that the host keeps", texts(placed)[0], "[image image/png, 2 bytes, at /tmp/resource.png]")
	long := ts.Result{Content: text(strings.Repeat("a", 600), strings.Repeat("b", 600))}.ForModel(&ts.ViewOptions{MaxText: 100})
	wantText(t, "a long one", strings.Join(texts(long), "|"), strings.Repeat("a", 40)+"\n[... 1100 of 1200 bytes left out ...]\n|"+strings.Repeat("b", 60))
}

func TestModelMeta(t *testing.T) {
	all := map[string]any{
		"io.modelcontextprotocol/related-task": 1, "dev.mcp/x": 1, "org.modelcontextprotocol.api/x": 1, "com.mcp.tools/x": 1,
		"modelcontextprotocol.io/x": 1, "mcp.dev/x": 1, "tools.mcp.com/x": 1,
		"com.example.mcp/vendor": 1, "com.example/x": 1, "plain": 1, "/leading": 1,
	}
	got := ts.Result{Meta: all}.ModelMeta()
	if diff := cmp.Diff(map[string]any{"com.example.mcp/vendor": 1, "com.example/x": 1, "plain": 1, "/leading": 1}, got); diff != "" {
		t.Error(diff)
	}
	if got := (ts.Result{Meta: map[string]any{"mcp.dev/x": 1}}).ModelMeta(); got != nil {
		t.Errorf("%v: nothing is left, so it is absent", got)
	}
}

func TestFileName(t *testing.T) {
	for _, tt := range []struct{ why, uri, mime, want string }{
		{"the last part", "file:///a/report.pdf", "application/pdf", "report.pdf"},
		{"a way out of the folder", "file:///x/../../etc/passwd", "", "passwd"},
		{"an encoded way out", "demo://x/..%2F..%2fetc%2Fpasswd", "", "passwd"},
		{"dots", "file:///a/..", "text/plain", "resource.txt"},
		{"encoded dots", "file:///a/%2e%2e", "", "resource.bin"},
		{"none", "", "image/jpeg; q=1", "resource.jpg"},
		{"a NUL and a new line", "file:///../../etc/x%00y%0a", "", "xy"},
		{"a device with a blank before the ending", "demo://x/con .txt", "", "resource.bin"},
		{"a device by another digit", "demo://x/COM\u00b9.txt", "", "resource.bin"},
		{"a cut that ends in a dot", "demo://x/" + strings.Repeat("a", 148) + ". " + strings.Repeat("b", 40), "", strings.Repeat("a", 148)},
		{"a query and a fragment", "https://h/a.png?x=/y.exe#/z", "", "a.png"},
		{"backslashes", `file:///C:\temp\a.txt`, "", "a.txt"},
		{"a device", "demo://x/con.txt", "", "resource.bin"},
		{"hidden direction", "demo://x/a\u202Egnp.exe", "", "agnp.exe"},
		{"invalid bytes", "demo://x/%ff%feb", "", "b"},
		{"percent that is none", "demo://x/100%", "", "100%"},
	} {
		c := ts.Content{Type: ts.ContentResource, URI: tt.uri, MIMEType: tt.mime}
		wantText(t, tt.why, c.FileName(), tt.want)
	}
	long := ts.Content{URI: "file:///" + strings.Repeat("\u00e9", 500) + ".pdf"}.FileName()
	if len(long) > 150 || !strings.HasSuffix(long, ".pdf") || !utf8.ValidString(long) {
		t.Errorf("%d bytes: %s", len(long), long)
	}
	wantText(t, "a name is no address", ts.Content{Name: "C# at 5%20?.txt"}.FileName(), "C# at 5%20.txt")
	wantText(t, "by its name", ts.Content{Name: "R 1.csv"}.FileName(), "R 1.csv")
}

func FuzzFileName(f *testing.F) {
	f.Add("file:///x/../../etc/passwd", "text/plain")
	f.Add("a%2f%5c..", "")
	f.Fuzz(func(t *testing.T, uri, mime string) {
		n := ts.Content{URI: uri, MIMEType: mime}.FileName()
		if n == "" || len(n) > 150 || strings.ContainsAny(n, "/\\\x00:") || n == "." || n == ".." || !utf8.ValidString(n) {
			t.Errorf("%q", n)
		}
	})
}

// A value is looked at once, however many blocks there are beside it.
func TestForModelOfManyBlocks(t *testing.T) {
	took := func(n int) time.Duration {
		values, blocks := make([]any, n), make([]ts.Content, n)
		for i := range values {
			values[i], blocks[i] = int64(i), ts.Content{Type: ts.ContentText, Text: "1"}
		}
		res := ts.Result{Value: map[string]any{"items": values}, Content: blocks}
		best := time.Hour
		for range 3 {
			begun := cpuTime()
			if got := len(res.ForModel(nil)); got != n+1 {
				t.Fatal(got)
			}
			best = min(best, cpuTime()-begun)
		}
		return best
	}
	small, large := took(3000), took(30_000)
	if large > 30*small {
		t.Errorf("ten times the blocks take %v, not %v", large, small)
	}
}
