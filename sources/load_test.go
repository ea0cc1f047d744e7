package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// A file that cannot be read is the one thing that Load fails for.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.toml")
	for _, tt := range []struct{ name, data, want string }{
		{"not UTF-8", "a = \"\xff\"", path + `:1:6: is not UTF-8 text (save it as UTF-8)`},
		{"UTF-16", "\xff\xfea\x00", path + `:1:1: is UTF-16, and TOML must be UTF-8 (save it as UTF-8)`},
		{"not TOML", "[[tools]\n", path + `:1:8: not TOML: expected end of table array name delimiter ']', but got '\n' instead`},
	} {
		if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, nil)
		var p *Problem
		if err == nil || err.Error() != tt.want || !errors.As(err, &p) {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
		if _, err := Open(t.Context(), path, nil); err == nil || err.Error() != tt.want {
			t.Errorf("Open, %s: %v", tt.name, err)
		}
	}
	none := filepath.Join(dir, "none.toml")
	if _, err := Load(none, nil); !errors.Is(err, fs.ErrNotExist) || err.Error() != none+": no such file (check the path)" {
		t.Error(err)
	}
	if _, err := Load(dir, nil); err == nil || err.Error() != dir+": is a folder, not a file (name the TOML file in it)" {
		t.Error(err)
	}
}

func TestEmptyFileIsAWarning(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "\ufeff"} {
		c := load(t, text, nil)
		if !cmp.Equal(problems(c), []string{"toolsource.toml: warning: is empty; only the shipped defaults are there"}) || c.Problems[0].Severity != SeverityWarning {
			t.Errorf("%q: %v", text, problems(c))
		}
		s := openConfig(t, c)
		if !cmp.Equal(toolNames(s), []string{"read_file", "find_files", "write_file", "edit_file"}) {
			t.Error(toolNames(s))
		}
	}
}

func TestByteOrderMark(t *testing.T) {
	c := load(t, "\ufeff[profiles.a]\ntools = 'none'\n", nil)
	if problems(c) != nil || c.Profiles["a"].Line != 1 {
		t.Error(problems(c), c.Profiles)
	}
}

