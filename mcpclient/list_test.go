package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource/grade"
)

// listOf reads a listing from raw pages by cursor, and counts the requests.
func listOf(t testing.TB, pages map[string]string, maxTools, maxPages int) (l Listing, requests int, err error) {
	t.Helper()
	r := &listReader{server: "srv", maxTools: maxTools, maxPages: maxPages}
	l, err = r.readAll(t.Context(), func(_ context.Context, cursor string) (json.RawMessage, error) {
		requests++
		raw, ok := pages[cursor]
		if !ok {
			return nil, fmt.Errorf("asked for cursor %q", cursor)
		}
		return json.RawMessage(raw), nil
	})
	return l, requests, err
}

func names(l Listing) []string {
	list := []string{}
	for _, t := range l.Tools {
		list = append(list, t.Name)
	}
	return list
}

func problems(l Listing) string {
	var b strings.Builder
	for _, p := range l.Problems {
		b.WriteString(p.Error() + "\n")
	}
	return b.String()
}

func TestCase48CursorLoop(t *testing.T) {
	var c struct {
		ByCursor map[string]struct {
			Tools      []string
			NextCursor string
		} `json:"by_cursor"`
	}
	readCase(t, "48-cursor-loop.json", &c)
	pages := map[string]string{}
	for cursor, p := range c.ByCursor {
		items := []string{}
		for _, n := range p.Tools {
			items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n))
		}
		pages[cursor] = fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, strings.Join(items, ","), p.NextCursor)
	}
	l, requests, err := listOf(t, pages, 1000, 50)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(l)); diff != "" {
		t.Error(diff)
	}
	if requests > 3 {
		t.Errorf("%d requests", requests)
	}
	if p := problems(l); !strings.Contains(p, "cursor did not advance") || strings.Count(p, "\n") != 1 {
		t.Errorf("problems: %s", p)
	}
}

