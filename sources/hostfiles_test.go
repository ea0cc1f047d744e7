package sources

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// folder is a configuration beside the host files that it names.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) folder { return folder{t, t.TempDir()} }

func (f folder) write(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f folder) load(text string, o *Options) *Config {
	f.t.Helper()
	c, err := Load(f.write("toolsource.toml", text), o)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// child is a server's entry in the JSON of most programs.
func child(t *testing.T, b mcptest.Behaviour, more string) string {
	t.Helper()
	command, args, env := mcptest.Command(t, b)
	plain := map[string]string{}
	for k, v := range env {
		plain[k] = v.Reveal()
	}
	text, err := json.Marshal(map[string]any{"command": command, "args": append([]string{}, args...), "env": plain})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "}") + more + "}"
}

func trustAll(HostFile) bool { return true }

// Three programs' files become one Toolbox, by the places that the configuration gives them.
func TestHostFiles(t *testing.T) {
	f := newFolder(t)
	says := func(text string) mcptest.Behaviour {
		return mcptest.Behaviour{
			Pages:   map[string]string{"": `{"tools":[{"name":"who","inputSchema":{"type":"object"}},{"name":"` + text + `","inputSchema":{"type":"object"}}]}`},
			Results: map[string]string{"who": fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)},
		}
	}
	f.write(".cursor/mcp.json", `{"mcpServers":{"one":`+child(t, says("cursor"), "")+`,"off":{"command":"x","disabled":true}}}`)
	f.write(".vscode/mcp.json", "// with comments\n{\"servers\":{\"two\":"+child(t, says("vscode"), "")+",}}")
	f.write("opencode.json", `{"mcp":{"three":{"type":"local","command":`+commandArray(t, says("opencode"))+`}}}`)
	c := f.load(`
[mcp]
host_configs = [".cursor/mcp.json", { path = ".vscode/mcp.json", trust = "untrusted" }, "opencode.json"]
`+server(t, "own", "deny = ['who']", says("own")), &Options{TrustHostFile: trustAll, NoDefaults: true})
	if got := problems(c); got != nil {
		t.Error(got)
	}
	s := openConfig(t, c)
	if got := call(t, s, "who", nil); got != "cursor" {
		t.Errorf("the earlier file wins, and %v has it", got)
	}
	levels := map[string]string{}
	for _, st := range s.Sources() {
		levels[st.Source] = fmt.Sprint(int(st.Precedence), " ", st.Order)
	}
	if diff := cmp.Diff(map[string]string{"mcp:own": "5 0", "mcp:one": "4 0", "mcp:two": "3 -1", "mcp:three": "2 -2"}, levels); diff != "" {
		t.Error(diff)
	}
	if sp, _ := s.Spec("vscode"); sp.Origin.Trust != toolsource.TrustUntrusted || filepath.Base(sp.Origin.File) != "mcp.json" || sp.Origin.Line == 0 {
		t.Errorf("%+v", sp.Origin)
	}
	if sp, _ := s.Spec("cursor"); sp.Origin.Trust != toolsource.TrustDefault {
		t.Errorf("%+v", sp.Origin)
	}
	var off []string
	for _, sv := range c.Servers {
		if sv.Off != "" {
			off = append(off, sv.Config.ID+" "+sv.Off)
		}
	}
	if !cmp.Equal(off, []string{"off disabled"}) {
		t.Error(off)
	}
	if len(c.HostFiles) != 3 || c.HostFiles[2].Format != "opencode" || len(c.HostFiles[0].Sum) != 64 {
		t.Errorf("%d files", len(c.HostFiles))
	}
}

func commandArray(t *testing.T, b mcptest.Behaviour) string {
	t.Helper()
	command, args, env := mcptest.Command(t, b)
	list, err := json.Marshal(append([]string{command}, args...))
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]string{}
	for k, v := range env {
		plain[k] = v.Reveal()
	}
	vars, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(list) + `,"environment":` + string(vars)
}

