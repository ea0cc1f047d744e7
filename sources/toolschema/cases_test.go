package toolschema

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// namedSource is a source of tools that answer with its name.
type namedSource struct {
	id    string
	names []string
}

func (s namedSource) Name() string    { return s.id }
func (s namedSource) Available() bool { return true }
func (s namedSource) Discover(context.Context) ([]toolsource.ToolSpec, error) {
	var specs []toolsource.ToolSpec
	qualified := Qualified(s.id, s.names)
	for i, n := range Names(s.names) {
		specs = append(specs, toolsource.ToolSpec{Name: n, Origin: toolsource.Origin{Source: s.id, Server: s.id, WireName: s.names[i], QualifiedName: qualified[i]}})
	}
	return specs, nil
}
func (s namedSource) Resolve(toolsource.ToolSpec) (toolsource.Callable, error) {
	return func(context.Context, map[string]any) (toolsource.Result, error) { return toolsource.Value(s.id), nil }, nil
}

// TestSameToolOnTwoServers: precedence says who owns a name, whoever came first; by qualified names all are
// there.
func TestSameToolOnTwoServers(t *testing.T) {
	var c struct {
		Sources []struct {
			ID         string
			Precedence int
			Tools      []string
		}
	}
	readJSON(t, "34-duplicate-tools-across-servers.json", &c)
	for _, backwards := range []bool{false, true} {
		var layers []toolsource.Layer
		var ids []string
		all := map[string]bool{}
		for _, s := range c.Sources {
			ids = append(ids, s.ID)
		}
		for _, s := range c.Sources {
			layers = append(layers, toolsource.Layer{Source: namedSource{s.ID, s.Tools}, Precedence: toolsource.Precedence(s.Precedence)})
			for _, n := range Qualified(s.ID, s.Tools, ids...) {
				all[n] = true
			}
		}
		if backwards {
			slices.Reverse(layers)
		}
		tb := toolsource.NewToolbox(nil)
		if err := tb.Add(t.Context(), layers...); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"run": "local-toml", "search": "staging", "deploy": "prod"} {
			r, err := tb.Call(t.Context(), name, nil)
			if err != nil || r.Value != want {
				t.Errorf("%s is %v, %v, want %s", name, r.Value, err, want)
			}
		}
		var lost []string
		for _, s := range tb.Shadowed() {
			for _, l := range s.Losers {
				lost = append(lost, fmt.Sprintf("%s of %s by %s", s.Name, l.Source, s.Winner.Source))
			}
		}
		slices.Sort(lost)
		if !slices.Equal(lost, []string{"run of staging by local-toml", "search of prod by staging"}) {
			t.Errorf("shadowed are %q", lost)
		}
		if len(all) != 5 {
			t.Errorf("qualified names are %v", all)
		}
		if err := tb.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoNameIsSplit: every name that a model may call finds its server's tool, also where servers are called
// as if they were cut from each other's names.
func TestNoNameIsSplit(t *testing.T) {
	var c struct {
		Servers []string
		Tools   map[string][]string
	}
	readJSON(t, "35-name-splitting.json", &c)
	var specs []toolsource.ToolSpec
	wire := map[string][2]string{}
	for _, id := range c.Servers {
		for i, q := range Qualified(id, c.Tools[id], c.Servers...) {
			specs = append(specs, toolsource.ToolSpec{Name: q, Origin: toolsource.Origin{Server: id, WireName: c.Tools[id][i], QualifiedName: q}})
			wire[q] = [2]string{id, c.Tools[id][i]}
		}
	}
	if len(wire) != 3 {
		t.Fatalf("names are %v", wire)
	}
	for _, p := range Providers() {
		e := exported(t, p, &ExportOptions{Qualified: true}, specs...)
		for i, x := range e.Tools {
			name, ok := e.Find(x.Name)
			if got := wire[name]; !ok || got != [2]string{specs[i].Origin.Server, specs[i].Origin.WireName} {
				t.Errorf("%s: %s is %v", p, x.Name, got)
			}
		}
	}
}

// TestNamesOfCasesExplained: of every name that a server may not have, it is told what it became.
func TestNamesOfCasesExplained(t *testing.T) {
	c := readCase(t, "31-tool-names-illegal.json")
	var wire []string
	for _, x := range c.Tools {
		wire = append(wire, x.Name)
	}
	told := map[string]bool{}
	for _, ch := range NameChanges(wire, Names(wire)) {
		told[ch.Tool] = true
	}
	for i, n := range Names(wire) {
		if (n != wire[i] || n == "") && !told[wire[i]] {
			t.Errorf("%q is %q without a word", wire[i], n)
		}
	}
	if !told[""] {
		t.Error("the tool without a name is left out without a word")
	}
}

// TestExportTakesWhatTheToolTakes: what fits a tool's schema fits what is exported for an API that takes JSON
// Schema, strict mode and alternatives at the top aside.
func TestExportTakesWhatTheToolTakes(t *testing.T) {
	fitted := 0
	rapid.Check(t, func(t *rapid.T) {
		schema := drawRoot(t)
		for _, p := range []Provider{OpenAI, Anthropic} {
			e, _ := Export([]toolsource.ToolSpec{tool("t", schema)}, p, nil)
			if len(e.Tools) == 0 || strings.Contains(ruleWords(e.Changes()), "root-keyword") {
				continue // an argument that one alternative describes is described so for all
			}
			var api apiTool
			_ = json.Unmarshal(e.Tools[0].JSON, &api)
			if api.Function != nil {
				api = *api.Function
			}
			out := append(api.Parameters, api.InputSchema...)
			for range 4 {
				args := drawObject(t, 3)
				if _, err := NewBinder(json.RawMessage(schema)).Bind(args); err != nil {
					continue
				}
				fitted++
				if _, err := NewBinder(out).Bind(args); err != nil {
					t.Errorf("%s takes %v, and for %s %s says %v", schema, args, p, out, err)
				}
			}
		}
	})
	if fitted == 0 {
		t.Error("nothing fitted")
	}
}
