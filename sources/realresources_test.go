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

// A real server's resources and prompts are tools where the configuration asks for them.
func TestRealServersResourcesAndPrompts(t *testing.T) {
	bin := realBin(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "toolsource.toml")
	text := fmt.Sprintf("[mcp_servers.everything]\ncommand = %q\nresources = true\nprompts = true\n[mcp_servers.hello]\ncommand = %q\nnames = 'qualified'\nresources = true\nprompts = true\n",
		filepath.Join(bin, "mcp-server-everything"), filepath.Join(bin, "mcp-server-sequential-thinking"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := sources.Open(context.Background(), file, &sources.Options{NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	call := func(tool string, args map[string]any) any {
		t.Helper()
		res, err := set.Call(t.Context(), tool, args)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return res.Value
	}
	list, _ := call("list_resources", nil).(map[string]any)
	resources, _ := list["resources"].([]any)
	if len(resources) == 0 {
		t.Fatalf("list_resources: %v", list)
	}
	uri, _ := resources[0].(map[string]any)["uri"].(string)
	if got := fmt.Sprint(call("read_resource", map[string]any{"uri": uri})); len(got) < 10 {
		t.Errorf("%s is %q", uri, got)
	}
	list, _ = call("list_prompts", nil).(map[string]any)
	prompts, _ := list["prompts"].([]any)
	names := fmt.Sprint(prompts)
	if !strings.Contains(names, "simple") {
		t.Fatalf("list_prompts: %s", names)
	}
	if got := fmt.Sprint(call("get_prompt", map[string]any{"name": "simple-prompt"})); !strings.Contains(got, "user") {
		t.Errorf("get_prompt: %s", got)
	}
	for _, spec := range set.Tools() {
		if strings.HasPrefix(spec.Origin.QualifiedName, "mcp__hello__list_") {
			t.Errorf("%s, of a server that has neither", spec.Name)
		}
	}
}
