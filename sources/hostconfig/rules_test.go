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
)

const planted = "pl4nted-s3cret"

// Wrong values cost the field or the server, and neighbours nothing. Values are planted, and must not show.
func TestWrongValues(t *testing.T) {
	p := `"` + planted + `"`
	for _, row := range []struct {
		in, field, action string
		kept              bool
		why               string
	}{
		{`"command": [` + p + `]`, "command", Refused, false, "cannot be started"},
		{`"command": {"a":` + p + `}`, "command", Refused, false, "cannot be started"},
		{`"command": ""`, "command", Refused, false, "cannot be started"},
		{`"command": "npx -y ` + planted + `"`, "command", Refused, false, "a line"},
		{`"command": "/usr/bin/node /srv/` + planted + `.js"`, "command", Refused, false, "a path after a program"},
		{`"command": "/opt/my tools/x -v"`, "command", Refused, false, "an option after a path"},
		{`"command": "C:\\node.exe C:\\x.js"`, "command", Refused, false, "two paths"},
		{`"command": "/usr/bin/node server.js"`, "command", Taken, true, "may be one path"},
		{`"command": "/opt/my tools/x"`, "", Taken, true, "a path with a space"},
		{`"command": "'x'"`, "command", Refused, false, "quotes are no part of a name"},
		{`"command": "x", "args": ` + p, "args", Refused, false, "would be other arguments"},
		{`"command": "x", "args": [[` + p + `]]`, "args[0]", Refused, false, "would be other arguments"},
		{`"command": "x", "args": [null]`, "args[0]", Refused, false, "would be other arguments"},
		{`"command": "x", "args": [1, true]`, "args[1]", Rewritten, true, "their text"},
		{`"command": "x", "args": ["a", " ` + planted + `"]`, "args[1]", Taken, true, "white space"},
		{`"command": "x", "args": ["` + "\u200b" + planted + `"]`, "args[0]", Taken, true, "a character that does not show"},
		{`"command": "x", "env": [` + p + `]`, "env", Refused, true, "costs the field"},
		{`"command": "x", "env": {"A": {"b":` + p + `}}`, "env.A", Refused, true, "costs the element"},
		{`"command": "x", "env": {"A=B": ` + p + `}`, "env.A=...", Refused, true, "no name"},
		{`"command": "x", "env": {"A": 1, "A": 2}`, "env.A", Ignored, true, "a key twice"},
		{`"command": "x", "env": {"A ": ` + p + `}`, "env.A ", Taken, true, "white space in a name"},
		{`"command": "x", "command": "y"`, "command", Ignored, true, "a key twice"},
		{`"command": "x", "cwd": 3`, "cwd", Rewritten, true, "its text"},
		{`"command": "x", "cwd": []`, "cwd", Refused, false, "would run elsewhere"},
		{`"url": 7`, "url", Refused, false, "no address"},
		{`"url": ` + p, "url", Refused, false, "no address"},
		{`"url": "ftp://` + planted + `"`, "url", Refused, false, "another scheme"},
		{`"url": "ws://` + planted + `"`, "url", Refused, false, "not supported"},
		{`"url": "pipe:///` + planted + `"`, "url", Refused, false, "not supported"},
		{`"url": "http://h", "headers": ` + p, "headers", Refused, true, "costs the field"},
		{`"url": "http://h", "headers": {"A B": ` + p + `}`, "headers.A B", Refused, true, "no name"},
		{`"url": "http://h", "headers": {"A": "` + planted + `\n"}`, "headers.A", Refused, true, "a line end"},
		{`"url": "http://h", "headers": [` + p + `]`, "headers[0]", Refused, true, "no colon"},
		{`"url": "http://h", "headers": {"A": "<` + `YOUR_TOKEN>"}`, "headers.A", Taken, true, "a placeholder"},
		{`"url": "http://h", "args": [` + p + `]`, "args", Ignored, true, "of the other transport"},
		{`"type": ` + p + `, "command": "x"`, "type", Refused, false, "unknown word"},
		{`"type": 5, "command": "x"`, "type", Refused, false, "no word"},
		{`"type": "stdio", "url": "http://h"`, "", Refused, false, "no command"},
		{`"type": "http", "command": "x"`, "", Refused, false, "no address"},
		{`"type": "stdio", "command": "x", "url": "http://` + planted + `", "headers": {"A":"b"}`, "url", Ignored, true, "of the other transport"},
		{`"type": "http", "transport": "sse", "url": "http://h"`, "transport", Ignored, true, "the first word wins"},
		{`"command": "x", "enabledTools": {"a":` + p + `}`, "enabledTools", Refused, false, "would allow every tool"},
		{`"command": "x", "disabledTools": 7`, "disabledTools", Refused, false, "would deny nothing"},
		{`"command": "x", "disabledTools": "drop"`, "disabledTools", Rewritten, true, "a list of one"},
		{`"command": "x", "autoApprove": ` + p, "autoApprove", Ignored, true, "approvals are data"},
		{`"command": "x", "trust": true`, "trust", Ignored, true, "approvals are data"},
		{`"command": "x", "` + `argz": [` + p + `]`, "argz", Ignored, true, "unknown"},
		{`"command": "x", "required": ` + p, "required", Refused, true, "costs the field"},
	} {
		text := `{"mcpServers":{"before":{"command":"b"},"a":{` + row.in + `},"after":{"url":"http://h"}}}`
		f := parse(t, "x.json", text, &Options{Format: "plain"})
		entry(t, f, "before")
		entry(t, f, "after")
		if kept := len(f.Entries) == 3; kept != row.kept {
			t.Errorf("%s (%s): kept %v\n%s", row.in, row.why, kept, report(f))
		}
		mustNote(t, f, "a", row.field, row.action)
		for _, e := range f.Entries {
			if (e.Transport == TransportStdio) != (e.URL == "" && e.Headers == nil) || (e.Transport == TransportStdio) != (e.Command != "") {
				t.Errorf("%s: %+v", row.in, plainly(e))
			}
		}
		if all := report(f) + fmt.Sprintf("%v %+v %#v %s", f.Entries, f.Entries, f, *f); strings.Contains(all, planted) {
			t.Errorf("%s shows: %s", row.in, all)
		}
	}
}

