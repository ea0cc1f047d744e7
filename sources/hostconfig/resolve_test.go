package hostconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostvars"
)

func environment(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func resolve(t *testing.T, e Entry, o *Options) (Entry, []string) {
	t.Helper()
	out, secrets, err := e.Resolve(o)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, s := range secrets {
		shown = append(shown, s.Reveal())
	}
	slices.Sort(shown)
	return out, shown
}

// Every field that the format expands, and the values that came from variables.
func TestResolveFields(t *testing.T) {
	f := parse(t, ".mcp.json", `{"mcpServers":{
		"a":{"command":"${BIN}/x","args":["--root","${ROOT:-/d}","$BIN"],"env":{"K":"${KEY}","E":"${EMPTY}"}},
		"b":{"type":"http","url":"http://${HOST}/","headers":{"H":"Bearer ${KEY}"}}}}`, nil)
	o := &Options{LookupEnv: environment("BIN", "/usr/bin", "KEY", "k${BIN}", "HOST", "h", "EMPTY", "")}
	a, secrets := resolve(t, entry(t, f, "a"), o)
	if d := cmp.Diff(plainEntry{ID: "a", Transport: TransportStdio, Command: "/usr/bin/x", Args: []string{"--root", "/d", "$BIN"}, Env: map[string]string{"K": "k${BIN}", "E": ""}, Enabled: true, Line: 2}, plainly(a)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"/usr/bin", "k${BIN}"}, secrets); d != "" {
		t.Error(d)
	}
	b, _ := resolve(t, entry(t, f, "b"), o)
	if b.URL != "http://h/" || b.Headers["H"].Reveal() != "Bearer k${BIN}" {
		t.Error(b.URL, b.Headers["H"].Reveal())
	}
	again, _ := resolve(t, a, o) // what a variable held is not looked at
	if again.Env["K"].Reveal() != "k${BIN}" {
		t.Error(again.Env["K"].Reveal())
	}
	if e := entry(t, f, "a"); e.Command != "${BIN}/x" || e.Args[1] != "${ROOT:-/d}" || e.Env["K"].Reveal() != "${KEY}" {
		t.Error("resolving changed the entry")
	}
}

// An error names server, field and variable, costs only its server, and shows no value.
func TestResolveErrors(t *testing.T) {
	const planted = "s3cr3t-value"
	o := &Options{LookupEnv: environment("SET", planted), Workspace: t.TempDir()}
	for _, row := range []struct{ format, name, text, field, variable string }{
		{"claude-code", "x.json", `{"mcpServers":{"a":{"command":"${SET}${UNSET}"}}}`, "command", "UNSET"},
		{"claude-code", "x.json", `{"mcpServers":{"a":{"command":"x","args":["` + planted + `","${UNSET}"]}}}`, "args[1]", "UNSET"},
		{"claude-code", "x.json", `{"mcpServers":{"a":{"command":"x","env":{"K":"` + planted + `${UNSET}"}}}}`, "env.K", "UNSET"},
		{"claude-code", "x.json", `{"mcpServers":{"a":{"type":"http","url":"http://` + planted + `/${UNSET}"}}}`, "url", "UNSET"},
		{"claude-code", "x.json", `{"mcpServers":{"a":{"type":"http","url":"http://h/","headers":{"H":"${SET}${UNSET}"}}}}`, "headers.H", "UNSET"},
		{"vscode", "x.json", `{"servers":{"a":{"command":"x","env":{"K":"${input:ask}"}}}}`, "env.K", "ask"},
		{"continue", "x.yaml", "mcpServers:\n- name: a\n  command: x\n  env: { K: '${{ secrets.NONE }}' }\n", "env.K", "NONE"},
		{"windsurf", "x.json", `{"mcpServers":{"a":{"serverUrl":"http://h/","headers":{"H":"${file:/no/such}"}}}}`, "headers.H", "/no/such"},
		{"codex", "x.toml", "[mcp_servers.a]\nurl='http://h/'\nbearer_token_env_var='UNSET'\n", "headers.Authorization", "UNSET"},
		{"codex", "x.toml", "[mcp_servers.a]\nurl='http://h/'\nenv_http_headers={X-K='UNSET'}\n", "headers.X-K", "UNSET"},
		{"goose", "x.yaml", "extensions:\n  a: { type: stdio, cmd: x, args: [], env_keys: [UNSET] }\n", "env.UNSET", "UNSET"},
		{"vscode", "x.json", `{"servers":{"a":{"command":"x","envFile":"none.env"}}}`, "envFile", "no such file"},
	} {
		e := entry(t, parse(t, row.name, row.text, &Options{Format: row.format}), "a")
		_, secrets, err := e.Resolve(o)
		if err == nil {
			t.Errorf("%s: %s: no error", row.format, row.field)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, `server "a"`) || !strings.Contains(text, row.field+":") || !strings.Contains(text, row.variable) || strings.Contains(text, planted) || secrets != nil {
			t.Errorf("%s: %v, %v", row.format, text, secrets)
		}
		var p *Problem
		if !errors.As(err, &p) || p.File != row.name || p.Line == 0 {
			t.Errorf("%s: %#v", row.format, err)
		}
	}
	var unset *hostvars.UnsetError
	if _, _, err := headerIn(t, "claude-code", "${X}").Resolve(o); !errors.As(err, &unset) {
		t.Error(err)
	}
}

