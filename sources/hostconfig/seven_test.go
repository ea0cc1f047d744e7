package hostconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

// sevenServers are what formats are tried with.
func sevenServers() []Entry {
	return []Entry{
		{ID: "plain", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "demo one", `C:\x`}, Enabled: true},
		{ID: "envcwd", Transport: TransportStdio, Command: "/opt/demo/server", Env: map[string]toolsource.Secret{"A": "1", "B": "two words"}, Cwd: "/srv/demo", Enabled: true},
		{ID: "web", Transport: TransportHTTP, URL: "https://example.test/mcp", Headers: map[string]toolsource.Secret{"Authorization": "Bearer x", "X-Team": "blue"}, Enabled: true},
		{ID: "events", Transport: TransportSSE, URL: "https://example.test/sse", Enabled: true},
		{ID: "off", Transport: TransportStdio, Command: "demo", Enabled: false},
		{ID: "slow", Transport: TransportStdio, Command: "demo", ConnectTimeout: 20 * time.Second, CallTimeout: 90 * time.Second, Enabled: true},
		{ID: "picky", Transport: TransportStdio, Command: "demo", Allow: []string{"read", "list"}, Deny: []string{"drop"}, Enabled: true},
	}
}

// style is how a format writes an entry: the names of its keys, "" where it has none.
type style struct {
	format, file  string
	root          string // "": none
	list          bool   // servers stand in a list
	command, args string // args "": in one list with the command
	env, cwd      string
	url           map[string]string // by transport
	kind          map[string]string // word of type by transport
	kindKey       string
	headers       string
	disabled      string // key that is true, or with a ! before it false, where the server is off
	call, connect string
	callUnit      time.Duration
	connectUnit   time.Duration
	allow, deny   string
	cannot        []string // servers that it has no way to write
	toml          bool
	headerList    bool
	inOptions     bool // headers stand in requestOptions
}

var (
	urls      = map[string]string{TransportHTTP: "url", TransportSSE: "url"}
	usual     = map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportSSE: "sse"}
	streaming = map[string]string{TransportStdio: "stdio", TransportHTTP: "streamable-http", TransportSSE: "sse"}
)

