package sources

import (
	"strings"
	"testing"
)

// What a child's environment may have run is the configuration's own to allow, never a host file's.
func TestAllowEnv(t *testing.T) {
	c := load(t, "[mcp_servers.no]\ncommand = 'x'\nenv = { LD_PRELOAD = '/x.so' }\n[mcp_servers.yes]\ncommand = 'x'\nallow_env = ['LD_PRELOAD']\nenv = { LD_PRELOAD = '/x.so' }\n", nil)
	if got := strings.Join(problems(c), "\n"); !strings.Contains(got, "LD_PRELOAD") || strings.Contains(got, "/x.so") || len(c.Problems) != 1 {
		t.Error(got)
	}
	if c.Servers[0].Off != offBad || c.Servers[1].Off != "" {
		t.Errorf("%q, %q", c.Servers[0].Off, c.Servers[1].Off)
	}
	f := newFolder(t)
	f.write("mcp.json", `{"mcpServers":{"a":{"command":"x","env":{"LD_PRELOAD":"/x.so"},"allow_env":["LD_PRELOAD"]},"b":{"command":"x"}}}`)
	c = f.load("[mcp]\nhost_configs = ['mcp.json']\n", &Options{TrustHostFile: trustAll})
	if got := strings.Join(problems(c), "\n"); !strings.Contains(got, "LD_PRELOAD") || strings.Contains(got, "/x.so") {
		t.Error(got)
	}
	if c.Servers[0].Off != offBad || c.Servers[1].Off != "" {
		t.Errorf("%q, %q", c.Servers[0].Off, c.Servers[1].Off)
	}
}
