package toolsource_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	ts "github.com/toolsource/toolsource"
)

func TestCap(t *testing.T) {
	long := strings.Repeat("a", 500) + strings.Repeat("z", 500)
	cutText := strings.Repeat("a", 40) + "\n[... 900 of 1000 bytes left out ...]\n" + strings.Repeat("z", 60)
	blob := ts.Content{Type: ts.ContentImage, MIMEType: "image/png", URI: "demo://i", Data: make([]byte, 3000)}
	for _, tt := range []struct {
		why   string
		res   ts.Result
		most  int
		value any
		text  []string
		cut   bool
	}{
		{"within it", ts.Result{Value: "ok", Content: text("ok")}, 100, "ok", []string{"ok"}, false},
		{"no limit", ts.Result{Value: long, Content: text(long)}, 0, long, []string{long}, false},
		{"a text and its value", ts.Result{Value: long, Content: text(long)}, 100, cutText, []string{cutText}, true},
		{"a value alone", ts.Value(long), 100, cutText, []string{}, true},
		{"a list becomes its JSON", ts.Value([]any{long}), 100, "[\"" + strings.Repeat("a", 38) + "\n[... 904 of 1004 bytes left out ...]\n" + strings.Repeat("z", 58) + "\"]", []string{}, true},
		{"structured that fits stays, beside a text that does not", ts.Result{Value: map[string]any{"a": int64(1)}, Content: text(long)}, 100, map[string]any{"a": int64(1)}, []string{cutText}, true},
		{"bytes become a line, what fits stays", ts.Result{Value: []any{ts.Blob{MIMEType: "image/png", URI: "demo://i", Data: blob.Data}, "note"}, Content: append([]ts.Content{blob}, text("note")...)}, 1000,
			[]any{"[image image/png of 3000 bytes left out, from demo://i]", "note"}, []string{"[image image/png of 3000 bytes left out, from demo://i]", "note"}, true},
		{"a link that does not fit", ts.Result{Value: []any{map[string]any{"uri": "u://1"}}, Content: []ts.Content{{Type: ts.ContentResourceLink, URI: "u://1", Name: "n", Description: long}}}, 100,
			[]any{"[resource_link of 1006 bytes left out, from u://1]"}, []string{"[resource_link of 1006 bytes left out, from u://1]"}, true},
		{"annotations that do not fit go before the text", ts.Result{Value: "note", Content: []ts.Content{{Type: ts.ContentText, Text: "note", Annotations: []byte(`{"x":"` + long + `"}`)}}}, 100, "note", []string{"note"}, true},
		{"numbers are never cut", ts.Value(12345678901), 3, int64(12345678901), []string{}, false},
		{"at whole characters", ts.Value(strings.Repeat("\u20ac", 100)), 50, strings.Repeat("\u20ac", 6) + "\n[... 250 of 300 bytes left out ...]\n" + strings.Repeat("\u20ac", 10), []string{}, true},
	} {
		whole := tt.res
		short, cut := tt.res.Cap(tt.most)
		if diff := cmp.Diff(tt.value, short.Value); diff != "" || cut != tt.cut || short.Truncated != tt.cut {
			t.Errorf("%s: cut %v, truncated %v, %s", tt.why, cut, short.Truncated, diff)
		}
		if diff := cmp.Diff(tt.text, texts(short.Content)); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
		if diff := cmp.Diff(whole, tt.res); diff != "" {
			t.Errorf("%s: the whole changed: %s", tt.why, diff)
		}
	}
}

