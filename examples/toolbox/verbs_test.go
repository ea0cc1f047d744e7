package main

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// TestEveryVerbIsHelped: with all of its flags, an example of its own, and lines that fit.
func TestEveryVerbIsHelped(t *testing.T) {
	t.Setenv("COLUMNS", "")
	var all struct{ Help string }
	document(t, 0, &all, "help")
	texts := map[string]string{"": all.Help}
	for _, v := range verbs() {
		if !strings.Contains(all.Help, "  "+v.name+" ") {
			t.Errorf("help does not name %s", v.name)
		}
		if v.name == "help" {
			continue
		}
		code, out, errw := toolbox(t, "", v.name, "--help")
		if code != 0 || errw != "" || !strings.HasPrefix(v.example, "toolbox "+v.name) || !strings.Contains(out, v.example) {
			t.Errorf("%s: exit status %d, or there is no example", v.name, code)
		}
		for _, f := range v.flags {
			if flagText[f][1] == "" || !strings.Contains(out, "--"+f) {
				t.Errorf("%s does not tell what --%s is", v.name, f)
			}
		}
		texts[v.name] = out
	}
	for name, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > usualWidth {
				t.Errorf("help of %q has a line that is too wide: %q", name, line)
			}
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"list", "call", "status", "doctor"}
	for word, want := range map[string]string{
		"lsit": "did you mean list? ", "statuss": "did you mean status? ", "cal": "did you mean call? ", "x": "", "ls": "", "nothing-like": "",
		strings.Repeat("l", 1000): "",
	} {
		if got := didYouMean("", word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestCallOnATerminal: what a tool answers cannot move the cursor there, and is left as it is elsewhere.
func TestCallOnATerminal(t *testing.T) {
	config := configuration(t, "")
	if err := os.WriteFile(strings.TrimSuffix(config, "toolsource.toml")+"x.txt", []byte("a\x1b[2Jb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := toolbox(t, "", "call", "--config", config, "read_file", `{"path": "x.txt"}`)
	if !strings.Contains(out, "a\x1b[2Jb\n") {
		t.Errorf("elsewhere than to a terminal the answer is %q", out)
	}
	var b strings.Builder
	c := &command{out: &b, err: &b, config: config, screen: screen{terminal: true}, args: []string{"read_file", `{"path": "x.txt"}`}}
	if err := c.call(t.Context()); err != nil || !strings.Contains(b.String(), "a [2Jb\n") || strings.Contains(b.String(), "\x1b") {
		t.Errorf("on a terminal the answer is %q, %v", b.String(), err)
	}
}

// TestCallOfAToolThatMayComeLater: whose source has not answered in time is not called unknown.
func TestCallOfAToolThatMayComeLater(t *testing.T) {
	config := configuration(t, child(t, "silent", "", mcptest.Behaviour{SilentInit: true}))
	var f failure
	document(t, 3, &f, "call", "--config", config, "--timeout", "400ms", "its_tool")
	if f.Error.Kind != toolsource.KindTimeout || f.Error.MayHaveRun {
		t.Errorf("got %+v", f.Error)
	}
}