// The split of a line is suggested without what may be secret in it.
func TestSuggestedSplit(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers":{"a":{"command":"uvx demo --token=`+planted+`"},"b":{"command":"mine --x"},"c":{"command":"${RUN:-a b}"}}}`, &Options{Format: "claude-code"})
	mustNote(t, f, "a", "command", Refused, `"uvx"`, "other 2 words")
	mustNote(t, f, "b", "command", Refused, "the first word", "the other word")
	entry(t, f, "c") // a default may hold white space
}

func TestNearKeys(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers":{"a":{"command":"x","Args":[],"disabledtools":[],"zzz":1,"environment":{}}}}`, nil)
	for key, want := range map[string]string{"Args": `"args"`, "disabledtools": `"disabledTools"`, "environment": "write env"} {
		mustNote(t, f, "a", key, Ignored, want)
	}
	mustNote(t, f, "a", "zzz", Ignored)
	f = parse(t, "x.json", `{"mcpservers":{"a":{"command":"x"}}}`, nil)
	if len(f.Entries) != 0 || !noted(f, "", "", Ignored, "mcpServers", "mcpservers") {
		t.Error(report(f))
	}
}

// A root of the wrong type is a note, too; with the format named, a file without servers is an error.
func TestNoServers(t *testing.T) {
	for _, text := range []string{`{"mcpServers":[]}`, `{"mcpServers":"x"}`, `{"mcpServers":3}`, `[]`, `"x"`, `3`, `{"theme":"dark"}`} {
		f, err := Parse("mcp.json", []byte(text), nil)
		if err != nil || len(f.Entries) != 0 {
			t.Errorf("%s: %v, %v", text, f, err)
		} else if len(f.Report) == 0 && text != `{"mcpServers":[]}` {
			t.Errorf("%s: no note", text)
		}
	}
	var p *Problem
	if _, err := Parse("x.json", []byte(`{"theme":"dark"}`), &Options{Format: "zed"}); !errors.As(err, &p) || !strings.Contains(err.Error(), "context_servers") {
		t.Error(err)
	}
	if _, err := Parse("x.json", nil, &Options{Format: "zed"}); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := Parse("x.json", nil, &Options{Format: "emacs"}); !errors.As(err, &p) || !strings.Contains(err.Error(), "vscode") || !strings.Contains(err.Error(), "claude-desktop") {
		t.Error(err)
	}
}

