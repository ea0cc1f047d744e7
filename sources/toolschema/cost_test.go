package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
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

func BenchmarkListing(b *testing.B) {
	const tools = 1000
	schemas, outputs, wire := listed(tools)
	alike := append(slices.Clone(wire[1:]), "tool-0001")
	each := func(f func(i int)) func() {
		return func() {
			for i := range tools {
				f(i)
			}
		}
	}
	for _, x := range []struct {
		name string
		f    func()
	}{
		{"Args", each(func(i int) { Args(schemas[i]) })},
		{"Returns", each(func(i int) { Returns(outputs[i]) })},
		{"NewBinder", each(func(i int) { NewBinder(schemas[i]) })},
		{"Names", func() { Names(wire) }},
		{"Names, two alike", func() { Names(alike) }},
		{"Qualified", func() { Qualified("my-server", wire) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.f()
			}
		})
	}
}
