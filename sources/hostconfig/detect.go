package hostconfig

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
)

// syntaxes are those that a file may be in, the likely one first. The end of the name says it, else the
// content does: JSON begins with a brace, TOML has a table in brackets or a key with =.
func syntaxes(d *dialect, name string, data []byte) []hostdoc.Syntax {
	switch lower := strings.ToLower(path.Ext(slashes(name))); lower {
	case ".toml":
		return []hostdoc.Syntax{hostdoc.TOML}
	case ".yaml", ".yml":
		return []hostdoc.Syntax{hostdoc.YAML}
	case ".json", ".jsonc", ".json5", ".code-workspace":
		return []hostdoc.Syntax{hostdoc.JSON}
	}
	if d == codexFormat {
		return []hostdoc.Syntax{hostdoc.TOML}
	}
	text := firstLine(narrow(data))
	switch {
	case len(text) == 0 && bytes.ContainsRune(narrow(data), '#'): // comments only
		return []hostdoc.Syntax{hostdoc.YAML}
	case len(text) == 0, bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("//")), bytes.HasPrefix(text, []byte("/*")):
		return []hostdoc.Syntax{hostdoc.JSON}
	case bytes.HasPrefix(text, []byte("[")):
		return []hostdoc.Syntax{hostdoc.TOML, hostdoc.JSON}
	}
	if tomlPair.Match(text) {
		return []hostdoc.Syntax{hostdoc.TOML, hostdoc.YAML}
	}
	if bytes.HasPrefix(text, []byte(`"`)) { // a part of a file of JSON, of which YAML can read some
		return []hostdoc.Syntax{hostdoc.YAML, hostdoc.JSON}
	}
	return []hostdoc.Syntax{hostdoc.YAML, hostdoc.TOML}
}

// tomlPair is a key of TOML with its =.
var tomlPair = regexp.MustCompile(`^(?:[A-Za-z0-9_.\s-]|"[^"\n]*"|'[^'\n]*')+=`)

// firstLine is the first line that is neither blank nor a comment of YAML and TOML.
func firstLine(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("#")) {
			return line
		}
		data = rest
	}
}

// narrow is the beginning of a text, of UTF-16 what it has in common with ASCII.
func narrow(data []byte) []byte {
	const enough = 64 << 10
	data = data[:min(len(data), enough)]
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return bytes.ReplaceAll(data[2:], []byte{0}, nil)
	}
	return data
}

func slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// stem is the name of a file without its folder and its end.
func stem(name string) string {
	base := path.Base(slashes(name))
	return strings.TrimSuffix(base, path.Ext(base))
}

// places are ends of paths that say the format; * stands for a part of a name. The first that fits counts.
var places = []struct{ end, format string }{
	{"claude_desktop_config.json", "claude-desktop"},
	{".claude.json", "claude-code"},
	{".cursor/mcp.json", "cursor"},
	{".vscode/mcp.json", "vscode"}, {".vscode/settings.json", "vscode"}, {"Code/User/mcp.json", "vscode"}, {"Code/User/settings.json", "vscode"},
	{"*.code-workspace", "vscode"}, {"devcontainer.json", "vscode"},
	{".copilot/mcp-config.json", "copilot"}, {".github/mcp.json", "copilot"}, {"mcp-config.json", "copilot"},
	{"windsurf/mcp_config.json", "windsurf"}, {"mcp_config.json", "windsurf"},
	{".codex/config.toml", "codex"},
	{".gemini/settings.json", "gemini"},
	{"opencode.json", "opencode"}, {"opencode.jsonc", "opencode"}, {".agents/mcp.json", "opencode-flat"},
	{".zed/settings.json", "zed"}, {"zed/settings.json", "zed"},
	{".continue/config.yaml", "continue"}, {".continue/config.json", "continue"}, {".continue/mcpServers/*", "continue"},
	{"goose/config.yaml", "goose"}, {"goose/config/config.yaml", "goose"},
	{"cline_mcp_settings.json", "cline"},
	{".roo/mcp.json", "roo"}, {"mcp_settings.json", "roo"},
	{".lmstudio/mcp.json", "lmstudio"},
	{".kiro/settings/mcp.json", "kiro"},
	{"librechat.yaml", "librechat"}, {"librechat.yml", "librechat"},
	{".mcphost.yml", "mcphost"}, {".mcphost.yaml", "mcphost"}, {".mcphost.json", "mcphost"}, {".mcp.yml", "mcphost"}, {".mcp.yaml", "mcphost"},
	{"crush.json", "crush"}, {".crush.json", "crush"},
}

