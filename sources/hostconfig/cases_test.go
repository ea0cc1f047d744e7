package hostconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
)

// neutral is what a golden file holds.
type neutral struct {
	Format  string       `json:"format"`
	Entries []plainEntry `json:"entries"`
	Inputs  []Input      `json:"inputs,omitempty"`
	Report  []string     `json:"report"`
}

func neutralOf(f *File) neutral {
	n := neutral{Format: f.Format, Entries: []plainEntry{}, Report: []string{}, Inputs: f.Inputs}
	for _, e := range f.Entries {
		n.Entries = append(n.Entries, plainly(e))
	}
	for _, r := range f.Report {
		n.Report = append(n.Report, r.String())
	}
	return n
}

// Every file, of every format, gives what its golden file says.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	formats := map[string]string{ // of files whose names and keys do not say it
		"continue.json": "", "goose-nested.yaml": "", "roo.json": "",
	}
	for _, dir := range []string{"cases", "formats"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			t.Run(name, func(t *testing.T) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				f := parse(t, name, string(data), &Options{Format: formats[name], Workspace: "/srv/demo"})
				seen[f.Format] = true
				golden(t, strings.TrimLeft(name, "."), neutralOf(f))
			})
		}
	}
	for _, f := range Formats() {
		if !seen[f.Name] && f.Name != "flat" {
			t.Errorf("no golden file of %s", f.Name)
		}
	}
}

func caseFile(t *testing.T, name string) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name, string(data), nil)
}

// What each file is about, beside its golden file.
func TestCases(t *testing.T) {
	t.Run("an address without a type", func(t *testing.T) { // three programs, three meanings
		code := caseFile(t, "02-claude-code.mcp.json")
		mustNote(t, code, "broken-url-without-type", "url", Refused, "type")
		if len(code.Entries) != 5 {
			t.Errorf("%d entries", len(code.Entries))
		}
		if e := entry(t, caseFile(t, "04-cursor.mcp.json"), "remote-no-type"); e.Transport != TransportAuto {
			t.Error(e.Transport)
		}
		gemini := caseFile(t, "09-gemini.settings.json")
		if a, b := entry(t, gemini, "streaming"), entry(t, gemini, "sseOnly"); a.Transport != TransportHTTP || b.Transport != TransportSSE {
			t.Error(a.Transport, b.Transport)
		}
	})
	t.Run("codex refuses each table on its own", func(t *testing.T) {
		f := caseFile(t, "08b-codex-invalid.config.toml")
		if len(f.Entries) != 0 {
			t.Errorf("%v", f.Entries)
		}
		for server, field := range map[string]string{"inline_secret": "bearer_token", "mixed": "url", "http_with_args": "args", "no_transport": "command"} {
			mustNote(t, f, server, field, Refused)
		}
		if strings.Contains(report(f), "placeholder") {
			t.Error("the token shows")
		}
	})
	t.Run("copilot's star is every tool", func(t *testing.T) {
		f := caseFile(t, "06-copilot.mcp-config.json")
		if a, b := entry(t, f, "local-tool"), entry(t, f, "remote"); a.Allow != nil || !slices.Equal(b.Allow, []string{"search", "get_item"}) {
			t.Error(a.Allow, b.Allow)
		}
		none := parse(t, "x", `{"mcpServers":{"a":{"command":"x","tools":[]}}}`, &Options{Format: "copilot"})
		if a := entry(t, none, "a").Allow; a == nil || len(a) != 0 {
			t.Errorf("an empty list allows %#v, want nothing", a)
		}
	})
	t.Run("opencode's patterns", func(t *testing.T) {
		if e := entry(t, caseFile(t, "10-opencode.opencode.jsonc"), "local-one"); !slices.Equal(e.Deny, []string{"*"}) || e.ConnectTimeout != 5*time.Second {
			t.Error(e.Deny, e.ConnectTimeout)
		}
	})
	t.Run("empty", func(t *testing.T) {
		for _, text := range []string{"", " \n", "{}", "null", `{"mcpServers":null}`, `{"mcpServers":{}}`, "// nothing"} {
			f := parse(t, "mcp.json", text, nil)
			if len(f.Entries) != 0 {
				t.Errorf("%q: %v", text, f.Entries)
			}
			if text != `{"mcpServers":{}}` && len(f.Report) == 0 {
				t.Errorf("%q: no note", text)
			}
		}
		if f := parse(t, "config.toml", "\ufeff\n", nil); len(f.Entries) != 0 {
			t.Error(f.Entries)
		}
	})
	t.Run("byte order marks", func(t *testing.T) {
		if e := entry(t, caseFile(t, "22-bom.mcp.json"), "a"); e.Command != "demo" {
			t.Error(e.Command)
		}
		utf16 := []byte{0xff, 0xfe}
		for _, c := range `{"mcpServers":{"a":{"command":"demo"}}}` {
			utf16 = append(utf16, byte(c), 0)
		}
		f, err := Parse("mcp.json", utf16, nil)
		if err != nil || len(f.Entries) != 1 {
			t.Errorf("UTF-16: %v, %v", f, err)
		}
		for name, text := range map[string]string{".codex/config.toml": "\ufeff[mcp_servers.a]\ncommand='demo'\n", "librechat.yaml": "\ufeffmcpServers:\n  a:\n    command: demo\n"} {
			if e := entry(t, parse(t, name, text, nil), "a"); e.Command != "demo" {
				t.Error(name, e.Command)
			}
		}
	})
	t.Run("repeated ids", func(t *testing.T) {
		f := caseFile(t, "27-duplicate-ids.mcp.json")
		if e := entry(t, f, "db"); e.Command != "second" || e.Line != 4 {
			t.Error(e.Command, e.Line)
		}
		n := f.Report[slices.IndexFunc(f.Report, func(n Note) bool { return n.Server == "db" })]
		if n.Line != 3 || !strings.Contains(n.Reason, "line 4") {
			t.Error(n)
		}
		if len(f.Entries) != 5 {
			t.Errorf("%d entries", len(f.Entries))
		}
	})
	t.Run("single backslashes", func(t *testing.T) {
		_, err := Parse("mcp.json", []byte("{\n \"mcpServers\": { \"a\": { \"command\": \"C:\\Users\\demo\" } }\n}"), nil)
		p, ok := err.(*Problem)
		if !ok || p.Line != 2 || p.Hint == "" || strings.Contains(p.Error(), "demo") {
			t.Errorf("%v", err)
		}
	})
}

