package toolschema

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/toolsource/toolsource"
)

// realTools are the tools of seven real servers, as they list them, without descriptions: everything,
// filesystem, memory and sequential-thinking 2026.8.31, mcp-hello-world 1.1.2, calc-mcp 2.1.1 and
// git-mcp-server 2.15.3.
func realTools(t *testing.T) []toolsource.ToolSpec {
	t.Helper()
	raw, err := os.ReadFile("testdata/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	var servers []struct {
		Server string
		Tools  []struct {
			Name        string
			InputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &servers); err != nil {
		t.Fatal(err)
	}
	var specs []toolsource.ToolSpec
	owned := map[string]bool{} // the first server keeps a name, as in a Toolbox
	for _, s := range servers {
		var wire []string
		for _, x := range s.Tools {
			wire = append(wire, x.Name)
		}
		names, qualified := Names(wire), Qualified(s.Server, wire)
		for i, x := range s.Tools {
			if owned[names[i]] {
				continue
			}
			owned[names[i]] = true
			specs = append(specs, toolsource.ToolSpec{
				Name: names[i], Description: "What it does.", InputSchema: x.InputSchema,
				Origin: toolsource.Origin{Kind: "mcp", Server: s.Server, WireName: x.Name, QualifiedName: qualified[i]},
			})
		}
	}
	return specs
}

// TestRealTools: every tool of every real server is taken by every API, by its own name and its qualified
// one, and what the model calls finds it.
func TestRealTools(t *testing.T) {
	specs := realTools(t)
	if len(specs) != 88 {
		t.Errorf("%d tools", len(specs))
	}
	for _, p := range Providers() {
		for _, qualified := range []bool{false, true} {
			e := exported(t, p, &ExportOptions{Qualified: qualified}, specs...)
			if len(e.LeftOut) > 0 || len(e.Tools) != len(specs) {
				t.Errorf("%s: left out %v", p, e.LeftOut)
			}
			strict := 0
			for i, x := range e.Tools {
				want := specs[i].Name
				if qualified {
					want = specs[i].Origin.QualifiedName
				}
				if got, ok := e.Find(x.Name); x.Name != want || !ok || got != specs[i].Name {
					t.Errorf("%s: %s is called %s and finds %q", p, want, x.Name, got)
				}
				if x.Strict {
					strict++
				}
				checkNormal(t, specs[i].InputSchema)
			}
			t.Logf("%s: %d tools, %d strict, %d changes", p, len(e.Tools), strict, len(e.Changes()))
		}
	}
}
