package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// hosted is a configuration that names two host files, and the flags that go with it.
func hosted(t *testing.T) (dir string, flags []string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name string, doc any) {
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command, _, secrets := mcptest.Command(t, mcptest.Behaviour{})
	env := map[string]string{"TOKEN": "planted-in-env"}
	for k, v := range secrets {
		env[k] = v.Reveal()
	}
	write("one.json", map[string]any{"mcpServers": map[string]any{
		"good":  map[string]any{"command": command, "args": []string{"--api-key", "planted-in-args", "$(x)"}, "env": env},
		"other": map[string]any{"command": command, "env": env},
		"lost":  map[string]any{"command": "cat now"},
	}})
	write("two.json", map[string]any{"mcpServers": map[string]any{
		"web": map[string]any{"type": "http", "url": "http://127.0.0.1:9/mcp?key=planted-in-query", "headers": map[string]string{"X-Key": "planted-in-headers"}},
	}})
	config := filepath.Join(dir, "toolsource.toml")
	text := "[mcp]\nhost_configs = [{ path = 'one.json', format = 'claude-code' }, { path = 'two.json', format = 'claude-code' }]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"--config", config, "--trust-store", filepath.Join(dir, "store", "trusted.json")}
}

// states are the states of servers as status tells them.
func states(t *testing.T, flags []string) map[string]string {
	t.Helper()
	var all []sourceStatus
	document(t, 0, &all, append([]string{"status"}, flags...)...)
	out := map[string]string{}
	for _, s := range all {
		if s.Server != "" {
			out[s.Server] = string(s.State)
		}
	}
	return out
}

func TestNothingOfAHostFileStartsUnasked(t *testing.T) {
	dir, flags := hosted(t)
	one := filepath.Join(dir, "one.json")
	for _, verb := range []string{"list", "status"} {
		code, out, errw := toolbox(t, "", append([]string{verb}, flags...)...)
		if code != 0 || strings.Contains(out+errw, "planted") {
			t.Errorf("%s: exit status %d, or a secret shows", verb, code)
		}
		want := fmt.Sprintf("(agree with: toolbox trust %s %s)\n", strings.Join(flags, " "), one)
		if runtime.GOOS != "windows" && strings.Count(errw, want) != 2 {
			t.Errorf("%s does not say for each server how to agree: %q", verb, want)
		}
		if strings.Count(errw, "awaits consent to run ") != 2 || strings.Count(errw, "awaits consent to call http://127.0.0.1:9/mcp?key=***") != 1 {
			t.Errorf("%s does not say what each server would run or call", verb)
		}
		if strings.Count(errw, "\n") != 4 { // three that wait, and one that is wrong
			t.Errorf("%s does not give each server a line", verb)
		}
	}
	var all []sourceStatus
	document(t, 0, &all, append([]string{"status"}, flags...)...)
	for _, s := range all {
		if s.Server == "good" && (s.State != awaiting || s.Error == nil || !strings.Contains(*s.Error, "toolbox trust") || !strings.Contains(s.Launch, "--api-key") || strings.Contains(s.Launch, "planted")) {
			t.Errorf("the row of one that waits is %+v", s)
		}
	}
	if code, out, _ := toolbox(t, "", append([]string{"call", "echo", "{}"}, flags...)...); code != 2 || out != "" {
		t.Errorf("a tool of a file that nobody agreed to answers: exit status %d", code)
	}
}

