package sources

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

// What is agreed to is what is seen: a character that hides or moves others is written out.
func TestLaunchShowsEveryCharacter(t *testing.T) {
	for _, tt := range []struct {
		why  string
		s    Server
		want string
	}{
		{"plain", Server{Entry: &hostconfig.Entry{Command: "npx", Args: []string{"-y", "${PKG}"}}}, "npx -y ${PKG}"},
		{"an empty argument", Server{Entry: &hostconfig.Entry{Command: "x", Args: []string{""}}}, `x ""`},
		{"a terminal's command of eight bits", Server{Entry: &hostconfig.Entry{Command: "x", Args: []string{"\u009b2K"}}}, `x "\u009b2K"`},
		{"turned direction", Server{Entry: &hostconfig.Entry{Command: "x", Args: []string{"a\u202eb"}}}, `x "a\u202eb"`},
		{"no width", Server{Entry: &hostconfig.Entry{Command: "sh\u200b"}}, `"sh\u200b"`},
		{"a blank that is none", Server{Entry: &hostconfig.Entry{Command: "x", Args: []string{"a\u00a0b"}}}, `x "a\u00a0b"`},
		{"an address", Server{Entry: &hostconfig.Entry{URL: "https://h/?a=b&c=*"}}, "https://h/?a=b&c=*"},
		{"an address that is turned", Server{Entry: &hostconfig.Entry{URL: "https://h/\u202e"}}, `"https://h/\u202e"`},
		{"a value of a variable", Server{Config: mcpclient.ServerConfig{Command: "x", Args: []string{"--key", "planted-1"}, Secrets: []toolsource.Secret{"planted-1"}}}, `x --key "***"`},
		{"a value in an address", Server{Config: mcpclient.ServerConfig{URL: "https://h/?k=planted-1", Secrets: []toolsource.Secret{"planted-1"}}}, "https://h/?k=***"},
		{"the configuration's own", Server{Config: mcpclient.ServerConfig{Command: "a b"}}, `"a b"`},
	} {
		if got := tt.s.Launch(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.why, got, tt.want)
		}
	}
}

// Neither what the file holds nor what variables, inputs and files give is in what is printed.
func TestHostFilesShowNoSecret(t *testing.T) {
	f := newFolder(t)
	f.write("not.env", "planted-in-a-file\n")
	f.write("mcp.json", `{"inputs":[{"id":"token"},{"id":"url"},{"id":"nul"}],"servers":{
		"url":{"type":"http","url":"${input:url}/x"},
		"header":{"type":"http","url":"https://h/","headers":{"A":"${input:token}"}},
		"nul":{"command":"x","args":["${input:nul}"]},
		"file":{"command":"x","envFile":"not.env"},
		"unset":{"command":"x","args":["planted-in-args","${input:none}"]},
		"good":{"command":"x","args":["planted-in-args","${input:token}"],"env":{"K":"planted-in-env"}}}}`)
	input := func(id string) (toolsource.Secret, bool) {
		v, ok := map[string]toolsource.Secret{"token": "planted-1\nplanted-2", "url": "ht tp://u:planted-3@h:x", "nul": "planted-\x00-4"}[id]
		return v, ok
	}
	c := f.load("[mcp]\nhost_configs = [{ path = 'mcp.json', format = 'vscode' }]\n", &Options{TrustHostFile: trustAll, Input: input})
	var off []string
	for _, s := range c.Servers {
		if s.Off == offBad {
			off = append(off, s.Config.ID)
		}
	}
	if diff := cmp.Diff([]string{"url", "header", "nul", "file", "unset"}, off); diff != "" {
		t.Error(diff)
	}
	all := fmt.Sprintln(problems(c), c.Reports)
	for _, v := range []any{c, *c, c.HostFiles, c.HostFiles[0], &c.HostFiles[0], c.Servers, c.Servers[5], *c.Servers[5].Entry} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			all += fmt.Sprintf(verb+"\n", v)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		all += string(text) + "\n"
	}
	for line := range strings.Lines(all) {
		if strings.Contains(line, "planted") {
			t.Errorf("a secret shows: %.300s", line)
		}
	}
	for _, p := range c.Problems {
		if text := p.Error(); strings.Count(text, "mcp.json") != 1 || strings.Count(text, "the server is off") != 1 || p.Line == 0 || p.Key == "" {
			t.Errorf("place, field and remedy, once: %s", text)
		}
	}
}

// A ~ in a host file is the home that one in the configuration is.
func TestHostFilesKnowTheHome(t *testing.T) {
	f := newFolder(t)
	f.write("home/mcp.json", `{"mcpServers":{"a":{"command":"~/bin/a","cwd":"~/w"}}}`)
	o := &Options{TrustHostFile: trustAll, LookupEnv: func(name string) (string, bool) {
		if name == "HOME" {
			return filepath.Join(f.dir, "home"), true
		}
		return os.LookupEnv(name)
	}}
	c := f.load("[mcp]\nhost_configs = ['~/mcp.json']\n", o)
	if len(c.Servers) != 1 {
		t.Fatal(problems(c))
	}
	got := []string{c.Servers[0].Config.Command, c.Servers[0].Config.Dir}
	if diff := cmp.Diff([]string{filepath.Join(f.dir, "home/bin/a"), filepath.Join(f.dir, "home/w")}, got); diff != "" {
		t.Error(diff)
	}
}
