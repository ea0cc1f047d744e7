// Package hostdoc reads JSON with comments, YAML and TOML files as one kind of tree, in which every key and
// value has its place.
//
// The files are other programs', written by hand, by installers and by anybody who wants to do harm. Text is
// UTF-8, with or without a byte order mark, or UTF-16 with one. A file is read whole or not at all: [Parse]
// gives a [Doc] or a [*tomldoc.Problem] with line and column. What is odd but can be read (a repeated key, a
// second YAML document) is a warning in Doc.Notes. No message holds a value of the file, since that may be a
// secret; repeated keys are named. A file without content is an empty Doc, not an error.
//
// Size, nesting and the number of values are bounded, time is linear in the size of the file, and nothing
// outlives the call.
//
// Of YAML, the first document is read. Anchors, aliases and merge keys are resolved: a map's own keys win
// over merged ones, and of several merged maps the first wins; what an alias stands for has the alias's place
// itself and, within it, the places where the text stands. A tag makes a value text unless it is !!int,
// !!float, !!bool or !!null, which change nothing. Plain values are numbers, booleans and nulls by the core
// schema of YAML 1.2, so that yes, no, on, off, dates, 1_000 and 12:30 are text. A key is its text, whatever
// it looks like. The column of a YAML error is where the text of its line begins.
//
// Of TOML, a date is text, and a repeated key is an error, as the language has it.
package hostdoc

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource/internal/tomldoc"
)

// The bounds. A file beyond one of them is an error.
const (
	MaxFile   = tomldoc.MaxFile // bytes
	MaxDepth  = 200             // lists and maps within each other; TOML: 64
	MaxValues = 500_000         // values in a file, after aliases are resolved
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
	String Kind = "string" // also a date
	List   Kind = "list"
	Map    Kind = "map"
)

// Doc is a file that could be read.
type Doc struct {
	Syntax Syntax
	Root   *Node // never nil
	Empty  bool  // no value: nothing, or only white space and comments. Root is then Null
	Notes  []*tomldoc.Problem
	Taken  map[*tomldoc.Problem]bool // of Notes, those of which the value is there as it was read
}

// Node is a value with its place.
type Node struct {
	Line, Col int    // from 1; of an element or a value, its own; Col in characters
	Path      string // as servers.github.args[1], for people; a long one is cut in its middle
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

// Parse reads the text of a file; file is its name, for problems only. The error is a *tomldoc.Problem.
func Parse(file string, syntax Syntax, data []byte) (*Doc, error) {
	d := &reading{file: file, doc: &Doc{Syntax: syntax}}
	text, p := d.text(data)
	if p == nil {
		switch syntax {
		case JSON:
			p = d.json(text)
		case YAML:
			p = d.yaml(text)
		case TOML:
			p = d.toml(text)
		default:
			p = d.fail(0, 0, "", "is in no syntax that can be read")
		}
	}
	if p != nil {
		return nil, p
	}
	if d.doc.Empty {
		d.doc.Root = &Node{Line: 1, Col: 1, Kind: Null}
	}
	return d.doc, nil
}

// Get is the value of a key, of the last where it is repeated; nil if n is no Map or has no such key.
func (n *Node) Get(name string) *Node {
	if m := n.Member(name); m != nil {
		return m.Value
	}
	return nil
}

// Member is a key with its value, the last where the key is repeated; nil if n is no Map or has no such key.
func (n *Node) Member(name string) *Member {
	if n == nil {
		return nil
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Name == name {
			return &n.Members[i]
		}
	}
	return nil
}

// Last are the members of a Map without those that a later one of the same name replaces, each where it
// stands.
func (n *Node) Last() []Member {
	if n == nil {
		return nil
	}
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Name] = i
	}
	if len(last) == len(n.Members) {
		return n.Members
	}
	out := make([]Member, 0, len(last))
	for i, m := range n.Members {
		if last[m.Name] == i {
			out = append(out, m)
		}
	}
	return out
}

// Keys are the names of a Map in the order of the file, each once.
func (n *Node) Keys() []string {
	members := n.Last()
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Name
	}
	return out
}

// Bool is the value of a Bool.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Bool {
		return false, false
	}
	return strings.EqualFold(n.Text, "true"), true
}

// Float is the value of a Number that is finite.
func (n *Node) Float() (float64, bool) {
	if n == nil || n.Kind != Number {
		return 0, false
	}
	text := strings.ReplaceAll(n.Text, "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil && len(text) > 2 && text[0] == '0' {
		if c := text[1]; c == 'x' || c == 'o' || c == 'b' {
			return float64(i), true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// reading is a Parse under way.
type reading struct {
	file string
	doc  *Doc
}

func (d *reading) fail(line, col int, hint, format string, a ...any) *tomldoc.Problem {
	return &tomldoc.Problem{
		File: d.file, Line: line, Column: col,
		Message: fmt.Sprintf(format, a...), Hint: hint, Severity: tomldoc.SeverityError,
	}
}

func (d *reading) note(line, col int, path, hint, format string, a ...any) {
	d.doc.Notes = append(d.doc.Notes, &tomldoc.Problem{
		File: d.file, Line: line, Column: col, Key: path,
		Message: fmt.Sprintf(format, a...), Hint: hint, Severity: tomldoc.SeverityWarning,
	})
}

// suspect notes a value that is taken and was probably meant otherwise.
func (d *reading) suspect(line, col int, path, hint, message string) {
	d.note(line, col, path, hint, "%s", message)
	if d.doc.Taken == nil {
		d.doc.Taken = map[*tomldoc.Problem]bool{}
	}
	d.doc.Taken[d.doc.Notes[len(d.doc.Notes)-1]] = true
}

// repeated notes the keys of a map that stand there more than once. path is that of the map.
func (d *reading) repeated(members []Member) {
	first := make(map[string]int, len(members))
	for i, m := range members {
		if before, ok := first[m.Name]; ok {
			d.note(m.Line, m.Col, m.Value.Path, "rename or remove one of them",
				"the key stands there already in line %d; the last one counts", members[before].Line)
		}
		first[m.Name] = i
	}
}

func tooDeep() string { return fmt.Sprintf("is nested more than %d deep", MaxDepth) }
func tooMany() string { return fmt.Sprintf("holds more than %d values", MaxValues) }
