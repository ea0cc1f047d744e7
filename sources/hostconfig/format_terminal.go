package hostconfig

import (
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// terminalFormats are the files of assistants in a terminal.
//
// Copilot: https://code.visualstudio.com/docs/agents/reference/mcp-configuration and
// https://microsoft.github.io/apm/reference/mcp-variable-compatibility; timeout is milliseconds in
// https://github.github.io/copilot-sdk-java/ (McpServerConfig). "local" and tools are from memory.
//
// Codex: openai/codex codex-rs/config/src/mcp_types.rs, see format_codex.go.
//
// Gemini CLI: google-gemini/gemini-cli docs/tools/mcp-server.md. httpUrl is streamable HTTP, url is SSE.
// mcp.allowed and mcp.excluded, once allowMCPServers and excludeMCPServers: docs/cli/configuration.md.
//
// opencode: https://opencode.ai/docs/mcp-servers. The command is a list, and {env:NAME} and {file:PATH} are
// expanded.
//
// crush: https://mintlify.com/charmbracelet/crush/configuration/mcp and charmbracelet/crush
// internal/config/config.go. Values are shell words there; a $(command) is never run here.
//
// mcphost: mark3labs/mcphost README.md and internal/config/config.go. The newer form, with type local or
// remote, a command list and ${env://NAME:-default}, is from memory.
var terminalFormats = []*dialect{
	{
		Format: Format{
			Name: "copilot", Program: "GitHub Copilot CLI", Paths: []string{"~/.copilot/mcp-config.json", ".github/mcp.json"},
			Source: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
		},
		aliases: []string{"copilot-cli", "github-copilot"},
		roots:   [][]string{{"mcpServers"}},
		keys:    common.plus(keys{"tools": copilotTools, "cwd": readCwd, "timeout": callTimeout(millisecond), "oauth": oauth, "source": quiet}),
		bare:    TransportAuto,
		vars:    claudeVars,
		expands: inCommand | inArgs | inEnv | inHeaders,
	},
	codexFormat,
	{
		Format: Format{
			Name: "gemini", Program: "Gemini CLI", Paths: []string{"~/.gemini/settings.json", ".gemini/settings.json"},
			Source: "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
		},
		aliases: []string{"gemini-cli"},
		roots:   [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"httpUrl": address(TransportHTTP), "url": address(TransportSSE), "cwd": readCwd, "timeout": callTimeout(millisecond),
			"trust": readTrust, "includeTools": readAllow, "excludeTools": readDeny, "oauth": oauth,
			"authProviderType": oauth, "targetAudience": oauth, "targetServiceAccount": oauth, "extensionName": quiet,
		}),
		vars:    shellVars,
		expands: inAll,
		file:    geminiServers,
	},
	{
		Format: Format{
			Name: "opencode", Program: "opencode", Paths: []string{"opencode.json", "opencode.jsonc", "~/.config/opencode/opencode.json"},
			Source: "https://opencode.ai/docs/mcp-servers",
		},
		roots:   [][]string{{"mcp"}},
		keys:    opencodeKeys,
		bare:    TransportAuto,
		vars:    hostvars.CurlyEnv | hostvars.CurlyFile,
		expands: inAll,
		file:    opencodeTools,
	},
	{
		Format: Format{
			Name: "opencode-flat", Program: "opencode", Paths: []string{".agents/mcp.json"},
			Source: "https://opencode.ai/docs/mcp-servers",
		},
		roots:   [][]string{{}},
		keys:    opencodeKeys,
		bare:    TransportAuto,
		vars:    hostvars.CurlyEnv | hostvars.CurlyFile,
		expands: inAll,
		other:   isSchema,
	},
	{
		Format: Format{
			Name: "crush", Program: "Crush", Paths: []string{"crush.json", ".crush.json", "~/.config/crush/crush.json"},
			Source: "https://mintlify.com/charmbracelet/crush/configuration/mcp",
		},
		roots: [][]string{{"mcp"}},
		keys: common.plus(keys{
			"disabled": readDisabled, "disabled_tools": readDeny, "enabled_tools": readAllow, "timeout": connectTimeout(second), "oauth": oauth,
		}),
		vars:    shellVars,
		expands: inAll &^ inPlaces,
		finish:  crushCommands,
	},
	{
		Format: Format{
			Name: "mcphost", Program: "mcphost", Paths: []string{"~/.mcphost.yml", "~/.mcphost.json", "~/.mcp.yml", "~/.mcp.json"},
			Source: "https://github.com/mark3labs/mcphost",
		},
		roots: [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"command": readCommandLine, "environment": readEnv, "allowedTools": readAllow, "excludedTools": readDeny,
		}),
		bare:    TransportSSE,
		vars:    none,
		expands: inAll &^ inPlaces,
	},
}

var opencodeKeys = common.plus(keys{
	"command": readCommandLine, "environment": readEnv, "enabled": readEnabled, "cwd": readCwd,
	"timeout": connectTimeout(millisecond), "oauth": oauth,
})

