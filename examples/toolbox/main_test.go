package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// TestMain lets the test binary be a command that the configuration names.
func TestMain(m *testing.M) {
	mcptest.Main()
	switch {
	case len(os.Args) > 1 && os.Args[1] == "sleep":
		time.Sleep(time.Minute)
	case len(os.Args) > 1 && os.Args[1] == "fail":
		os.Stderr.WriteString("disk is full\n\x1b[31mtoolbox: forged\n")
		os.Exit(7)
	default:
		os.Exit(m.Run())
	}
}

// workspace makes a configuration with tools that answer, fail and hang, and one entry that is wrong.
func workspace(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLBOX_TEST", self)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes.txt", "n\u00f6tes <b>\n")
	write("args.json", `{"path": "notes.txt"}`)
	write("toolsource.toml", `
[[tools]]
name = "hang"
provider = "exec"
command = ["`+filepath.ToSlash(self)+`", "sleep"]

[[tools]]
name = "fail"
provider = "exec"
command = ["`+filepath.ToSlash(self)+`", "fail"]

[[tools]]
name = "orphan"
provider = "go"
function = "nobody"

[[tools]]
name = "write_file"
provider = "exec"
command = ["`+filepath.ToSlash(self)+`", "fail"]

[[tools]]
name = "typo"
provider = "exec"
comand = ["x"]

[mcp_servers.dead]
command = "no-such-command-anywhere"
`)
	return dir
}

func TestToolbox(t *testing.T) {
	dir := workspace(t)
	config := filepath.Join(dir, "toolsource.toml")
	plain := filepath.Join(dir, "plain.toml")
	if err := os.WriteFile(plain, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why  string
		args []string
		in   string
		code int
		out  []string // parts of standard output
		err  []string // parts of standard error
	}{
		{"no command", nil, "", 2, nil, []string{"usage: toolbox COMMAND"}},
		{"help", []string{"help"}, "", 0, []string{"usage: toolbox COMMAND"}, nil},
		{"help of a command", []string{"call", "--help"}, "", 0, []string{"usage: toolbox call [flags] NAME"}, nil},
		{"help of a command, the other way", []string{"help", "import"}, "", 0, []string{"usage: toolbox import [flags] FILE", "claude-desktop", "For example:", "Exit status:", "INPUT_ID"}, nil},
		{"help before the command", []string{"--help", "trust"}, "", 0, []string{"usage: toolbox COMMAND"}, nil},
		{"help of what there is not", []string{"help", "docter"}, "", 2, nil, []string{"did you mean doctor?"}},
		{"unknown command", []string{"lst"}, "", 2, nil, []string{`there is no command "lst"; did you mean list?`}},
		{"unlike any command", []string{"frobnicate"}, "", 2, nil, []string{`there is no command "frobnicate"; see toolbox help`}},
		{"unknown flag", []string{"list", "--jsn"}, "", 2, nil, []string{"flag provided but not defined: -jsn; did you mean --json?"}},
		{"a flag of another command", []string{"list", "--force"}, "", 2, nil, []string{"list has no flag --force; see toolbox help list"}},
		{"a flag without its value", []string{"list", "--config"}, "", 2, nil, []string{"flag needs an argument: -config; see toolbox help"}},
		{"no file", []string{"list", "--config", filepath.Join(dir, "none.toml")}, "", 2, nil, []string{"none.toml"}},
		{"a list with a failed source", []string{"list", "--config", config}, "", 0, []string{"TOOL", "hang() -> ", "find_files(pattern) -> list[str]"}, []string{"comand", "no-such-command-anywhere"}},
		{"status with a failed source", []string{"status", "--config", config}, "", 0, []string{"mcp:dead", "parked"}, nil},
		{"a call", []string{"call", "--config", plain, "read_file", `{"path":"notes.txt"}`}, "", 0, []string{"n\u00f6tes <b>"}, nil},
		{"flags after the name", []string{"call", "read_file", "@" + filepath.Join(dir, "args.json"), "--config", plain}, "", 0, []string{"n\u00f6tes"}, nil},
		{"arguments on standard input", []string{"call", "--config", plain, "read_file", "-"}, `{"path":"notes.txt"}`, 0, []string{"n\u00f6tes"}, nil},
		{"no name", []string{"call", "--config", plain}, "", 2, nil, []string{"call wants the name of a tool"}},
		{"too many", []string{"call", "--config", plain, "read_file", "{path:", "x}"}, "", 2, nil, []string{"is the JSON in quotes?"}},
		{"no object", []string{"call", "--config", plain, "read_file", "[1]"}, "", 2, nil, []string{"the arguments are no JSON object, but an array (give"}},
		{"two objects", []string{"call", "--config", plain, "read_file", "{} {}"}, "", 2, nil, []string{"something follows the JSON object"}},
		{"a missing argument", []string{"call", "--config", plain, "read_file"}, "", 2, nil, []string{"path"}},
		{"unknown tool", []string{"call", "--config", plain, "reed_file"}, "", 2, nil, []string{"did you mean read_file?"}},
		{"the tool fails", []string{"call", "--config", plain, "read_file", `{"path":"none"}`}, "", 1, nil, []string{"read_file: tool error"}},
		{"the command fails", []string{"call", "--config", config, "fail"}, "", 1, nil, []string{"disk is full"}},
		{"a time limit", []string{"call", "--config", config, "--timeout", "200ms", "hang"}, "", 3, nil, []string{"timed out"}},
		{"arguments that status does not take", []string{"status", "extra", "--config", plain}, "", 2, nil, []string{`status takes no arguments, got "extra"`}},
		{"a bad time limit", []string{"call", "--config", config, "--timeout", "5", "hang"}, "", 2, nil, []string{"timeout"}},
		{"a tool without its function is left out", []string{"call", "--config", config, "orphan"}, "", 2, nil, []string{`has no function "nobody"`, "unknown tool"}},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			var out, errw bytes.Buffer
			code := run(context.Background(), tt.args, strings.NewReader(tt.in), &out, &errw)
			if code != tt.code {
				t.Errorf("exit status %d, want %d", code, tt.code)
			}
			for _, w := range tt.out {
				if !strings.Contains(out.String(), w) {
					t.Errorf("standard output lacks %q", w)
				}
			}
			for _, w := range tt.err {
				if !strings.Contains(errw.String(), w) {
					t.Errorf("standard error lacks %q", w)
				}
			}
			if strings.Contains(errw.String(), "\x1b") || strings.Contains(errw.String(), "\ntoolbox: forged") {
				t.Error("a tool can forge a line")
			}
			if t.Failed() {
				t.Logf("standard output:\n%s\nstandard error:\n%s", &out, &errw)
			}
		})
	}
}

