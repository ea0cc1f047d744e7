package hostconfig

import (
	"path/filepath"
	"time"

	"github.com/toolsource/toolsource/internal/hostdoc"
)

// claudeFormats are the files of Claude Desktop and Claude Code.
//
// Claude Desktop: https://modelcontextprotocol.io/docs/develop/connect-local-servers. It starts commands
// only, and expands no variables.
//
// Claude Code: https://code.claude.com/docs/en/mcp. No type means stdio there. Variables are ${NAME} and
// ${NAME:-default} in five fields; the default also stands in for an empty variable. disabledMcpServers is
// what its own switch writes into ~/.claude.json, by public accounts of that file.
var claudeFormats = []*dialect{
	{
		Format: Format{
			Name: "claude-desktop", Program: "Claude Desktop", Paths: []string{"claude_desktop_config.json"},
			Source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		},
		roots: [][]string{{"mcpServers"}},
		keys:  common,
		bare:  TransportAuto,
		vars:  none,
		finish: func(s *server) {
			if s.entry.Transport != TransportStdio {
				s.note(Taken, s.urlKey, "Claude Desktop itself starts commands only; the address is taken", "", s.urlLine)
			}
		},
	},
	{
		Format: Format{
			Name: "claude-code", Program: "Claude Code", Paths: []string{".mcp.json", "~/.claude.json"},
			Source: "https://code.claude.com/docs/en/mcp",
		},
		aliases: []string{"claude"},
		roots:   [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"timeout": callTimeout(time.Millisecond), "oauth": oauth, "headersHelper": ignored("no program is run for headers", "write them into headers"),
			"alwaysLoad": unused,
		}),
		vars:    claudeVars,
		expands: inCommand | inArgs | inEnv | inURL | inHeaders,
		finish: func(s *server) {
			if t := s.entry.CallTimeout; t > 0 && t < time.Second {
				s.note(Taken, "timeout", "Claude Code itself ignores a limit below 1000 ms", "check the unit: it is milliseconds", s.entry.Line)
			}
		},
		file: claudeProjects,
	},
}

// claudeProjects reads the servers that ~/.claude.json keeps for one project each. Those of the workspace
// count, and win over the user's own; the others are reported. What the project of the workspace switches off
// is off, whoever declares it.
func claudeProjects(r *reader, root, _ *hostdoc.Node) {
	r.switchOff(root.Get("disabledMcpServers"), "disabledMcpServers", true)
	projects := root.Get("projects")
	if projects == nil || projects.Kind == hostdoc.Null {
		return
	}
	if projects.Kind != hostdoc.Map {
		r.note(Note{Field: "projects", Action: Refused, Line: projects.Line, Reason: "want a map of projects, not " + a(projects.Kind)})
		return
	}
	for _, p := range projects.Last() {
		servers := p.Value.Get("mcpServers")
		if servers != nil && servers.Kind != hostdoc.Map && servers.Kind != hostdoc.Null {
			r.note(Note{Field: "projects." + p.Name + ".mcpServers", Action: Refused, Line: servers.Line, Reason: "want a map of servers, not " + a(servers.Kind)})
			servers = nil
		}
		if here := r.opts.Workspace; here != "" && samePath(here, p.Name) {
			r.project(servers)
			r.switchOff(p.Value.Get("disabledMcpServers"), "projects.disabledMcpServers", true)
			continue
		}
		for _, m := range servers.Last() {
			r.note(Note{Server: m.Name, Action: Ignored, Line: m.Line, Reason: "belongs to the project " + p.Name, Remedy: "set the workspace to that folder"})
		}
	}
}

// project reads the servers of one project, which win over those that are there already.
func (r *reader) project(servers *hostdoc.Node) {
	if servers == nil {
		return
	}
	users := r.entries
	r.entries = nil
	r.servers(servers)
	own := make(map[string]int, len(r.entries))
	for _, e := range r.entries {
		own[e.ID] = e.Line
	}
	for _, e := range users {
		if line, ok := own[e.ID]; ok {
			r.note(Note{Server: e.ID, Action: Ignored, Line: e.Line, Reason: "declared again for this project on line " + itoa(line) + ", which counts"})
			continue
		}
		r.entries = append(r.entries, e)
	}
}

func samePath(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }
