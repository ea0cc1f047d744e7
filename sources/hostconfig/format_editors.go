package hostconfig

import (
	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// editorFormats are the files of editors.
//
// Cursor: https://cursor.com/docs/mcp. ${env:NAME}, ${workspaceFolder}, ${workspaceFolderBasename},
// ${userHome}, ${pathSeparator} in command, args, env, url and headers. envFile is from memory.
//
// LM Studio: https://lmstudio.ai/docs/app/plugins/mcp. It follows Cursor's notation.
//
// VS Code: https://code.visualstudio.com/docs/copilot/reference/mcp-configuration. The servers may also
// stand below "mcp" in settings.json, and below "settings" in a workspace file (from memory).
//
// Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp. serverUrl, and ${file:PATH}.
//
// Zed: https://zed.dev/docs/ai/mcp. url and headers are from memory.
//
// Kiro: https://kiro.dev/docs/mcp/configuration. The unit of timeout is from memory.
var editorFormats = []*dialect{
	{
		Format: Format{
			Name: "cursor", Program: "Cursor", Paths: []string{".cursor/mcp.json", "~/.cursor/mcp.json"},
			Source: "https://cursor.com/docs/mcp",
		},
		roots:   [][]string{{"mcpServers"}},
		keys:    common.plus(keys{"envFile": readEnvFile, "cwd": readCwd, "disabled": readDisabled, "auth": oauth}),
		bare:    TransportAuto,
		vars:    cursorVars,
		expands: inAll,
	},
	{
		Format: Format{
			Name: "lmstudio", Program: "LM Studio", Paths: []string{"~/.lmstudio/mcp.json"},
			Source: "https://lmstudio.ai/docs/app/plugins/mcp",
		},
		aliases: []string{"lm-studio"},
		roots:   [][]string{{"mcpServers"}},
		keys:    common.plus(keys{"envFile": readEnvFile, "cwd": readCwd, "disabled": readDisabled}),
		bare:    TransportAuto,
		vars:    cursorVars,
		expands: inAll,
	},
	{
		Format: Format{
			Name: "vscode", Program: "VS Code",
			Paths:  []string{".vscode/mcp.json", "Code/User/mcp.json", "settings.json", "*.code-workspace"},
			Source: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
		},
		aliases: []string{"code", "vs-code"},
		roots:   [][]string{{"servers"}, {"mcp", "servers"}, {"mcp.servers"}, {"settings", "mcp", "servers"}, {"settings", "mcp.servers"}, {"customizations", "vscode", "mcp", "servers"}},
		keys: common.plus(keys{
			"envFile": readEnvFile, "cwd": readCwd, "dev": ignored("watching and debugging are not taken over", ""),
			"sandboxEnabled": sandbox, "sandbox": sandbox, "gallery": quiet, "version": quiet, "oauth": oauth,
		}),
		bare:    TransportAuto,
		vars:    cursorVars | hostvars.BracesInput,
		expands: inAll,
		file:    vscodeInputs,
	},
	{
		Format: Format{
			Name: "windsurf", Program: "Windsurf", Paths: []string{"~/.codeium/windsurf/mcp_config.json"},
			Source: "https://docs.windsurf.com/windsurf/cascade/mcp",
		},
		roots: [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"serverUrl": address(""), "disabled": readDisabled, "disabledTools": readDeny, "alwaysAllow": readApproved,
		}),
		bare:    TransportAuto,
		vars:    hostvars.BracesEnv | hostvars.BracesFile,
		expands: inAll &^ inPlaces,
		finish: func(s *server) {
			if s.urlKey == "url" {
				s.note(Rewritten, "url", "Windsurf itself reads serverUrl only; taken as that", "write serverUrl", s.urlLine)
			}
		},
	},
	{
		Format: Format{
			Name: "zed", Program: "Zed", Paths: []string{"~/.config/zed/settings.json", ".zed/settings.json"},
			Source: "https://zed.dev/docs/ai/mcp",
		},
		roots: [][]string{{"context_servers"}},
		keys: common.plus(keys{
			"source": quiet, "settings": unused, "enabled": readEnabled, "remote": unused,
			"command": zedCommand, "path": readCommand, "timeout": noUnit, "oauth": oauth, "tool_permissions": unused,
		}),
		bare:  TransportAuto,
		vars:  none,
		shape: zedShape,
	},
	{
		Format: Format{
			Name: "kiro", Program: "Kiro", Paths: []string{".kiro/settings/mcp.json", "~/.kiro/settings/mcp.json"},
			Source: "https://kiro.dev/docs/mcp/configuration",
		},
		roots: [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"disabled": readDisabled, "autoApprove": readApproved, "disabledTools": readDeny, "cwd": readCwd,
			"timeout": callTimeout(millisecond), "oauth": oauth, "oauthScopes": oauth,
		}),
		bare:    TransportAuto,
		vars:    claudeVars,
		expands: inAll &^ inPlaces,
	},
}