// A file that cannot be read at all.
func TestBrokenFiles(t *testing.T) {
	for name, text := range map[string]string{
		"a.json": "{\n  \"mcpServers\": { \"a\": { \"command\": \"" + planted + "\" \"args\": [] } }\n}",
		"b.json": "{\"mcpServers\": {\"a\": {\"command\": \"" + planted,
		"a.toml": "[mcp_servers.a]\ncommand = " + planted + "\n",
		"b.toml": "[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a]\ncommand = '" + planted + "'\n",
		"a.yaml": "extensions:\n  a: { cmd: " + planted + ", args: [\n",
		"b.yaml": "mcpServers:\n  a:\n\tcommand: " + planted + "\n",
		"c.json": "\xff\xfe{",
		"d.json": "{\"a\": \"\xff\"}",
	} {
		_, err := Parse(name, []byte(text), nil)
		var p *Problem
		if !errors.As(err, &p) || p.File != name || p.Line == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), planted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	var p *Problem
	if _, err := Read(filepath.Join(dir, "none.json"), nil); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &p) {
		t.Error(err)
	}
	if _, err := Read(dir, nil); !errors.As(err, &p) || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(big, nil); !errors.As(err, &p) || !strings.Contains(err.Error(), "larger") {
		t.Error(err)
	}
	file := filepath.Join(dir, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(file, nil)
	if err != nil || f.Format != "cursor" || f.Entries[0].File != file {
		t.Error(f, err)
	}
}

