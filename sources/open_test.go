package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func sprint(servers []Server) []string {
	var out []string
	for _, s := range servers {
		out = append(out, fmt.Sprintf("%v %+v %#v", s, s, s.Config.Env), fmt.Sprintf("%#v", s.Config.Headers))
	}
	return out
}

// All three kinds of tool are in one Toolbox and answer.
func TestAllKinds(t *testing.T) {
	s := open(t, `
[[tools]]
name = "shout"
func = "shout"
grade = "0,0"
[virtual_tools.digest]
grade = "1,1"
`+server(t, "one", "tools.include = ['echo', 'add']\ntools.echo.grade = { d = 2 }", mcptest.Behaviour{}), &Options{
		Funcs: map[string]toolsource.Callable{"shout": result("HEY")},
		Virtual: func(_ context.Context, name string) (toolsource.Callable, bool) {
			return result("virtual " + name), true
		},
	})
	if got := toolNames(s); !cmp.Equal(got, []string{"read_file", "find_files", "write_file", "edit_file", "shout", "digest", "echo", "add"}) {
		t.Error(got)
	}
	if got := []any{call(t, s, "shout", nil), call(t, s, "digest", nil), call(t, s, "echo", map[string]any{"text": "hi"}), call(t, s, "add", map[string]any{"a": 2, "b": 3})}; !cmp.Equal(got, []any{"HEY", "virtual digest", "hi", int64(5)}) {
		t.Error(got)
	}
	if sp, _ := s.Spec("echo"); sp.Grade != grade.W1D2 || sp.Origin.Server != "one" || sp.Origin.File == "" || sp.Origin.Line == 0 {
		t.Errorf("%v %+v", sp.Grade, sp.Origin)
	}
	if len(s.Problems) > 0 {
		t.Error(s.Problems)
	}
}

func TestWorkspaceOfTheDefaults(t *testing.T) {
	path := file(t, "[profiles.x]\ntools = 'none'\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "hello.txt"), []byte("world"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := call(t, s, "read_file", map[string]any{"path": "hello.txt"}); got != "world" {
		t.Error(got)
	}
	other := t.TempDir()
	s2, err := Open(t.Context(), path, &Options{Workspace: other})
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	if _, err := s2.Call(t.Context(), "read_file", map[string]any{"path": "hello.txt"}); err == nil {
		t.Error("the config file's folder in spite of Options.Workspace")
	}
}

// Who wins a name follows from the levels, and among servers from the file's order.
func TestPrecedence(t *testing.T) {
	pages := func(text string) mcptest.Behaviour {
		return mcptest.Behaviour{
			Pages:   map[string]string{"": `{"tools":[{"name":"read_file","inputSchema":{"type":"object"}},{"name":"v","inputSchema":{"type":"object"}},{"name":"m","inputSchema":{"type":"object"}}]}`},
			Results: map[string]string{"m": fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)},
		}
	}
	s := open(t, `
[[tools]]
name = "read_file"
func = "f"
[[virtual_tools]]
name = "v"
[[virtual_tools]]
name = "edit_file"
`+server(t, "zfirst", "", pages("zfirst"))+server(t, "alast", "", pages("alast")), &Options{
		Funcs:   map[string]toolsource.Callable{"f": result("user")},
		Virtual: func(_ context.Context, name string) (toolsource.Callable, bool) { return result("virtual"), true },
	})
	got := map[string]string{}
	for _, sp := range s.Tools() {
		got[sp.Name] = sp.Origin.Source
	}
	want := map[string]string{"read_file": "config", "find_files": "default", "write_file": "default", "edit_file": "default", "v": "virtual", "m": "mcp:alast"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := call(t, s, "read_file", nil); got != "user" {
		t.Error(got)
	}
	if got := call(t, s, "m", nil); got != "alast" {
		t.Error(got)
	}
	levels := map[string]toolsource.Precedence{}
	for _, st := range s.Sources() {
		levels[st.Source] = st.Precedence
	}
	if diff := cmp.Diff(map[string]toolsource.Precedence{"default": 10, "config": 20, "virtual": 7, "mcp:zfirst": 5, "mcp:alast": 5}, levels); diff != "" {
		t.Error(diff)
	}
}

