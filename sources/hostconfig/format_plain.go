package hostconfig

import (
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// plainFormats are for files of which nobody knows the program: what most programs agree on. A limit of
// time is not taken, since its unit differs. ${NAME}, ${NAME:-default}, ${env:NAME}, ${workspaceFolder} and
// ${userHome} are expanded.
var plainFormats = []*dialect{
	{
		Format:  Format{Name: "plain", Program: "a plain file", Paths: []string{"mcp.json"}, Source: "https://modelcontextprotocol.io"},
		aliases: []string{"mcpServers", "generic"},
		roots:   [][]string{{"mcpServers"}},
		keys:    plainKeys,
		bare:    TransportAuto,
		vars:    plainVars,
		expands: inAll,
	},
	{
		Format:  Format{Name: "flat", Program: "a plain file", Paths: []string{"mcp.json"}, Source: "https://lmstudio.ai/docs/app/plugins/mcp"},
		roots:   [][]string{{}},
		keys:    plainKeys,
		bare:    TransportAuto,
		vars:    plainVars,
		expands: inAll,
		other:   isSchema,
	},
}

// isSchema knows the address of a schema, which may stand between servers that have no wrapper.
func isSchema(m hostdoc.Member) bool { return m.Name == "$schema" && m.Value.Kind == hostdoc.String }

const plainVars = claudeVars | cursorVars

var plainKeys = common.plus(keys{
	"serverUrl": address(""), "httpUrl": address(TransportHTTP), "uri": address(""),
	"cwd": readCwd, "envFile": readEnvFile, "disabled": readDisabled, "enabled": readEnabled, "required": readRequired,
	"autoApprove": readApproved, "alwaysAllow": readApproved, "trust": readTrust,
	"disabledTools": readDeny, "excludeTools": readDeny, "enabledTools": readAllow, "includeTools": readAllow,
	"oauth": oauth, "sandbox": sandbox, "sandboxEnabled": sandbox,
	"timeout": ignored(elsewhere["timeout"], "name the format, or set the limit in your own configuration"),
})