// Names that a file hands on stand for their variable, though the format expands nothing.
func TestHandedOn(t *testing.T) {
	f := parse(t, "config.toml", `[mcp_servers.a]
command = "x"
env_vars = ["SET", "UNSET", { name = "OTHER", source = "local" }, { name = "FAR", source = "remote" }]
env = { LITERAL = "${SET}", SET = "shadowed" }
[mcp_servers.b]
url = "http://h/"
bearer_token_env_var = "SET"
http_headers = { authorization = "Bearer literal", X-L = "${SET}" }
env_http_headers = { X-K = "OTHER" }
`, nil)
	o := &Options{LookupEnv: environment("SET", "v", "OTHER", "o")}
	raw := entry(t, f, "a")
	if d := cmp.Diff(map[string]string{"SET": "${SET}", "UNSET": "${UNSET}", "OTHER": "${OTHER}", "LITERAL": "${SET}"}, revealed(raw.Env)); d != "" {
		t.Error(d)
	}
	mustNote(t, f, "a", "env_vars[0]", Rewritten, "env.SET")
	mustNote(t, f, "a", "env_vars[3]", Ignored, "remote")
	mustNote(t, f, "a", "env.LITERAL", Taken, "looks like a variable")
	a, _ := resolve(t, raw, o)
	if d := cmp.Diff(map[string]string{"SET": "v", "OTHER": "o", "LITERAL": "${SET}"}, revealed(a.Env)); d != "" { // UNSET is not handed on
		t.Error(d)
	}
	b, secrets := resolve(t, entry(t, f, "b"), o)
	if d := cmp.Diff(map[string]string{"Authorization": "Bearer v", "X-L": "${SET}", "X-K": "o"}, revealed(b.Headers)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"o", "v"}, secrets); d != "" {
		t.Error(d)
	}
	changed := entry(t, f, "b").clone()
	changed.Headers["X-K"] = "mine ${OTHER}" // no longer what the file handed on
	if got, _ := resolve(t, changed, o); got.Headers["X-K"].Reveal() != "mine ${OTHER}" {
		t.Error(got.Headers["X-K"].Reveal())
	}
	for _, bad := range []string{`"A=B"`, `""`, `" X"`, `"${X}"`, `3`, `{ name = "A", source = "moon" }`} {
		f := parse(t, "config.toml", "[mcp_servers.a]\ncommand='x'\nenv_vars=["+bad+"]\n", nil)
		if len(f.Entries) != 0 {
			t.Errorf("env_vars = [%s] was taken", bad)
		}
	}
}

