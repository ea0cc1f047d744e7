package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// about finds what was found of a subject.
func (x examination) about(t *testing.T, subject string) finding {
	t.Helper()
	i := slices.IndexFunc(x.Findings, func(f finding) bool { return f.Subject == subject })
	if i < 0 {
		t.Fatalf("nothing is said of %s", subject)
	}
	return x.Findings[i]
}

// web is an entry for a server over HTTP.
func web(t *testing.T, id string, b mcptest.Behaviour) string {
	t.Helper()
	at, err := mcptest.Start(mcptest.HTTP, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	return fmt.Sprintf("[mcp_servers.%s]\nurl = '%s?key=planted-in-url'\nconnect_timeout = '2s'\n", id, at.URL)
}

// TestDoctorOfServers has a server for each phase in which one can fail. The one that hangs is asked for one
// revision only, so that it is not started afresh and has all of its limit to write to its standard error.
func TestDoctorOfServers(t *testing.T) {
	three := 3
	config := configuration(t, `
[mcp_servers.gone]
command = "no-such-command-anywhere"
required = true

[mcp_servers.nowhere]
command = "cat"
cwd = "no/such/folder"

[mcp_servers.unset]
command = "cat"
args = ["${TOOLBOX_TEST_UNSET}"]

[mcp_servers.off]
command = "cat"
enabled = false
`+child(t, "good", `args = ["--token=planted-in-args"]`, mcptest.Behaviour{})+
		child(t, "silent", "connect_timeout = '2s'\nprotocol = '2025-11-25'", mcptest.Behaviour{SilentInit: true, Stderr: "waiting for a licence\n"})+
		child(t, "exits", "", mcptest.Behaviour{Stderr: "no database\n\x1b[2Jcannot go on\n", Exit: &three})+
		child(t, "mute", `connect_timeout = "1s"`, mcptest.Behaviour{SilentList: true})+
		child(t, "old", "", mcptest.Behaviour{Only: "2020-01-01"})+
		web(t, "refused", mcptest.Behaviour{Listen: mcptest.Refuse})+
		web(t, "locked", mcptest.Behaviour{Authorization: "Bearer x"})+
		web(t, "elsewhere", mcptest.Behaviour{HTTP: []mcptest.HTTPFault{{At: "*", Status: 404, Body: "nothing here"}}}))

	tests := []struct {
		subject, severity, phase string
		message, remedy          string // parts
	}{
		{"default", isOK, "", "4 tools", ""},
		{"mcp:good", isOK, "", " tools", ""},
		{"mcp:gone", isError, "start", "it is required", "PATH"},
		{"mcp:nowhere", isError, "start", "no/such/folder", "create it"},
		{"mcp:unset", isNote, "", "its entry is wrong", ""},
		{"mcp_servers.unset.args[0]", isError, "", "TOOLBOX_TEST_UNSET is not set", "set it"},
		{"mcp:off", isNote, "", "switched off", ""},
		{"mcp:silent", isError, "initialize", "no answer to initialize within 2s", "is it an MCP server"},
		{"mcp:exits", isError, "initialize", "exited with code 3", "run its command by hand"},
		{"mcp:mute", isError, "tools/list", "no answer to tools/list within 1s", "raise the connect limit"},
		{"mcp:old", isError, "era", "protocol version", "update the server"},
		{"mcp:refused", isError, "transport", "refused", "check that the server runs"},
		{"mcp:locked", isError, "initialize", "401", "token"},
		{"mcp:elsewhere", isError, "transport", "404", "check the path"},
	}
	var x examination
	document(t, 3, &x, "doctor", "--config", config)
	if x.Healthy || x.Errors == 0 {
		t.Errorf("healthy %t, %d errors", x.Healthy, x.Errors)
	}
	for _, tt := range tests {
		f := x.about(t, tt.subject)
		if f.Severity != tt.severity || f.Phase != tt.phase || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Remedy, tt.remedy) {
			t.Errorf("%s is %+v, want %+v", tt.subject, f, tt)
		}
		if f.Severity == isError && strings.HasPrefix(tt.subject, "mcp:") && (f.Attempts == 0 || f.NextTry == nil && f.State != "dialling") {
			t.Errorf("%s was tried %d times, next %v", tt.subject, f.Attempts, f.NextTry)
		}
	}
	good, exits := x.about(t, "mcp:good"), x.about(t, "mcp:exits")
	if good.TookMS == nil || good.Era == "" || good.Transport != "stdio" || good.Tools == 0 {
		t.Errorf("of a healthy server it says %+v", good)
	}
	if len(exits.Stderr) != 2 || exits.Stderr[0] != "no database" || strings.Contains(exits.Message, "database") {
		t.Errorf("the end of standard error is %q beside %q", exits.Stderr, exits.Message)
	}
	if s := x.about(t, "mcp:silent").Stderr; len(s) != 1 || s[0] != "waiting for a licence" {
		t.Errorf("the end of standard error of a server that hangs is %q", s)
	}
	code, out, errw := toolbox(t, "", "doctor", "--config", config)
	if code != 3 || strings.Contains(out+errw, "\x1b") || strings.Contains(out+errw, "planted") {
		t.Errorf("exit status %d; or the output shows a secret, or moves the cursor", code)
	}
	if want := fmt.Sprintf("%d errors", x.Errors); !strings.Contains(out, want) {
		t.Errorf("the verdict is not %q", want)
	}
}