// detect finds out the format: from the path, then from keys that only one format has, then from a format's
// name in the name of the file; what is left is plain. A path or a name counts only if the file has servers
// where that format keeps them, or none at all anywhere.
func detect(name string, doc *hostdoc.Doc) *dialect {
	root := doc.Root
	fits := func(d *dialect) bool {
		if d == nil || !d.speaks(doc.Syntax) {
			return false
		}
		if len(d.roots[0]) == 0 {
			return looksFlat(root)
		}
		_, servers, _ := find(root, d)
		return servers != nil || d.isOne(root) || d.Name == "claude-code" && root.Get("projects") != nil
	}
	full := slashes(name)
	var there *dialect // of the path
	for _, p := range places {
		d := named(p.format)
		if !endsWith(full, p.end) {
			continue
		}
		if fits(d) || root.Kind == hostdoc.Null {
			return d
		}
		if there == nil && d.speaks(doc.Syntax) {
			there = d
		}
	}
	if d := bySchema(root); fits(d) {
		return d
	}
	if d := byKeys(doc); d != nil {
		return d
	}
	base := path.Base(full)
	if d := byWord(base); fits(d) {
		return d
	}
	if d := named("claude-code"); base == ".mcp.json" && fits(d) {
		return d
	}
	if looksFlat(root) {
		return flatKind(root)
	}
	if there != nil && !fits(named("plain")) {
		return there
	}
	return named("plain")
}

// speaks says whether a format may be in a syntax. JSON is YAML, and many take both.
func (d *dialect) speaks(s hostdoc.Syntax) bool {
	switch {
	case d == codexFormat || s == hostdoc.TOML:
		return d == codexFormat && s == hostdoc.TOML
	case s == hostdoc.YAML:
		return slices.Contains([]string{"continue", "goose", "librechat", "mcphost", "plain"}, d.Name)
	}
	return true
}

