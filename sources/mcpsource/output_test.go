package mcpsource

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

func TestOutputSchema(t *testing.T) {
	const object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	const envelope = `{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`
	for _, tt := range []struct{ why, schema, result, misfit string }{
		{"it fits", object, `{"structuredContent":{"n":1}}`, ""},
		{"a float that is an integer", object, `{"structuredContent":{"n":1.0}}`, ""},
		{"another type", object, `{"structuredContent":{"n":"one"}}`, "n"},
		{"a member is missing", object, `{"structuredContent":{}}`, "n"},
		{"nothing structured", object, `{"content":[{"type":"text","text":"hi"}]}`, "promises structured content"},
		{"an envelope that was opened", envelope, `{"structuredContent":{"result":7}}`, ""},
		{"an envelope with something else in it", envelope, `{"structuredContent":{"result":"x"}}`, "result"},
		{"a schema that cannot be read", `{"type":17}`, `{"structuredContent":{"n":1}}`, ""},
		{"an answer that it failed", object, `{"isError":true,"structuredContent":{"e":1}}`, ""},
	} {
		b := serves(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + tt.schema + `}`)
		b.Results = map[string]string{"t": tt.result}
		failed := strings.Contains(tt.result, "isError")

		lenient := newSource(t, b, nil)
		if _, err := resolve(t, lenient, "t")(t.Context(), nil); (err != nil) != failed {
			t.Errorf("%s, leniently: %v", tt.why, err)
		}
		if got := problemText(lenient); strings.Contains(got, tt.misfit) != true || (got == "") != (tt.misfit == "") && tt.schema != `{"type":17}` {
			t.Errorf("%s: the status says %q", tt.why, got)
		}
		_, err := resolve(t, newSource(t, b, &Options{Output: OutputStrict}), "t")(t.Context(), nil)
		switch {
		case failed || tt.misfit == "":
			if toolsource.KindOf(err) == toolsource.KindProtocol && err != nil {
				t.Errorf("%s, strictly: %v", tt.why, err)
			}
		case err == nil || toolsource.KindOf(err) != toolsource.KindProtocol || !strings.Contains(err.Error(), tt.misfit):
			t.Errorf("%s, strictly: %v", tt.why, err)
		}
		unchecked := newSource(t, b, &Options{Output: OutputUnchecked})
		if _, err := resolve(t, unchecked, "t")(t.Context(), nil); (err != nil) != failed {
			t.Errorf("%s, unchecked: %v", tt.why, err)
		}
	}
}

// What a source notes of results goes with the next listing.
func TestUpdateAndMisfits(t *testing.T) {
	b := serves(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}`, `{"name":"u","inputSchema":{"type":"object"}}`)
	b.Results = map[string]string{"t": `{"structuredContent":{}}`}
	s := newSource(t, b, nil)
	call := resolve(t, s, "t")
	if _, err := call(t.Context(), nil); err != nil || len(s.Status().Problems) != 1 {
		t.Fatalf("%v, %v", err, s.Status().Problems)
	}
	s.Update(&Options{Deny: []string{"t"}, Name: "other"})
	specs := discover(t, s)
	if len(specs) != 1 || specs[0].Name != "u" || s.Name() != "mcp:srv" || len(s.Status().Problems) != 0 {
		t.Errorf("%v, %s, %v", specs, s.Name(), s.Status().Problems)
	}
	if _, err := s.Resolve(toolsource.ToolSpec{Name: "t", Origin: toolsource.Origin{Kind: "mcp", Server: "srv", WireName: "t"}}); err == nil {
		t.Error("a tool that is denied now")
	}
}

// A result that does not fit is no matter of arguments, shows no value, and is given as it came.
func TestMisfit(t *testing.T) {
	b := serves(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"},"k":{"type":"integer","default":5}}}}`)
	b.Results = map[string]string{"t": `{"structuredContent":{"n":"planted","f":1.0}}`}
	_, err := resolve(t, newSource(t, b, &Options{Output: OutputStrict}), "t")(t.Context(), nil)
	if toolsource.KindOf(err) != toolsource.KindProtocol || errors.Is(err, toolsource.ErrBadArguments) || strings.Contains(err.Error(), "argument") {
		t.Errorf("a program would take it for its own mistake, and call again: %v", err)
	}
	var ce *toolsource.CallError
	if !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("it has run: %v", err)
	}
	s := newSource(t, b, nil)
	res, err2 := resolve(t, s, "t")(t.Context(), nil)
	if diff := cmp.Diff(map[string]any{"n": "planted", "f": 1.0}, res.Value); diff != "" || err2 != nil {
		t.Errorf("%v: %s", err2, diff)
	}
	if all := err.Error() + problemText(s); strings.Contains(all, "planted") {
		t.Errorf("a value shows: %s", all)
	}
}

func TestMisfitsSideBySide(t *testing.T) {
	b := serves(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}`)
	b.Results = map[string]string{"t": `{"structuredContent":{}}`}
	s := newSource(t, b, nil)
	call := resolve(t, s, "t")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := call(t.Context(), nil); err != nil {
					t.Error(err)
				}
				s.Update(nil)
				_ = s.Status()
			}
		})
	}
	for range 10 {
		discover(t, s)
	}
	wg.Wait()
}

// Texts that a person cannot see are not shown to a model either, and the status says so; the raw schema has
// them as the server sent them.
func TestHiddenTexts(t *testing.T) {
	hidden := `\udb40\udc69\udb40\udc67` // tag characters
	s := newSource(t, serves(`{"name":"t","title":"T","description":"Reads.`+hidden+`\nTwo lines.","inputSchema":{"type":"object","properties":{"p":{"type":"string","description":"a`+hidden+`b"}}}}`), nil)
	specs := discover(t, s)
	if specs[0].Description != "Reads.\nTwo lines." || specs[0].Args[0].Description != "ab" {
		t.Errorf("%q, %q", specs[0].Description, specs[0].Args[0].Description)
	}
	if !strings.Contains(string(specs[0].InputSchema), `\udb40`) {
		t.Error("the raw schema was edited")
	}
	if got := problemText(s); strings.Count(got, `tool "t"`) != 2 || !strings.Contains(got, "description of p") {
		t.Errorf("nobody is told: %s", got)
	}
}
