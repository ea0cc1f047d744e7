// Package hostdoc reads JSON with comments, YAML and TOML files as one kind of tree, in which every key and
// value has its place.
package hostdoc

import (
	_ "github.com/tailscale/hujson"
	_ "go.yaml.in/yaml/v3"
)

// Syntax is the notation of a file.
type Syntax string

// The syntaxes. JSON may have comments, trailing commas and a byte order mark.
const (
	JSON Syntax = "json"
	YAML Syntax = "yaml"
	TOML Syntax = "toml"
)

// Kind is what a Node is.
type Kind string

// The kinds.
const (
	Null   Kind = "null"
	Bool   Kind = "boolean"
	Number Kind = "number"
	String Kind = "string"
	List   Kind = "list"
	Map    Kind = "map"
)

// Node is a value with its place.
type Node struct {
	Line, Col int    // from 1; of an element or a value, its own; Col in characters
	Path      string // as servers.github.args[1], for people
	Kind      Kind
	Text      string   // of a String its value, of a Number and a Bool what the file says
	Items     []*Node  // of a List
	Members   []Member // of a Map, in the order of the file; a key that is there twice is there twice
}

// Member is a key of a Map with its value.
type Member struct {
	Name      string
	Line, Col int // of the key
	Value     *Node
}
