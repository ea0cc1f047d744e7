package hostconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestServersThatTheFileSwitchesOff: what a program reads beside its servers may switch some of them off.
func TestServersThatTheFileSwitchesOff(t *testing.T) {
	const servers = `"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "c": {"command": "x"}}`
	for _, c := range []struct{ why, name, text, on string }{
		{"gemini, allowed", "settings.json", `{` + servers + `, "mcp": {"allowed": ["a", "b"]}}`, "a b"},
		{"gemini, excluded wins", "settings.json", `{` + servers + `, "mcp": {"allowed": ["a", "b"], "excluded": ["b"]}}`, "a"},
		{"gemini, older keys", "settings.json", `{` + servers + `, "excludeMCPServers": ["b", "none"]}`, "a c"},
		{"gemini, an empty list allows none", "settings.json", `{` + servers + `, "allowMCPServers": []}`, ""},
		{"gemini, a list that cannot be read allows none", "settings.json", `{` + servers + `, "mcp": {"allowed": "a"}}`, ""},
		{"gemini, null is absent", "settings.json", `{` + servers + `, "mcp": {"allowed": null, "excluded": null}}`, "a b c"},
		{"claude code, for all projects", ".claude.json", `{` + servers + `, "disabledMcpServers": ["b"]}`, "a c"},
		{"claude code, this project", ".claude.json", `{` + servers + `, "projects": {"/here": {"disabledMcpServers": ["b"]}, "/there": {"disabledMcpServers": ["a"]}}}`, "a c"},
		{"claude code, servers of the project, too", ".claude.json", `{` + servers + `, "projects": {"/here": {"mcpServers": {"d": {"command": "x"}}, "disabledMcpServers": ["a", "d"]}}}`, "b c"},
	} {
		f := parse(t, c.name, c.text, &Options{Workspace: "/here"})
		var on []string
		for _, e := range f.Entries {
			if e.Enabled {
				on = append(on, e.ID)
			}
		}
		slices.Sort(on)
		if got := strings.Join(on, " "); got != c.on {
			t.Errorf("%s: format %s, switched on are %q, want %q:\n%s", c.why, f.Format, got, c.on, report(f))
		}
		if len(f.Entries) < 3 {
			t.Errorf("%s: a server is lost: %s", c.why, report(f))
		}
	}
	f := parse(t, "x.json", `{`+servers+`,
 "mcp": {"excluded": ["c"]}}`, nil)
	mustNote(t, f, "c", "mcp.excluded", Rewritten, "switched off")
}

// TestServersElsewhere: servers where the format has none are never lost without a word.
func TestServersElsewhere(t *testing.T) {
	for _, c := range []struct{ why, name, text, field string }{
		{"another program's key", ".vscode/mcp.json", `{"servers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "x"}}}`, "mcpServers"},
		{"and the other way round", "claude_desktop_config.json", `{"mcpServers": {}, "servers": {"b": {"url": "https://example.test"}}}`, "servers"},
		{"two places of one program", ".vscode/settings.json", `{"servers": {"a": {"command": "x"}}, "mcp": {"servers": {"b": {"command": "x"}}}}`, "mcp.servers"},
		{"below a key of its own", ".kiro/settings/mcp.json", `{"mcpServers": {"a": {"command": "x"}}, "powers": {"mcpServers": {"b": {"url": "https://example.test"}}}}`, "powers.mcpServers"},
		{"a key with a dot", "settings.json", `{"amp.mcpServers": {"b": {"command": "x"}}}`, "amp.mcpServers"},
		{"a list", "settings.json", `{"augment.advanced": {"mcpServers": [{"name": "b", "command": "x"}]}}`, "augment.advanced.mcpServers"},
		{"TOML", "config.toml", "[mcp_servers.a]\ncommand = \"x\"\n[profiles.p.mcp_servers.b]\ncommand = \"x\"\n", "profiles.p.mcp_servers"},
	} {
		f := parse(t, c.name, c.text, nil)
		if !noted(f, "", c.field, Ignored, "servers that are not read") {
			t.Errorf("%s: no note for %s:\n%s", c.why, c.field, report(f))
		}
	}
	for why, text := range map[string]string{
		"other maps with commands": `{"mcpServers": {"a": {"command": "x"}}, "lsp": {"go": {"command": "gopls"}}, "hooks": [{"command": "x"}]}`,
		"an empty map":             `{"mcpServers": {"a": {"command": "x"}}, "servers": {}, "mcp": {"allowed": []}}`,
		"settings of that name":    `{"mcpServers": {"a": {"command": "x"}}, "extensions": {"autoUpdate": true}}`,
	} {
		if f := parse(t, "x.json", text, nil); strings.Contains(report(f), "not read") {
			t.Errorf("%s are no servers:\n%s", why, report(f))
		}
	}
	if f := parse(t, "x.json", `{"mcpServers": {"mcpServers": {"a": {"command": "x"}}}}`, nil); !noted(f, "mcpServers", "command", Refused, "one level up") {
		t.Errorf("servers one level too deep:\n%s", report(f))
	}
	if f := parse(t, "x.json", `{"command": "npx", "args": []}`, nil); !noted(f, "", "", Ignored, "one server by itself") {
		t.Errorf("a server without a name:\n%s", report(f))
	}
}

