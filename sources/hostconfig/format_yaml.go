package hostconfig

import (
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// yamlFormats are the files that are YAML first.
//
// Continue: https://docs.continue.dev/customize/deep-dives/mcp and continuedev/continue
// packages/config-yaml/src/schemas/mcp/index.ts; requestOptions.headers from discussion
// continuedev/continue#8851. connectionTimeout is milliseconds; the older JSON form below experimental
// is read, from memory; a file with one server from core/context/mcp/json/loadJsonMcpConfigs.ts, and that an
// address without a type is tried both ways from core/context/mcp/MCPConnection.ts.
//
// goose: https://block.github.io/goose/docs/guides/config-files and block/goose
// crates/goose/src/agents/extension.rs; the form with an inner config from
// https://www.mintlify.com/block/goose/api/extensions/overview. That headers expand variables is from memory.
//
// LibreChat: https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/mcp_servers and
// danny-avila/LibreChat packages/data-provider/src/mcp.ts. timeout is milliseconds: from memory.
var yamlFormats = []*dialect{
	{
		Format: Format{
			Name: "continue", Program: "Continue", Paths: []string{"~/.continue/config.yaml", ".continue/mcpServers/*.yaml", ".continue/mcpServers/*.json"},
			Source: "https://docs.continue.dev/customize/deep-dives/mcp",
		},
		roots: [][]string{{"mcpServers"}, {"experimental", "modelContextProtocolServers"}},
		keys: common.plus(keys{
			"cwd": readCwd, "requestOptions": continueRequest, "connectionTimeout": connectTimeout(millisecond),
			"serverName": quiet, "faviconUrl": quiet, "sourceFile": quiet, "transport": continueTransport,
			"apiKey": ignored("is not taken over", "write it into the headers"),
		}),
		bare:    TransportAuto,
		vars:    hostvars.TemplateSecret | hostvars.TemplateInput,
		expands: inAll,
		list:    continueList,
		single:  true,
	},
	{
		Format: Format{
			Name: "goose", Program: "goose", Paths: []string{"~/.config/goose/config.yaml"},
			Source: "https://block.github.io/goose/docs/guides/config-files",
		},
		roots: [][]string{{"extensions"}},
		keys: common.plus(keys{
			"cmd": readCommand, "envs": readEnv, "env_keys": gooseEnvKeys, "uri": address(""), "enabled": readEnabled,
			"timeout": callTimeout(second), "available_tools": gooseTools, "cwd": readCwd, "config": gooseConfig,
			"bundled": quiet, "display_name": quiet,
		}),
		bare:     TransportAuto,
		vars:     hostvars.Dollar | hostvars.Braces,
		expands:  inHeaders,
		localEnv: true,
		shape:    gooseShape,
	},
	{
		Format: Format{
			Name: "librechat", Program: "LibreChat", Paths: []string{"librechat.yaml"},
			Source: "https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/mcp_servers",
		},
		roots: [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"timeout": callTimeout(millisecond), "initTimeout": connectTimeout(millisecond),
			"chatMenu": quiet, "iconPath": quiet, "serverInstructions": quiet, "startup": quiet, "sseReadTimeout": unused, "stderr": unused,
			"requiresOAuth": oauth, "oauth": oauth, "oauth_headers": oauth, "obo": oauth,
			"apiKey": ignored("is not taken over", "write it into the headers"), "proxy": ignored("is not taken over", "set HTTPS_PROXY"),
			"customUserVars": ignored("values of single users are not taken over", ""),
		}),
		bare:    TransportSSE,
		vars:    hostvars.Braces,
		expands: inAll &^ inPlaces,
		finish:  librechatUsers,
	},
}

