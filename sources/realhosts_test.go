package sources_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsource/toolsource/sources"
)

// Three programs' files, as they are, start the real servers that they name: npx finds them in the workspace.
func TestRealServersOfHostFiles(t *testing.T) {
	workspace := filepath.Dir(filepath.Dir(realBin(t)))
	cases, err := filepath.Abs("hostconfig/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("[mcp]\nhost_configs = [\n")
	for _, name := range []string{"01-claude-desktop.claude_desktop_config.json", "05-vscode.mcp.jsonc", "11-flat-map.agents-mcp.json"} {
		fmt.Fprintf(&b, "  %q,\n", filepath.Join(cases, name))
	}
	b.WriteString("]\n")
	file := filepath.Join(t.TempDir(), "toolsource.toml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := sources.Open(context.Background(), file, &sources.Options{
		Workspace: workspace, NoDefaults: true, TrustHostFile: func(sources.HostFile) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tools := map[string]int{}
	for _, s := range set.Sources() {
		tools[s.Source] = s.Tools
	}
	// "notes" is of the first file, "memory" of the second and the third, where the second has it.
	if tools["mcp:notes"] != 9 || tools["mcp:memory"] != 9 {
		t.Errorf("%v: want the nine tools of the memory server of each; %v", tools, set.Problems)
	}
	if sp, _ := set.Spec("read_graph"); sp.Origin.Server != "notes" || filepath.Base(sp.Origin.File) != "01-claude-desktop.claude_desktop_config.json" {
		t.Errorf("read_graph is of %q in %s", sp.Origin.Server, sp.Origin.File)
	}
	if _, err := set.Call(t.Context(), "search_nodes", map[string]any{"query": "nothing"}); err != nil {
		t.Error(err)
	}
	same := false
	for _, r := range set.Config().Reports {
		same = same || r.Server == "memory" && strings.HasPrefix(filepath.Base(r.File), "11-")
	}
	if !same {
		t.Error("nothing is said of the server that two files declare")
	}
}
