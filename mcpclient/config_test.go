package mcpclient

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

func TestConfigErrors(t *testing.T) {
	stdio := func(change func(*ServerConfig)) ServerConfig {
		c := ServerConfig{ID: "srv", Command: "x"}
		change(&c)
		return c
	}
	web := func(change func(*ServerConfig)) ServerConfig {
		c := ServerConfig{ID: "srv", URL: "http://127.0.0.1:9/mcp"}
		change(&c)
		return c
	}
	for _, tc := range []struct {
		cfg  ServerConfig
		want string
	}{
		{ServerConfig{Command: "x"}, `mcpclient: server "": id is empty; every server needs a name of its own`},
		{ServerConfig{ID: "srv", File: "f.toml", Line: 3}, `mcpclient: f.toml:3: server "srv": command and url are both missing; give the command to start, or the address to call`},
		{ServerConfig{ID: "srv", Command: "x", URL: "http://h/"}, `mcpclient: server "srv": command is set beside url; a server is either a command or an address, remove one`},
		{stdio(func(c *ServerConfig) { c.Transport = "http" }), `mcpclient: server "srv": transport http needs a url, and there is only a command`},
		{web(func(c *ServerConfig) { c.Transport = "stdio" }), `mcpclient: server "srv": transport stdio needs a command, and there is only a url`},
		{web(func(c *ServerConfig) { c.Transport = "carrier-pigeon" }), `mcpclient: server "srv": transport "carrier-pigeon" is unknown; use stdio, http or sse`},
		{web(func(c *ServerConfig) { c.URL = "ftp://h/" }), `mcpclient: server "srv": url has the scheme "ftp"; use http or https`},
		{web(func(c *ServerConfig) { c.URL = "http://:8080" }), `mcpclient: server "srv": url has no host`},
		{web(func(c *ServerConfig) { c.URL = "http://u:hunter2@h/" }), `mcpclient: server "srv": url holds a user name or password; put them into headers`},
		{web(func(c *ServerConfig) { c.URL = "http://h/%zz?key=hunter2" }), `mcpclient: server "srv": url is no valid address`},
		{web(func(c *ServerConfig) {
			c.Headers = map[string]toolsource.Secret{"x-user": "hunter2", "X-User": "hunter3"}
		}), `mcpclient: server "srv": headers has both "X-User" and "x-user", which are one header; remove one`},
		{web(func(c *ServerConfig) { c.Headers = map[string]toolsource.Secret{"a b": "x"} }), `mcpclient: server "srv": headers "a b" is no name of a header`},
		{web(func(c *ServerConfig) { c.Headers = map[string]toolsource.Secret{"A": "hunter2\r\nB: c"} }), `mcpclient: server "srv": headers the value of A holds a line break or NUL byte`},
		{stdio(func(c *ServerConfig) { c.Env = map[string]toolsource.Secret{"A=B": "x"} }), `mcpclient: server "srv": env "A=B" is no name of an environment variable`},
		{stdio(func(c *ServerConfig) { c.Era = "2020-01-01" }), `mcpclient: server "srv": era "2020-01-01" is no protocol revision; known are 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, and "" for the library's choice`},
		{stdio(func(c *ServerConfig) { c.Connect = -1 }), `mcpclient: server "srv": connect is -1ns; a duration cannot be negative`},
		{stdio(func(c *ServerConfig) { c.MaxTools = -1 }), `mcpclient: server "srv": max_tools is -1; a count cannot be negative`},
		{stdio(func(c *ServerConfig) { c.Tools = map[string]ToolConfig{"x": {Limits: toolsource.Limits{Silence: -1}}} }), `mcpclient: server "srv": tools.x has a negative limit`},
	} {
		s, err := New(tc.cfg, nil)
		if err == nil || err.Error() != tc.want || s != nil {
			t.Errorf("error %v, want %s", err, tc.want)
			continue
		}
		var ce *ConfigError
		if !errors.As(err, &ce) || ce.Server != tc.cfg.ID || !errors.Is(err, toolsource.ErrPermanent) {
			t.Errorf("%#v", err)
		}
	}
	_, err := New(ServerConfig{ID: "srv", URL: "ftp://h/", Era: "x", MaxPages: -1}, nil)
	if n := strings.Count(fmt.Sprint(err), "\n"); n != 2 {
		t.Errorf("not all that is wrong is told: %v", err)
	}
}

func TestConfigDefaults(t *testing.T) {
	s, err := New(ServerConfig{ID: "srv", URL: "http://h/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := ServerConfig{
		ID: "srv", URL: "http://h/mcp", Transport: "http",
		Silence: time.Minute, Ceiling: 10 * time.Minute, Connect: 30 * time.Second, EraProbe: 5 * time.Second, CloseBound: 5 * time.Second, Keepalive: 180 * time.Second,
		MaxInFlight: 64, MaxTools: 1000, MaxPages: 50, MaxMessage: 10 << 20,
	}
	if diff := cmp.Diff(want, s.Config()); diff != "" {
		t.Error(diff)
	}
	stdio, _ := ServerConfig{ID: "a", Command: "x"}.resolved()
	off, _ := ServerConfig{ID: "a", URL: "http://h", Keepalive: -1}.resolved()
	if stdio.Transport != "stdio" || stdio.Keepalive != 0 || off.Keepalive >= 0 {
		t.Errorf("stdio %v, off %v", stdio.Keepalive, off.Keepalive)
	}
	if s.Limits("x") != (toolsource.Limits{}) {
		t.Errorf("limits that nobody set: %+v", s.Limits("x"))
	}
}

func TestChildsDirectory(t *testing.T) {
	for _, tc := range []struct{ dir, file, workspace, want string }{
		{"", "/etc/f.toml", "/work", "/work"},
		{"/abs", "/etc/f.toml", "/work", "/abs"},
		{"sub", "/etc/f.toml", "/work", "/etc/sub"},
		{"sub", "", "/work", "/work/sub"},
		{"", "", "", ""},
	} {
		c := ServerConfig{Dir: tc.dir, File: tc.file}
		if got := c.dir(tc.workspace); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

func TestRedaction(t *testing.T) {
	cfg := ServerConfig{ID: "s", URL: "http://h/mcp?api_key=qs-secret&x=1", Headers: map[string]toolsource.Secret{"Authorization": "Bearer tok en+1", "X": "abc"}}
	r := &redactor{}
	r.configure(&cfg)
	for in, want := range map[string]string{
		"Authorization: Bearer tok en+1": "Authorization: ***",
		"got tok en+1":                   "got ***",
		"?t=tok+en%2B1":                  "?t=***",
		"GET /mcp?api_key=qs-secret&x=1": "GET /mcp?***",
		"key qs-secret":                  "key ***",
		"abc stays, it is too short":     "abc stays, it is too short",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	cfg = ServerConfig{ID: "s", Command: "x", Env: map[string]toolsource.Secret{"A": `pass"word`, "B": "pass", "C": "", "Path": "/opt/bin"}}
	r = &redactor{}
	r.configure(&cfg)
	if got := r.text(`{"k":"pass\"word"} pass"word pass /opt/bin`); got != `{"k":"***"} *** *** /opt/bin` {
		t.Error(got)
	}
	inner := errors.New("it is pass")
	err := r.err(fmt.Errorf("%w: %w", toolsource.ErrPermanent, inner))
	if err.Error() != "permanent failure: it is ***" || !errors.Is(err, toolsource.ErrPermanent) || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, &cfg); strings.Contains(text, "pass") {
		t.Error(text)
	}
}