// TestDoctorIsBounded: a server that hangs costs --timeout, not its own limit, and a healthy one beside it is
// told nevertheless.
func TestDoctorIsBounded(t *testing.T) {
	config := configuration(t, child(t, "silent", "", mcptest.Behaviour{SilentInit: true, Stderr: "waiting\n"})+web(t, "good", mcptest.Behaviour{}))
	var x examination
	started := time.Now()
	document(t, 3, &x, "doctor", "--config", config, "--timeout", "1500ms")
	if took := time.Since(started); took > 10*time.Second { // its own limit is 30 s
		t.Errorf("it took %v", took)
	}
	if f := x.about(t, "mcp:silent"); f.Severity != isError || f.Message != "has not answered within 1.5s" || !strings.Contains(f.Remedy, "--timeout") {
		t.Errorf("of the one that hangs it says %+v", f)
	}
	if f := x.about(t, "mcp:good"); f.Severity != isOK {
		t.Errorf("of the healthy one it says %+v", f)
	}
}

func TestDoctorOfFiles(t *testing.T) {
	dir := t.TempDir()
	broken := configuration(t, "[mcp_servers.a]\ncommand = \n")
	hosts := configuration(t, "[mcp]\nhost_configs = ['none.json', { path = 'mcp.json', format = 'claude-code' }]\n")
	text := `{"mcpServers": {"a": {"command": "npx -y demo"}, "b": {"command": "cat", "timeout": -1}}}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(hosts), "mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	warned := configuration(t, "# nothing\n")
	shadowed := configuration(t, "[mcp_servers.b]\ncommand = 'cat'\nenabled = false\n[mcp]\nhost_configs = [{ path = 'mcp.json', format = 'claude-code' }]\n")
	text = `{"mcpServers": {"b": {"command": "cat"}}}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(shadowed), "mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why, config string
		code        int
		want        []string
	}{
		{"no file", filepath.Join(dir, "none.toml"), 3, []string{"there is no such file", "toolbox import --write"}},
		{"no TOML", broken, 3, []string{broken + ":2:"}},
		{"warnings alone are no error", warned, 0, []string{"no tools but those that ship", "Nothing is wrong, with 2 warnings."}},
		{"a server whose name is another's is a warning", shadowed, 0, []string{"warning", "mcp.json:1: b: refused"}},
		{"host files", hosts, 3, []string{"none.json", "no such file", `mcp.json:1: a: command refused`, "mcp.json:1: b: timeout refused", "toolbox trust --config "}},
	}
	for _, tt := range tests {
		code, out, _ := toolbox(t, "", "doctor", "--config", tt.config, "--trust-store", filepath.Join(dir, "trusted.json"))
		if code != tt.code {
			t.Errorf("%s: exit status %d, want %d", tt.why, code, tt.code)
		}
		for _, w := range tt.want {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
				t.Errorf("%s: %q is missing", tt.why, w)
			}
		}
	}
	t.Run("no file of the usual name", func(t *testing.T) {
		t.Chdir(dir)
		var x examination
		document(t, 3, &x, "doctor")
		if f := x.about(t, "toolsource.toml"); f.Command != "toolbox import --write toolsource.toml FILE" {
			t.Errorf("got %+v", f)
		}
	})
}

// TestDoctorOfTools: who lost a name, which names may change hands, and which tools were left out.
func TestDoctorOfTools(t *testing.T) {
	page := `{"tools": [{"name": "read_file", "inputSchema": {"type": "object"}}, {"name": 7}, {"name": "late", "inputSchema": {"type": "object"}}]}`
	config := configuration(t, `
[[tools]]
name = "read_file"
provider = "exec"
command = ["cat"]

`+child(t, "files", "", mcptest.Behaviour{Pages: map[string]string{"": page}})+
		child(t, "down", `connect_timeout = "500ms"`, mcptest.Behaviour{SilentInit: true}))
	var x examination
	document(t, 3, &x, "doctor", "--config", config)
	var lost, provisional, left bool
	for _, f := range x.Findings {
		if f.About != aboutTool {
			continue
		}
		lost = lost || f.Subject == "mcp:files" && strings.HasPrefix(f.Message, "lost to config") && slices.Equal(f.Names, []string{"read_file"})
		provisional = provisional || strings.HasPrefix(f.Message, "provisional") && f.Severity == isWarning && len(f.Names) > 0
		left = left || strings.HasPrefix(f.Message, "left out: ") && f.Severity == isWarning
	}
	if !lost || !provisional || !left {
		t.Errorf("lost %t, provisional %t, left out %t", lost, provisional, left)
	}
}

func TestWithoutTail(t *testing.T) {
	tests := []struct {
		why, message string
		stderr       []string
		want         string
	}{
		{"no tail", "exited: yes", nil, "exited: yes"},
		{"all of it", "exited: one | two", []string{"one", "two"}, "exited"},
		{"the end of it", "exited: two", []string{"one", "two"}, "exited"},
		{"with its introduction", "no answer; its standard error ends: one", []string{"one"}, "no answer"},
		{"something else", "exited: three", []string{"one"}, "exited: three"},
	}
	for _, tt := range tests {
		if got := withoutTail(tt.message, tt.stderr); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
}