func TestCapResults(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	var kept []ts.Result
	fail := error(nil)
	sink := func(_ context.Context, spec ts.ToolSpec, whole ts.Result) (string, error) {
		kept = append(kept, whole)
		return "/srv/" + spec.Name, fail
	}
	tb := newBox(t, &ts.Options{Middleware: []ts.Middleware{ts.CapResults(1000, sink)}})
	register := func(name string, call ts.Callable) {
		if _, err := tb.Register(ts.ToolSpec{Name: name}, call); err != nil {
			t.Fatal(err)
		}
	}
	register("long", func(context.Context, map[string]any) (ts.Result, error) {
		return ts.Result{Value: long, Content: text(long), Meta: map[string]any{"k": 1}}, nil
	})
	register("short", answering("ok"))
	register("fails", func(context.Context, map[string]any) (ts.Result, error) {
		return ts.Result{}, &ts.ToolError{Tool: "fails", Result: ts.Result{Value: long, Content: text(long)}}
	})
	res, err := tb.Call(t.Context(), "long", nil)
	if err != nil || !res.Truncated || len(res.Value.(string)) > 1100 || res.Meta[ts.MetaWhole] != "/srv/long" || res.Meta["k"] != 1 {
		t.Errorf("%v, %+v", err, res)
	}
	if got := res.Text(); !strings.Contains(got, "[the whole result is at /srv/long]") {
		t.Error(got)
	}
	if len(kept) != 1 || kept[0].Value != long {
		t.Error("the sink did not get the whole")
	}
	if res, err := tb.Call(t.Context(), "short", nil); err != nil || res.Truncated || len(kept) != 1 {
		t.Errorf("%v %+v", err, res)
	}
	_, err = tb.Call(t.Context(), "fails", nil)
	var te *ts.ToolError
	if !errors.As(err, &te) || !te.Result.Truncated || len(te.Result.Text()) < 16<<10 || len(te.Result.Text()) > 17<<10 {
		t.Errorf("%v: an error keeps 16 KiB", te != nil)
	}
	fail = errors.New("disk full")
	if res, err := tb.Call(t.Context(), "long", nil); err != nil || res.Meta[ts.MetaWhole] != nil || !res.Truncated {
		t.Errorf("a sink that fails costs only the place: %v", err)
	}
}

func TestCapResultsWithASinkThatPanics(t *testing.T) {
	capped := ts.CapResults(100, func(context.Context, ts.ToolSpec, ts.Result) (string, error) { panic("no disk") })(ts.ToolSpec{}, answering(strings.Repeat("x", 1000)))
	if res, err := capped(t.Context(), nil); err != nil || !res.Truncated || res.Meta != nil {
		t.Errorf("%v %+v: it costs only the place", err, res)
	}
}

// Whatever the result: a cut one is within its limit but for its notes, is valid text, and what was within
// is not touched.
func TestCapAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var res ts.Result
		var values []any
		for range rapid.IntRange(0, 6).Draw(t, "blocks") {
			if rapid.Bool().Draw(t, "bytes") {
				data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
				res.Content = append(res.Content, ts.Content{Type: ts.ContentImage, MIMEType: "image/png", Data: append([]byte{}, data...)})
				values = append(values, ts.Blob{MIMEType: "image/png", Data: data})
				continue
			}
			s := rapid.StringN(0, 200, 600).Draw(t, "text")
			res.Content = append(res.Content, ts.Content{Type: ts.ContentText, Text: s})
			values = append(values, s)
		}
		if len(values) > 0 {
			res.Value = values
		}
		most := rapid.IntRange(1, 1500).Draw(t, "most")
		size := func(r ts.Result) (n int) {
			for _, c := range r.Content {
				n += len(c.Text) + (len(c.Data)+2)/3*4
			}
			return n
		}
		short, cut := res.Cap(most)
		if cut != (size(res) > most) && !cut {
			t.Fatalf("%d bytes of %d were not cut", size(res), most)
		}
		if !cut {
			if diff := cmp.Diff(res, short); diff != "" {
				t.Fatal(diff)
			}
			return
		}
		if got, limit := size(short), max(most, 256)+60*(len(res.Content)+1); got > limit+256 {
			t.Fatalf("%d bytes, want %d", got, limit)
		}
		for _, c := range short.Content {
			if !utf8.ValidString(c.Text) {
				t.Fatalf("%q", c.Text)
			}
		}
		if list, ok := short.Value.([]any); ok && len(list) != len(short.Content) {
			t.Fatalf("%d values of %d blocks", len(list), len(short.Content))
		}
	})
}
