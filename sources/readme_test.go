package sources_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
)

// TestReadmeConfiguration loads the configuration that the README shows.
func TestReadmeConfiguration(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```toml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the README shows no configuration")
	}
	file := filepath.Join(t.TempDir(), "toolsource.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := sources.Load(file, &sources.Options{
		Funcs:     map[string]toolsource.Callable{"word_count": nil},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Problems {
		if !strings.Contains(p.Error(), "word_count") { // its function is the host's
			t.Error(p)
		}
	}
	if len(c.Servers) != 2 || len(c.Profiles) != 1 {
		t.Errorf("%d servers, %d profiles", len(c.Servers), len(c.Profiles))
	}
}
