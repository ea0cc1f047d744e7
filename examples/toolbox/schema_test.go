package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsource/toolsource/sources/toolschema"
)

func TestSchema(t *testing.T) {
	config := filepath.Join(t.TempDir(), "toolsource.toml")
	if err := os.WriteFile(config, []byte("[[tools]]\nname = 'grep'\ncommand = ['grep', '{pattern}', '{path}']\nargs = [{ name = 'pattern', type = 'str', required = true }, { name = 'path', type = 'str', required = false }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range toolschema.Providers() {
		code, out, errw := toolbox(t, "", "schema", "--provider", string(p), "--config", config)
		if code != 0 {
			t.Fatalf("%s: %d, %s", p, code, errw)
		}
		if breaches, err := toolschema.Check(p, []byte(out)); err != nil || len(breaches) > 0 {
			t.Errorf("%s would refuse it: %v %v", p, breaches, err)
		}
		for _, name := range []string{"grep", "read_file", "edit_file"} {
			if !strings.Contains(out, `"`+name+`"`) {
				t.Errorf("%s: %s is not there", p, name)
			}
		}
	}
	code, out, errw := toolbox(t, "", "schema", "--provider", "openai-strict", "--config", config, "--json", "grep")
	var doc exported
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || errw != "" {
		t.Fatal(code, err, errw)
	}
	if len(doc.Names) != 1 || doc.Names[0] != (exportedName{"grep", "grep", true}) || len(doc.Changes) == 0 || doc.Changes[0].Tool != "grep" || doc.LeftOut == nil {
		t.Errorf("%+v: path is optional, so strict mode needs a change", doc)
	}
	if code, out, errw := toolbox(t, "", "schema", "--provider", "gemini", "--config", config); code != 0 || !strings.Contains(errw, "toolbox: grep ") || strings.Contains(out, "additionalProperties") {
		t.Errorf("%d: what was rewritten goes to standard error: %s", code, errw)
	}
	for _, args := range [][]string{
		{"schema", "--config", config}, {"schema", "--provider", "mistral", "--config", config}, {"schema", "--provider", "openai", "--config", config, "grap"},
	} {
		if code, _, errw := toolbox(t, "", args...); code != 2 || errw == "" {
			t.Errorf("%v: %d, %s", args, code, errw)
		}
	}
}