// One dead server costs one timeout, names itself, and harms nobody.
func TestDeadServerCostsItself(t *testing.T) {
	var text strings.Builder
	for i := range 4 {
		text.WriteString(server(t, fmt.Sprintf("mute%d", i), "connect_timeout = 1", mcptest.Behaviour{SilentInit: true}))
	}
	c := load(t, text.String()+server(t, "good", "", mcptest.Behaviour{})+"[mcp_servers.absent]\ncommand = 'no-such-command-anywhere'\n", nil)
	start := time.Now()
	s := openConfig(t, c)
	if d := time.Since(start); d > 3500*time.Millisecond {
		t.Error("not side by side:", d)
	}
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
	if len(s.Problems) != 5 {
		t.Error(s.Problems)
	}
	for _, p := range s.Problems {
		var se *toolsource.SourceError
		if !errors.As(p, &se) || se.Source != "mcp:absent" && !strings.HasPrefix(se.Source, "mcp:mute") {
			t.Error(p)
		}
	}
	failed := 0
	for _, st := range s.Sources() {
		if st.Err != nil && strings.HasPrefix(st.Source, "mcp:") {
			failed++
		}
	}
	if failed != 5 {
		t.Errorf("%d failed sources are named, want 5", failed)
	}
}

// A required server that does not come up is an error, and all that was started is gone.
func TestRequiredServer(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	good := server(t, "good", "", mcptest.Behaviour{Journal: journal})
	for name, tt := range map[string]struct{ text, want string }{
		"does not answer": {server(t, "must", "required = true\nconnect_timeout = 1", mcptest.Behaviour{SilentInit: true}), `sources: required server "must": `},
		"bad entry":       {"[mcp_servers.must]\nrequired = true\ncommand = 'x'\nzz = 1\n", `sources: required server "must": bad entry`},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, good+tt.text, nil)
			s, err := c.Open(t.Context())
			if s != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
	// One that is switched off is not missed.
	c := load(t, "[mcp_servers.must]\nrequired = true\nenabled = false\ncommand = 'x'\n", nil)
	openConfig(t, c)
}

func TestDisabledAndRefusedServersDoNotStart(t *testing.T) {
	dir := t.TempDir()
	entry := func(id, more string) string {
		return server(t, id, more, mcptest.Behaviour{Journal: filepath.Join(dir, id)})
	}
	var asked []string
	c := load(t, entry("off", "enabled = false")+entry("refused", "")+entry("taken", ""), &Options{Approve: func(s Server) bool {
		asked = append(asked, s.Config.ID)
		return s.Config.ID == "taken"
	}})
	if asked != nil {
		t.Error("Load asks:", asked)
	}
	s := openConfig(t, c)
	if !cmp.Equal(asked, []string{"refused", "taken"}) {
		t.Error(asked)
	}
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
	for id, want := range map[string]bool{"off": false, "refused": false, "taken": true} {
		if _, err := os.Stat(filepath.Join(dir, id)); (err == nil) != want {
			t.Errorf("%s: started %v, want %v", id, err == nil, want)
		}
	}
	if c.Servers[0].Off != "disabled" || len(c.Servers) != 3 {
		t.Errorf("%+v", c.Servers)
	}
}

// The context bounds Open and not the life of a server.
func TestContextOfOpen(t *testing.T) {
	c := load(t, server(t, "good", "", mcptest.Behaviour{})+server(t, "slow", "", mcptest.Behaviour{InitDelay: 2 * time.Second}), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	s, err := c.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	<-ctx.Done()
	if got := call(t, s, "echo", map[string]any{"text": "after"}); got != "after" {
		t.Error(got)
	}
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), "mcp:slow") {
		t.Error(s.Problems)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if s, err := c.Open(over); s != nil || !errors.Is(err, context.Canceled) {
		t.Error(s, err)
	}
}