// vscodeInputs reads the values that VS Code asks its user for.
func vscodeInputs(r *reader, _, at *hostdoc.Node) {
	list := at.Get("inputs")
	if list == nil || list.Kind == hostdoc.Null {
		return
	}
	bad := func(n *hostdoc.Node, field, reason string) {
		r.note(Note{Field: field, Action: Refused, Line: n.Line, Reason: reason, Remedy: "write a list of { type, id, description }"})
	}
	if list.Kind != hostdoc.List {
		bad(list, "inputs", "want a list, not "+a(list.Kind))
		return
	}
	lines := make(map[string]int, len(list.Items))
	for i, n := range list.Items {
		field := "inputs[" + itoa(i) + "]"
		if n.Kind != hostdoc.Map {
			bad(n, field, "want a map, not "+a(n.Kind))
			continue
		}
		in := r.input(n, field)
		if in.ID == "" {
			bad(n, field, "has no id")
			continue
		}
		if first, ok := lines[in.ID]; ok {
			r.note(Note{Field: field, Action: Ignored, Line: n.Line, Reason: "its id stands on line " + itoa(first) + " already, which counts", Remedy: "give each input an id of its own"})
			continue
		}
		lines[in.ID] = n.Line
		r.file.Inputs = append(r.file.Inputs, in)
	}
}

// input reads one value that is asked for.
func (r *reader) input(n *hostdoc.Node, field string) Input {
	in := Input{Line: n.Line}
	note := func(m hostdoc.Member, reason string) {
		r.note(Note{Field: field + "." + m.Name, Action: Ignored, Line: m.Line, Reason: reason})
	}
	for _, m := range n.Last() {
		switch v := m.Value; m.Name {
		case "id":
			in.ID = textOf(v)
		case "type":
			in.Type = textOf(v)
		case "description":
			in.Description = textOf(v)
		case "password":
			in.Password = v.Kind == hostdoc.Bool && v.Text == "true"
		case "default":
			switch v.Kind {
			case hostdoc.String, hostdoc.Number, hostdoc.Bool:
				in.Default, in.HasDefault = secret(v.Text), true
			case hostdoc.List, hostdoc.Map:
				note(m, "want text, not "+a(v.Kind))
			}
		case "options":
			in.Options = choices(v)
		case "command", "args":
			note(m, "no command of VS Code is run for it; it is asked for")
		default:
			note(m, "unknown key of VS Code")
		}
	}
	return in
}

// choices are the values of a list of texts, or of maps with a label and a value.
func choices(list *hostdoc.Node) []string {
	var out []string
	for _, o := range list.Items {
		if o.Kind == hostdoc.Map {
			o = o.Get("value")
		}
		if o != nil && o.Kind == hostdoc.String {
			out = append(out, o.Text)
		}
	}
	return out
}

// zedShape passes over servers that an extension of Zed brings.
func zedShape(s *server) bool {
	source := s.node.Get("source")
	if source != nil && source.Kind == hostdoc.String && source.Text == "extension" || s.node.Get("command") == nil && s.node.Get("url") == nil {
		s.note(Ignored, "", "an extension of Zed provides it; it has no command of its own", "name the command that the extension runs", s.line)
		return false
	}
	return true
}

// zedCommand reads a command, or the older map of path, args and env.
func zedCommand(s *server, v val) {
	if v.node.Kind != hostdoc.Map {
		readCommand(s, v)
		return
	}
	known := keys{"path": readCommand, "args": readArgs, "env": readEnv}
	for _, m := range v.node.Last() {
		inner := val{key: v.key + "." + m.Name, node: m.Value, line: m.Line}
		read, ok := known[m.Name]
		switch {
		case !ok:
			s.unknown(inner, m.Name, known)
		case m.Value.Kind == hostdoc.Null:
			s.note(Ignored, inner.key, "is null", "", m.Line)
		default:
			read(s, inner)
		}
	}
}
