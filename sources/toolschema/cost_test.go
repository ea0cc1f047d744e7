package toolschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/toolsource/toolsource"
)

// listed are the schemas and names of a server with many tools of the common kind.
func listed(n int) (schemas, outputs []json.RawMessage, wire []string) {
	for i := range n {
		wire = append(wire, fmt.Sprintf("tool_%04d", i))
		schemas = append(schemas, json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"path_%d":{"type":"string","description":"where to read from"},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":100,"description":"how many at most"},"order":{"type":"string","enum":["up","down"]}},"required":["path_%d"],"additionalProperties":false}`, i, i)))
		outputs = append(outputs, json.RawMessage(`{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":["string","null"]}}}}},"required":["result"]}`))
	}
	return schemas, outputs, wire
}

// costs are what is done for a list of tools, and the bytes that it may allocate for 1000.
func costs(tools int) []cost {
	schemas, outputs, wire := listed(tools)
	alike := append(slices.Clone(wire[1:]), "tool-0001")
	each := func(f func(i int)) func() {
		return func() {
			for i := range tools {
				f(i)
			}
		}
	}
	return []cost{
		{"Args", 500_000, each(func(i int) { Args(schemas[i]) })},
		{"Returns", 120_000, each(func(i int) { Returns(outputs[i]) })},
		{"NewBinder", 750_000, each(func(i int) { NewBinder(schemas[i]) })},
		{"Names", 85_000, func() { Names(wire) }},
		{"Names, two alike", 300_000, func() { Names(alike) }},
		{"Qualified", 120_000, func() { Qualified("my-server", wire) }},
	}
}

type cost struct {
	name string
	most float64
	f    func()
}

// TestCostOfAListing: a list of 1000 tools may cost little, and most of it is what the caller gets.
func TestCostOfAListing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	for _, c := range costs(1000) {
		c.f()
		const rounds = 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			c.f()
		}
		runtime.ReadMemStats(&after)
		got := float64(after.TotalAlloc-before.TotalAlloc) / rounds
		t.Logf("%s: %.0f bytes", c.name, got)
		if got > c.most {
			t.Errorf("%s: %.0f bytes for 1000 tools, want at most %.0f", c.name, got, c.most)
		}
	}
}

// TestBindAllocatesNothing where nothing has to change, however deep.
func TestBindAllocatesNothing(t *testing.T) {
	b := NewBinder(json.RawMessage(`{"properties":{
		"path":{"type":"string"},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}]},"mode":{"enum":[1,2,"r"]},
		"edits":{"type":"array","items":{"$ref":"#/$defs/Edit"}}},
		"required":["path"],"additionalProperties":false,
		"$defs":{"Edit":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":["string","null"]},"at":{"type":"integer"}},"required":["old"]}}}`))
	args := map[string]any{"path": "go.mod", "limit": nil, "mode": "r", "edits": []any{
		map[string]any{"old": "a", "new": nil, "at": int64(1000)}, map[string]any{"old": "b", "new": "c"},
	}}
	for _, b := range []*Binder{b, b.Lenient()} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := b.Bind(args); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestReadingsDoNotMix: what a reading gave stays what it was while its memory serves others.
func TestReadingsDoNotMix(t *testing.T) {
	type reading struct {
		args     []toolsource.ArgSpec
		problems []Problem
		returns  string
		bound    string
	}
	schemas := map[string]json.RawMessage{}
	for i := range 40 {
		schemas[fmt.Sprint(i)] = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"a%d":{"type":"string","description":"d%d","enum":["e%d","f"]},"b":{"$ref":"#/$defs/B%d"},"c":%d,"d":{"default":%d},"p":{},"q":{},"r":{},"s":{},"t":{},"u%d":{}},"required":["a%d","x%d"],"$defs":{"B%d":{"type":"integer","enum":[%d,1.5]}}}`,
			i, i, i, i, i, i, i, i, i, i, i))
	}
	for _, name := range []string{"many problems", "aliases doubled through anyOf", "nested objects"} {
		schemas[name] = json.RawMessage(hostile[name]())
	}
	read := func(s json.RawMessage) reading {
		b := NewBinder(s)
		args, problems := Args(s)
		_, err := b.Bind(map[string]any{"b": "no"})
		return reading{args, slices.Concat(problems, b.Problems()), Returns(s), fmt.Sprint(err)}
	}
	first, copies := map[string]reading{}, map[string]reading{}
	for name, s := range schemas {
		r := read(s)
		first[name] = r
		r.args, r.problems = toolsource.ToolSpec{Args: r.args}.Clone().Args, slices.Clone(r.problems)
		copies[name] = r
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for name, s := range schemas {
				if again := read(s); !reflect.DeepEqual(copies[name], again) {
					t.Errorf("%s is read as %v, and again as %v", name, copies[name], again)
				}
			}
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(copies, first) {
		t.Error("what was read first has changed")
	}
}

// TestReleaseForgets: memory that waits for another reading holds nothing of the last one's schema.
func TestReleaseForgets(t *testing.T) {
	d := read(json.RawMessage(`{"properties":{"a":{"type":"string"}}}`))
	g := gatherer{doc: d}
	g.object(d.root, nil, 0, false)
	d.release()
	kept := func(n node) bool { return n.raw != nil || n.elems != nil || n.key != "" || n.view != nil }
	if d.root != nil || d.text != nil || slices.ContainsFunc(d.nodes.all, kept) || slices.ContainsFunc(d.under[:cap(d.under)], kept) ||
		slices.ContainsFunc(d.locs.all, func(l loc) bool { return l != loc{} }) {
		t.Error("it keeps what it read")
	}
}

func BenchmarkListing(b *testing.B) {
	for _, c := range costs(1000) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f()
			}
		})
	}
}
