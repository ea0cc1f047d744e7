package mcpsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

var (
	_ toolsource.Watcher      = (*Source)(nil)
	_ toolsource.StatusSource = (*Source)(nil)
	_ toolsource.Bounded      = (*Source)(nil)
	_ toolsource.Claimer      = (*Source)(nil)
)

func newSource(t testing.TB, b mcptest.Behaviour, o *Options, change ...func(*mcpclient.ServerConfig)) *Source {
	t.Helper()
	cfg := mcpclient.ServerConfig{ID: "srv"}
	cfg.Command, cfg.Args, cfg.Env = mcptest.Command(t, b)
	for _, c := range change {
		c(&cfg)
	}
	srv, err := mcpclient.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return New(srv, o)
}

// serves is a behaviour that lists these entries.
func serves(entries ...string) mcptest.Behaviour {
	return mcptest.Behaviour{Pages: map[string]string{"": `{"tools":[` + strings.Join(entries, ",") + `]}`}}
}

func discover(t testing.TB, s *Source) []toolsource.ToolSpec {
	t.Helper()
	specs, err := s.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func resolve(t testing.TB, s *Source, name string) toolsource.Callable {
	t.Helper()
	for _, spec := range discover(t, s) {
		if spec.Name == name {
			call, err := s.Resolve(spec)
			if err != nil {
				t.Fatal(err)
			}
			return call
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func problemText(s *Source) string {
	text := ""
	for _, p := range s.Status().Problems {
		text += p.Error() + "\n"
	}
	return text
}

func readCase(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

type toolsCase struct {
	ServerID string `json:"server_id"`
	Tools    []json.RawMessage
}

func (c toolsCase) behaviour(reverse bool) mcptest.Behaviour {
	entries := []string{}
	results := map[string]string{}
	for _, raw := range c.Tools {
		var t struct{ Name string }
		_ = json.Unmarshal(raw, &t)
		var line bytes.Buffer
		_ = json.Compact(&line, raw)
		entries = append(entries, line.String())
		results[t.Name] = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, t.Name)
	}
	if reverse {
		slices.Reverse(entries)
	}
	b := serves(entries...)
	b.Results = results
	return b
}

func TestCase31And32Names(t *testing.T) {
	for file, usable := range map[string]int{"31-tool-names-illegal.json": 9, "32-tool-names-long-prefix.json": 3} {
		var c toolsCase
		readCase(t, file, &c)
		withID := func(cfg *mcpclient.ServerConfig) { cfg.ID = c.ServerID }
		for _, qualified := range []bool{false, true} {
			o := &Options{Qualified: qualified}
			s := newSource(t, c.behaviour(false), o, withID)
			specs := discover(t, s)
			if len(specs) != usable {
				t.Errorf("%s: %d tools, want %d", file, len(specs), usable)
			}
			byWire := map[string]string{}
			names := map[string]bool{}
			for _, spec := range specs {
				for _, n := range []string{spec.Name, spec.Origin.QualifiedName} {
					if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(n) {
						t.Errorf("%s: name %q", file, n)
					}
				}
				if qualified && spec.Name != spec.Origin.QualifiedName {
					t.Errorf("%s is not %s", spec.Name, spec.Origin.QualifiedName)
				}
				names[spec.Name] = true
				byWire[spec.Origin.WireName] = spec.Name
				call, err := s.Resolve(spec)
				if err != nil {
					t.Fatal(err)
				}
				res, err := call(t.Context(), nil)
				if err != nil || res.Value != spec.Origin.WireName {
					t.Errorf("%s: the server was asked for %q, want %q, %v", spec.Name, res.Value, spec.Origin.WireName, err)
				}
			}
			if len(names) != usable {
				t.Errorf("%s: names are not distinct: %v", file, names)
			}
			if usable == 9 && !strings.Contains(problemText(s), `server "google-workspace": tool number 8 left out: has an empty name`) {
				t.Errorf("%s: problems %s", file, problemText(s))
			}
			for _, spec := range discover(t, newSource(t, c.behaviour(true), o, withID)) {
				if byWire[spec.Origin.WireName] != spec.Name {
					t.Errorf("%s: %q is %s, and in reverse %s", file, spec.Origin.WireName, byWire[spec.Origin.WireName], spec.Name)
				}
			}
		}
	}
}

func TestCase35QualifiedNamesRoute(t *testing.T) {
	var c struct{ Tools map[string][]string }
	readCase(t, "35-name-splitting.json", &c)
	seen := map[string]string{}
	for server, tools := range c.Tools {
		for _, tool := range tools {
			b := serves(fmt.Sprintf(`{"name":%q}`, tool))
			b.Results = map[string]string{tool: fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, server)}
			s := newSource(t, b, &Options{Qualified: true}, func(cfg *mcpclient.ServerConfig) { cfg.ID = server })
			for _, spec := range discover(t, s) {
				if other, ok := seen[spec.Name]; ok {
					t.Errorf("%s is a tool of %s and of %s", spec.Name, other, server)
				}
				seen[spec.Name] = server
				call, _ := s.Resolve(spec)
				if res, err := call(t.Context(), nil); err != nil || res.Value != server {
					t.Errorf("%s went to %v, want %s, %v", spec.Name, res.Value, server, err)
				}
			}
		}
	}
}

func TestGrades(t *testing.T) {
	n := func(i int) *int { return &i }
	const readOnly = `"annotations":{"readOnlyHint":true,"openWorldHint":false}`
	b := serves(`{"name":"read",`+readOnly+`}`, `{"name":"open","annotations":{"readOnlyHint":true,"openWorldHint":true}}`, `{"name":"bare"}`, `{"name":"delete_everything","annotations":{"readOnlyHint":true,"title":"Delete everything"}}`)
	for _, tc := range []struct {
		why   string
		trust toolsource.Trust
		over  map[string]Override
		want  []grade.Grade
		bad   int
	}{
		{"hints grade", toolsource.TrustDefault, nil, []grade.Grade{grade.W1D0, grade.W2D1, grade.Max, grade.Max}, 0},
		{"full trust likewise", toolsource.TrustFull, nil, []grade.Grade{grade.W1D0, grade.W2D1, grade.Max, grade.Max}, 0},
		{"hints of the untrusted lower nothing", toolsource.TrustUntrusted, nil, []grade.Grade{grade.Max, grade.Max, grade.Max, grade.Max}, 0},
		{"overrides win, both axes or one", toolsource.TrustDefault, map[string]Override{"read": {W: n(3), D: n(2)}, "bare": {D: n(0)}}, []grade.Grade{grade.W3D2, grade.W2D1, grade.W3D0, grade.Max}, 0},
		{"overrides win over distrust", toolsource.TrustUntrusted, map[string]Override{"bare": {W: n(0), D: n(0)}}, []grade.Grade{grade.Max, grade.Max, grade.Pure, grade.Max}, 0},
		{"an override out of range changes nothing", toolsource.TrustDefault, map[string]Override{"read": {W: n(4)}}, []grade.Grade{grade.W1D0, grade.W2D1, grade.Max, grade.Max}, 1},
		{"an override of no tool is reported", toolsource.TrustDefault, map[string]Override{"raed": {W: n(1)}}, []grade.Grade{grade.W1D0, grade.W2D1, grade.Max, grade.Max}, 1},
	} {
		s := newSource(t, b, &Options{Overrides: tc.over}, func(c *mcpclient.ServerConfig) { c.Trust = tc.trust })
		specs := discover(t, s)
		for i, spec := range specs {
			if spec.Grade != tc.want[i] {
				t.Errorf("%s: %s is %v, want %v", tc.why, spec.Name, spec.Grade, tc.want[i])
			}
			if spec.Origin.Trust != tc.trust {
				t.Errorf("%s: trust %v", tc.why, spec.Origin.Trust)
			}
		}
		if specs[0].Origin.Claimed != grade.W1D0 || specs[2].Origin.Claimed != grade.Unknown || specs[2].Origin.Hints != nil {
			t.Errorf("%s: claims %v, %v", tc.why, specs[0].Origin, specs[2].Origin)
		}
		if got := len(s.Status().Problems); got != tc.bad {
			t.Errorf("%s: problems %s", tc.why, problemText(s))
		}
		_ = s.Close()
	}
}

func TestFilters(t *testing.T) {
	b := serves(`{"name":"read_a"}`, `{"name":"read_b"}`, `{"name":"write"}`, `{"name":"fs/read"}`)
	for _, tc := range []struct {
		why         string
		allow, deny []string
		want        []string
		problem     string
	}{
		{"none", nil, nil, []string{"read_a", "read_b", "write", "fs/read"}, ""},
		{"an empty list allows nothing", []string{}, nil, nil, ""},
		{"a pattern", []string{"read_*"}, nil, []string{"read_a", "read_b"}, ""},
		{"a star matches slashes", []string{"*read*"}, nil, []string{"read_a", "read_b", "fs/read"}, ""},
		{"deny wins", []string{"*"}, []string{"write", "*_b"}, []string{"read_a", "fs/read"}, ""},
		{"one that matches nothing is reported", []string{"read_a", "raed_b"}, nil, []string{"read_a"}, `allow: "raed_b" matches none`},
		{"likewise of deny", nil, []string{"delete_*"}, []string{"read_a", "read_b", "write", "fs/read"}, `deny: "delete_*" matches none`},
		{"one that is malformed is a name", []string{"write", "["}, nil, []string{"write"}, `allow: the pattern "[" is malformed`},
	} {
		s := newSource(t, b, &Options{Allow: tc.allow, Deny: tc.deny})
		var got []string
		for _, spec := range discover(t, s) {
			got = append(got, spec.Origin.WireName)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
		if p := problemText(s); !strings.Contains(p, tc.problem) || tc.problem == "" && p != "" {
			t.Errorf("%s: problems %q", tc.why, p)
		}
		_ = s.Close()
	}
	s := newSource(t, b, &Options{Allow: []string{"write"}})
	spec := toolsource.ToolSpec{Name: "read_a", Origin: toolsource.Origin{Kind: "mcp", Server: "srv", WireName: "read_a"}}
	if _, err := s.Resolve(spec); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Errorf("a tool that the filters hold back resolves: %v", err)
	}
	if _, err := s.Resolve(toolsource.ToolSpec{Name: "x"}); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Errorf("a foreign spec resolves: %v", err)
	}
}

func TestSpecs(t *testing.T) {
	const schema = `{"type":"object", "properties":{"zeta":{"type":["string","null"],"description":"z"},"alpha":{"type":"integer","default":9007199254740993}},"required":["alpha"]}`
	s := newSource(t, serves(`{"name":"get-it","title":"T","description":"d","inputSchema":`+schema+`,"outputSchema":{"type":"object","properties":{"result":{"type":"string"}}}}`, `null`, `{"name":"next"}`),
		&Options{Name: "mine", Overrides: map[string]Override{"get-it": {Docs: "d.md", Examples: []toolsource.Example{{Intent: "i", Code: "c"}}, Limits: toolsource.Limits{Silence: time.Second}}}},
		func(c *mcpclient.ServerConfig) { c.File, c.Line, c.Ceiling = "f.toml", 7, time.Minute })
	specs := discover(t, s)
	want := toolsource.ToolSpec{
		Name: "get_it", Title: "T", Description: "d",
		Args: []toolsource.ArgSpec{
			{Name: "zeta", Type: "str", Description: "z"},
			{Name: "alpha", Type: "int", Required: true, Default: json.RawMessage("9007199254740993")},
		},
		Returns: "str", Grade: grade.Max, Docs: "d.md", Examples: []toolsource.Example{{Intent: "i", Code: "c"}},
		InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"string"}}}`),
		Limits: toolsource.Limits{Silence: time.Second, Ceiling: time.Minute},
		Origin: toolsource.Origin{Kind: "mcp", Source: "mine", Server: "srv", WireName: "get-it", QualifiedName: "mcp__srv__get_it", File: "f.toml", Line: 7},
	}
	if diff := cmp.Diff(want, specs[0]); diff != "" {
		t.Error(diff)
	}
	if len(specs) != 2 || specs[1].Name != "next" || !strings.Contains(problemText(s), "tool number 2 left out") {
		t.Errorf("the neighbour of a bad tool: %v, %s", specs, problemText(s))
	}
	st := s.Status()
	if st.Source != "mine" || st.Kind != "mcp" || st.Tools != 2 || st.State != toolsource.StateReady {
		t.Errorf("status %+v", st)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	s := newSource(t, mcptest.Behaviour{}, nil)
	add, echo := resolve(t, s, "add"), resolve(t, s, "echo")
	if res, err := add(t.Context(), map[string]any{"a": 3.0, "b": 4}); err != nil || res.Value != int64(7) {
		t.Errorf("3.0 is an integer: %v, %v", res.Value, err)
	}
	for _, args := range []map[string]any{{"a": 1}, {"a": 1, "b": 0.5}, {"a": 1, "b": "x"}} {
		_, err := add(t.Context(), args)
		var e *toolsource.CallError
		if !errors.As(err, &e) || e.Kind != toolsource.KindBadArguments || e.MayHaveRun || e.Tool != "add" || !strings.Contains(err.Error(), "b") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := echo(t.Context(), map[string]any{"text": 5}); !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("5 is no string: %v", err)
	}
	lax := newSource(t, mcptest.Behaviour{}, &Options{Lax: true})
	if res, err := resolve(t, lax, "args")(t.Context(), map[string]any{"x": 5}); err != nil || !cmp.Equal(res.Value, map[string]any{"x": int64(5)}) {
		t.Errorf("lax: %v, %v", res.Value, err)
	}
	if _, err := resolve(t, lax, "add")(t.Context(), map[string]any{"a": 1}); err != nil {
		t.Errorf("lax lets the server check: %v", err)
	}
}

// A callable stays bound to its tool: when that is gone it fails, and never runs another.
func TestToolThatIsGone(t *testing.T) {
	s := newSource(t, mcptest.Behaviour{}, nil)
	changed := make(chan struct{}, 10)
	defer s.Watch(func() { changed <- struct{}{} })()
	echo, rename := resolve(t, s, "echo"), resolve(t, s, "rename")
	<-changed
	if _, err := rename(t.Context(), map[string]any{"from": "echo", "to": "echo2"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(5 * time.Second):
		t.Fatal("the change was not told")
	}
	for range 5 { // more than a breaker would stand
		_, err := echo(t.Context(), map[string]any{"text": "x"})
		var e *toolsource.CallError
		if !errors.As(err, &e) || e.Kind != toolsource.KindUnavailable || e.MayHaveRun || e.Source != "mcp:srv" || e.Tool != "echo" {
			t.Fatalf("error %v", err)
		}
	}
	if res, err := resolve(t, s, "echo2")(t.Context(), map[string]any{"text": "x"}); err != nil || res.Value != "x" {
		t.Errorf("%v, %v", res.Value, err)
	}
}

func TestDiscoverFails(t *testing.T) {
	one := 1
	s := newSource(t, mcptest.Behaviour{Exit: &one, Stderr: "no key\n"}, nil, func(c *mcpclient.ServerConfig) { c.ID = "broken" })
	_, err := s.Discover(t.Context())
	var se *toolsource.SourceError
	if !errors.As(err, &se) || se.Source != "mcp:broken" || se.Op != "discover" || !strings.Contains(err.Error(), "no key") {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Available() {
		t.Error("available after Close")
	}
}

func TestClaimsAndClose(t *testing.T) {
	o := &Options{Allow: []string{"read-a", "write_*", "b", "fs/x"}, Deny: []string{"b"}, Shared: true}
	s := newSource(t, mcptest.Behaviour{}, o)
	if diff := cmp.Diff([]string{"read_a", "fs_x"}, s.Claims()); diff != "" {
		t.Error(diff)
	}
	if !s.Available() || s.Name() != "mcp:srv" || s.Status().State != toolsource.StateIdle {
		t.Errorf("before the first connect: %+v", s.Status())
	}
	discover(t, s)
	if err := s.Close(); err != nil || !s.Available() {
		t.Errorf("a shared server was closed: %v", err)
	}
}