// continueList reads servers that stand in a list. Their names may repeat: the id of a later one is its name
// with the first free number.
func continueList(r *reader, n *hostdoc.Node) {
	taken := make(map[string]bool, len(n.Items))
	for _, item := range n.Items {
		taken[textOf(item.Get("name"))] = true
	}
	next := map[string]int{}
	used := make(map[string]bool, len(n.Items))
	for i, item := range n.Items {
		if block := textOf(item.Get("uses")); block != "" && item.Get("command") == nil && item.Get("url") == nil {
			r.note(Note{Server: block, Action: Ignored, Line: item.Line, Reason: "is a block of Continue's hub, whose content is not in this file", Remedy: "write its command or its address here"})
			continue
		}
		name := textOf(item.Get("name"))
		id := name
		if id == "" {
			id = "server"
		}
		base := id
		for used[id] || id != base && taken[id] || id == "server" && name == "" {
			if next[base] == 0 {
				next[base] = 1
			}
			next[base]++
			id = base + "-" + itoa(next[base])
			if name == "" {
				id = "server-" + itoa(i+1)
				name = id
			}
		}
		used[id] = true
		e, ok := r.read(r.dialect, id, item.Line, item)
		if id != name || textOf(item.Get("name")) == "" {
			reason := "the name is taken; the id is " + quoted(id)
			if textOf(item.Get("name")) == "" {
				reason = "has no name; the id is " + quoted(id)
			}
			r.note(Note{Server: id, Field: "name", Action: Rewritten, Reason: reason, Remedy: "give each server a name of its own", Line: item.Line})
		}
		if ok {
			r.entries = append(r.entries, e)
		}
	}
}

// continueTransport reads a word, or the map that the older form has.
func continueTransport(s *server, v val) {
	if v.node.Kind != hostdoc.Map {
		readType(s, v)
		return
	}
	for _, m := range s.members(v, "keys of a server") {
		if m.Name != "transport" {
			s.key(val{key: m.Name, node: m.Value, line: m.Line})
		}
	}
}

// continueRequest reads the headers of requestOptions; what else stands there is about the connection.
func continueRequest(s *server, v val) {
	for _, m := range s.members(v, "options") {
		at := val{key: v.key + "." + m.Name, node: m.Value, line: m.Line}
		switch {
		case m.Value.Kind == hostdoc.Null:
		case m.Name == "headers":
			readHeaders(s, at)
		default:
			s.note(Ignored, at.key, noUse, "", m.Line)
		}
	}
}

// gooseShape takes the server out of the inner map that some versions write.
func gooseShape(s *server) bool {
	inner := s.node.Get("config")
	if inner == nil || inner.Kind != hostdoc.Map {
		return true
	}
	for _, m := range inner.Last() {
		if s.node.Get(m.Name) == nil {
			s.key(val{key: m.Name, node: m.Value, line: m.Line})
		}
	}
	return true
}

// gooseConfig reports an inner map that is none; the keys of one were read before.
func gooseConfig(s *server, v val) {
	if v.node.Kind != hostdoc.Map {
		s.refuse(v.key, "want a map of keys, not "+a(v.node.Kind), "", v.line)
	}
}

// gooseEnvKeys reads names of variables that the server needs.
func gooseEnvKeys(s *server, v val) {
	names, ok := s.texts(v, "write a list of names of variables")
	if !ok {
		return
	}
	for i, name := range names {
		if _, ok := s.entry.Env[name]; ok {
			continue
		}
		s.pass("env", name, "", name, false, val{key: v.key + "[" + itoa(i) + "]", line: v.node.Items[i].Line})
	}
}

// gooseTools reads the tools that are offered; none named means all.
func gooseTools(s *server, v val) {
	if list := s.patterns(v); len(list) > 0 {
		s.entry.Allow = list
	}
}

// librechatUsers refuses values that LibreChat fills in for each of its users.
func librechatUsers(s *server) {
	s.entry.each(func(field, text string) {
		if _, rest, ok := strings.Cut(text, "{{"); ok && strings.Contains(rest, "}}") && !s.bad {
			s.cost(field, "is filled in for each user of LibreChat", "write the value, or have the host give it per user", s.entry.Line)
		}
	})
}
