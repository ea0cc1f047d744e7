package hostconfig

import (
	"time"

	"github.com/toolsource/toolsource/internal/hostvars"
)

const (
	millisecond = time.Millisecond
	second      = time.Second
)

// extensionFormats are the files of assistants that live in an editor.
//
// Cline: https://docs.cline.bot/mcp/adding-and-configuring-servers, and cline/cline#8484 for the spellings
// of the transport. An address without a type is sse: cline/cline src/services/mcp/schemas.ts. ${env:NAME} is
// expanded: from memory.
//
// Roo Code: https://docs.roocode.com/features/mcp/using-mcp-in-roo and RooCodeInc/Roo-Code
// src/services/mcp/McpHub.ts. An address needs a type; a command and an address are an error.
var extensionFormats = []*dialect{
	{
		Format: Format{
			Name: "cline", Program: "Cline", Paths: []string{"cline_mcp_settings.json"},
			Source: "https://docs.cline.bot/mcp/adding-and-configuring-servers",
		},
		roots: [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"cwd": readCwd, "disabled": readDisabled, "alwaysAllow": readApproved, "autoApprove": readApproved,
			"timeout": callTimeout(second), "remoteConfigured": quiet, "oauth": oauth,
		}),
		bare:    TransportSSE,
		vars:    hostvars.BracesEnv,
		expands: inAll,
	},
	{
		Format: Format{
			Name: "roo", Program: "Roo Code", Paths: []string{".roo/mcp.json", "mcp_settings.json"},
			Source: "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
		},
		aliases: []string{"roo-code"},
		roots:   [][]string{{"mcpServers"}},
		keys: common.plus(keys{
			"cwd": readCwd, "disabled": readDisabled, "alwaysAllow": readApproved, "autoApprove": readApproved,
			"disabledTools": readDeny, "timeout": callTimeout(second), "watchPaths": ignored("the server is not restarted when files change", ""),
		}),
		vars:    cursorVars,
		expands: inAll,
	},
}
