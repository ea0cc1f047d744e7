package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsource/toolsource/sources"
)

// inTestdata has the test run in the folder of the host files, so that outputs name no folder.
func inTestdata(t *testing.T) {
	t.Helper()
	t.Setenv("COLUMNS", "80")
	t.Chdir("testdata")
}

// wording is what the readers of host files say, which is theirs to change.
var wording = regexp.MustCompile(`("(?:reason|remedy)": )"(?:[^"\\]|\\.)+"`)

// TestImportGolden compares whole outputs with files. UPDATE=1 writes them.
func TestImportGolden(t *testing.T) {
	inTestdata(t)
	for _, tt := range []struct{ golden, name, flag string }{
		{"import.vscode.txt", "vscode.mcp.jsonc", ""},
		{"import.codex.txt", "codex.config.toml", ""},
		{"import.claude-code.json", "claude-code.mcp.json", "--json"},
		{"import.vscode.json", "vscode.mcp.jsonc", "--json"},
		{"import.codex.json", "codex.config.toml", "--json"},
		{"import.continue.json", "continue.config.yaml", "--json"},
	} {
		code, out, errw := toolbox(t, "", slices.DeleteFunc([]string{"import", tt.flag, tt.name}, func(a string) bool { return a == "" })...)
		if code != 0 || errw != "" {
			t.Errorf("%s: exit status %d, %s", tt.name, code, errw)
		}
		out = wording.ReplaceAllString(out, `$1"..."`)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(tt.golden, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(tt.golden)
		if err != nil {
			t.Fatal(err)
		}
		if out != string(want) {
			t.Errorf("%s is another (UPDATE=1 writes it):\n%s", tt.golden, want)
		}
	}
}

// TestImportKeys holds the keys that scripts rely on, and what they are where there is nothing.
func TestImportKeys(t *testing.T) {
	inTestdata(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers": {"a": {"command": "x"}, "b": {"type": "http", "url": "http://h.test", "bogus": 1}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	document(t, 0, &doc, "import", path)
	keys(t, doc, "format entries report")
	entries := doc["entries"].([]any)
	if len(entries) != 2 {
		t.Fatalf("entries %v", entries)
	}
	for _, e := range entries {
		keys(t, e.(map[string]any), "id name transport command args env cwd url headers connect_timeout_ms call_timeout_ms enabled allow deny line")
	}
	for _, n := range doc["report"].([]any) {
		keys(t, n.(map[string]any), "server field action reason line")
	}
	empty, err := json.Marshal(entries[0].(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"args":[]`, `"env":{}`, `"headers":{}`, `"allow":null`, `"deny":null`, `"cwd":""`, `"url":""`, `"call_timeout_ms":null`} {
		if !strings.Contains(string(empty), want) {
			t.Errorf("an entry that says little lacks %s: %s", want, empty)
		}
	}
}

func TestImportShowsSecretsOnlyInEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers": {"a": {"command": "x", "args": ["--token", "planted-1"], "env": {"T": "planted-2"}, "oops": "planted-3"},
 "b": {"type": "http", "url": "http://h.test/?key=planted-4", "headers": {"Authorization": "Bearer planted-5", "N": 7}, "timeout": "planted-6"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, errw := toolbox(t, "", "import", path); strings.Contains(out+errw, "planted") {
		t.Error("the table, the report or an error shows a secret")
	}
	var doc struct {
		Entries []importedEntry
		Report  json.RawMessage
	}
	document(t, 0, &doc, "import", path)
	if strings.Contains(string(doc.Report), "planted") {
		t.Errorf("the report shows a secret: %s", doc.Report)
	}
	if len(doc.Entries) != 2 || doc.Entries[0].Env["T"] != "planted-2" || doc.Entries[1].Headers["Authorization"] != "Bearer planted-5" {
		t.Errorf("the entries are not as the file has them: %+v", doc.Entries)
	}
}

func TestImportStandardInput(t *testing.T) {
	text, err := os.ReadFile("testdata/codex.config.toml")
	if err != nil {
		t.Fatal(err)
	}
	code, out, _ := toolbox(t, string(text), "import", "-")
	if code != 0 || !strings.Contains(out, "format codex with 4 servers") {
		t.Errorf("exit status %d", code)
	}
}

func TestImportErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte("{\n  \"mcpServers\": {,}\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why  string
		args []string
		want string
	}{
		{"broken JSON has its place", []string{"import", bad}, bad + ":2:"},
		{"a file that is not there", []string{"import", filepath.Join(dir, "none.json")}, "none.json: no such file"},
		{"a folder", []string{"import", dir}, "is a folder"},
		{"an unknown format lists the known ones", []string{"import", "--format", "nonsense", bad}, "claude-desktop"},
		{"no file", []string{"import"}, "import wants a file"},
		{"two files", []string{"import", "a", "b"}, `import takes one argument, got "b" too`},
		{"force without write", []string{"import", "--force", bad}, "--force goes with --write"},
		{"another command's flag", []string{"import", "--timeout", "5s", bad}, "import has no flag --timeout"},
	}
	for _, tt := range tests {
		code, out, errw := toolbox(t, "", tt.args...)
		if code != 2 || out != "" || strings.Count(errw, "\n") != 1 || !strings.Contains(errw, tt.want) {
			t.Errorf("%s: exit status %d, want 2, and one line with %q", tt.why, code, tt.want)
		}
		var f map[string]map[string]any
		document(t, 2, &f, tt.args...)
		if f["error"]["kind"] != "bad_arguments" || f["error"]["message"] == "" {
			t.Errorf("%s: %v", tt.why, f)
		}
	}
	var f failure
	document(t, 2, &f, "import", bad)
	if f.Error.File != bad || f.Error.Line != 2 || f.Error.Column == 0 {
		t.Errorf("the place is %s:%d:%d", f.Error.File, f.Error.Line, f.Error.Column)
	}
}

// TestImportWrite: what is written can be opened, by its owner only, and nothing is overwritten unasked.
func TestImportWrite(t *testing.T) {
	for _, name := range []string{"claude-code.mcp.json", "vscode.mcp.jsonc", "codex.config.toml", "continue.config.yaml"} {
		own := filepath.Join(t.TempDir(), "own.toml")
		var doc imported
		document(t, 0, &doc, "import", "--write", own, "testdata/"+name)
		if doc.Written == nil || *doc.Written != own {
			t.Errorf("%s: written %v", name, doc.Written)
		}
		st, err := os.Stat(own)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, st.Mode())
		}
		set := func(name string) (string, bool) {
			if name == "DEMO_BASE" || name == "DEMO_BIN" { // they have defaults
				return "", false
			}
			return "set", true
		}
		cfg, err := sources.Load(own, &sources.Options{LookupEnv: set})
		if err != nil {
			t.Fatal(err)
		}
		if len(cfg.Problems) > 0 || len(cfg.Servers) != len(doc.Entries) {
			text, _ := os.ReadFile(own)
			t.Errorf("%s: %d servers of %d, problems %v in\n%s", name, len(cfg.Servers), len(doc.Entries), cfg.Problems, text)
		}
	}
}

func TestImportWriteRefusesToOverwrite(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.toml")
	if err := os.WriteFile(own, []byte("# mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errw := toolbox(t, "", "import", "--write", own, "testdata/codex.config.toml")
	if text, _ := os.ReadFile(own); code != 2 || string(text) != "# mine\n" || !strings.Contains(errw, "--force") {
		t.Errorf("exit status %d, and the file is %q", code, text)
	}
	code, _, _ = toolbox(t, "", "import", "--force", "--write", own, "testdata/codex.config.toml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.Contains(string(text), "[mcp_servers.") {
		t.Errorf("exit status %d, and the file is %q", code, text)
	}
	if st, err := os.Stat(own); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("a file that is replaced keeps the mode %v", st.Mode())
	}
	left, err := os.ReadDir(filepath.Dir(own))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	code, _, _ = toolbox(t, "{}", "import", "--write", own+"2", "-")
	if _, err := os.Stat(own + "2"); code != 0 || err == nil {
		t.Errorf("exit status %d, and a configuration without servers was written", code)
	}
}

// TestImportHostileFile: names and values of a file cannot move the cursor, and lines fit.
func TestImportHostileFile(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		hostile:                     map[string]any{"command": hostile, "args": []string{hostile}, hostile: hostile},
		strings.Repeat("long ", 50): map[string]any{"command": strings.Repeat("x", 300)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, out, errw := toolbox(t, string(text), "import", "-")
	for _, line := range strings.Split(out+errw, "\n") {
		if line != clean(line) {
			t.Errorf("a line can move the cursor: %q", line)
		}
	}
	for _, line := range strings.Split(out, "\n\n")[1:2] { // the table
		for _, l := range strings.Split(line, "\n") {
			if utf8.RuneCountInString(l) > 80 {
				t.Errorf("too wide: %q", l)
			}
		}
	}
}

// TestImportOfThisFolder: a file that keeps servers for several projects gives those of the folder that it is
// read in.
func TestImportOfThisFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	name, err := json.Marshal(here)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"mcpServers": {}, "projects": {` + string(name) + `: {"mcpServers": {"mine": {"command": "x"}}}, "/elsewhere": {"mcpServers": {"other": {"command": "x"}}}}}`
	code, out, _ := toolbox(t, text, "import", "--json", "-")
	var doc imported
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v", code, err)
	}
	if len(doc.Entries) != 1 || doc.Entries[0].ID != "mine" {
		t.Errorf("entries %+v", doc.Entries)
	}
}