// TestFormatFromContent: the same bytes under a name that says nothing.
func TestFormatFromContent(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"crush", `{"$schema": "https://charm.land/crush.json", "mcp": {"a": {"url": "https://example.test", "type": "http"}}}`},
		{"crush", `{"mcp": {"a": {"command": "node", "args": ["x"], "timeout": 120}}}`},
		{"opencode", `{"$schema": "https://opencode.ai/config.json", "mcp": {"a": {"enabled": false, "command": "x"}}}`},
		{"gemini", `{"$schema": "https://raw.githubusercontent.com/google-gemini/gemini-cli/main/schemas/settings.schema.json", "mcpServers": {"a": {"command": "x"}}}`},
		{"gemini", `{"mcpServers": {"a": {"url": "https://example.test"}}, "mcp": {"excluded": ["b"]}}`},
		{"gemini", `{"mcpServers": {"a": {"url": "https://example.test"}}, "allowMCPServers": ["a"]}`},
		{"mcphost", `{"mcpServers": {"a": {"type": "local", "command": ["x"]}}}`},
		{"opencode-flat", `{"$schema": "https://opencode.ai/config.json", "a": {"type": "local", "command": ["x"]}}`},
		{"claude-code", `{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"allowedTools": [], "enabledMcpjsonServers": []}}}`},
		{"plain", `{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {}}}`},
		{"plain", `{"$schema": "https://charm.land/crush.json", "mcpServers": {"a": {"command": "x"}}}`},
	} {
		for _, name := range []string{"<stdin>", "unknown.json"} {
			f := parse(t, name, c.text, nil)
			if f.Format != c.want || len(f.Entries) != 1 {
				t.Errorf("%s is of format %s with %d servers, want %s with 1: %s\n%s", name, f.Format, len(f.Entries), c.want, c.text, report(f))
			}
		}
	}
	for text, want := range map[string]string{
		"version: 1.2.1\nmcpServers:\n  a: {url: http://h, timeout: 60000}\n":   "librechat",
		"mcpServers:\n  a: {command: x}\nendpoints:\n  custom: []\n":            "librechat",
		"mcpServers:\n  a: {transport: streamable, url: http://h}\nmodel: m\n":  "mcphost",
		"name: c\nversion: 1.0.0\nmcpServers:\n  - {name: a, command: x}\n":     "continue",
		"mcpServers:\n  a: {command: x}\n":                                      "plain",
		"extensions:\n  a: {type: stdio, cmd: x}\nversion: 1\nGOOSE_MODEL: m\n": "goose",
	} {
		if f := parse(t, "<stdin>", text, nil); f.Format != want || len(f.Entries) != 1 {
			t.Errorf("is of format %s with %d servers, want %s with 1: %s\n%s", f.Format, len(f.Entries), want, text, report(f))
		}
	}
	if f := parse(t, "x", `{"$schema": "https://example.test", "a": {"type": "local", "command": ["x"]}}`, nil); strings.Contains(report(f), "refused") {
		t.Errorf("the address of a schema is no server:\n%s", report(f))
	}
}

// TestPlacesWithoutServers: a file that has none yet is of the program whose place it is in.
func TestPlacesWithoutServers(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"/p/opencode.json", `{"model": "m"}`, "opencode"},
		{"/p/.cursor/mcp.json", `{}`, "cursor"},
		{"/p/.codex/config.toml", "model = 'm'\n", "codex"},
		{"/h/.config/goose/config.yaml", "GOOSE_MODEL: m\n", "goose"},
		{"/p/.vscode/settings.json", `{"editor.fontSize": 12}`, "vscode"},
		{"/p/.vscode/mcp.json", `{"mcpServers": {}}`, "plain"},
		{"/p/unknown.json", `{"a": 1}`, "plain"},
	} {
		if f := parse(t, c.name, c.text, nil); f.Format != c.want || len(f.Entries) != 0 || len(f.Report) == 0 && c.want != "plain" {
			t.Errorf("%s is of format %s, want %s:\n%s", c.name, f.Format, c.want, report(f))
		}
	}
}

