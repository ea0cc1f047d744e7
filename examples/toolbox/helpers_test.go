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

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

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

func keys(t *testing.T, m map[string]any, want string) {
	t.Helper()
	for k := range strings.FieldsSeq(want) {
		if _, ok := m[k]; !ok {
			t.Errorf("the key %q is missing in %v", k, m)
		}
	}
}

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
