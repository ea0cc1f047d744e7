package hostconfig

import (
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// codexFormat is the file of Codex: https://developers.openai.com/codex/mcp and openai/codex
// codex-rs/config/src/mcp_types.rs. It expands no variables; names of variables stand in keys of their own.
// A key of the other transport makes Codex refuse the server, and so it is refused here.
var codexFormat = &dialect{
	Format: Format{
		Name: "codex", Program: "Codex", Paths: []string{"~/.codex/config.toml", ".codex/config.toml"},
		Source: "https://developers.openai.com/codex/mcp",
	},
	roots: [][]string{{"mcp_servers"}},
	keys: keys{
		"command": readCommand, "args": readArgs, "env": readEnv, "env_vars": codexEnvVars, "cwd": readCwd,
		"url": address(TransportHTTP), "http_headers": readHeaders,
		"bearer_token_env_var": codexBearer, "env_http_headers": codexHeaders,
		"bearer_token": func(s *server, v val) {
			s.cost(v.key, "a token in the file is not supported by Codex", "write bearer_token_env_var with the name of a variable", v.line)
		},
		"startup_timeout_sec": connectTimeout(second), "startup_timeout_ms": codexMillis, "tool_timeout_sec": callTimeout(second),
		"enabled": readEnabled, "required": readRequired, "enabled_tools": readAllow, "disabled_tools": readDeny,
		"tools": codexApprovals, "default_tools_approval_mode": func(s *server, v val) { s.approve("*", v) },
		"scopes": oauth, "oauth": oauth, "oauth_resource": oauth, "name": readName,
		"supports_parallel_tool_calls": unused, "experimental_environment": ignored("the server runs here", ""),
	},
	bare:   TransportHTTP,
	vars:   none,
	finish: codexTransport,
}

// codexTransport refuses keys of the other transport.
func codexTransport(s *server) {
	wrong := []string{"args", "env", "env_vars", "cwd"}
	if s.entry.Transport == TransportStdio {
		wrong = []string{"url", "bearer_token_env_var", "http_headers", "env_http_headers", "oauth", "oauth_resource"}
	}
	for _, key := range wrong {
		if line, ok := s.seen[key]; ok {
			s.cost(key, "is not supported for a "+s.entry.Transport+" server", "remove it", line)
		}
	}
}

// codexEnvVars reads names of variables that are handed on. One that is not set is not handed on.
func codexEnvVars(s *server, v val) {
	if v.node.Kind != hostdoc.List {
		s.cost(v.key, "want a list of names, not "+a(v.node.Kind), "", v.line)
		return
	}
	for i, n := range v.node.Items {
		field := v.key + "[" + itoa(i) + "]"
		name, source := n, (*hostdoc.Node)(nil)
		if n.Kind == hostdoc.Map {
			name, source = n.Get("name"), n.Get("source")
		}
		switch {
		case name == nil || name.Kind != hostdoc.String || name.Text == "":
			s.cost(field, "want the name of a variable", "", n.Line)
		case source != nil && textOf(source) == "remote":
			s.note(Ignored, field, "is of a remote environment", "", n.Line)
		case source != nil && textOf(source) != "local":
			s.cost(field+".source", "want local or remote", "", n.Line)
		default:
			s.pass("env", name.Text, "", name.Text, true, val{key: field, line: n.Line})
		}
	}
}

// codexBearer reads the name of the variable that holds a token.
func codexBearer(s *server, v val) {
	if name, ok := s.text(v); ok && name != "" {
		s.pass("headers", "Authorization", "Bearer ", name, false, v)
	}
}

// codexHeaders reads headers whose values are names of variables.
func codexHeaders(s *server, v val) {
	for _, m := range s.members(v, "names of variables") {
		if name, ok := s.text(val{key: v.key + "." + m.Name, node: m.Value, line: m.Line}); ok && name != "" {
			s.pass("headers", m.Name, "", name, false, val{key: v.key + "." + m.Name, line: m.Line})
		}
	}
}

// codexMillis is the older limit; the one in seconds wins.
func codexMillis(s *server, v val) {
	if s.node.Get("startup_timeout_sec") != nil {
		s.note(Ignored, v.key, "startup_timeout_sec is there too and wins", "remove one of them", v.line)
		return
	}
	connectTimeout(millisecond)(s, v)
}

// codexApprovals reads how single tools ask.
func codexApprovals(s *server, v val) {
	for _, m := range s.members(v, "a table for each tool") {
		if m.Value.Kind != hostdoc.Map {
			s.note(Ignored, v.key+"."+m.Name, "want a table, not "+a(m.Value.Kind), "", m.Line)
			continue
		}
		for _, t := range m.Value.Last() {
			inner := val{key: v.key + "." + m.Name + "." + t.Name, node: t.Value, line: t.Line}
			if t.Name == "approval_mode" {
				s.approve(m.Name, inner)
			} else {
				s.unknown(inner, t.Name, keys{"approval_mode": nil})
			}
		}
	}
}