// The words for a transport, in each key that may hold one, and what the key of an address means alone.
func TestTypeWords(t *testing.T) {
	data, err := os.ReadFile("testdata/cases/25-type-aliases.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Rows  map[string]string
		Where []string
	}
	if err := json.Unmarshal(data, &c); err != nil || len(c.Rows) < 15 {
		t.Fatal(err)
	}
	for word, want := range c.Rows {
		for _, key := range c.Where {
			text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": map[string]any{key: word, "command": "x", "url": "http://127.0.0.1:9/mcp"}}})
			f := parse(t, "some.json", string(text), nil)
			transport := map[string]string{"streamable": TransportHTTP, "auto (streamable, then sse)": TransportAuto, "sse": TransportSSE, "stdio": TransportStdio}[want]
			switch {
			case transport != "":
				if e := entry(t, f, "a"); e.Transport != transport {
					t.Errorf("%s = %s is %s, want %s", key, word, e.Transport, transport)
				}
			case len(f.Entries) != 0:
				t.Errorf("%s = %s is taken", key, word)
			case strings.HasPrefix(want, "skip"):
				mustNote(t, f, "a", "", Ignored, word)
			case strings.HasPrefix(want, "unsupported"):
				mustNote(t, f, "a", key, Refused, word)
			default:
				mustNote(t, f, "a", key, Refused, "streamable-http", "stdio", "sse")
			}
		}
	}
	for key, want := range map[string]string{"url": TransportAuto, "serverUrl": TransportAuto, "httpUrl": TransportHTTP, "uri": TransportAuto} {
		f := parse(t, "some.json", `{"mcpServers":{"a":{"`+key+`":"http://127.0.0.1:9/mcp"}}}`, &Options{Format: "plain"})
		if e := entry(t, f, "a"); e.Transport != want {
			t.Errorf("%s alone is %s, want %s", key, e.Transport, want)
		}
	}
}