// The path says the format where the file has servers in its place; else keys do, else a word of the name.
func TestDetect(t *testing.T) {
	const stdio = `{"command":"x"}`
	for _, row := range []struct{ name, text, want string }{
		{"/home/u/.cursor/mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "cursor"},
		{`C:\Users\u\.cursor\mcp.json`, `{"mcpServers":{"a":` + stdio + `}}`, "cursor"},
		{"/home/u/.CURSOR/mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "cursor"},
		{"/p/.vscode/mcp.json", `{"servers":{"a":` + stdio + `}}`, "vscode"},
		{"/p/.vscode/mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "plain"}, // not where VS Code looks
		{"/p/x.code-workspace", `{"folders":[],"settings":{"mcp":{"servers":{"a":` + stdio + `}}}}`, "vscode"},
		{"/p/x.code-workspace", `{"settings":{"mcp.servers":{"a":` + stdio + `}}}`, "vscode"},
		{"/p/.gemini/settings.json", `{"mcpServers":{"a":` + stdio + `}}`, "gemini"},
		{"/p/.mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "claude-code"},
		{"/p/.mcp.json", `{"mcpServers":{"a":{"url":"http://h","headers":["A: b"]}}}`, "mcphost"},
		{"/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","tools":["*"]}}}`, "copilot"},
		{"mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "plain"},
		{"mcp.json", `{"servers":{"a":` + stdio + `},"inputs":[]}`, "vscode"},
		{"settings.json", `{"context_servers":{"a":` + stdio + `}}`, "zed"},
		{"settings.json", `{"mcpServers":{"a":{"httpUrl":"http://h"}}}`, "gemini"},
		{"settings.json", `{"mcpServers":{"a":{"serverUrl":"http://h"}}}`, "windsurf"},
		{"x.json", `{"mcp":{"a":{"type":"local","command":["x"]}}}`, "opencode"},
		{"x.json", `{"mcp":{"a":{"type":"stdio","command":"x"}}}`, "crush"},
		{"x.json", `{"mcp":{"servers":{"a":` + stdio + `}}}`, "vscode"},
		{"x.json", `{"a":` + stdio + `}`, "flat"},
		{"x.json", `{"a":{"type":"remote","url":"http://h"}}`, "opencode-flat"},
		{"/p/.agents/mcp.json", `{"a":` + stdio + `}`, "opencode-flat"},
		{"/p/.agents/mcp.json", `{"mcpServers":{"a":` + stdio + `}}`, "plain"},
		{"x.json", `{"mcpServers":[{"name":"a","command":"x"}]}`, "continue"},
		{"x.yaml", "extensions:\n  a: { type: stdio, cmd: x }\n", "goose"},
		{"x.yaml", "mcpServers:\n  a: { command: x }\n", "plain"},
		{"librechat.yaml", "mcpServers:\n  a: { command: x }\n", "librechat"},
		{"x", "mcpServers:\n  a: { command: x }\n", "plain"},
		{"x", "[mcp_servers.a]\ncommand='x'\n", "codex"},
		{"x", "model = 'y'\n[mcp_servers.a]\ncommand='x'\n", "codex"},
		{"x", "# mine: all\n\nmodel = 'y'\n[mcp_servers.a]\ncommand='x'\n", "codex"}, // one text of YAML, too
		{"x", "mcp_servers.a.url = 'https://h'", "codex"},
		{"x", "# [mcp_servers.b]\nmcpServers:\n  a: { command: x }\n", "plain"},
		{"x", `{"mcpServers":{"a":` + stdio + `}}`, "plain"},
		{"my-cursor-backup.json", `{"mcpServers":{"a":` + stdio + `}}`, "cursor"},
		{"zed.json", `{"mcpServers":{"a":` + stdio + `}}`, "plain"}, // the name is not enough
		{"claude-desktop.json", `{"mcpServers":{"a":` + stdio + `}}`, "claude-desktop"},
	} {
		f := parse(t, row.name, row.text, nil)
		if f.Format != row.want {
			t.Errorf("%s %s is taken for %s, want %s", row.name, row.text, f.Format, row.want)
		}
		if len(f.Entries) != 1 {
			t.Errorf("%s %s: %s", row.name, row.text, report(f))
		}
	}
	for alias, want := range map[string]string{"VS Code": "vscode", "LM-Studio": "lmstudio", "gemini_cli": "gemini", "claude": "claude-code", "roo code": "roo"} {
		if d := named(alias); d == nil || d.Name != want {
			t.Errorf("%s is %v", alias, d)
		}
	}
}

// Each place is one that its own format answers to, and each format says where its keys come from.
func TestFormats(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats() {
		if seen[f.Name] || f.Program == "" || len(f.Paths) == 0 || !strings.HasPrefix(f.Source, "https://") {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
	}
	if len(seen) < 22 {
		t.Errorf("%d formats", len(seen))
	}
	for _, p := range places {
		if named(p.format) == nil {
			t.Errorf("%s: no format %s", p.end, p.format)
		}
	}
}

func TestOpencodePatterns(t *testing.T) {
	servers := `"mcp":{"db":{"type":"local","command":["x"]},"my server":{"type":"local","command":["x"]},"db_two":{"type":"local","command":["x"]}}`
	for tools, want := range map[string]map[string][]string{
		`{"db_*":false}`:                 {"db": {"*"}, "db_two": {"*"}}, // db_two_x is a name of both
		`{"db_drop":false}`:              {"db": {"drop"}},
		`{"my_server_*":false}`:          {"my server": {"*"}},
		`{"*":false}`:                    {"db": {"*"}, "my server": {"*"}, "db_two": {"*"}},
		`{"my*":false}`:                  {"my server": {"*"}},
		`{"*_drop":false}`:               {"db": {"*_drop"}, "my server": {"*_drop"}, "db_two": {"*_drop"}},
		`{"bash":false,"other_*":false}`: {},
		`{"db_drop":true}`:               {},
		`{"db_":false,"db_*": 3}`:        {},
		`{"db":false}`:                   {"db": {"*"}},
		`{"d?_drop":false}`:              {"db": {"drop"}},
		`{"db_dr?p":false}`:              {"db": {"dr?p"}},
	} {
		f := parse(t, "opencode.json", `{`+servers+`,"tools":`+tools+`}`, nil)
		got := map[string][]string{}
		for _, e := range f.Entries {
			if e.Deny != nil {
				got[e.ID] = e.Deny
			}
			if e.Allow != nil {
				t.Errorf("%s allows %v", tools, e.Allow)
			}
		}
		if tools == `{"db_*":false}` { // the pattern reaches db_two by its second underscore
			slices.Sort(got["db_two"])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", tools, d)
		}
	}
	f := parse(t, "opencode.json", `{`+servers+`,"tools":{"my_server_*":false,"my_server_read":true,"my_server_drop":false}}`, nil)
	if e := entry(t, f, "my server"); !slices.Equal(e.Allow, []string{"read"}) || !slices.Equal(e.Deny, []string{"drop"}) {
		t.Error(e.Allow, e.Deny)
	}
}

func TestContinueNames(t *testing.T) {
	f := parse(t, ".continue/config.yaml", "mcpServers:\n"+strings.Repeat("- { name: Remote, command: x }\n", 3)+"- { name: Remote-2, command: y }\n- { command: z }\n- { name: 3, command: z }\n- nothing\n", nil)
	var ids []string
	for _, e := range f.Entries {
		ids = append(ids, e.ID+"="+e.Command)
	}
	if d := cmp.Diff([]string{"Remote=x", "Remote-3=x", "Remote-4=x", "Remote-2=y", "server-5=z", "server-6=z"}, ids); d != "" {
		t.Error(d)
	}
}

func TestHeaderNamesAreEqualWhateverTheirCase(t *testing.T) {
	f := parse(t, "x.json", `{"mcpServers":{"a":{"url":"http://h","headers":{"Authorization":"one","authorization":"two"}}}}`, nil)
	if d := cmp.Diff(map[string]string{"authorization": "two"}, revealed(entry(t, f, "a").Headers)); d != "" {
		t.Error(d)
	}
	mustNote(t, f, "a", "headers.authorization", Ignored, "Authorization")
}

// Values that a program would run a command for, or fill in for each of its users, are not sent as they are.
func TestValuesThatOnlyTheProgramKnows(t *testing.T) {
	f := parse(t, "librechat.yaml", "mcpServers:\n  a: { type: sse, url: 'http://h', headers: { X: '{{LIBRECHAT_USER_ID}}' } }\n  b: { command: x, args: ['{{a}}'] }\n  c: { command: x, args: ['{{'] }\n", nil)
	if len(f.Entries) != 1 || f.Entries[0].ID != "c" {
		t.Errorf("%v\n%s", f.Entries, report(f))
	}
	mustNote(t, f, "a", "headers.X", Refused, "each user")
	f = parse(t, "crush.json", `{"mcp":{"a":{"type":"stdio","command":"$(which x)"},"b":{"type":"stdio","command":"x","env":{"K":"a$(cat k)"}},"c":{"type":"stdio","command":"x"}}}`, nil)
	if len(f.Entries) != 1 || f.Entries[0].ID != "c" {
		t.Errorf("%v\n%s", f.Entries, report(f))
	}
}

// Only what a program expands is looked at as a variable; the rest is reported.
func TestForeignVariables(t *testing.T) {
	for _, row := range []struct {
		format, value string
		want          bool
	}{
		{"claude-desktop", "${TOKEN}", true}, {"claude-code", "${TOKEN}", false}, {"claude-code", "${env:TOKEN}", true}, {"claude-code", "{env:TOKEN}", true},
		{"cursor", "${TOKEN}", true}, {"cursor", "${env:TOKEN}", false}, {"cursor", "plain $5 text", false}, {"gemini", "%TOKEN%", true}, {"gemini", "$TOKEN", false},
	} {
		f := parse(t, "x.json", fmt.Sprintf(`{"mcpServers":{"a":{"command":"x","env":{"K":%q}}}}`, row.value), &Options{Format: row.format})
		if got := noted(f, "a", "env.K", Taken, "looks like a variable"); got != row.want {
			t.Errorf("%s: %s is foreign: %v", row.format, row.value, got)
		}
		if strings.Contains(report(f), row.value) {
			t.Errorf("the note shows the value: %s", report(f))
		}
	}
	f := parse(t, "x.json", `{"mcpServers":{"a":{"command":"x","args":["${DEMO}"]}}}`, &Options{Format: "copilot"})
	g := parse(t, "x.json", `{"mcpServers":{"a":{"type":"http","url":"http://h/${DEMO}"}}}`, &Options{Format: "copilot"}) // not expanded in addresses
	if noted(f, "a", "args[0]", Taken) || !noted(g, "a", "url", Taken, "variable") {
		t.Error(report(f), report(g))
	}
}

// An entry of the user's own file is replaced by one of the project, and only by one of this project.
func TestClaudeProjects(t *testing.T) {
	data, err := os.ReadFile("testdata/formats/claude-code-user.claude.json")
	if err != nil {
		t.Fatal(err)
	}
	commands := func(workspace string) map[string]string {
		f := parse(t, "/home/u/.claude.json", string(data), &Options{Workspace: workspace})
		out := map[string]string{}
		for _, e := range f.Entries {
			out[e.ID] = e.Command + strings.Join(e.Args, " ")
		}
		return out
	}
	for workspace, want := range map[string]map[string]string{
		"":            {"notes": "demo-notes", "search": ""},
		"/srv/demo/":  {"notes": "demo-notes--project", "search": "", "db": "demo-db"},
		"/srv/other":  {"notes": "demo-notes", "search": "", "secretive": "demo-other"},
		"/srv/demo/x": {"notes": "demo-notes", "search": ""},
	} {
		if d := cmp.Diff(want, commands(workspace)); d != "" {
			t.Errorf("%s: %s", workspace, d)
		}
	}
}

// A list of tools that is empty allows nothing, but in goose, which writes one for all.
func TestEmptyLists(t *testing.T) {
	goose := parse(t, "goose/config.yaml", "extensions:\n  a: { type: stdio, cmd: x, args: [], available_tools: [] }\n", nil)
	if e := entry(t, goose, "a"); e.Allow != nil {
		t.Errorf("%#v", e.Allow)
	}
	for format, text := range map[string]string{
		"gemini": `{"mcpServers":{"a":{"command":"x","includeTools":[]}}}`, "mcphost": `{"mcpServers":{"a":{"command":"x","allowedTools":[]}}}`,
	} {
		if e := entry(t, parse(t, "x.json", text, &Options{Format: format}), "a"); e.Allow == nil || len(e.Allow) != 0 {
			t.Errorf("%s: %#v", format, e.Allow)
		}
	}
}

// Continue takes a file with one server, which is named after the file.
func TestContinueSingleServer(t *testing.T) {
	f := parse(t, "/p/.continue/mcpServers/notes.json", `{"command":"x","args":["a"]}`, nil)
	if e := entry(t, f, "notes"); f.Format != "continue" || e.Command != "x" {
		t.Error(f.Format, e.Command)
	}
	f = parse(t, "/p/.continue/mcpServers/many.json", `{"mcpServers":{"a":{"type":"http","url":"http://h"}}}`, nil)
	if e := entry(t, f, "a"); f.Format != "continue" || e.Transport != TransportHTTP {
		t.Error(f.Format, e.Transport)
	}
}

// Patterns times servers are bounded: beyond it nothing is allowed, rather than something not denied.
func TestManyOpencodePatterns(t *testing.T) {
	var servers, tools []string
	for i := range 400 {
		servers = append(servers, fmt.Sprintf(`"s%d":{"type":"local","command":["x"]}`, i))
		tools = append(tools, fmt.Sprintf(`"*%d":false`, i))
	}
	f := parse(t, "opencode.json", `{"mcp":{`+strings.Join(servers, ",")+`},"tools":{`+strings.Join(tools, ",")+`}}`, nil)
	for _, e := range f.Entries {
		if !slices.Equal(e.Deny, []string{"*"}) || e.Allow != nil {
			t.Fatal(e.Deny, e.Allow)
		}
	}
	mustNote(t, f, "", "tools", Refused, "too many")
}