// endsWith compares the last parts of a path, whatever their case.
func endsWith(full, end string) bool {
	have, want := strings.Split(strings.ToLower(full), "/"), strings.Split(strings.ToLower(end), "/")
	if len(have) < len(want) {
		return false
	}
	have = have[len(have)-len(want):]
	for i, w := range want {
		if ok, err := path.Match(w, have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// byWord finds the name of a format in the name of a file, as a word of its own.
func byWord(base string) *dialect {
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool { return strings.ContainsRune(" ._-+()", r) })
	for i, w := range words {
		if w == "claude" && i+1 < len(words) && (words[i+1] == "code" || words[i+1] == "desktop") {
			return named("claude-" + words[i+1])
		}
	}
	for _, d := range dialects {
		if d.Name != "plain" && d.Name != "flat" && d.Name != "claude-code" && slices.Contains(words, d.Name) {
			return d
		}
	}
	return nil
}

// bySchema knows a format by the address of the schema that the file names.
func bySchema(root *hostdoc.Node) *dialect {
	address := strings.ToLower(textOf(root.Get("$schema")))
	for _, s := range []struct{ part, format string }{
		{"charm.land/crush", "crush"}, {"/crush/", "crush"}, {"opencode.ai/", "opencode"},
		{"/gemini-cli/", "gemini"}, {"zed://", "zed"}, {"zed.dev/", "zed"},
	} {
		if strings.Contains(address, s.part) {
			return named(s.format)
		}
	}
	return nil
}

// byKeys knows a format by where the servers stand and by keys that only it has.
func byKeys(doc *hostdoc.Doc) *dialect {
	root := doc.Root
	has := func(key string, kind hostdoc.Kind) bool { n := root.Get(key); return n != nil && n.Kind == kind }
	switch {
	case doc.Syntax == hostdoc.TOML:
		return codexFormat
	case has("context_servers", hostdoc.Map):
		return named("zed")
	case has("extensions", hostdoc.Map) && root.Get("mcpServers") == nil && isGoose(root.Get("extensions")):
		return named("goose")
	case has("mcpServers", hostdoc.List):
		return named("continue")
	case has("projects", hostdoc.Map) && hasProjects(root.Get("projects")):
		return named("claude-code")
	case has("mcpServers", hostdoc.Map) && isGemini(root):
		return named("gemini")
	case has("mcpServers", hostdoc.Map):
		if d := byServerKeys(root.Get("mcpServers")); d != nil || doc.Syntax != hostdoc.YAML {
			return d
		}
		return byYAMLKeys(root)
	case has("mcp", hostdoc.Map) && root.Get("mcp").Get("servers") == nil:
		return mcpKind(root.Get("mcp"))
	}
	if _, servers, _ := find(root, named("vscode")); servers != nil && servers.Kind == hostdoc.Map {
		return named("vscode")
	}
	return nil
}

func isGoose(n *hostdoc.Node) bool {
	for _, m := range n.Members {
		if m.Value.Get("type") != nil || m.Value.Get("cmd") != nil || m.Value.Get("uri") != nil || m.Value.Get("config") != nil {
			return true
		}
	}
	return false
}

// isGemini knows the settings of Gemini CLI by what they say of servers as a whole.
func isGemini(root *hostdoc.Node) bool {
	for _, l := range geminiLists {
		if _, n, _ := at(root, l.keys); n != nil {
			return true
		}
	}
	return root.Get("mcp").Get("serverCommand") != nil
}

func hasProjects(n *hostdoc.Node) bool {
	return slices.ContainsFunc(n.Members, func(m hostdoc.Member) bool {
		return m.Value.Get("mcpServers") != nil || m.Value.Get("disabledMcpServers") != nil || m.Value.Get("enabledMcpjsonServers") != nil
	})
}

// mcpKind tells opencode from Crush: both keep servers below mcp.
func mcpKind(n *hostdoc.Node) *dialect {
	for _, m := range n.Members {
		word := plainWord(textOf(m.Value.Get("type")))
		switch c := m.Value.Get("command"); {
		case word == "local", word == "remote", m.Value.Get("environment") != nil, c != nil && c.Kind == hostdoc.List:
			return named("opencode")
		case word == "stdio", word == "http", word == "sse", m.Value.Get("disabled_tools") != nil, c != nil && c.Kind == hostdoc.String:
			return named("crush")
		}
	}
	return named("opencode")
}

// byServerKeys knows a format by a key of a server that no other has.
func byServerKeys(servers *hostdoc.Node) *dialect {
	only := map[string]string{
		"serverUrl": "windsurf", "httpUrl": "gemini", "includeTools": "gemini", "excludeTools": "gemini", "authProviderType": "gemini",
		"allowedTools": "mcphost", "excludedTools": "mcphost", "watchPaths": "roo", "transportType": "cline",
		"customUserVars": "librechat", "initTimeout": "librechat", "chatMenu": "librechat", "serverInstructions": "librechat", "requiresOAuth": "librechat",
	}
	for _, m := range servers.Members {
		for _, k := range m.Value.Members {
			switch name := only[k.Name]; {
			case name != "":
				return named(name)
			case k.Name == "tools" && k.Value.Kind == hostdoc.List:
				return named("copilot")
			case k.Name == "headers" && k.Value.Kind == hostdoc.List, k.Name == "command" && k.Value.Kind == hostdoc.List:
				return named("mcphost")
			}
		}
	}
	return nil
}

// byYAMLKeys tells the programs that keep a map of servers in YAML by what stands beside it.
func byYAMLKeys(root *hostdoc.Node) *dialect {
	for _, m := range root.Members {
		switch m.Name {
		case "endpoints", "interface", "registration", "fileConfig", "modelSpecs", "mcpSettings", "version":
			return named("librechat")
		case "model", "max-steps", "max-tokens", "provider-url", "provider-api-key", "system-prompt":
			return named("mcphost")
		}
	}
	return nil
}

// looksFlat says whether a map holds servers without a wrapper.
func looksFlat(root *hostdoc.Node) bool {
	if root.Kind != hostdoc.Map || len(root.Members) == 0 {
		return false
	}
	servers := 0
	for _, m := range root.Members {
		switch {
		case m.Name == "$schema" && m.Value.Kind == hostdoc.String:
		case m.Value.Kind != hostdoc.Map:
			return false
		case isServer(m.Value):
			servers++
		}
	}
	return servers > 0 && servers*2 >= len(root.Members)
}

// flatKind tells opencode's flat map from any other.
func flatKind(root *hostdoc.Node) *dialect {
	for _, m := range root.Members {
		word := plainWord(textOf(m.Value.Get("type")))
		if c := m.Value.Get("command"); word == "local" || word == "remote" || m.Value.Get("environment") != nil || c != nil && c.Kind == hostdoc.List {
			return named("opencode-flat")
		}
	}
	return named("flat")
}