// copilotTools reads the tools of a server; "*" in it is every tool.
func copilotTools(s *server, v val) {
	readAllow(s, v)
	for _, t := range s.entry.Allow {
		if t == "*" {
			s.entry.Allow = nil
		}
	}
}

// crushCommands refuses what a shell would have run for a value.
func crushCommands(s *server) {
	s.entry.each(func(field, text string) {
		if strings.Contains(text, "$(") {
			s.cost(field, "Crush runs a command for this value, which is never done here", "put the value into a variable", s.entry.Line)
		}
	})
}

// opencodeTools reads the patterns that switch tools on and off for the whole program. A tool's name there
// is its server's, with other characters than letters, digits, - and _ replaced by _, then _ and its own.
// What is false is denied. Where that is every tool of a server, what is true is its list of tools allowed.
func opencodeTools(r *reader, root, _ *hostdoc.Node) {
	tools := root.Get("tools")
	if tools == nil || tools.Kind != hostdoc.Map {
		return
	}
	on := make([][]string, len(r.entries))
	match, left := prefixes(r.entries), maxHits
	for _, m := range tools.Last() {
		if m.Value.Kind != hostdoc.Bool {
			if m.Value.Kind != hostdoc.Null {
				r.note(Note{Field: "tools." + m.Name, Action: Ignored, Line: m.Line, Reason: "want true or false, not " + a(m.Value.Kind)})
			}
			continue
		}
		hits := match(m.Name, left)
		if left -= len(hits); left <= 0 {
			r.denyAll(m.Line)
			return
		}
		for _, hit := range hits {
			e := &r.entries[hit.entry]
			if m.Value.Text == "true" {
				on[hit.entry] = append(on[hit.entry], hit.pattern)
				continue
			}
			e.Deny = append(e.Deny, hit.pattern)
			r.note(Note{Server: e.ID, Field: "tools", Action: Rewritten, Line: m.Line, Reason: "the pattern " + quoted(m.Name) + " denies " + hit.pattern + " of this server"})
		}
	}
	for i, list := range on {
		r.entries[i].allowInstead(list)
	}
}

// maxHits bounds how many patterns are kept for how many servers.
const maxHits = 100_000

// denyAll denies every tool, since there are too many patterns to say which.
func (r *reader) denyAll(line int) {
	for i := range r.entries {
		r.entries[i].Allow, r.entries[i].Deny = nil, []string{"*"}
	}
	r.note(Note{Field: "tools", Action: Refused, Line: line, Reason: "too many patterns for too many servers; every tool of every server is denied", Remedy: "write fewer patterns"})
}

// allowInstead turns "all but these are off" into a list of tools allowed.
func (e *Entry) allowInstead(on []string) {
	all := false
	var rest []string
	for _, p := range e.Deny {
		if p == "*" {
			all = true
		} else {
			rest = append(rest, p)
		}
	}
	if all && len(on) > 0 {
		e.Allow, e.Deny = on, rest
	}
}

type hit struct {
	entry   int
	pattern string // over the tools of the entry
}

// prefixes finds the servers that a pattern over names of tools is about. In it * is any text and ? any
// character. The name of a server alone means all its tools.
func prefixes(entries []Entry) func(pattern string, most int) []hit {
	byPrefix := make(map[string][]int, len(entries))
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = cleanName(e.ID) + "_"
		byPrefix[all[i]] = append(byPrefix[all[i]], i)
	}
	return func(pattern string, most int) []hit {
		var hits []hit
		literal := pattern
		if i := strings.IndexAny(pattern, "*?"); i >= 0 {
			literal = pattern[:i]
		}
		for i := range literal {
			if literal[i] != '_' {
				continue
			}
			for _, n := range byPrefix[literal[:i+1]] {
				if rest := pattern[i+1:]; rest != "" {
					hits = append(hits, hit{n, rest})
				}
			}
		}
		if literal == pattern {
			for _, n := range byPrefix[pattern+"_"] {
				hits = append(hits, hit{n, "*"})
			}
			return hits
		}
		for n, p := range all {
			if len(hits) >= most {
				break
			}
			if len(p) > len(literal) && strings.HasPrefix(p, literal) {
				if rest, ok := within(pattern, p); ok {
					hits = append(hits, hit{n, rest})
				}
			}
		}
		return hits
	}
}

// within takes a prefix off a pattern whose first * or ? stands in the prefix. The * may also stand for what
// follows the prefix.
func within(pattern, prefix string) (string, bool) {
	for i := 0; i < len(prefix); i++ {
		switch {
		case i >= len(pattern):
			return "", false
		case pattern[i] == '*':
			return pattern[i:], true
		case pattern[i] != prefix[i] && pattern[i] != '?':
			return "", false
		}
	}
	rest := pattern[len(prefix):]
	return rest, rest != ""
}

func cleanName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}
