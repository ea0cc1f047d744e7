package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be the quickstart's own MCP server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		_ = serve(context.Background())
		return
	}
	os.Exit(m.Run())
}

func TestQuickstart(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), "", &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"read_file(path) -> str                     default   1,1    mcp:demo\n",
		"add(a, b) -> int                           mcp:demo  1,0\n",
		"read_file: shipped default\n  a call always ends\n  a close always ends\n",
		"word_count: config, a Go function\n  3\n",
		"go_version: config, a command\n  go version go",
		"add: MCP, exact to the last digit\n  9007199254740993\n",
		"digest: virtual, calls two others\n  notes.txt has 8 words\n",
		"hang: came back after 300ms\n",
		`for a model: The tool "hang" did not answer in time.`,
		"It may have run.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

func TestQuickstartWithAConfigOfOnesOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.toml")
	config := `[[tools]]
name = "go_version"
provider = "exec"
command = ["go", "version"]
grade = { w = 1, d = 0 }

[[tools]]
name = "wipe"
provider = "exec"
command = ["go", "wipe"]
grade = { w = 3, d = 3 }

[mcp_servers.dead]
command = "no-such-command-anywhere"
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), file, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"go_version\n  go version go", "wipe() -> ", "mcp:dead is ", "no-such-command-anywhere"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "\nwipe\n") {
		t.Errorf("a tool that writes was called:\n%s", &out)
	}
}