// TestToolboxJSON holds the keys that scripts rely on.
func TestToolboxJSON(t *testing.T) {
	dir := workspace(t)
	config := filepath.Join(dir, "toolsource.toml")
	configured := func(t *testing.T, code int, into any, args ...string) {
		t.Helper()
		document(t, code, into, append(args, "--config", config)...)
	}
	t.Run("list", func(t *testing.T) {
		var list []map[string]any
		configured(t, 0, &list, "list")
		for _, l := range list {
			keys(t, l, "name qualified signature description grade source kind server wire_name precedence shadows")
		}
		for _, l := range list {
			if l["name"] != "write_file" {
				continue
			}
			if l["source"] != "config" || l["precedence"] != 20.0 || l["grade"].(map[string]any)["w"] != 3.0 {
				t.Errorf("write_file is %v", l)
			}
			if s := l["shadows"].([]any); len(s) != 1 || s[0].(map[string]any)["source"] != "default" {
				t.Errorf("shadows %v", s)
			}
		}
	})
	t.Run("status", func(t *testing.T) {
		var list []map[string]any
		configured(t, 0, &list, "status")
		for _, s := range list {
			keys(t, s, "source kind state since error tools attempts next_try era transport")
			if s["source"] == "mcp:dead" && (s["error"] == nil || s["kind"] != "mcp" || s["transport"] != "stdio") {
				t.Errorf("the dead server is %v", s)
			}
		}
	})
	t.Run("call", func(t *testing.T) {
		var r map[string]any
		configured(t, 0, &r, "call", "find_files", `{"pattern":"*.txt"}`)
		keys(t, r, "value content truncated")
		if v := r["value"].([]any); len(v) != 1 || v[0] != "notes.txt" {
			t.Errorf("value %v", v)
		}
		if b := r["content"].([]any)[0].(map[string]any); b["type"] != "text" || b["text"] != `["notes.txt"]` {
			t.Errorf("content %v", b)
		}
	})
	for _, args := range [][]string{{"list", "--bogus", "--json"}, {"--json", "lst"}, {"call", "--timeout", "5", "--json", "hang"}, {"--json"}} {
		t.Run("wrong use "+strings.Join(args, " "), func(t *testing.T) {
			var out, errw bytes.Buffer
			if code := run(context.Background(), args, strings.NewReader(""), &out, &errw); code != 2 {
				t.Errorf("exit status %d", code)
			}
			var f map[string]map[string]any
			if err := json.Unmarshal(out.Bytes(), &f); err != nil || f["error"]["kind"] != "bad_arguments" {
				t.Errorf("standard output %q: %v", &out, err)
			}
		})
	}
	for _, tt := range []struct {
		kind string
		code int
		ran  bool
		args []string
	}{
		{"tool", 1, true, []string{"call", "fail"}},
		{"timeout", 3, true, []string{"call", "hang", "--timeout", "200ms"}},
		{"unknown_tool", 2, false, []string{"call", "nothing"}},
		{"bad_arguments", 2, false, []string{"call", "find_files", `{"pattern":5}`}},
		{"bad_arguments", 2, false, []string{"call", "find_files", "{"}},
		{"bad_arguments", 2, false, []string{"call"}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			var f map[string]map[string]any
			configured(t, tt.code, &f, tt.args...)
			keys(t, f["error"], "kind tool source message remedy may_have_run")
			if f["error"]["kind"] != tt.kind || f["error"]["may_have_run"] != tt.ran || f["error"]["message"] == "" {
				t.Errorf("got %v", f["error"])
			}
		})
	}
}