// A file that nobody has agreed to starts nothing, reads no variable and no file, and says what it would run.
func TestConsent(t *testing.T) {
	f := newFolder(t)
	marker := filepath.Join(f.dir, "started")
	f.write("mcp.json", `{"mcpServers":{
		"a":{"command":"sh","args":["-c","touch '`+marker+`'; echo ${DEMO_TOKEN}"],"env":{"KEY":"${DEMO_TOKEN}"}},
		"web":{"type":"http","url":"http://127.0.0.1:9/${DEMO_PATH}","headers":{"Authorization":"Bearer ${DEMO_TOKEN}"}}}}`)
	asked := map[string]int{}
	o := &Options{LookupEnv: func(name string) (string, bool) {
		if strings.HasPrefix(name, "DEMO_") {
			asked[name]++
		}
		return os.LookupEnv(name)
	}}
	const text = "[mcp]\nhost_configs = ['mcp.json']\n"
	c := f.load(text, o)
	s := openConfig(t, c)
	if len(s.Problems) != 0 || len(toolNames(s)) != 4 {
		t.Error(s.Problems, toolNames(s))
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it was started")
	}
	if len(asked) != 0 {
		t.Error("variables were read:", slicesOf(asked))
	}
	got := map[string]string{}
	for _, sv := range c.Servers {
		got[sv.Config.ID] = sv.Off + ": " + sv.Launch()
	}
	if diff := cmp.Diff(map[string]string{
		"a":   `awaiting consent: sh -c "touch '` + marker + `'; echo ${DEMO_TOKEN}"`,
		"web": "awaiting consent: http://127.0.0.1:9/${DEMO_PATH}",
	}, got); diff != "" {
		t.Error(diff)
	}

	store := NewTrustStore(filepath.Join(f.dir, "trusted.json"))
	o.TrustHostFile = store.Trusts
	if c := f.load(text, o); c.Servers[0].Off != offConsent {
		t.Error("an empty store trusts")
	}
	if err := store.Trust(c.HostFiles[0]); err != nil {
		t.Fatal(err)
	}
	c = f.load(text, o)
	if c.Servers[0].Off == offConsent || !c.HostFiles[0].Trusted {
		t.Error("a file that was agreed to is not trusted")
	}
	if got := strings.Join(problems(c), "\n"); !strings.Contains(got, "DEMO_TOKEN") || len(asked) == 0 {
		t.Errorf("variables that are not set are a problem now: %q", got)
	}
	f.write("mcp.json", `{"mcpServers":{"a":{"command":"other"}}}`)
	if c := f.load(text, o); c.Servers[0].Off != offConsent {
		t.Error("a file that was changed is trusted")
	}
}

func slicesOf(m map[string]int) string { return fmt.Sprint(maps.Clone(m)) }

