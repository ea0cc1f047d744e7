package hostconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// marker stands in values of the seeds; what the fuzzer makes of them keeps it where it can.
const marker = "zq9Fuzz"

// seeds are the files of testdata, and the seven servers in every format, with the marker planted in values.
func seeds(f *testing.F, add func(name, text string)) {
	f.Helper()
	for _, dir := range []string{"cases", "formats"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			text := strings.NewReplacer("placeholder", marker, "127.0.0.1:9", "h/"+marker, "/srv/demo", "/srv/"+marker, "demo-server", marker+"-server").Replace(string(data))
			add(filepath.Base(file), text)
		}
	}
	for name, text := range map[string]string{
		"a.json": `{"mcpServers":{"a":{"command":"npx ` + marker + `","args":{"x":"` + marker + `"},"env":{"A":["` + marker + `"]},"type":"` + marker + `"}}}`,
		"b.json": `{"mcpServers":{"a":{"url":"` + marker + `://x","headers":["` + marker + `"],"timeout":"` + marker + `"}}}`,
		"c.toml": "[mcp_servers.a]\ncommand = " + marker + "\n",
		"d.yaml": "mcpServers:\n  a: &x\n    command: " + marker + "\n    args: *x\n",
		"e.yaml": "mcpServers:\n  a: { command: " + marker + ", args: [",
		"f.json": `{"a":"` + marker + ` \q"}`,
	} {
		add(name, text)
	}
}

// fuzzFile reads a file in one syntax by each of some formats, resolves, merges and writes what comes out, and
// looks for values in whatever is said.
func fuzzFile(t *testing.T, name string, data []byte, formats []string) {
	for _, format := range formats {
		file, err := Parse(name, data, &Options{Format: format, Workspace: "/w"})
		var said strings.Builder
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) {
				t.Fatalf("%T", err)
			}
			clean(t, p.Message+p.Hint, name, data) // its key may be any name
			continue
		}
		fmt.Fprintf(&said, "%s %v %+v %#v %v\n", file, file, file, file, file.Entries)
		for _, n := range file.Report {
			said.WriteString(n.String() + "\n")
		}
		ids := map[string]bool{}
		for _, e := range file.Entries {
			if ids[e.ID] || e.ID == "" || e.Format != file.Format || e.File != name || e.Line < 1 {
				t.Errorf("entry %v %q twice, or without its place", e, e.ID)
			}
			ids[e.ID] = true
			if (e.Transport == TransportStdio) != (e.Command != "") || (e.Transport == TransportStdio) == (e.URL != "") {
				t.Errorf("%v: %s with command %q and address %q", e, e.Transport, e.Command, e.URL)
			}
			_, _, err := e.Resolve(&Options{
				LookupEnv: func(name string) (string, bool) { return marker + name, len(name)%2 == 0 },
				Input:     func(id string) (toolsource.Secret, bool) { return marker, len(id)%2 == 0 },
				ReadFile:  func(string) ([]byte, error) { return []byte("A=" + marker + "\n" + marker), nil },
				Workspace: "/w", Home: "/h",
			})
			if err != nil {
				fmt.Fprintln(&said, err)
			}
		}
		merged, notes := Merge([]*File{file, file})
		if len(merged) != len(file.Entries) || len(notes) < len(merged) {
			t.Errorf("merged with itself: %d of %d", len(merged), len(file.Entries))
		}
		_, more := WriteTOML(file.Entries)
		for _, n := range append(notes, more...) {
			said.WriteString(n.String() + "\n")
		}
		clean(t, said.String(), name, data)
	}
}

// clean fails where the marker shows, unless the file has it in a name: keys, ids, names of tools, variables
// and files are named.
func clean(t *testing.T, said, name string, data []byte) {
	t.Helper()
	if !strings.Contains(said, marker) {
		return
	}
	if doc, err := hostdoc.Parse(name, hostdoc.Syntax(bySyntax(name)), data); err == nil && inName(doc.Root, "") {
		return
	}
	t.Errorf("a value shows:\n%s\nof\n%s", said, data)
}

// namesIn are keys whose values are names.
var namesIn = []string{
	"name", "id", "tools", "env_vars", "env_keys", "bearer_token_env_var", "env_http_headers", "disabledTools", "disabled_tools", "enabled_tools",
	"excludeTools", "includeTools", "excludedTools", "allowedTools", "enabledTools", "available_tools",
}

// inName says whether the marker stands in a name.
func inName(n *hostdoc.Node, key string) bool {
	if strings.Contains(n.Text, marker) && (strings.ContainsAny(n.Text, "${%") || slices.Contains(namesIn, key)) {
		return true
	}
	for _, item := range n.Items {
		if inName(item, key) {
			return true
		}
	}
	for _, m := range n.Members {
		inner := key
		if !slices.Contains(namesIn, key) {
			inner = m.Name
		}
		if strings.Contains(m.Name, marker) || inName(m.Value, inner) {
			return true
		}
	}
	return false
}

// bySyntax is the syntax of a file of testdata.
func bySyntax(name string) string {
	switch filepath.Ext(name) {
	case ".toml":
		return "toml"
	case ".yaml", ".yml":
		return "yaml"
	}
	return "json"
}

func fuzz(f *testing.F, syntax string, formats ...string) {
	seeds(f, func(name, text string) {
		if bySyntax(name) == syntax {
			f.Add([]byte(text))
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "x."+syntax, data, append(formats, "")) })
}

func FuzzJSON(f *testing.F) {
	var names []string
	for _, d := range dialects {
		if d != codexFormat {
			names = append(names, d.Name)
		}
	}
	fuzz(f, "json", names...)
}

func FuzzYAML(f *testing.F) { fuzz(f, "yaml", "continue", "goose", "librechat", "mcphost", "plain") }

func FuzzTOML(f *testing.F) { fuzz(f, "toml", "codex") }

func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\nexport B='x'\nC=\"a\\nb\"\n#\n")
	f.Add("A=\"" + strings.Repeat("\n", 50))
	f.Fuzz(func(t *testing.T, text string) {
		vars, line := parseEnvFile(text)
		if line < 0 || line > strings.Count(text, "\n")+1 || line > 0 && vars != nil {
			t.Errorf("line %d", line)
		}
		seen := map[string]bool{}
		for _, v := range vars {
			if v.name == "" || seen[v.name] || strings.ContainsAny(v.name, "=\n") {
				t.Errorf("%q", v.name)
			}
			seen[v.name] = true
		}
	})
}
