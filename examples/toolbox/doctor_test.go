package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// configuration writes a file into a folder of its own.
func configuration(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toolsource.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// child is an entry for a server that behaves as told.
func child(t *testing.T, id, more string, b mcptest.Behaviour) string {
	t.Helper()
	command, _, env := mcptest.Command(t, b)
	var s strings.Builder
	fmt.Fprintf(&s, "[mcp_servers.%s]\ncommand = %q\n%s\n[mcp_servers.%s.env]\n", id, command, more, id)
	for _, k := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&s, "%s = '%s'\n", k, env[k].Reveal())
	}
	return s.String()
}

// toolbox runs the program.
func toolbox(t *testing.T, in string, args ...string) (code int, out, errw string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &o, &e)
	t.Logf("toolbox %s: exit status %d\n%s%s", strings.Join(args, " "), code, &o, &e)
	return code, o.String(), e.String()
}

// document runs the program with --json and reads the one document that there has to be.
func document(t *testing.T, code int, into any, args ...string) {
	t.Helper()
	got, out, _ := toolbox(t, "", append(args, "--json")...)
	if got != code {
		t.Errorf("exit status %d, want %d", got, code)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(into); err != nil {
		t.Fatalf("standard output is no JSON: %v", err)
	}
	if dec.More() {
		t.Error("there is more than one document")
	}
}

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
`+child(t, "good", "", mcptest.Behaviour{})+
		child(t, "silent", `connect_timeout = "600ms"`, mcptest.Behaviour{SilentInit: true, Stderr: "waiting for a licence\n"})+
		child(t, "exits", "", mcptest.Behaviour{Stderr: "no database\n\x1b[2Jcannot go on\n", Exit: &three})+
		child(t, "mute", `connect_timeout = "1s"`, mcptest.Behaviour{SilentList: true})+
		child(t, "old", "", mcptest.Behaviour{Only: "2020-01-01"}))
	for name, b := range map[string]mcptest.Behaviour{
		"refused": {Listen: mcptest.Refuse}, "hole": {Listen: mcptest.BlackHole}, "auth": {Authorization: "Bearer x"},
		"wrong": {HTTP: []mcptest.HTTPFault{{Status: 404, Body: "nothing here"}}},
	} {
		at, err := mcptest.Start(mcptest.HTTP, b)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(at.Close)
		f, _ := os.OpenFile(config, os.O_APPEND|os.O_WRONLY, 0)
		fmt.Fprintf(f, "[mcp_servers.%s]\nurl = %q\nconnect_timeout = '1s'\n", name, at.URL+"?key=topsecret")
		f.Close()
	}
	var x examination
	started := time.Now()
	document(t, 3, &x, "doctor", "--config", config)
	t.Log(time.Since(started))
	toolbox(t, "", "doctor", "--config", config)
	toolbox(t, "", "status", "--config", config)
}