func styles() []style {
	base := func(format, file string, change func(*style)) style {
		s := style{format: format, file: file, root: "mcpServers", command: "command", args: "args", env: "env", url: urls, kind: usual, kindKey: "type", headers: "headers"}
		if change != nil {
			change(&s)
		}
		return s
	}
	return []style{
		base("claude-desktop", "claude_desktop_config.json", nil),
		base("claude-code", ".mcp.json", func(s *style) { s.call, s.callUnit = "timeout", time.Millisecond }),
		base("claude-code", ".claude.json", func(s *style) { s.call, s.callUnit = "timeout", time.Millisecond }),
		base("cursor", ".cursor/mcp.json", func(s *style) { s.cwd, s.disabled = "cwd", "disabled" }),
		base("lmstudio", ".lmstudio/mcp.json", func(s *style) { s.cwd, s.disabled = "cwd", "disabled" }),
		base("vscode", ".vscode/mcp.json", func(s *style) { s.root, s.cwd = "servers", "cwd" }),
		base("windsurf", "windsurf/mcp_config.json", func(s *style) {
			s.url, s.disabled, s.deny = map[string]string{TransportHTTP: "serverUrl", TransportSSE: "serverUrl"}, "disabled", "disabledTools"
		}),
		base("zed", ".zed/settings.json", func(s *style) { s.root, s.disabled = "context_servers", "!enabled" }),
		base("kiro", ".kiro/settings/mcp.json", func(s *style) {
			s.cwd, s.disabled, s.deny, s.call, s.callUnit = "cwd", "disabled", "disabledTools", "timeout", time.Millisecond
		}),
		base("cline", "cline_mcp_settings.json", func(s *style) {
			s.kind = map[string]string{TransportStdio: "stdio", TransportHTTP: "streamableHttp", TransportSSE: "sse"}
			s.cwd, s.disabled, s.call, s.callUnit = "cwd", "disabled", "timeout", time.Second
		}),
		base("roo", ".roo/mcp.json", func(s *style) {
			s.kind, s.cwd, s.disabled, s.deny, s.call, s.callUnit = streaming, "cwd", "disabled", "disabledTools", "timeout", time.Second
		}),
		base("copilot", ".copilot/mcp-config.json", func(s *style) {
			s.kind = map[string]string{TransportStdio: "local", TransportHTTP: "http", TransportSSE: "sse"}
			s.cwd, s.allow, s.call, s.callUnit = "cwd", "tools", "timeout", time.Millisecond
		}),
		base("codex", ".codex/config.toml", func(s *style) {
			s.toml, s.root, s.kindKey, s.headers, s.cwd, s.disabled = true, "mcp_servers", "", "http_headers", "cwd", "!enabled"
			s.call, s.callUnit, s.connect, s.connectUnit = "tool_timeout_sec", time.Second, "startup_timeout_sec", time.Second
			s.allow, s.deny, s.cannot = "enabled_tools", "disabled_tools", []string{"events"}
		}),
		base("gemini", ".gemini/settings.json", func(s *style) {
			s.kindKey, s.url, s.cwd = "", map[string]string{TransportHTTP: "httpUrl", TransportSSE: "url"}, "cwd"
			s.allow, s.deny, s.call, s.callUnit = "includeTools", "excludeTools", "timeout", time.Millisecond
		}),
		base("opencode", "opencode.json", func(s *style) {
			s.root, s.args, s.env, s.disabled, s.cwd = "mcp", "", "environment", "!enabled", "cwd"
			s.kind = map[string]string{TransportStdio: "local", TransportHTTP: "remote"}
			s.connect, s.connectUnit, s.cannot = "timeout", time.Millisecond, []string{"events", "web"}
		}),
		base("opencode-flat", ".agents/mcp.json", func(s *style) {
			s.root, s.args, s.env, s.disabled, s.cwd = "", "", "environment", "!enabled", "cwd"
			s.kind = map[string]string{TransportStdio: "local", TransportHTTP: "remote"}
			s.connect, s.connectUnit, s.cannot = "timeout", time.Millisecond, []string{"events", "web"}
		}),
		base("crush", "crush.json", func(s *style) {
			s.root, s.disabled, s.deny, s.connect, s.connectUnit = "mcp", "disabled", "disabled_tools", "timeout", time.Second
		}),
		base("mcphost", ".mcphost.json", func(s *style) { s.headerList, s.allow, s.deny = true, "allowedTools", "excludedTools" }),
		base("mcphost", ".mcphost.yml", func(s *style) {
			s.args, s.env, s.allow, s.deny = "", "environment", "allowedTools", "excludedTools"
			s.kind = map[string]string{TransportStdio: "local", TransportHTTP: "http", TransportSSE: "sse"}
		}),
		base("continue", ".continue/config.yaml", func(s *style) {
			s.list, s.kind, s.inOptions, s.cwd, s.connect, s.connectUnit = true, streaming, true, "cwd", "connectionTimeout", time.Millisecond
		}),
		base("continue", ".continue/mcpServers/one.json", func(s *style) {
			s.list, s.kind, s.inOptions, s.cwd, s.connect, s.connectUnit = true, streaming, true, "cwd", "connectionTimeout", time.Millisecond
		}),
		base("goose", "goose/config.yaml", func(s *style) {
			s.root, s.command, s.env, s.disabled, s.cwd = "extensions", "cmd", "envs", "!enabled", "cwd"
			s.kind = map[string]string{TransportStdio: "stdio", TransportHTTP: "streamable_http", TransportSSE: "sse"}
			s.url, s.allow, s.call, s.callUnit = map[string]string{TransportHTTP: "uri", TransportSSE: "uri"}, "available_tools", "timeout", time.Second
		}),
		base("librechat", "librechat.yaml", func(s *style) {
			s.kind, s.call, s.callUnit, s.connect, s.connectUnit = streaming, "timeout", time.Millisecond, "initTimeout", time.Millisecond
		}),
		base("plain", "some.json", func(s *style) {
			s.cwd, s.disabled, s.deny, s.allow = "cwd", "disabled", "disabledTools", "enabledTools"
		}),
		base("flat", "some.json", func(s *style) {
			s.root, s.cwd, s.disabled, s.deny, s.allow = "", "cwd", "disabled", "disabledTools", "enabledTools"
		}),
	}
}