// TestWordsForYes: people write them in YAML, where some readers take them for booleans and others for text.
func TestWordsForYes(t *testing.T) {
	f := parse(t, "goose/config.yaml", "extensions:\n  a: {type: stdio, cmd: x, enabled: yes}\n  b: {type: stdio, cmd: x, enabled: Off}\n  c: {type: stdio, cmd: x, enabled: on}\n  d: {type: stdio, cmd: x, enabled: maybe}\n", nil)
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if got := entry(t, f, id).Enabled; got != want {
			t.Errorf("%s is enabled: %v, want %v", id, got, want)
		}
	}
	mustNote(t, f, "a", "enabled", Rewritten, "boolean")
	mustNote(t, f, "d", "enabled", Refused, "switched off")
}

// TestValuesInNames: a value that somebody wrote into a name does not come out in a note.
func TestValuesInNames(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers": {
 "a": {"command": "x", "env": {"TOKEN=PLANTED": "", "TOKEN=PLANTED": [], "K: PLANTED": {}}},
 "b": {"url": "https://example.test", "headers": {"Authorization: Bearer PLANTED": "", "X=PLANTED": 1, "Y": "", "Y": ""}}}}`, nil)
	if text := report(f); strings.Contains(text, "PLANTED") {
		t.Errorf("a value comes out:\n%s", text)
	}
	mustNote(t, f, "a", "env.TOKEN=...", Refused, "want text")
	mustNote(t, f, "b", "headers.Authorization:...", Refused, "no name")
}

// TestBlocksOfAHub: Continue fills them in from elsewhere; that is no fault of the file.
func TestBlocksOfAHub(t *testing.T) {
	f := parse(t, "config.yaml", "mcpServers:\n  - uses: someone/memory\n    with: {TOKEN: x}\n  - name: a\n    command: x\n", nil)
	if len(f.Entries) != 1 || strings.Contains(report(f), "refused") {
		t.Errorf("%d servers:\n%s", len(f.Entries), report(f))
	}
	mustNote(t, f, "someone/memory", "", Ignored, "hub")
}

// TestNullInside: null is absent at every depth.
func TestNullInside(t *testing.T) {
	f := parse(t, "zed/settings.json", `{"context_servers": {"a": {"command": {"path": "x", "args": null, "env": null}}}}`, nil)
	if e := entry(t, f, "a"); e.Command != "x" || strings.Contains(report(f), "refused") {
		t.Errorf("%+v:\n%s", plainly(e), report(f))
	}
}

// TestSwitchesEverywhere: disabled and enabled mean so in every format, however they are written.
func TestSwitchesEverywhere(t *testing.T) {
	for _, d := range dialects {
		if len(d.roots[0]) != 1 || d == codexFormat || d.list != nil {
			continue
		}
		for text, want := range map[string]bool{
			`"disabled": true`: false, `"disabled": "true"`: false, `"disabled": 1`: false, `"disabled": {}`: false, `"disabled": "maybe"`: false,
			`"enabled": false`: false, `"enabled": "false"`: false, `"enabled": []`: false,
			`"disabled": false`: true, `"disabled": "false"`: true, `"disabled": null`: true, `"enabled": true`: true, `"enabled": null`: true,
		} {
			f := parse(t, "x.json", `{"`+d.roots[0][0]+`": {"a": {"type": "stdio", "command": "x", `+text+`}}}`, &Options{Format: d.Name})
			if got := entry(t, f, "a").Enabled; got != want {
				t.Errorf("%s, %s: enabled %v, want %v", d.Name, text, got, want)
			}
		}
	}
}

// TestBlankCommands: white space is no program and no address, and a path of Windows whose backslashes were
// read as escapes is not a program with arguments.
func TestBlankCommands(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers": {"a": {"command": " "}, "b": {"url": "\t"}, "c": {"command": "C:\temp\new.exe"}}}`, nil)
	if len(f.Entries) != 0 {
		t.Errorf("%v", f.Entries)
	}
	mustNote(t, f, "a", "command", Refused, "empty")
	mustNote(t, f, "b", "url", Refused, "empty")
	mustNote(t, f, "c", "command", Refused, "control character", `\\`)
}

// TestOnlyComments: a file without content is empty, whatever its comments are.
func TestOnlyComments(t *testing.T) {
	for _, text := range []string{"", "# a\n", "// a\n", "/* a */", "\n\t\n", "---\n"} {
		if f := parse(t, "x", text, nil); !noted(f, "", "", Ignored, "empty") {
			t.Errorf("%q: %s", text, report(f))
		}
	}
}

