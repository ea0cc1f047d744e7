package mcpclient

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestExpandHome(t *testing.T) {
	for _, tt := range []struct {
		why, in string
		windows bool
		want    string
	}{
		{"alone", "~", false, "/home/u"},
		{"before a separator", "~/bin/x", false, "/home/u/bin/x"},
		{"another user's", "~other/x", false, "~other/x"},
		{"in the middle", "x/~", false, "x/~"},
		{"nothing", "", false, ""},
		{"a backslash is none here", `~\x`, false, `~\x`},
		{"on Windows the profile", "~/x", true, filepath.Join("/profile", "x")},
		{"on Windows a backslash", `~\x`, true, filepath.Join("/profile", `\x`)},
	} {
		if got := expandHomeOn(tt.in, []string{"HOME=/home/u", "UserProfile=/profile"}, tt.windows); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
	if got := expandHomeOn("~/x", nil, false); got != "~/x" {
		t.Errorf("without a home: %q", got)
	}
}

// The command's ~ is the child's home, not ours; those of arguments and environment are left alone.
func TestHomeOfTheChild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("makes a symbolic link")
	}
	home := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(home, "server")); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) {
		c.Command, c.Dir, c.Args = "~/server", "~", []string{"~/arg"}
		c.Env["HOME"], c.Env["PLACE"] = toolsource.Secret(home), "~/env"
	})
	res, err := s.Call(t.Context(), "env", map[string]any{"name": "PLACE"}, CallOptions{})
	if err != nil || res.Value.(map[string]any)["value"] != "~/env" {
		t.Errorf("%v, %v", res.Value, err)
	}
	if res, err = s.Call(t.Context(), "cwd", nil, CallOptions{}); err != nil || filepath.Base(res.Text()) != filepath.Base(home) {
		t.Errorf("%v, %v", res.Value, err)
	}
}

func TestCommandThatIsAWholeLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return f
	}
	write("npx")
	spaced := write("my server")
	for _, tt := range []struct {
		why, command string
		args         []string
		want         string // in the remedy; "": it is found
	}{
		{"a line", "npx -y foo", nil, `write command = "npx" and args = ["-y", "foo"]`},
		{"a line beside arguments", "npx -y foo", []string{"--root", "a b"}, `write command = "npx" and args = ["-y", "foo", "--root", "a b"]`},
		{"quotes", `npx "a b" 'c "d"' ''`, nil, `write command = "npx" and args = ["a b", "c \"d\"", ""]`},
		{"of a program that is not there either", "uvx foo", nil, `write command = "uvx" and args = ["foo"]`},
		{"with the program's path", filepath.Join(dir, "npx") + " -y foo", nil, `args = ["-y", "foo"]`},
		{"a file with a blank in its name", spaced, nil, ""},
		{"a file with a blank that is not there", filepath.Join(dir, "no server"), nil, "install it"},
		{"a quote that does not end", `npx "a`, nil, "install it"},
		{"one word", "uvx", nil, "install it"},
		{"a blank at the end", "npx ", nil, "install it"},
	} {
		file, remedy, err := command(&ServerConfig{Command: tt.command, Args: tt.args}, []string{"PATH=" + dir}, dir)
		if tt.want == "" && (err != nil || file != tt.command) || tt.want != "" && (err == nil || !strings.Contains(remedy, tt.want)) {
			t.Errorf("%s: %q, %q, %v", tt.why, file, remedy, err)
		}
	}

	s, err := New(ServerConfig{ID: "a", Command: "npx -y --key=s3cr3t-Value", Env: map[string]toolsource.Secret{"PATH": toolsource.Secret(dir)}, Secrets: []toolsource.Secret{"s3cr3t-Value"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Start(t.Context())
	if !errors.Is(err, toolsource.ErrPermanent) || !strings.Contains(err.Error(), `args = ["-y", "--key=***"]`) {
		t.Error(err)
	}
}

// A child without a PATH finds nothing, whatever ours is; found commands are absolute, and PATH stays.
func TestCommandOnTheChildsPath(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, tt := range []struct {
		why  string
		base map[string]string // of the host
		own  map[string]toolsource.Secret
		want string // "": not found
	}{
		{"no PATH", nil, nil, ""},
		{"an empty PATH is the working directory", nil, map[string]toolsource.Secret{"PATH": ""}, ""},
		{"the third folder", nil, map[string]toolsource.Secret{"PATH": toolsource.Secret(strings.Join([]string{"/no/such", t.TempDir(), dir}, string(filepath.ListSeparator)))}, tool},
		{"the base's PATH", map[string]string{"PATH": dir}, nil, tool},
		{"its own goes first", map[string]string{"PATH": dir}, map[string]toolsource.Secret{"PATH": "/no/such"}, ""},
	} {
		s, err := New(ServerConfig{ID: "a", Command: "tool", Env: tt.own}, &Options{Workspace: t.TempDir(), LookupEnv: func(n string) (string, bool) { v, ok := tt.base[n]; return v, ok }})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.child(s.settings())
		if (err == nil) != (tt.want != "") || err == nil && c.Command != tt.want || err != nil && !errors.Is(err, toolsource.ErrPermanent) {
			t.Errorf("%s: %q, %v", tt.why, c.Command, err)
		}
		if path, ok := tt.own["PATH"]; ok && !slices.Contains(s.env(s.settings()), "PATH="+path.Reveal()) {
			t.Errorf("%s: PATH was changed", tt.why)
		}
		_ = s.Close()
	}
}

func TestInjectingEnv(t *testing.T) {
	env := map[string]toolsource.Secret{"LD_PRELOAD": "/tmp/s3cr3t.so", "NODE_OPTIONS": "--max-old-space-size=100", "X": "1"}
	_, err := New(ServerConfig{ID: "a", Command: "x", Env: env, File: "host.json", Line: 3}, nil)
	var ce *ConfigError
	if !errors.As(err, &ce) || ce.Field != "env" || !errors.Is(err, toolsource.ErrPermanent) {
		t.Fatal(err)
	}
	for _, want := range []string{"host.json:3:", "LD_PRELOAD", "the loader", "allow_env", "remove it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "NODE_OPTIONS") {
		t.Error(err)
	}
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) {
		c.Env["LD_BIND_NOW"], c.AllowEnv = "1", []string{"ld_bind_now", "OTHER"}
	})
	res, err := s.Call(t.Context(), "env", map[string]any{"name": "LD_BIND_NOW"}, CallOptions{})
	if err != nil || res.Value.(map[string]any)["value"] != "1" {
		t.Errorf("allowed: %v, %v", res.Value, err)
	}
	cfg := s.Config()
	cfg.AllowEnv = nil
	if err := s.Update(cfg); !errors.As(err, &ce) {
		t.Errorf("by an update: %v", err)
	}
	if InjectingEnv("BASH_ENV", "x") != "the shell" || InjectingEnv("PATH", "x") != "" {
		t.Error("InjectingEnv says otherwise")
	}
}