func TestCase50OddLists(t *testing.T) {
	var c struct{ Rows []json.RawMessage }
	readCase(t, "50-tools-null.json", &c)
	want := []struct {
		names    []string
		problems int
		err      string
	}{
		{[]string{}, 1, ""},
		{[]string{}, 1, ""},
		{[]string{"a"}, 1, ""},
		{[]string{}, 1, ""},
		{nil, 0, `server "srv": tools of tools/list is {}, want a list`},
		{[]string{}, 1, ""},
		{[]string{}, 1, ""},
	}
	if len(want) != len(c.Rows) {
		t.Fatalf("%d rows, want %d", len(c.Rows), len(want))
	}
	for i, raw := range c.Rows {
		l, _, err := listOf(t, map[string]string{"": string(raw)}, 1000, 50)
		if want[i].err != "" {
			if err == nil || err.Error() != want[i].err {
				t.Errorf("%s: error %v, want %s", raw, err, want[i].err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if diff := cmp.Diff(want[i].names, names(l)); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
		if len(l.Problems) != want[i].problems || !strings.Contains(problems(l), `server "srv"`) {
			t.Errorf("%s: problems %s", raw, problems(l))
		}
	}
}

func TestCase78Hints(t *testing.T) {
	var c struct {
		Rows []struct{ In json.RawMessage }
	}
	readCase(t, "78-annotations.json", &c)
	yes, no := flag(true), flag(false)
	want := []struct {
		hints    *grade.Hints
		grade    grade.Grade
		problems int
	}{
		{nil, grade.Max, 0},
		{&grade.Hints{}, grade.Max, 0},
		{&grade.Hints{ReadOnly: yes}, grade.Max, 0}, // open world is not said
		{&grade.Hints{ReadOnly: no}, grade.Max, 0},
		{&grade.Hints{ReadOnly: no, Destructive: no}, grade.Max, 0},
		{&grade.Hints{ReadOnly: yes, Destructive: yes}, grade.Max, 1},
		{&grade.Hints{}, grade.Max, 1},
		{&grade.Hints{}, grade.Max, 0},
		{&grade.Hints{Destructive: no}, grade.Max, 0},
		{&grade.Hints{ReadOnly: yes}, grade.Max, 0},
		{&grade.Hints{ReadOnly: yes, OpenWorld: yes}, grade.W2D1, 0},
		{&grade.Hints{}, grade.Max, 0},
	}
	if len(want) != len(c.Rows) {
		t.Fatalf("%d rows, want %d", len(c.Rows), len(want))
	}
	for i, r := range c.Rows {
		if r.In == nil {
			r.In = json.RawMessage("null")
		}
		l, _, err := listOf(t, map[string]string{"": fmt.Sprintf(`{"tools":[{"name":"x","annotations":%s}]}`, r.In)}, 1000, 50)
		if err != nil || len(l.Tools) != 1 {
			t.Errorf("%s: %v", r.In, err)
			continue
		}
		if diff := cmp.Diff(want[i].hints, l.Tools[0].Hints); diff != "" {
			t.Errorf("%s: %s", r.In, diff)
		}
		if g := grade.FromHints(l.Tools[0].Hints); g != want[i].grade {
			t.Errorf("%s: grade %v, want %v", r.In, g, want[i].grade)
		}
		if len(l.Problems) != want[i].problems {
			t.Errorf("%s: problems %q, want %d", r.In, problems(l), want[i].problems)
		}
		if strings.Contains(string(r.In), "x-unknown") {
			if diff := cmp.Diff(map[string]any{"annotations": map[string]any{"x-unknown": int64(1)}}, l.Tools[0].Meta); diff != "" {
				t.Errorf("unknown member: %s", diff)
			}
		}
	}
}

// Nothing is lost between the wire and the caller: order, exact numbers, what is absent, what is unknown.
func TestListFidelity(t *testing.T) {
	const schema = `{"type":"object", "properties":{"zeta":{"type":"integer","maximum":9007199254740993},"alpha":{"default":1e2},"mid":{}}}`
	const page = `{"tools":[{"name":"x","title":"T","description":"d","inputSchema":` + schema + `,"outputSchema":{"z":1,"a":2},"icons":[{"src":"i"}],"_meta":{"k":9007199254740993},"annotations":{"title":"A","idempotentHint":false}}]}`
	l, _, err := listOf(t, map[string]string{"": page}, 1000, 50)
	if err != nil || len(l.Problems) > 0 {
		t.Fatal(err, problems(l))
	}
	want := Tool{
		Name: "x", Title: "T", Description: "d",
		InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(`{"z":1,"a":2}`),
		Hints: &grade.Hints{Idempotent: flag(false)},
		Meta:  map[string]any{"icons": []any{map[string]any{"src": "i"}}, "_meta": map[string]any{"k": int64(9007199254740993)}},
	}
	if diff := cmp.Diff(want, l.Tools[0]); diff != "" {
		t.Error(diff)
	}
}

func TestOneBadToolCostsItself(t *testing.T) {
	const good = `{"name":"good","inputSchema":{"type":"object"}}`
	for _, tc := range []struct {
		why, entry string
		leftOut    bool
		name       string
		words      string
	}{
		{"null", `null`, true, "", "is null, want an object"},
		{"a string", `"x"`, true, "", "want an object"},
		{"no name", `{}`, true, "", "has no name"},
		{"a number for a name", `{"name":7}`, true, "", "name that is no string"},
		{"an empty name", `{"name":""}`, true, "", "empty name"},
		{"a name taken", good, true, "good", "earlier tool has the same name"},
		{"a description of the wrong type", `{"name":"x","description":7}`, false, "x", "description is no string"},
		{"a title of the wrong type", `{"name":"x","title":[]}`, false, "x", "title is no string"},
		{"annotations of the wrong type", `{"name":"x","annotations":[1]}`, false, "x", "annotations is no object"},
		{"a schema of the wrong type", `{"name":"x","inputSchema":"object"}`, false, "x", "inputSchema is no object"},
		{"an output schema of the wrong type", `{"name":"x","outputSchema":1}`, false, "x", "outputSchema is no object"},
	} {
		l, _, err := listOf(t, map[string]string{"": `{"tools":[` + good + `,` + tc.entry + `,{"name":"last"}]}`}, 1000, 50)
		if err != nil {
			t.Errorf("%s: %v", tc.why, err)
			continue
		}
		want := []string{"good", "last"}
		if !tc.leftOut {
			want = []string{"good", tc.name, "last"}
		}
		if diff := cmp.Diff(want, names(l)); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
		var p *ToolProblem
		if len(l.Problems) != 1 || !errors.As(l.Problems[0], &p) {
			t.Errorf("%s: problems %q", tc.why, problems(l))
			continue
		}
		if p.LeftOut != tc.leftOut || p.Tool != tc.name || p.Index != 2 || p.Remedy == "" || !strings.Contains(p.Reason, tc.words) {
			t.Errorf("%s: %+v", tc.why, p)
		}
	}
}

func TestListCaps(t *testing.T) {
	pages := map[string]string{}
	for i := range 60 {
		cursor := ""
		if i > 0 {
			cursor = fmt.Sprint(i)
		}
		pages[cursor] = fmt.Sprintf(`{"tools":[{"name":"a%d"},{"name":"b%d"}],"nextCursor":"%d"}`, i, i, i+1)
	}
	for _, tc := range []struct {
		why                string
		maxTools, maxPages int
		tools, requests    int
	}{
		{"pages end it", 1000, 50, 100, 50},
		{"tools end it in mid page", 5, 50, 5, 3},
	} {
		l, requests, err := listOf(t, pages, tc.maxTools, tc.maxPages)
		if err != nil || len(l.Tools) != tc.tools || requests != tc.requests || !l.Truncated || len(l.Problems) != 1 {
			t.Errorf("%s: %d tools, %d requests, truncated %v, %v, %s", tc.why, len(l.Tools), requests, l.Truncated, err, problems(l))
		}
	}
	l, _, err := listOf(t, map[string]string{"": `{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":7}`}, 2, 50)
	if err != nil || l.Truncated || len(l.Problems) != 1 {
		t.Errorf("exactly at the cap, with an odd cursor: %+v, %v", l, err)
	}
	if _, _, err := listOf(t, map[string]string{"": `[]`}, 2, 50); err == nil {
		t.Error("a list passes for a result of tools/list")
	}
}

func TestIsEnvelope(t *testing.T) {
	for schema, want := range map[string]bool{
		"": true, "null": true,
		`{"type":"object","properties":{"result":{"type":"integer"}}}`: true,
		`{"type":"object","properties":{"result":{},"x":{}}}`:          false,
		`{"type":"object"}`:                            false,
		`{"type":"array"}`:                             false,
		`{"type":"object","properties":{"Result":{}}}`: false,
		`{"type":"object","properties":{"result":{}},"required":["result"],"x":1}`: true,
	} {
		if got := isEnvelope(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

func FuzzListReader(f *testing.F) {
	var c struct{ Rows []json.RawMessage }
	readCase(f, "50-tools-null.json", &c)
	for _, r := range c.Rows {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := &listReader{server: "srv", maxTools: 10, maxPages: 3}
		l, err := r.readAll(t.Context(), func(context.Context, string) (json.RawMessage, error) { return raw, nil })
		if err != nil {
			return
		}
		got := names(l)
		slices.Sort(got)
		if len(slices.Compact(got)) != len(l.Tools) || slices.Contains(got, "") || len(l.Tools) > 10 {
			t.Errorf("%q: names %q", raw, got)
		}
		if !equalListings(l, l) {
			t.Errorf("%q: not equal to itself", raw)
		}
	})
}