// server is an entry as the format writes it, and what of it the format can say.
func (s style) server(e Entry) (map[string]any, Entry) {
	out := map[string]any{}
	put := func(key string, v any, lost func()) {
		if key == "" {
			lost()
			return
		}
		out[key] = v
	}
	if s.list {
		out["name"] = e.ID
	}
	if s.kindKey != "" {
		out[s.kindKey] = s.kind[e.Transport]
	}
	switch {
	case e.Command != "" && s.args == "":
		out[s.command] = append([]string{e.Command}, e.Args...)
	case e.Command != "":
		out[s.command] = e.Command
		if e.Args != nil {
			out[s.args] = e.Args
		}
	default:
		out[s.url[e.Transport]] = e.URL
	}
	if e.Env != nil {
		put(s.env, revealed(e.Env), func() { e.Env = nil })
	}
	if e.Cwd != "" {
		put(s.cwd, e.Cwd, func() { e.Cwd = "" })
	}
	if e.Headers != nil {
		var h any = revealed(e.Headers)
		if s.headerList {
			var lines []string
			for _, k := range slices.Sorted(maps.Keys(e.Headers)) {
				lines = append(lines, k+": "+e.Headers[k].Reveal())
			}
			h = lines
		}
		if s.inOptions {
			h = map[string]any{"headers": h}
			out["requestOptions"] = h
		} else {
			out[s.headers] = h
		}
	}
	if !e.Enabled {
		key, on := strings.CutPrefix(s.disabled, "!")
		if key == "" {
			key = "disabled" // no program's key, but everybody knows what it means
		}
		out[key] = !on
	}
	if e.CallTimeout > 0 {
		put(s.call, float64(e.CallTimeout)/float64(max(s.callUnit, 1)), func() { e.CallTimeout = 0 })
	}
	if e.ConnectTimeout > 0 {
		put(s.connect, float64(e.ConnectTimeout)/float64(max(s.connectUnit, 1)), func() { e.ConnectTimeout = 0 })
	}
	if e.Allow != nil {
		put(s.allow, e.Allow, func() { e.Allow = nil })
	}
	if e.Deny != nil {
		put(s.deny, e.Deny, func() { e.Deny = nil })
	}
	return out, e
}

// text writes servers, and gives what should come back.
func (s style) text(t *testing.T, servers []Entry) (string, []Entry) {
	t.Helper()
	all, items, want := map[string]any{}, []any{}, []Entry(nil)
	for _, e := range servers {
		if slices.Contains(s.cannot, e.ID) {
			continue
		}
		m, can := s.server(e)
		all[e.ID] = m
		items = append(items, m)
		want = append(want, can)
	}
	if s.toml {
		return tomlOf(s.root, all), want
	}
	var doc any = all
	if s.list {
		doc = items
	}
	if s.root != "" {
		doc = map[string]any{s.root: doc}
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), want // JSON is YAML, too
}

func tomlOf(root string, all map[string]any) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "[%s.%s]\n", root, id)
		m := all[id].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			switch v := m[k].(type) {
			case map[string]string:
				var parts []string
				for _, n := range slices.Sorted(maps.Keys(v)) {
					parts = append(parts, tomlString(n)+" = "+tomlString(v[n]))
				}
				fmt.Fprintf(&b, "%s = { %s }\n", k, strings.Join(parts, ", "))
			case []string:
				fmt.Fprintf(&b, "%s = %s\n", k, tomlList(v))
			case string:
				fmt.Fprintf(&b, "%s = %s\n", k, tomlString(v))
			default:
				fmt.Fprintf(&b, "%s = %v\n", k, v)
			}
		}
	}
	return b.String()
}