// TestWideText: the syntax of UTF-16 text is found out under any name.
func TestWideText(t *testing.T) {
	for want, text := range map[string]string{
		"goose": "extensions:\n  a:\n    type: stdio\n    cmd: x\n",
		"codex": "[mcp_servers.a]\ncommand = \"x\"\n",
		"plain": `{"mcpServers": {"a": {"command": "x"}}}`,
	} {
		for _, little := range []bool{true, false} {
			wide := []byte{0xfe, 0xff}
			if little {
				wide = []byte{0xff, 0xfe}
			}
			for _, c := range []byte(text) {
				if little {
					wide = append(wide, c, 0)
				} else {
					wide = append(wide, 0, c)
				}
			}
			f, err := Parse("<stdin>", wide, nil)
			if err != nil || f.Format != want || len(f.Entries) != 1 {
				t.Errorf("%s, little-endian %v: %v, %v", want, little, f, err)
			}
		}
	}
}

// TestAddressesThatNobodyCanCall: what the client would refuse is said when the file is read.
func TestAddressesThatNobodyCanCall(t *testing.T) {
	for text, want := range map[string]string{
		"https://": "no host", "http:///x": "no host", "https://:80/x": "no host", "https://h.test/%zz": "no valid address",
		"https://h.test:port/": "no valid address", "unix://": "no socket", "unix://h/x": "no socket", "ftp://h.test": "http or https", "h.test/mcp": "http or https",
	} {
		f := parse(t, "x.json", `{"mcpServers": {"a": {"url": "`+text+`"}}}`, nil)
		if len(f.Entries) != 0 || !noted(f, "a", "url", Refused, want) {
			t.Errorf("%s:\n%s", text, report(f))
		}
	}
	for _, text := range []string{"https://h.test", "HTTP://h.test", "http://[::1]:8080/x", "unix:///tmp/x.sock#/mcp", "https://${HOST}:${PORT}/x", "http://localhost:${PORT:-80}/", "${URL}"} {
		f := parse(t, "x.json", `{"mcpServers": {"a": {"url": "`+text+`"}}}`, nil)
		if len(f.Entries) != 1 || strings.Contains(report(f), "refused") {
			t.Errorf("%s:\n%s", text, report(f))
		}
	}
	f := parse(t, "x.json", `{"mcpServers": {"a": {"url": "https://me:PLANTED@h.test"}, "b": {"command": "x", "env": {"LD_PRELOAD": "/PLANTED.so"}}}}`, nil)
	mustNote(t, f, "a", "url", Taken, "user name or password", "headers")
	mustNote(t, f, "b", "env.LD_PRELOAD", Taken, "not started", "allow_env")
	if strings.Contains(report(f), "PLANTED") {
		t.Error(report(f))
	}
}

// TestSuspectValues: a value that was read in a way that is hardly meant is told, and is there.
func TestSuspectValues(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers": {"a": {"command": "x", "args": ["C:\\temp", "C:\\x\\new", "C:\temp", "\ud83d"]}}}`, nil)
	if e := entry(t, f, "a"); len(e.Args) != 4 || e.Args[2] != "C:\temp" {
		t.Errorf("%q", e.Args)
	}
	mustNote(t, f, "", "mcpServers.a.args[2]", Taken, "Windows path", `\\`)
	mustNote(t, f, "", "mcpServers.a.args[3]", Taken, "surrogate")
	if f = parse(t, "x.json", `{"mcpServers": {"a": {"command": "x", "z": {"b": 1, "b": 2}}}}`, nil); !noted(f, "", "mcpServers.a.z.b", Ignored, "last one counts") {
		t.Error(report(f))
	}
}

