package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// hosted is a configuration that names two host files, with a store of agreements of its own.
func hosted(t *testing.T) (config, one, two, store string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, doc any) string {
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	command, _, secrets := mcptest.Command(t, mcptest.Behaviour{})
	env := map[string]string{"TOKEN": "planted-in-env"}
	for k, v := range secrets {
		env[k] = v.Reveal()
	}
	one = write("one.mcp.json", map[string]any{"mcpServers": map[string]any{
		"good": map[string]any{"command": command, "args": []string{"--api-key", "planted-in-args", "$(x)"}, "env": env},
		"off":  map[string]any{"command": "cat", "disabled": true},
		"typo": map[string]any{"command": 3},
	}})
	two = write("two.mcp.json", map[string]any{"mcpServers": map[string]any{
		"web": map[string]any{"type": "http", "url": "http://me:planted-in-user@127.0.0.1:9/mcp?key=planted-in-query", "headers": map[string]string{"X-Key": "planted-in-headers"}},
	}})
	config = filepath.Join(dir, "toolsource.toml")
	if err := os.WriteFile(config, []byte("[mcp]\nhost_configs = ['one.mcp.json', 'two.mcp.json']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, one, two, filepath.Join(dir, "trusted.json")
}

func TestTrust(t *testing.T) {
	config, one, two, store := hosted(t)
	with := func(args ...string) []string { return append(args, "--config", config, "--trust-store", store) }
	for _, args := range [][]string{with("list"), with("status"), with("doctor"), with("trust"), with("trust", one), with("status"), with("trust", "--forget", one), with("status", "--trust-host-files"), with("trust", "nothing.json"), with("doctor", "--trust-host-files")} {
		toolbox(t, "", args...)
	}
	_ = two
	_ = strings.Contains
}