// Each entry costs only itself: the file holds a good neighbour of every kind.
func TestBadEntriesCostOnlyThemselves(t *testing.T) {
	const good = `
[[virtual_tools]]
name = "v"
[mcp_servers.good]
command = "x"
[profiles.good]
tools = "none"
[[tools]]
name = "good"
func = "f"
`
	tests := []struct{ name, text, want string }{
		{"top level", "toolz = 1\n", `toolsource.toml:1:1: toolz: unknown key (did you mean tools?)`},
		{"other program's section", "[inference]\n", `toolsource.toml:1:2: inference: unknown key (known keys: mcp, mcp_servers, profiles, tools, virtual_tools)`},
		{"host files", "[mcp]\nhost_configs = ['a.json']\n", `toolsource.toml:2:17: mcp.host_configs[0]: a.json: no such file (check the path)`},
		{"mcp", "[mcp]\nhost_config = []\n", `toolsource.toml:2:1: mcp.host_config: unknown key (did you mean host_configs?)`},
		{"tools", "[[tools]]\nname = 't'\nfunc = 'f'\ngrade_w = 9\n", `toolsource.toml:4:1: tools[0].grade_w: is 9, want 0 to 3`},
		{"tools, provider", "[[tools]]\nname = 't'\nfunc = 'g'\n", `toolsource.toml:3:1: tool t: func: provider "go" has no function "g" (known functions: f)`},
		{"server is no table", "[mcp_servers]\nbad = 'npx'\n", `toolsource.toml:2:1: mcp_servers.bad: want a table, is a string`},
		{"server, unknown key", "[mcp_servers.bad]\ncomand = 'x'\ncommand = 'x'\n", `toolsource.toml:2:1: mcp_servers.bad.comand: unknown key (did you mean command?)`},
		{"server, other word", "[mcp_servers.bad]\ncommand = 'x'\ndisabled = true\n", `toolsource.toml:3:1: mcp_servers.bad.disabled: is not supported (write enabled = false)`},
		{"server, wrong type", "[mcp_servers.bad]\ncommand = ['x']\nurl = 'http://x'\n", `toolsource.toml:2:1: mcp_servers.bad.command: want a string, is an array`},
		{"server, neither", "[mcp_servers.bad]\nargs = ['x']\n", `toolsource.toml:1:14: mcp_servers.bad: command and url are both missing; give the command to start, or the address to call`},
		{"server, both", "[mcp_servers.bad]\ncommand = 'x'\nurl = 'http://x'\n", `toolsource.toml:2:1: mcp_servers.bad.command: is set beside url; a server is either a command or an address, remove one`},
		{"server, transport", "[mcp_servers.bad]\ncommand = 'x'\ntransport = 'websocket'\n", `toolsource.toml:3:1: mcp_servers.bad.transport: unknown transport "websocket" (want http, sse, stdio, streamable-http, streamableHttp, streamable_http)`},
		{"server, url", "[mcp_servers.bad]\nurl = 'ftp://x'\n", `toolsource.toml:2:1: mcp_servers.bad.url: has the scheme "ftp"; use http or https`},
		{"server, header", "[mcp_servers.bad]\nurl = 'http://x'\nheaders = { 'a b' = 'x' }\n", `toolsource.toml:3:1: mcp_servers.bad.headers: "a b" is no name of a header`},
		{"server, duration", "[mcp_servers.bad]\ncommand = 'x'\nconnect_timeout = -1\n", `toolsource.toml:3:1: mcp_servers.bad.connect_timeout: want a duration above zero (a number is seconds; a string is as "1m30s")`},
		{"server, twice the same", "[mcp_servers.bad]\ncommand = 'x'\nera = 'auto'\nprotocol = 'auto'\n", `toolsource.toml:3:1: mcp_servers.bad.era: means the same as protocol (remove one of them)`},
		{"server, count", "[mcp_servers.bad]\ncommand = 'x'\nmax_in_flight = 0\n", `toolsource.toml:3:1: mcp_servers.bad.max_in_flight: is 0, want 1 to 2147483647`},
		{"server, variable in command", "[mcp_servers.bad]\ncommand = '${NO_SUCH}'\n", `toolsource.toml:2:1: mcp_servers.bad.command: variable NO_SUCH is not set and has no default (set it, or write ${NAME:-default}; the server is off)`},
		{"server, variable in args", "[mcp_servers.bad]\ncommand = 'x'\nargs = ['a', 's3cret-${NO_SUCH}']\n", `toolsource.toml:3:14: mcp_servers.bad.args[1]: variable NO_SUCH is not set and has no default (set it, or write ${NAME:-default}; the server is off)`},
		{"server, variable in headers", "[mcp_servers.bad]\nurl = 'http://x'\nheaders.Authorization = 'Bearer s3cret ${NO_SUCH}'\n", `toolsource.toml:3:9: mcp_servers.bad.headers.Authorization: variable NO_SUCH is not set and has no default (set it, or write ${NAME:-default}; the server is off)`},
		{"server, filter twice", "[mcp_servers.bad]\ncommand = 'x'\nallow = ['a']\ntools.include = ['b']\n", `toolsource.toml:4:7: mcp_servers.bad.tools.include: means the same as allow (remove one of them)`},
		{"profile, unknown keys", "[profiles.bad]\ntools = 'none'\nmodell = 'x'\nzz = 1\n", `toolsource.toml:3:1: profiles.bad.modell: unknown profile key(s): modell, zz; allowed: execution, extra_tools, language, mode, model, order, policy, rules, sandbox, temperature, tools (did you mean model?)`},
		{"profile, tools", "[profiles.bad]\ntools = 'debug'\n", `toolsource.toml:2:1: profiles.bad.tools: unknown choice "debug" (want "none", "*", an array of names, or a table of aliases)`},
		{"profile, entry of tools", "[profiles.bad]\ntools = ['a', 3]\n", `toolsource.toml:2:15: profiles.bad.tools[1]: want a string, is an integer`},
		{"profile, alias", "[profiles.bad]\ntools = { a = 3 }\n", `toolsource.toml:2:11: profiles.bad.tools.a: want a table, is an integer`},
		{"profile, temperature", "[profiles.bad]\ntools = 'none'\ntemperature = 'hot'\n", `toolsource.toml:3:1: profiles.bad.temperature: want a number, is a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.text+good, &Options{Funcs: map[string]toolsource.Callable{"f": result("")}})
			if got := problems(c); !cmp.Equal(got, []string{tt.want}) {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), tt.want)
			}
			if len(c.tools) == 0 || c.tools[len(c.tools)-1].Spec.Name != "good" || len(c.virtual) != 1 {
				t.Errorf("good tools are gone: %v %v", c.tools, c.virtual)
			}
			if s := c.Servers[len(c.Servers)-1]; s.Config.ID != "good" || s.Off != "" {
				t.Errorf("%+v", s)
			}
			if len(c.Servers) == 2 && (c.Servers[0].Off != "bad entry" || c.Servers[0].Config.ID != "bad" || c.Servers[0].Config.Command != "") {
				t.Errorf("the bad server is not marked: %+v", c.Servers[0])
			}
			if _, ok := c.Profiles["good"]; !ok || len(c.Profiles) != 1 {
				t.Errorf("%v", c.Profiles)
			}
		})
	}
}

func TestEveryKeyOfAServer(t *testing.T) {
	c := load(t, `
[mcp_servers.files]
transport = "stdio"
command = "${BIN}/server"
args = ["--root", "${ROOT:-/srv}", "$plain", "$${literal}"]
env = { TOKEN = "${TOK}", PLAIN = "a" }
cwd = "sub"
required = true
connect_timeout = 1.5
timeout = "2m"
silence = 10
close_timeout = "3s"
keepalive = "30s"
idle_stop = 60
max_lifetime = "1h"
max_in_flight = 4
max_tools = 5
max_pages = 6
max_message = 7000
trust = "full"
replay = true
protocol = "legacy"
names = "qualified"
check_arguments = false
allow = ["a*"]
deny = "b"
[mcp_servers.files.tools.read_file]
grade = { w = 1, d = 0 }
examples = [{ intent = "i", code = "c" }, { intent = "no code" }]
docs = "d.md"
timeout = 5
replay = false
[mcp_servers.files.tools.half]
grade = { d = 2 }

[mcp_servers."my server"]
url = "https://${HOST}/mcp"
headers = { Authorization = "Bearer ${TOK}" }
tools = ["x", "y"]
keepalive = false
idle_stop = 0
era = "2026-07-28"

[mcp_servers.sse]
url = "http://localhost/sse"
transport = "sse"
tools.include = "only"
tools.exclude = ["not"]

[mcp_servers.off]
enabled = false
url = "${UNSET_AND_NOT_NEEDED}"
`, &Options{LookupEnv: func(n string) (string, bool) {
		v, ok := map[string]string{"BIN": "/opt", "TOK": "${BIN}", "HOST": "h"}[n]
		return v, ok
	}})
	if got := problems(c); !cmp.Equal(got, []string{"toolsource.toml:29:43: warning: mcp_servers.files.tools.read_file.examples[1]: the example is left out (an example needs intent and code)"}) {
		t.Fatal(got)
	}
	one, zero, two, no := 1, 0, 2, false
	five := toolsource.Limits{Silence: 5 * time.Second, Ceiling: 5 * time.Second}
	want := []Server{
		{
			Config: mcpclient.ServerConfig{
				ID: "files", Transport: "stdio", Command: "/opt/server", Args: []string{"--root", "/srv", "$plain", "${literal}"},
				Env: map[string]toolsource.Secret{"TOKEN": "${BIN}", "PLAIN": "a"}, Dir: "sub", Era: mcpclient.Era20251125, Trust: toolsource.TrustFull,
				Silence: 10 * time.Second, Ceiling: 2 * time.Minute, Replay: true, Connect: 1500 * time.Millisecond, CloseBound: 3 * time.Second,
				Keepalive: 30 * time.Second, IdleStop: time.Minute, MaxLifetime: time.Hour, MaxInFlight: 4, MaxTools: 5, MaxPages: 6, MaxMessage: 7000, Required: true,
				Tools: map[string]mcpclient.ToolConfig{"read_file": {Limits: five, Replay: &no}, "half": {}}, Line: 2, Secrets: []toolsource.Secret{"/opt"},
			},
			Source: mcpsource.Options{Allow: []string{"a*"}, Deny: []string{"b"}, Qualified: true, Lax: true, Overrides: map[string]mcpsource.Override{
				"read_file": {W: &one, D: &zero, Examples: []toolsource.Example{{Intent: "i", Code: "c"}}, Docs: "d.md", Limits: five, Replay: &no},
				"half":      {D: &two},
			}},
		},
		{
			Config: mcpclient.ServerConfig{ID: "my server", URL: "https://h/mcp", Secrets: []toolsource.Secret{"h"}, Headers: map[string]toolsource.Secret{"Authorization": "Bearer ${BIN}"}, Era: mcpclient.Era20260728, Keepalive: -1, Line: 36},
			Source: mcpsource.Options{Allow: []string{"x", "y"}},
		},
		{
			Config: mcpclient.ServerConfig{ID: "sse", URL: "http://localhost/sse", Transport: "sse", Line: 44},
			Source: mcpsource.Options{Allow: []string{"only"}, Deny: []string{"not"}},
		},
		{Config: mcpclient.ServerConfig{ID: "off", Line: 50}, Off: "disabled"},
	}
	for i := range want {
		want[i].Config.File, want[i].Precedence = c.File, toolsource.PrecedenceMCP
	}
	reveal := cmp.Transformer("secret", func(s toolsource.Secret) string { return s.Reveal() })
	if diff := cmp.Diff(want, c.Servers, reveal); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownTrustIsUntrusted(t *testing.T) {
	c := load(t, "[mcp_servers.x]\ncommand = 'x'\ntrust = 'always'\n", nil)
	if !cmp.Equal(problems(c), []string{`toolsource.toml:3:1: warning: mcp_servers.x.trust: unknown word "always" counts as untrusted (want full, default or untrusted)`}) {
		t.Error(problems(c))
	}
	if s := c.Servers[0]; s.Config.Trust != toolsource.TrustUntrusted || s.Off != "" {
		t.Errorf("%+v", s)
	}
}

// A wrong table of one tool does not switch its server off, and a wrong grade never makes it look harmless.
func TestBadOverrides(t *testing.T) {
	three := 3
	tests := []struct {
		text, want string
		o          mcpsource.Override
	}{
		{"grade = { w = 4, d = 0 }", `toolsource.toml:4:11: mcp_servers.x.tools.t.grade.w: is 4, want 0 to 3`, mcpsource.Override{W: &three, D: &three}},
		{"grade = { w = 0, d = 0 }\ntimeuot = 3", `toolsource.toml:5:1: mcp_servers.x.tools.t.timeuot: unknown key (did you mean timeout?)`, mcpsource.Override{W: &three, D: &three}},
		{"docs = 3", `toolsource.toml:4:1: mcp_servers.x.tools.t.docs: want a string, is an integer`, mcpsource.Override{}},
	}
	for _, tt := range tests {
		c := load(t, "[mcp_servers.x]\ncommand = 'x'\n[mcp_servers.x.tools.t]\n"+tt.text+"\n", nil)
		if !cmp.Equal(problems(c), []string{tt.want}) || c.Servers[0].Off != "" {
			t.Errorf("%q: %v %q", tt.text, problems(c), c.Servers[0].Off)
		}
		if diff := cmp.Diff(tt.o, c.Servers[0].Source.Overrides["t"]); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
}

// Secrets stand in no problem and in no print of a Config.
func TestSecretsDoNotShow(t *testing.T) {
	c := load(t, "[mcp_servers.x]\ncommand = 'x'\nenv = { A = 'hunter2' }\n[mcp_servers.y]\nurl = 'http://h'\nheaders = { B = \"hunter2\\n\" }\n[mcp_servers.z]\ncommand = 'x'\nenv = { A = 'hunter2${NO_SUCH}' }\n", nil)
	if len(c.Problems) != 2 {
		t.Error(problems(c))
	}
	tools := load(t, "[[tools]]\nname = 'x'\ncommand = ['x']\nenv = { A = 'hunter2' }\n", nil)
	prints := append(sprint(c.Servers), fmt.Sprintf("%+v %#v %v", *c, c, tools), fmt.Sprintf("%+v %#v", tools.tools, *tools))
	for _, s := range append(problems(c), prints...) {
		if strings.Contains(s, "hunter2") {
			t.Error(s)
		}
	}
}

func TestWorkspace(t *testing.T) {
	c := load(t, "", nil)
	if c.Workspace != filepath.Dir(c.File) {
		t.Error(c.Workspace)
	}
	c = load(t, "[profiles]\n", &Options{Workspace: filepath.Join(t.TempDir(), "none")})
	if len(c.Problems) != 1 || !errors.Is(c.Problems[0], fs.ErrNotExist) || !strings.Contains(problems(c)[0], "(set Options.Workspace to a folder)") {
		t.Error(problems(c))
	}
}

// All eleven keys are carried; language and execution have defaults.
func TestProfiles(t *testing.T) {
	c := load(t, `
[profiles.full]
tools = ["a"]
extra_tools = ["b"]
model = "m"
mode = "spm"
order = ["templates"]
temperature = 1
rules = ["r", { x = 1 }]
language = "go"
execution = "literate"
sandbox = "s"
policy = { allow = ["x"], n = 1 }
[profiles.bare]
tools = { r = "read_file", w = { tool = "write_file" }, same = {} }
`, nil)
	if problems(c) != nil {
		t.Fatal(problems(c))
	}
	temp := 1.0
	want := map[string]Profile{
		"full": {
			Name: "full", Line: 2, Tools: Tools{Choices: []Alias{{"a", "a"}}}, ExtraTools: []string{"b"}, Model: "m", Mode: "spm", Order: []string{"templates"},
			Temperature: &temp, Rules: []any{"r", map[string]any{"x": int64(1)}}, Language: "go", Execution: "literate", Sandbox: "s",
			Policy: map[string]any{"allow": []any{"x"}, "n": int64(1)},
		},
		"bare": {
			Name: "bare", Line: 14, Tools: Tools{Choices: []Alias{{"r", "read_file"}, {"w", "write_file"}, {"same", "same"}}},
			Language: "restricted-python", Execution: "one-shot",
		},
	}
	for k, p := range want {
		p.File = c.File
		want[k] = p
	}
	if diff := cmp.Diff(want, c.Profiles); diff != "" {
		t.Error(diff)
	}
	d := Profile{Model: "dm", Mode: "dmode", Order: []string{"d"}, Temperature: new(float64), Sandbox: "ds", Language: "dl", Rules: []any{"d"}, Policy: map[string]any{}}
	if got := c.Profiles["full"].Or(d); !cmp.Equal(got, c.Profiles["full"]) {
		t.Error("the profile's own settings lose to defaults")
	}
	if got := c.Profiles["bare"].Or(d); got.Model != "dm" || got.Mode != "dmode" || got.Order[0] != "d" || got.Temperature == nil || got.Sandbox != "ds" || got.Language != "restricted-python" || got.Rules != nil || got.Policy != nil {
		t.Errorf("%+v", got)
	}
}

// Whatever a file holds, Load ends with problems of one line each and starts nothing.
func FuzzLoad(f *testing.F) {
	f.Add("[mcp_servers.x]\ncommand='a'\ntools={a={grade={w=1}},include='x'}\nenv={A='${B:-c}'}\n[profiles.p]\ntools={a={tool='b'}}\n[[tools]]\nname='n'\ncommand=['a','{b}']\nargs=[{name='b'}]\n[virtual_tools.v]\n[mcp]\nhost_configs=['x']")
	f.Add("mcp_servers=[1]\nprofiles=3\ntools=4\nmcp='x'\nvirtual_tools=[1]")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "f.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Skip(err)
		}
		c, err := Load(path, nil)
		if err != nil {
			return
		}
		for _, p := range c.Problems {
			if strings.ContainsAny(p.Error(), "\r\n") || p.Message == "" || p.File == "" {
				t.Fatalf("bad problem %q", p)
			}
		}
	})
}
