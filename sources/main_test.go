package sources

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// file writes a configuration into a folder of its own.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toolsource.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, o *Options) *Config {
	t.Helper()
	c, err := Load(file(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a configuration that has no problems.
func open(t *testing.T, text string, o *Options) *Set {
	t.Helper()
	c := load(t, text, o)
	if len(c.Problems) > 0 {
		t.Fatal(problems(c))
	}
	return openConfig(t, c)
}

func openConfig(t *testing.T, c *Config) *Set {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := c.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// problems are a configuration's, with the file's path cut to its name.
func problems(c *Config) []string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, strings.ReplaceAll(p.Error(), filepath.Dir(c.File)+string(filepath.Separator), ""))
	}
	return out
}

// server is an entry for a child that behaves as told.
func server(t *testing.T, id, more string, b mcptest.Behaviour) string {
	t.Helper()
	command, args, env := mcptest.Command(t, b)
	var s strings.Builder
	fmt.Fprintf(&s, "[mcp_servers.%s]\ncommand = %q\n", id, command)
	if len(args) > 0 {
		fmt.Fprintf(&s, "args = %s\n", strings.ReplaceAll(fmt.Sprintf("%q", args), "\" \"", "\", \""))
	}
	s.WriteString(more + "\n")
	fmt.Fprintf(&s, "[mcp_servers.%s.env]\n", id)
	for _, k := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&s, "%s = '%s'\n", k, env[k].Reveal())
	}
	return s.String()
}

func result(text string) toolsource.Callable {
	return func(context.Context, map[string]any) (toolsource.Result, error) { return toolsource.Value(text), nil }
}

func call(t *testing.T, s *Set, tool string, args map[string]any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := s.Call(ctx, tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

func toolNames(s *Set) []string {
	var out []string
	for _, sp := range s.Tools() {
		out = append(out, sp.Name)
	}
	return out
}