func TestHostFilesThatAreWrong(t *testing.T) {
	f := newFolder(t)
	f.write("good.json", `{"mcpServers":{"good":`+child(t, mcptest.Behaviour{}, "")+`}}`)
	f.write("broken.json", "{\n \"mcpServers\": {\n  \"a\": {\"command\": \"hunter2\" \"b\"}\n }\n}")
	f.write("empty.json", "")
	f.write("some.json", `{"mcpServers":{"unset":{"type":"http","url":"https://h.test/","headers":{"K":"${NO_SUCH_VARIABLE}"}},"own":{"command":"other"},"bad":{"type":"ws","url":"ws://h"}}}`)
	if err := os.Mkdir(filepath.Join(f.dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := f.load(`
[mcp]
host_configs = ["none.json", "folder.json", "broken.json", "empty.json", "some.json", "good.json", "good.json", 7, { path = "good2.json", format = "x" }, { format = "cursor" }]
`+server(t, "own", "", mcptest.Behaviour{}), &Options{TrustHostFile: trustAll})
	got := strings.Join(problems(c), "\n")
	for _, want := range []string{
		"none.json: no such file", "folder.json: is a folder", "broken.json:3:", "NO_SUCH_VARIABLE", "is named twice", "names no file",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem says %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a value of the file is shown")
	}
	reports := fmt.Sprint(c.Reports)
	for _, want := range []string{"ws", "declares a server of this name itself"} {
		if !strings.Contains(reports, want) {
			t.Errorf("no report says %q: %s", want, reports)
		}
	}
	s := openConfig(t, c)
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
	if sp, _ := s.Spec("echo"); sp.Origin.Server != "own" {
		t.Errorf("the configuration's own server wins, and %s has it", sp.Origin.Server)
	}
}

// A changed host file is a plan like any other change.
func TestReloadOfHostFiles(t *testing.T) {
	f := newFolder(t)
	stays, goes := child(t, mcptest.Behaviour{}, ""), child(t, mcptest.Behaviour{}, "")
	f.write("mcp.json", `{"mcpServers":{"stays":`+stays+`,"goes":`+goes+`}}`)
	const text = "[mcp]\nhost_configs = ['mcp.json']\n"
	o := &Options{TrustHostFile: trustAll}
	s := openConfig(t, f.load(text, o))
	f.write("mcp.json", `{"mcpServers":{"new":`+goes+", \n\n\"stays\":"+stays+`}}`)
	p := reload(t, s, f.load(text, o))
	if diff := cmp.Diff(Plan{Add: []string{"mcp:new"}, Remove: []string{"mcp:goes"}, Keep: []string{"default", "mcp:stays"}}, p, onlyPlan); diff != "" {
		t.Error(diff)
	}
	o = &Options{TrustHostFile: func(HostFile) bool { return false }}
	p = reload(t, s, f.load(text, o))
	if !cmp.Equal(p.Remove, []string{"mcp:new", "mcp:stays"}) {
		t.Errorf("consent that was taken back: %+v", p)
	}
}

// A file that nobody has agreed to cannot make Open fail; one that is trusted can.
func TestHostFilesThatRequire(t *testing.T) {
	f := newFolder(t)
	f.write("config.toml", "[mcp_servers.must]\ncommand = 'no-such-command-here'\nrequired = true\n")
	const text = "[mcp]\nhost_configs = [{ path = 'config.toml', format = 'codex' }]\n"
	openConfig(t, f.load(text, nil))
	s, err := f.load(text, &Options{TrustHostFile: trustAll}).Open(t.Context())
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `required server "must"`) {
		t.Error(err)
	}
}

// What is agreed to is the content under that path: a link is a path of its own, and another way to write a
// path is none.
func TestConsentIsToAPathAndItsContent(t *testing.T) {
	f := newFolder(t)
	path := f.write("dir/mcp.json", `{"mcpServers":{"a":{"command":"no-such-command-here"}}}`)
	if err := os.Symlink(path, filepath.Join(f.dir, "link.json")); err != nil {
		t.Skip(err)
	}
	store := NewTrustStore(filepath.Join(f.dir, "trusted.json"))
	o := &Options{TrustHostFile: store.Trusts}
	trusts := func(name string) bool {
		return f.load("[mcp]\nhost_configs = ['"+name+"']\n", o).HostFiles[0].Trusted
	}
	if err := store.Trust(f.load("[mcp]\nhost_configs = ['dir/mcp.json']\n", o).HostFiles[0]); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"dir/mcp.json": true, "./dir/../dir//mcp.json": true, path: true, "link.json": false} {
		if got := trusts(name); got != want {
			t.Errorf("%s: trusted %v", name, got)
		}
	}
	c := f.load("[mcp]\nhost_configs = ['dir/mcp.json']\n", o)
	f.write("dir/mcp.json", `{"mcpServers":{"a":{"command":"another"}}}`)
	if got := c.Servers[0].Config.Command; got != "no-such-command-here" {
		t.Errorf("what was read is what is started, and not %s, which came after", got)
	}
}