func TestSevenServersInEveryFormat(t *testing.T) {
	covered := map[string]bool{}
	for _, s := range styles() {
		covered[s.format] = true
		t.Run(s.file, func(t *testing.T) {
			text, want := s.text(t, sevenServers())
			if len(want) < 3 {
				t.Fatalf("only %d servers can be written", len(want))
			}
			f := parse(t, s.file, text, nil)
			if f.Format != s.format {
				t.Fatalf("taken for %s, want %s", f.Format, s.format)
			}
			byID := func(es []Entry) map[string]plainEntry {
				out := map[string]plainEntry{}
				for _, e := range es {
					p := plainly(e)
					p.Line, p.Name = 0, ""
					if len(p.Args) == 0 {
						p.Args = nil
					}
					out[e.ID] = p
				}
				return out
			}
			if d := cmp.Diff(byID(want), byID(f.Entries)); d != "" {
				t.Errorf("(-want +got):\n%s\n%s", d, text)
			}
			for _, n := range f.Report {
				if n.Action == Refused || n.Action == Ignored {
					t.Errorf("a note about what the format can say: %v", n)
				}
			}
			if named, err := Parse("x", []byte(text), &Options{Format: s.format}); err != nil || len(named.Entries) != len(f.Entries) {
				t.Errorf("with the format named: %v, %v", named, err)
			}
		})
	}
	for _, f := range Formats() {
		if !covered[f.Name] {
			t.Errorf("%s is not tried", f.Name)
		}
	}
}

// What a format cannot say is not taken from another format's key.
func TestWhatAFormatCannotSayIsAbsentAndReported(t *testing.T) {
	for _, s := range styles() {
		t.Run(s.file, func(t *testing.T) {
			foreign := map[string]any{"zzTimeout": 1, "zzAllow": []string{"a"}, "zzCwd": "/x"}
			m, _ := s.server(sevenServers()[0])
			maps.Copy(m, foreign)
			var text string
			switch {
			case s.toml:
				text = "[" + s.root + ".plain]\ncommand = \"npx\"\nzzTimeout = 1\nzzAllow = [\"a\"]\nzzCwd = \"/x\"\n"
			default:
				var doc any = map[string]any{"plain": m}
				if s.list {
					doc = []any{m}
				}
				if s.root != "" {
					doc = map[string]any{s.root: doc}
				}
				data, _ := json.Marshal(doc)
				text = string(data)
			}
			f := parse(t, s.file, text, &Options{Format: s.format})
			e := entry(t, f, "plain")
			if e.CallTimeout != 0 || e.ConnectTimeout != 0 || e.Allow != nil || e.Deny != nil || e.Cwd != "" {
				t.Errorf("taken from a key that is not the format's: %+v", plainly(e))
			}
			for k := range foreign {
				mustNote(t, f, "plain", k, Ignored, "unknown key")
			}
		})
	}
}

// Keys that one format lacks and most others have.
func TestMissingAbilities(t *testing.T) {
	for _, row := range []struct {
		format, text, field, action string
	}{
		{"claude-desktop", `{"mcpServers":{"a":{"command":"x","timeout":5000}}}`, "timeout", Ignored},
		{"claude-desktop", `{"mcpServers":{"a":{"command":"x","cwd":"/x"}}}`, "cwd", Ignored},
		{"claude-code", `{"mcpServers":{"a":{"command":"x","cwd":"/x"}}}`, "cwd", Ignored},
		{"cursor", `{"mcpServers":{"a":{"command":"x","timeout":5000}}}`, "timeout", Ignored},
		{"plain", `{"mcpServers":{"a":{"command":"x","timeout":5000}}}`, "timeout", Ignored},
		{"zed", `{"context_servers":{"a":{"command":"x","timeout":5000}}}`, "timeout", Ignored},
		{"vscode", `{"servers":{"a":{"command":"x","disabledTools":["x"]}}}`, "disabledTools", Ignored},
		{"gemini", `{"mcpServers":{"a":{"command":"x","serverUrl":"http://h/"}}}`, "serverUrl", Ignored},
	} {
		f := parse(t, "x", row.text, &Options{Format: row.format})
		mustNote(t, f, "a", row.field, row.action)
		if e := entry(t, f, "a"); e.CallTimeout != 0 || e.ConnectTimeout != 0 || e.Cwd != "" || e.Deny != nil || e.URL != "" {
			t.Errorf("%s: %s was taken", row.format, row.field)
		}
	}
}