func TestTrust(t *testing.T) {
	dir, flags := hosted(t)
	one := filepath.Join(dir, "one.json")
	with := func(args ...string) []string { return append(append([]string{"trust"}, args...), flags...) }

	var files []hostFile
	document(t, 0, &files, with()...)
	if len(files) != 2 || files[0].Path != one || files[0].Trusted || len(files[0].Servers) != 2 {
		t.Fatalf("the files are %+v", files)
	}
	if files[0].Sum == "" {
		t.Fatal("the reader of host files gives no sum of their content, without which nobody can agree to one")
	}
	good := files[0].Servers[0]
	if !strings.Contains(good.Launch, `--api-key planted-in-args "$(x)"`) { // what is agreed to is shown as it is
		t.Errorf("it would start %s", good.Launch)
	}
	if out := fmt.Sprint(files); strings.Contains(out, "planted-in-env") || strings.Contains(out, "planted-in-headers") || !strings.Contains(out, "TOKEN") || !strings.Contains(out, "X-Key") {
		t.Errorf("variables and headers are shown by name: %s", out)
	}

	if code, _, _ := toolbox(t, "", with(one, filepath.Join(dir, "nothing.json"))...); code != 2 {
		t.Errorf("a file that the configuration does not name: exit status %d", code)
	}
	if got := states(t, flags)["good"]; got != awaiting {
		t.Errorf("of two files of which one cannot be agreed to, the other was: %s", got)
	}

	t.Chdir(dir)
	code, out, _ := toolbox(t, "", with("one.json")...) // a relative path will do
	if code != 0 || !strings.Contains(out, "trusted; it may start") || !strings.Contains(out, "good: ") {
		t.Errorf("exit status %d", code)
	}
	if got := states(t, flags); got["good"] != "ready" || got["web"] != awaiting {
		t.Errorf("after agreeing to one of them the servers are %v", got)
	}

	text, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(one, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := states(t, flags)["good"]; got != awaiting {
		t.Errorf("a file that changed is still agreed to: %s", got)
	}
	if _, _, errw := toolbox(t, "", append([]string{"list"}, flags...)...); !strings.Contains(errw, "was changed since it was agreed to") {
		t.Errorf("nobody says that it changed: %s", errw)
	}
	if _, out, _ := toolbox(t, "", with()...); !strings.Contains(out, changedSince) {
		t.Errorf("trust does not say that it changed")
	}
	if _, out, _ := toolbox(t, "", append([]string{"doctor", "--timeout", "10s"}, flags...)...); !strings.Contains(strings.Join(strings.Fields(out), " "), changedSince) {
		t.Errorf("doctor does not say that it changed")
	}
	toolbox(t, "", with(one)...)
	if code, _, _ := toolbox(t, "", with("--forget", one)...); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if got := states(t, flags)["good"]; got != awaiting {
		t.Errorf("an agreement that was taken back still counts: %s", got)
	}
}

func TestTrustForOneRun(t *testing.T) {
	_, flags := hosted(t)
	if got := states(t, append(flags, "--trust-host-files")); got["good"] != "ready" || got["web"] == awaiting {
		t.Errorf("the servers are %v", got)
	}
	if got := states(t, flags)["good"]; got != awaiting {
		t.Errorf("it was remembered: %s", got)
	}
}

func TestTrustUse(t *testing.T) {
	_, flags := hosted(t)
	plain := configuration(t, "# nothing\n")
	tests := []struct {
		why  string
		args []string
		code int
		want string
	}{
		{"no host files", []string{"trust", "--config", plain}, 0, "names no other program's file"},
		{"forget what", append([]string{"trust", "--forget"}, flags...), 2, "wants the files to forget"},
		{"no configuration", []string{"trust", "--config", plain + "x"}, 2, "toolsource.tomlx"},
	}
	for _, tt := range tests {
		code, out, errw := toolbox(t, "", tt.args...)
		if code != tt.code || !strings.Contains(out+errw, tt.want) {
			t.Errorf("%s: exit status %d, want %d and %q", tt.why, code, tt.code, tt.want)
		}
	}
}

// TestInputsAndSecretsComeFromTheEnvironment: a server starts with them, and is off without.
func TestInputsAndSecretsComeFromTheEnvironment(t *testing.T) {
	command, _, secrets := mcptest.Command(t, mcptest.Behaviour{})
	env := map[string]string{"GIVEN": "${input:my-key}"}
	for k, v := range secrets {
		env[k] = v.Reveal()
	}
	text, err := json.Marshal(map[string]any{
		"inputs":  []any{map[string]any{"type": "promptString", "id": "my-key", "password": true}},
		"servers": map[string]any{"asks": map[string]any{"type": "stdio", "command": command, "env": env}},
	})
	if err != nil {
		t.Fatal(err)
	}
	config := configuration(t, "[mcp]\nhost_configs = ['mcp.json']\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "mcp.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--config", config, "--trust-host-files"}
	if got := states(t, flags)["asks"]; got != "bad entry" {
		t.Errorf("without its input the server is %s", got)
	}
	var x examination
	document(t, 3, &x, append([]string{"doctor"}, flags...)...)
	if f := x.about(t, "INPUT_MY_KEY"); !strings.Contains(f.Message, "${input:my-key}") {
		t.Errorf("doctor says %+v", f)
	}
	if _, _, errw := toolbox(t, "", append([]string{"list"}, flags...)...); !strings.Contains(errw, "INPUT_MY_KEY is not set") {
		t.Error("list does not say which variable is missing")
	}
	t.Setenv("INPUT_MY_KEY", "planted-input")
	if got := states(t, flags)["asks"]; got != "ready" {
		t.Errorf("with its input the server is %s", got)
	}
	code, out, _ := toolbox(t, "", append([]string{"call", "env", `{"name": "GIVEN"}`}, flags...)...)
	if code != 0 || !strings.Contains(out, "planted-input") {
		t.Errorf("the child has GIVEN %q", out)
	}
}
