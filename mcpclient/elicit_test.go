package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestElicitation(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"default":5}},"required":["n"]}`
	form := `{"message":"m","requestedSchema":` + schema + `}`
	gives := func(a ElicitAction, content map[string]any) func(context.Context, *ElicitRequest) (*ElicitResult, error) {
		return func(context.Context, *ElicitRequest) (*ElicitResult, error) { return &ElicitResult{a, content}, nil }
	}
	for _, tt := range []struct {
		why, params string
		url         bool
		elicit      func(context.Context, *ElicitRequest) (*ElicitResult, error)
		want        string // the answer, or what begins with ! a part of the refusal
	}{
		{"accepted, with the defaults", form, false, gives(ElicitAccept, nil), `{"action":"accept","content":{"n":5}}`},
		{"accepted, over the default", form, false, gives(ElicitAccept, map[string]any{"n": 7}), `{"action":"accept","content":{"n":7}}`},
		{"accepted without a schema", `{"message":"m"}`, false, gives(ElicitAccept, nil), `{"action":"accept","content":{}}`},
		{"values that do not fit", form, false, gives(ElicitAccept, map[string]any{"n": 0}), `{"action":"decline"}`},
		{"declined", form, false, gives(ElicitDecline, map[string]any{"n": 7}), `{"action":"decline"}`},
		{"cancelled", form, false, gives(ElicitCancel, nil), `{"action":"cancel"}`},
		{"an unknown action", form, false, gives("maybe", nil), `{"action":"decline"}`},
		{"nothing", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, nil }, `{"action":"decline"}`},
		{"an error", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, errors.New("x") }, `{"action":"decline"}`},
		{"a panic", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { panic("x") }, `{"action":"decline"}`},
		{"no answer in time", form, false, func(context.Context, *ElicitRequest) (*ElicitResult, error) { <-time.After(time.Hour); return nil, nil }, `{"action":"cancel"}`},
		{"an address, not offered", `{"mode":"url","message":"m","url":"https://x/y","elicitationId":"1"}`, false,
			func(context.Context, *ElicitRequest) (*ElicitResult, error) { t.Error("asked"); return nil, nil }, `{"action":"decline"}`},
		{"an address", `{"mode":"url","message":"m","url":"https://x/y","elicitationId":"1"}`, true, func(_ context.Context, r *ElicitRequest) (*ElicitResult, error) {
			if r.URL != "https://x/y" || r.ID != "1" || r.Schema != nil {
				t.Errorf("%+v", r)
			}
			return &ElicitResult{ElicitAccept, map[string]any{"n": 1}}, nil
		}, `{"action":"accept"}`},
		{"an address that runs code", `{"mode":"url","message":"m","url":"javascript:alert(1)"}`, true, gives(ElicitAccept, nil), "!http or https"},
		{"a file", `{"mode":"url","message":"m","url":"file:///etc/passwd"}`, true, gives(ElicitAccept, nil), "!http or https"},
		{"an unknown mode", `{"mode":"voice","message":"m"}`, true, gives(ElicitAccept, nil), "!unknown mode"},
		{"a nested form", `{"message":"m","requestedSchema":{"type":"object","properties":{"o":{"type":"object"}}}}`, false, gives(ElicitAccept, nil), "!want string, number"},
		{"no object", `[]`, false, gives(ElicitAccept, nil), "!want an object"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := askedSession(t, &Handlers{Elicit: tt.elicit, ElicitURL: tt.url})
			begin := time.Now()
			raw, err := s.answer(t.Context(), make(chan struct{}), methodElicit, json.RawMessage(tt.params), report{})
			if part, ok := strings.CutPrefix(tt.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %s, %v", tt.why, raw, err)
				}
			} else if err != nil || string(raw) != tt.want {
				t.Errorf("%s: %s, %v, want %s", tt.why, raw, err, tt.want)
			}
			if d := time.Since(begin); d > 5*time.Minute {
				t.Errorf("%s: after %v", tt.why, d)
			}
			time.Sleep(2 * time.Hour) // what is left behind returns in the bubble
		})
	}
}
func TestFormFits(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"required":["s"],"properties":{
	"s":{"type":"string","minLength":2,"maxLength":3},"e":{"type":"string","enum":["a","b"]},"o":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
	"mail":{"type":"string","format":"email"},"d":{"type":"string","format":"date"},"dt":{"type":"string","format":"date-time"},"u":{"type":"string","format":"uri"},
	"p":{"type":"string","pattern":"^z"},"i":{"type":"integer","maximum":10},"f":{"type":"number"},"b":{"type":"boolean"},
	"l":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},"t":{"type":"array","items":{"anyOf":[{"const":"c","title":"C"}]}}}}`
	f, err := readForm(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		v    any
		fits bool
	}{
		{"s", "ab", true}, {"s", "a", false}, {"s", "abcd", false}, {"s", "\u00e4\u00f6\u00fc", true}, {"s", 1, false}, {"s", nil, false},
		{"e", "a", true}, {"e", "c", false}, {"o", "x", true}, {"o", "X", false},
		{"mail", "a@b.c", true}, {"mail", "a", false}, {"d", "2026-01-31", true}, {"d", "2026-02-31", false},
		{"dt", "2026-01-31T10:00:00Z", true}, {"dt", "2026-01-31", false}, {"u", "https://x", true}, {"u", "x", false},
		{"p", "zz", true}, {"p", "az", false}, {"i", 10, true}, {"i", 11, false}, {"i", 1.5, false}, {"i", 3.0, true}, {"i", "1", false},
		{"f", 1.5, true}, {"f", true, false}, {"b", false, true}, {"b", 0, false},
		{"l", []any{"a", "b"}, true}, {"l", []any{}, false}, {"l", []any{"c"}, false}, {"l", "a", false}, {"t", []any{"c"}, true},
		{"other", 1, false},
	} {
		given := map[string]any{"s": "ab"}
		given[tt.name] = tt.v
		if _, err := f.fit(given); (err == nil) != tt.fits {
			t.Errorf("%s = %v: %v", tt.name, tt.v, err)
		}
	}
	if _, err := f.fit(nil); err == nil || !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("what is required is missing: %v", err)
	}
	for _, bad := range []string{`{"type":"string"}`, `{"properties":{"a":{}}}`, `{"properties":{"a":{"type":["string","null"]}}}`,
		`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"properties":{"a":{"type":"string","pattern":"("}}}`, `{"properties":{"a":{"type":"string","minLength":"1"}}}`} {
		if _, err := readForm(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
func TestElicitedIsHeard(t *testing.T) {
	note := map[string]any{"method": "notifications/elicitation/complete", "params": map[string]any{"elicitationId": "e1"}}
	for _, url := range []bool{true, false} {
		heard := make(chan string, 10)
		s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{}}.on(t, &Handlers{ElicitURL: url,
			Elicit:   func(context.Context, *ElicitRequest) (*ElicitResult, error) { return nil, nil },
			Elicited: func(server, id string) { heard <- server + " " + id },
		})
		if _, err := s.Call(t.Context(), "notify", map[string]any{"notes": []any{note}}, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if !url {
			if err := s.Close(); err != nil || len(heard) > 0 {
				t.Error("heard without a handler for addresses", err)
			}
			continue
		}
		select {
		case got := <-heard:
			if got != "srv e1" {
				t.Error(got)
			}
		case <-time.After(5 * time.Second):
			t.Error("not heard")
		}
	}
}

// In a round an elicitation can be refused only by declining it.
func TestRefusedElicitationIsDeclinedInARound(t *testing.T) {
	s := eraWay{"", mcptest.Stdio, mcptest.Behaviour{Modern: true}}.on(t, &Handlers{
		Elicit: func(context.Context, *ElicitRequest) (*ElicitResult, error) {
			return &ElicitResult{Action: ElicitAccept}, nil
		},
		Limits: AskLimits{PerMinute: 1},
	})
	for _, want := range []string{"accept", "decline"} {
		got, err := request(t.Context(), s, map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "?"}})
		if err != nil || len(got) != 1 || got[0].(map[string]any)["action"] != want {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
}
