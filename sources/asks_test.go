package sources

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource/mcpclient"
)

func TestAsks(t *testing.T) {
	c := load(t, `
[mcp_servers.all]
command = "x"
resources = true
prompts = true
asks = { sampling = true, elicitation = false, per_minute = 3, at_once = 2, max_tokens = 100, tool_rounds = 0, max_message = 5000, sampling_timeout = "5s", elicitation_timeout = 60, roots_timeout = "1s" }
[mcp_servers.tools]
command = "x"
tools = { resources = true, prompts = false }
[mcp_servers.none]
command = "x"
`, nil)
	if got := problems(c); got != nil {
		t.Fatal(got)
	}
	yes, no := true, false
	want := &mcpclient.AskConfig{Sampling: &yes, Elicitation: &no, Limits: mcpclient.AskLimits{
		PerMinute: 3, AtOnce: 2, MaxTokens: 100, ToolRounds: -1, MaxMessage: 5000, Sampling: 5 * time.Second, Elicitation: time.Minute, Roots: time.Second,
	}}
	if diff := cmp.Diff(want, c.Servers[0].Config.Asks); diff != "" {
		t.Error(diff)
	}
	for i, want := range [][2]bool{{true, true}, {true, false}, {false, false}} {
		if got := c.Servers[i].Source; got.Resources != want[0] || got.Prompts != want[1] {
			t.Errorf("%s: resources %v, prompts %v", c.Servers[i].Config.ID, got.Resources, got.Prompts)
		}
	}
	if c.Servers[2].Config.Asks != nil {
		t.Error("asks that nobody wrote")
	}
	c = load(t, "[mcp_servers.x]\ncommand = 'x'\nasks = { sampling = 'yes', per_minute = 0, samplng = true }\n[mcp_servers.y]\ncommand = 'x'\nsampling = { enabled = true }\n", nil)
	got := strings.Join(problems(c), "\n")
	for _, want := range []string{"asks.sampling", "asks.per_minute", "did you mean sampling?", "write asks = { sampling = true }"} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem says %q: %s", want, got)
		}
	}
}