func TestTimeouts(t *testing.T) {
	for _, row := range []struct {
		format, in    string
		connect, call time.Duration
		note          string // field of a note
		action        string
	}{
		{"claude-code", `"timeout": 30000`, 0, 30 * time.Second, "", ""},
		{"claude-code", `"timeout": 500`, 0, 500 * time.Millisecond, "timeout", Taken}, // the program itself loosens it
		{"gemini", `"timeout": 15000`, 0, 15 * time.Second, "", ""},
		{"cline", `"timeout": 60`, 0, time.Minute, "", ""},
		{"roo", `"timeout": 60`, 0, time.Minute, "", ""},
		{"librechat", `"timeout": 5000, "initTimeout": 7000`, 7 * time.Second, 5 * time.Second, "", ""},
		{"cline", `"timeout": 0`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": -1`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": "30s"`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": "30"`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": 1e300`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": 99999999`, 0, 0, "timeout", Refused}, // milliseconds meant
		{"cline", `"timeout": 1e-300`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": [1]`, 0, 0, "timeout", Refused},
		{"cline", `"timeout": null`, 0, 0, "timeout", Ignored},
		{"plain", `"timeout": 60`, 0, 0, "timeout", Ignored},
	} {
		f := parse(t, "x", `{"mcpServers":{"a":{"command":"x",`+row.in+`}}}`, &Options{Format: row.format})
		if e := entry(t, f, "a"); e.ConnectTimeout != row.connect || e.CallTimeout != row.call {
			t.Errorf("%s: %s gives %v and %v", row.format, row.in, e.ConnectTimeout, e.CallTimeout)
		}
		if row.note != "" {
			mustNote(t, f, "a", row.note, row.action)
		} else if strings.Contains(report(f), "timeout") {
			t.Errorf("%s: %s:\n%s", row.format, row.in, report(f))
		}
	}
	f := parse(t, "config.toml", "[mcp_servers.a]\ncommand='x'\nstartup_timeout_ms=1500\nstartup_timeout_sec=20\ntool_timeout_sec=90.5\n", nil)
	if e := entry(t, f, "a"); e.ConnectTimeout != 20*time.Second || e.CallTimeout != 90500*time.Millisecond {
		t.Error(e.ConnectTimeout, e.CallTimeout)
	}
	mustNote(t, f, "a", "startup_timeout_ms", Ignored, "startup_timeout_sec")
}

// The forms of variables, by program.
func TestInterpolation(t *testing.T) {
	data, err := os.ReadFile("testdata/cases/24-interpolation.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Env  map[string]string
		Rows [][3]any
	}
	if err := json.Unmarshal(data, &c); err != nil || len(c.Rows) < 15 {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := c.Env[name]; return v, ok }
	o := &Options{LookupEnv: lookup, Workspace: "/root dir"}
	for _, row := range c.Rows {
		text, want := row[1].(string), row[2]
		for _, format := range strings.Split(row[0].(string), "|") {
			e := headerIn(t, format, text)
			got, _, err := e.Resolve(o)
			value := got.Headers["X-V"].Reveal()
			switch w := want.(type) {
			case map[string]any: // a program that sends it as it is, or asks: an error here, that names it
				name := "UNSET"
				for _, v := range w {
					if s, ok := v.(string); ok && !strings.Contains(s, "UNSET") {
						name = s
					}
				}
				if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "headers.X-V") || !strings.Contains(err.Error(), `"a"`) {
					t.Errorf("%s %q: %v (%q)", format, text, err, value)
				}
			case string:
				if strings.HasPrefix(w, "choose") { // as in a shell: a default stands in for an empty variable
					w = "fallback"
				}
				w = strings.ReplaceAll(w, "<root>", "/root dir")
				if strings.Contains(text, "SECRET_LIKE") || err != nil || value != w {
					if err != nil || value != w {
						t.Errorf("%s %q is %q, want %q (%v)", format, text, value, w, err)
					}
				}
			}
		}
	}
	asked := &Options{
		Input:  func(id string) (toolsource.Secret, bool) { return toolsource.Secret("in:" + id), true },
		Secret: func(name string) (toolsource.Secret, bool) { return toolsource.Secret("s:" + name), true },
	}
	for format, text := range map[string]string{"vscode": "${input:key}", "continue": "${{ secrets.SET }}"} {
		e, secrets, err := headerIn(t, format, text).Resolve(asked)
		want := map[string]string{"vscode": "in:key", "continue": "s:SET"}[format]
		if err != nil || e.Headers["X-V"].Reveal() != want || len(secrets) != 1 || secrets[0].Reveal() != want {
			t.Errorf("%s: %v %v %v", format, e.Headers["X-V"].Reveal(), secrets, err)
		}
	}
}

// headerIn is a server whose header has a value.
func headerIn(t *testing.T, format, value string) Entry {
	t.Helper()
	v, _ := json.Marshal(value)
	name, text := "x.json", ""
	server := `{"type":"http","url":"http://127.0.0.1:9/mcp","headers":{"X-V":` + string(v) + `}}`
	switch format {
	case "vscode":
		text = `{"servers":{"a":` + server + `}}`
	case "opencode":
		text = `{"mcp":{"a":` + server + `}}`
	case "continue":
		text = `{"mcpServers":[{"name":"a","type":"sse","url":"http://h/","requestOptions":{"headers":{"X-V":` + string(v) + `}}}]}`
	case "codex":
		name, text = "x.toml", "[mcp_servers.a]\nurl='http://h/'\nhttp_headers = { X-V = "+tomlString(value)+" }\n"
	default:
		text = `{"mcpServers":{"a":` + server + `}}`
	}
	return entry(t, parse(t, name, text, &Options{Format: format}), "a")
}