// A Config may be opened more than once; the Sets share nothing.
func TestOpenTwice(t *testing.T) {
	c := load(t, server(t, "x", "", mcptest.Behaviour{}), nil)
	a, b := openConfig(t, c), openConfig(t, c)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if got := call(t, b, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
}

func TestInjectedOptions(t *testing.T) {
	var names []string
	c := load(t, server(t, "x", "", mcptest.Behaviour{}), &Options{
		MCP:        &mcpclient.Options{ClientName: "mine"},
		Toolbox:    &toolsource.Options{Masks: func(name string) bool { names = append(names, name); return false }},
		NoDefaults: true,
	})
	s := openConfig(t, c)
	if len(names) == 0 {
		t.Error("Options.Toolbox is not used")
	}
	if _, ok := s.Spec("read_file"); ok {
		t.Error("the defaults in spite of NoDefaults")
	}
}

func TestSelections(t *testing.T) {
	const text = `
[profiles.list]
tools = ["find_files", "read_file"]
extra_tools = ["edit_file", "read_file"]
model = "m"
[profiles.aliased]
tools = { reader = "read_file", f = { tool = "find_files" } }
extra_tools = ["read_file"]
[profiles.extra]
extra_tools = ["read_file"]
[profiles.all]
tools = "*"
[profiles.empty]
tools = []
[profiles.nothing]
model = "x"
[profiles.unknown]
tools = ["raed_file"]
[profiles.taken]
tools = { read_file = "find_files", x = "read_file" }
extra_tools = ["read_file"]
[profiles.named]
tools = "none"
extra_tools = ["read_file"]
`
	s := open(t, text, nil)
	names := func(name string) []string {
		p, err := s.Profile(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, tool := range p.Selection.Tools() {
			out = append(out, tool.Name)
		}
		return out
	}
	for name, want := range map[string][]string{
		"list": {"find_files", "read_file", "edit_file"}, "aliased": {"f", "read_file", "reader"}, "extra": {"read_file"}, "empty": {}, "none": {},
		"all": {"read_file", "find_files", "write_file", "edit_file"}, "named": {"read_file"},
	} {
		if got := names(name); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	taken, err := s.Profile(t.Context(), "taken")
	if err != nil {
		t.Fatal(err)
	}
	if sp, _ := taken.Selection.Spec("read_file"); len(sp.Args) != 1 || sp.Args[0].Name != "pattern" {
		t.Errorf("extra_tools took an alias: %+v", sp)
	}
	p, err := s.Profile(t.Context(), "list")
	if err != nil || p.Profile.Model != "m" || p.Selection.Grade() != grade.Max {
		t.Error(p, err)
	}
	if p, _ := s.Profile(t.Context(), "none"); p.Selection.Grade() != grade.Pure || p.Profile.Execution != "one-shot" {
		t.Error(p)
	}
	for name, want := range map[string]string{
		"nothing": `sources: profile "nothing" chooses no tools (add tools = [...], "*" or "none")`,
		"lst":     `(did you mean list?): unknown profile`, "read_file": `(that is a tool; select it with Select): unknown profile`, "zzzzzz": `(it declares aliased, all, empty, extra, list, named, nothing, taken, unknown): unknown profile`,
		"unknown": `sources: profile "unknown": `,
	} {
		if _, err := s.Profile(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Profile(t.Context(), "unknown"); !errors.Is(err, toolsource.ErrUnknownTool) || !strings.Contains(err.Error(), "read_file") {
		t.Error(err)
	}
	if _, err := s.Profile(t.Context(), "zzzzzz"); !errors.Is(err, ErrUnknownProfile) {
		t.Error(err)
	}
	// A profile's name goes before the word.
	if s := open(t, "[profiles.none]\ntools = ['read_file']\n", nil); true {
		if p, err := s.Profile(t.Context(), "none"); err != nil || len(p.Selection.Tools()) != 1 {
			t.Error(p, err)
		}
	}
}

// A server's own limit holds where it is longer than the Toolbox's for listings.
func TestConnectLimitOfAServer(t *testing.T) {
	c := load(t, server(t, "slow", "connect_timeout = 10", mcptest.Behaviour{InitDelay: 500 * time.Millisecond}), &Options{Toolbox: &toolsource.Options{Discover: 50 * time.Millisecond}})
	s := openConfig(t, c)
	if len(s.Problems) > 0 {
		t.Error(s.Problems)
	}
	if _, ok := s.Spec("echo"); !ok {
		t.Error("the server's tools are not there")
	}
}

// Tools of servers whose ids look alike as words have names of their own, whatever the order of the file.
func TestQualifiedNamesOfServersAlike(t *testing.T) {
	seen := map[string]string{}
	ids := []string{"my server", "my_server", "my-server", "other"}
	for turn := range 2 {
		var text strings.Builder
		for i := range ids {
			id := ids[i]
			if turn == 1 {
				id = ids[len(ids)-1-i]
			}
			text.WriteString(server(t, fmt.Sprintf("%q", id), "names = 'qualified'", mcptest.Behaviour{}))
		}
		s := open(t, strings.ReplaceAll(text.String(), "[mcp_servers.\"other\"", "[mcp_servers.other"), nil)
		if got := len(s.Shadowed()); got != 0 {
			t.Errorf("%d names meet", got)
		}
		for _, sp := range s.Tools() {
			if sp.Origin.Server == "" {
				continue
			}
			if turn == 0 {
				seen[sp.Name] = sp.Origin.Server
			} else if seen[sp.Name] != sp.Origin.Server {
				t.Errorf("%s was of %q and is of %q in another order", sp.Name, seen[sp.Name], sp.Origin.Server)
			}
		}
	}
	if seen["mcp__other__echo"] != "other" {
		t.Errorf("%v: a server that is like no other has a plain name", seen)
	}
}