func TestGooseHeaders(t *testing.T) {
	data, err := os.ReadFile("testdata/formats/goose-nested.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e := entry(t, parse(t, "goose/config.yaml", string(data), nil), "remote")
	got, secrets := resolve(t, e, &Options{LookupEnv: environment("DEMO_TOKEN", "tok", "TEAM", "not this one")})
	if d := cmp.Diff(map[string]string{"Authorization": "Bearer tok", "X-Team": "blue"}, revealed(got.Headers)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"blue", "tok"}, secrets); d != "" {
		t.Error(d)
	}
}

func TestMCPHostVariables(t *testing.T) {
	data, err := os.ReadFile("testdata/formats/mcphost.yml")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, ".mcphost.yml", string(data), nil)
	o := &Options{LookupEnv: environment("DEMO_TOKEN", "tok")}
	if e, _ := resolve(t, entry(t, f, "local"), o); e.Env["KEY"].Reveal() != "none" {
		t.Error(e.Env["KEY"].Reveal())
	}
	if e, _ := resolve(t, entry(t, f, "remote"), o); e.Headers["Authorization"].Reveal() != "Bearer tok" {
		t.Error(e.Headers["Authorization"].Reveal())
	}
	plain := parse(t, ".mcphost.yml", "mcpServers:\n  a: { command: x, args: ['${DEMO_TOKEN}', '${DEMO_TOKEN}${env://DEMO_TOKEN}${X'] }\n", nil)
	if e, _ := resolve(t, entry(t, plain, "a"), o); e.Args[0] != "${DEMO_TOKEN}" || e.Args[1] != "${DEMO_TOKEN}tok${X" {
		t.Error(e.Args)
	}
}

// A default of the file stands in for what the host does not know.
func TestInputDefaults(t *testing.T) {
	data, err := os.ReadFile("testdata/formats/vscode-settings.settings.json")
	if err != nil {
		t.Fatal(err)
	}
	e := entry(t, parse(t, ".vscode/settings.json", string(data), nil), "picked")
	if got, _ := resolve(t, e, &Options{Workspace: "/w"}); got.Args[0] != "a" || got.Cwd != "/w" {
		t.Error(got.Args, got.Cwd)
	}
	o := &Options{Workspace: "/w", Input: func(id string) (toolsource.Secret, bool) { return "b", id == "key" }}
	if got, _ := resolve(t, e, o); got.Args[0] != "b" {
		t.Error(got.Args)
	}
}

// ~ and relative paths; nothing else is changed.
func TestPlaces(t *testing.T) {
	o := &Options{Workspace: "/w", Home: "/home/u", LookupEnv: environment("T", "~/x")}
	for _, row := range []struct{ command, arg, cwd, wantCommand, wantCwd string }{
		{"~/bin/x", "~/y", "~/z", "/home/u/bin/x", "/home/u/z"},
		{"~", "%HOME%", "~", "/home/u", "/home/u"},
		{"~other/x", "a~b", "sub/dir", "~other/x", "/w/sub/dir"},
		{"./x", `C:\data dir`, "/abs", "./x", "/abs"},
		{`C:\Program Files\x.exe`, `\\host\share`, `C:\data`, `C:\Program Files\x.exe`, `C:\data`},
		{"${T}", "", `\\host\share`, "~/x", `\\host\share`}, // only what is written
		{`~\bin`, "", "", `~\bin`, ""},
	} {
		f := parse(t, "x.json", fmt.Sprintf(`{"mcpServers":{"a":{"command":%q,"args":[%q],"cwd":%q}}}`, row.command, row.arg, row.cwd), &Options{Format: "plain"})
		e, _ := resolve(t, entry(t, f, "a"), o)
		if e.Command != row.wantCommand || e.Cwd != row.wantCwd || e.Args[0] != row.arg {
			t.Errorf("%q %q %q, want %q %q", e.Command, e.Cwd, e.Args, row.wantCommand, row.wantCwd)
		}
	}
	win := &Options{Home: `C:\Users\u`, OS: "windows"}
	f := parse(t, "x.json", `{"mcpServers":{"a":{"command":"~\\bin"}}}`, nil)
	if e, _ := resolve(t, entry(t, f, "a"), win); e.Command != `C:\Users\u\bin` {
		t.Error(e.Command)
	}
	rel := parse(t, "x.json", `{"mcpServers":{"a":{"command":"x","cwd":"sub"}}}`, nil)
	if e, _ := resolve(t, entry(t, rel, "a"), nil); e.Cwd != "sub" { // no workspace: not ours to say
		t.Error(e.Cwd)
	}
}

func TestEnvFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".env", "\ufeff# comment\r\nA=1\r\nexport B = two words # not this\r\nC='single ${A} \\n'\r\nD=\"double\\n\\\"x\\\" \\\\ \\z\"\r\n\r\nE=\nF=a#b\nA=last\nG=\"over\ntwo\"\nOWN=file\nH=  #only a comment\n")
	f := parse(t, ".vscode/mcp.json", `{"servers":{"a":{"command":"x","env":{"OWN":"entry"},"envFile":"${workspaceFolder}/.env"},
		"b":{"command":"x","envFile":".env"},"bad":{"command":"x","envFile":"bad.env"},"big":{"command":"x","envFile":"big.env"},"dir":{"command":"x","envFile":"."}}}`, nil)
	o := &Options{Workspace: dir, LookupEnv: environment()}
	a, secrets := resolve(t, entry(t, f, "a"), o)
	want := map[string]string{"A": "last", "B": "two words", "C": `single ${A} \n`, "D": "double\n\"x\" \\ \\z", "E": "", "F": "a#b", "G": "over\ntwo", "OWN": "entry", "H": ""}
	if d := cmp.Diff(want, revealed(a.Env)); d != "" {
		t.Error(d)
	}
	if a.EnvFile != "" || !slices.Contains(secrets, "two words") || slices.Contains(secrets, "file") {
		t.Error(a.EnvFile, secrets)
	}
	if b, _ := resolve(t, entry(t, f, "b"), o); b.Env["OWN"].Reveal() != "file" {
		t.Error(b.Env["OWN"].Reveal())
	}
	write("bad.env", "A=1\ns3cr3t\n")
	write("big.env", "A="+strings.Repeat("s3cr3t", maxValueFile))
	for id, word := range map[string]string{"bad": "line 2", "big": "larger", "dir": "not a regular file"} {
		_, _, err := entry(t, f, id).Resolve(o)
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", id, err)
		}
	}
	_, _, err := entry(t, f, "b").Resolve(&Options{})
	if err == nil || !strings.Contains(err.Error(), "workspace") {
		t.Error(err)
	}
	mem := &Options{Workspace: "/w", ReadFile: func(path string) ([]byte, error) {
		if path != filepath.Join("/w", ".env") {
			return nil, fs.ErrNotExist
		}
		return []byte("K=v"), nil
	}}
	if b, _ := resolve(t, entry(t, f, "b"), mem); b.Env["K"].Reveal() != "v" {
		t.Error(b.Env)
	}
	for text, line := range map[string]int{"=x": 1, "A B=1": 1, "A='x": 1, "A=1\nB=\"x": 2, "A='x' y": 1, "'A'=1": 1, "": 0, "exportA=1": 0, "export A=1": 0} {
		if _, got := parseEnvFile(text); got != line {
			t.Errorf("%q: bad line %d, want %d", text, got, line)
		}
	}
}

// A value that a file holds; a relative one lies beside the configuration.
func TestFileValues(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pin.txt"), []byte("1234\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{
		"windsurf": `{"mcpServers":{"a":{"serverUrl":"http://h/","headers":{"X":"${file:pin.txt}"}}}}`,
		"opencode": `{"mcp":{"a":{"type":"remote","url":"http://h/","headers":{"X":"{file:./pin.txt}"}}}}`,
	} {
		f := parse(t, filepath.Join(dir, "mcp.json"), text, &Options{Format: format})
		e, secrets := resolve(t, entry(t, f, "a"), nil)
		if e.Headers["X"].Reveal() != "1234" || !slices.Equal(secrets, []string{"1234"}) {
			t.Errorf("%s: %q %v", format, e.Headers["X"].Reveal(), secrets)
		}
	}
}