// TestSecretArguments: a credential that stands in an argument of its own is one of the secrets.
func TestSecretArguments(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers": {"a": {"command": "x", "args": ["-y", "server", "--api-key", "one", "--header", "X-Team: two", "-H", "Authorization: Bearer three",
		"--token", "--verbose", "--root", "/srv", "--password", "four", "--port", "5"]}}}`, nil)
	_, secrets, err := entry(t, f, "a").Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range secrets {
		got = append(got, s.Reveal())
	}
	if want := []string{"one", "two", "Bearer three", "four"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNothingBesideServersIsDroppedInSilence: nor is a key of what stands beside them.
func TestNothingBesideServersIsDroppedInSilence(t *testing.T) {
	f := parse(t, ".vscode/mcp.json", `{"servers": {"a": {"command": "x"}}, "inputs": [
 {"id": "a", "type": "promptString", "default": ["PLANTED"], "bogus": 1},
 {"id": "a", "type": "promptString", "default": "PLANTED"},
 {"id": "b", "type": "command", "command": "x"}]}`, nil)
	mustNote(t, f, "", "inputs[0].default", Ignored, "want text")
	mustNote(t, f, "", "inputs[0].bogus", Ignored, "unknown key")
	mustNote(t, f, "", "inputs[1]", Ignored, "line 2")
	mustNote(t, f, "", "inputs[2].command", Ignored, "asked for")
	if len(f.Inputs) != 2 || f.Inputs[0].HasDefault || strings.Contains(report(f), "PLANTED") {
		t.Errorf("%d inputs\n%s", len(f.Inputs), report(f))
	}
	f = parse(t, "opencode.json", `{"mcp": {"a": {"type": "local", "command": ["x"]}}, "tools": {"a_x": "no", "a_y": null}}`, nil)
	mustNote(t, f, "", "tools.a_x", Ignored, "true or false")
	f = parse(t, "goose/config.yaml", "extensions:\n  a: {type: stdio, cmd: x, config: text}\n", nil)
	mustNote(t, f, "a", "config", Refused, "want a map")
}

// TestQuietKeys: goose writes many keys with null that say nothing about a server.
func TestQuietKeys(t *testing.T) {
	f := parse(t, "goose/config.yaml", "extensions:\n  a: {type: stdio, cmd: x, bundled: null, description: null, display_name: A, args: null}\n", nil)
	if len(f.Entries) != 1 || noted(f, "a", "bundled", Ignored) || noted(f, "a", "description", Ignored) {
		t.Error(report(f))
	}
	mustNote(t, f, "a", "args", Ignored, "is null")
}

// TestPartOfAFile: what people paste without its braces is read where YAML can read it; else the error says
// what is missing.
func TestPartOfAFile(t *testing.T) {
	if f := parse(t, "<stdin>", `"mcpServers": {"a": {"command": "x"}}`, nil); len(f.Entries) != 1 {
		t.Error(report(f))
	}
	_, err := Parse("<stdin>", []byte("\"a\": {\n \"command\": \"x\",\n},\n\"b\": {\"command\": \"y\"}"), nil)
	if err == nil || !strings.Contains(err.Error(), "put { before the first key") {
		t.Error(err)
	}
}

// TestTokensInThePlaceOfNames: a credential that stands where the name of a variable is wanted shows nowhere.
func TestTokensInThePlaceOfNames(t *testing.T) {
	for _, token := range []string{"ghp_PLANTED1234567890", "PLANTEDab12cd34ef56gh78", "planted-12ab-34cd-56ef-78", "sk-planted-1234567890"} {
		for name, text := range map[string]string{
			"config.toml":       "[mcp_servers.a]\nurl = 'https://example.test'\nbearer_token_env_var = '" + token + "'\n",
			"x.toml":            "[mcp_servers.a]\nurl = 'https://example.test'\nenv_http_headers = { X = '" + token + "' }\n",
			"y.toml":            "[mcp_servers.a]\ncommand = 'x'\nenv_vars = ['" + token + "']\n",
			"goose/config.yaml": "extensions:\n  a: {type: stdio, cmd: x, env_keys: [" + token + "]}\n",
		} {
			f := parse(t, name, text, nil)
			if len(f.Entries) != 0 || strings.Contains(report(f), token) || !strings.Contains(report(f), "looks like a credential") {
				t.Errorf("%s: %d servers\n%s", text, len(f.Entries), report(f))
			}
		}
	}
	f := parse(t, "config.toml", "[mcp_servers.a]\nurl = 'https://example.test'\nbearer_token_env_var = 'my_long_variable_of_team_2'\n", nil)
	if len(f.Entries) != 1 {
		t.Error(report(f))
	}
}

// TestTokensInVariables: nor does one that stands where a notation wants a name.
func TestTokensInVariables(t *testing.T) {
	f := parse(t, ".mcp.json", `{"mcpServers": {"a": {"type": "http", "url": "https://example.test", "headers": {"Authorization": "Bearer ${ghp_PLANTED1234567890}"}}}}`, nil)
	_, _, err := entry(t, f, "a").Resolve(&Options{LookupEnv: func(string) (string, bool) { return "", false }})
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "PLANTED") {
			t.Error(err)
		}
	}
	if strings.Contains(report(f), "PLANTED") {
		t.Error(report(f))
	}
}
