package toolschema_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/toolschema"
)

func ExampleExport() {
	specs := []toolsource.ToolSpec{{
		Name: "search", Description: "Finds documents.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["query"]}`),
	}}
	e, err := toolschema.Export(specs, toolschema.OpenAIStrict, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", e.JSON())
	for _, c := range e.Changes() {
		fmt.Println(c)
	}
	// The model answers with a call. What it left out, it had to write as null.
	tool, args, _, err := e.ParseArguments("search", []byte(`{"query":"go","limit":null}`))
	fmt.Println(tool, args, err)
	// Output:
	// [{"type":"function","function":{"name":"search","description":"Finds documents.","parameters":{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":["integer","null"],"minimum":1}},"required":["query","limit"],"additionalProperties":false},"strict":true}}]
	// search #: properties that are not described are refused now [closed]
	// search #/properties/limit: may be left out, and is required now; null stands for leaving it out [all-required]
	// search map[query:go] <nil>
}

func ExampleNormalize() {
	schema, changes := toolschema.Normalize(json.RawMessage(`{"properties":{"at":{"anyOf":[{"$ref":"#/definitions/Time"},{"type":"null"}]}},"definitions":{"Time":{"type":"string","format":"date-time"}}}`))
	fmt.Printf("%s\n", schema)
	for _, c := range changes {
		fmt.Println(c)
	}
	// Output:
	// {"type":"object","properties":{"at":{"type":"string","format":"date-time","nullable":true}}}
	// #: definitions is now called $defs [definitions]
	// #: $defs is left away: what is used of it is written out where it is used [ref]
	// #/properties/at/anyOf/0: $ref "#/$defs/Time" is written out [ref]
	// #/properties/at: anyOf of a schema and null is written as that schema with nullable [null-union]
	// #: has properties and no type; it has "type": "object" now [object]
}

func ExampleOneLine() {
	line, edits := toolschema.OneLine("Reads a file.\n\nReturns its \u200btext.", 0)
	fmt.Println(line)
	for _, e := range edits {
		fmt.Println(e)
	}
	// Output:
	// Reads a file. Returns its text.
	// white space is made one space: 1, the first is U+000A at byte 13
	// invisible characters are taken out: 1, the first is U+200B at byte 27
}
