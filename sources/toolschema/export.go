package toolschema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

// ExportOptions say how tools are exported. The zero value is the plain way.
type ExportOptions struct {
	Qualified  bool // call tools by their qualified names, where they have one, in place of the names that programs use
	Responses  bool // OpenAI: the flat form of the Responses API, in place of that of Chat Completions
	OnlyStrict bool // OpenAIStrict: leave out what strict mode cannot say, in place of exporting it without
	MaxTools   int  // tools to export; 0: as many as the API takes, below 0: any number
}

// Exported are tools as a model API takes them, and the way back from what the model calls. It does not
// change and is safe for concurrent use.
type Exported struct {
	Provider Provider
	Tools    []ExportedTool
	LeftOut  []LeftOut
	byName   map[string]int
}

// ExportedTool is one tool.
type ExportedTool struct {
	Name    string          // what the model calls
	Tool    string          // the name of the spec
	Strict  bool            // the API holds the model to the schema
	JSON    json.RawMessage // the tool's entry in the request; for Gemini one function declaration
	Changes []Change        // what was rewritten, and why
	undo    *undo
}

// LeftOut is a tool that the API would refuse, and with it the whole request.
type LeftOut struct {
	Tool   string // the name of the spec
	Rule   string
	Reason string
}

func (l LeftOut) String() string {
	return strings.Map(printable, fmt.Sprintf("%s is left out: %s [%s]", label(l.Tool), l.Reason, l.Rule))
}

// Export writes tools for a model API, in their order. A tool that the API would refuse is left out, and its
// neighbours stay; what was rewritten is in each tool's Changes. It fails for an unknown provider only.
//
// A spec without InputSchema is described by its Args. Descriptions and titles lose characters that hide
// text, as Clean says. Names of arguments that the API refuses are exchanged, and Arguments puts them back.
//
// In strict mode every argument is required, so that one that may be left out is exported as one that may be
// null; Arguments takes those nulls out again. A tool that strict mode cannot describe without a loss, as one
// that takes any further arguments, is exported without strict mode, which one request may mix.
func Export(specs []toolsource.ToolSpec, p Provider, o *ExportOptions) (*Exported, error) {
	d := dialects[p]
	if d == nil {
		return nil, fmt.Errorf("toolschema: export to %q: no such provider (known are %v)", p, Providers())
	}
	if o == nil {
		o = &ExportOptions{}
	}
	most := o.MaxTools
	if most == 0 {
		most = d.maxTools
	}
	e := &Exported{Provider: p, byName: make(map[string]int, len(specs))}
	names := exportNames(specs, d, o)
	for i := range specs {
		x := exporter{dialect: d, options: o, spec: &specs[i], changes: changes{tool: specs[i].Name}}
		var left *LeftOut
		var tool ExportedTool
		switch {
		case names[i] == "":
			left = &LeftOut{specs[i].Name, "name", "it has no name, or one that a tool before it has"}
		case most > 0 && len(e.Tools) >= most:
			left = &LeftOut{specs[i].Name, "tool-count", fmt.Sprintf("%d tools stand before it, and no more are taken", most)}
		default:
			tool, left = x.tool(names[i])
		}
		if left != nil {
			e.LeftOut = append(e.LeftOut, *left)
			continue
		}
		e.byName[tool.Name] = len(e.Tools)
		e.Tools = append(e.Tools, tool)
	}
	return e, nil
}

// exportNames are the names that the model calls; "" for a spec without one, or with that of another.
func exportNames(specs []toolsource.ToolSpec, d *dialect, o *ExportOptions) []string {
	wire := make([]string, len(specs))
	for i, s := range specs {
		wire[i] = s.Name
		if o.Qualified && s.Name != "" && s.Origin.QualifiedName != "" {
			wire[i] = s.Origin.QualifiedName
		}
	}
	return allowed(wire, d.name)
}

// allowed gives every name one that a pattern takes, by the rules of Names.
func allowed(wire []string, pattern *regexp.Regexp) []string {
	return assign(wire, func(w string) (string, bool) {
		if pattern.MatchString(w) {
			return w, false
		}
		c, letters := cleaned(w)
		if !letters {
			c = "_"
		}
		if len(c) > 0 && c[0] >= '0' && c[0] <= '9' {
			c = "_" + c
		}
		return c, !letters
	}, func(w string) [32]byte { return sha256.Sum256([]byte(w)) })
}

// JSON is the list for the request's field tools.
func (e *Exported) JSON() json.RawMessage {
	b := []byte{'['}
	for i, t := range e.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t.JSON...)
	}
	b = append(b, ']')
	if e.Provider == Gemini {
		if len(e.Tools) == 0 {
			return json.RawMessage("[]")
		}
		b = append(append([]byte(`[{"functionDeclarations":`), b...), "}]"...)
	}
	return b
}

// Changes are those of all tools.
func (e *Exported) Changes() []Change {
	var out []Change
	for _, t := range e.Tools {
		out = append(out, t.Changes...)
	}
	return out
}

// Find is the tool that a model means by a name.
func (e *Exported) Find(name string) (tool string, ok bool) {
	i, ok := e.byName[name]
	if !ok {
		return "", false
	}
	return e.Tools[i].Tool, true
}

// An exporter exports one tool.
type exporter struct {
	*dialect
	changes
	options  *ExportOptions
	spec     *toolsource.ToolSpec
	conflict string // keyword that two parts of allOf disagree on, the last
}

func (x *exporter) tool(name string) (ExportedTool, *LeftOut) {
	t := ExportedTool{Name: name, Tool: x.spec.Name}
	if name != x.spec.Name && name != x.spec.Origin.QualifiedName {
		x.add(&loc{ref: "name"}, "name", "the API takes no such name; the model calls it %s", name)
	}
	schema := x.spec.InputSchema
	if len(bytes.TrimSpace(schema)) == 0 && len(x.spec.Args) > 0 {
		schema = FromArgs(x.spec.Args)
	}
	description := x.description()
	var params *tree
	var reason string
	if x.strict != nil {
		params, t.undo, reason = x.strictly(schema)
		t.Strict = params != nil
	}
	if params == nil {
		if x.strict != nil && x.options.OnlyStrict {
			return t, &LeftOut{x.spec.Name, "strict", reason}
		}
		if x.strict != nil {
			x.add(nil, "strict", "is exported without strict mode: %s", reason)
		}
		params, t.undo, reason = x.loosely(schema)
	}
	if params == nil {
		return t, &LeftOut{x.spec.Name, "root-object", reason}
	}
	t.JSON = x.entry(&t, description, params)
	t.Changes = x.all()
	return t, nil
}

// description is the tool's, without what hides in it and no longer than the API takes.
func (x *exporter) description() string {
	s := x.spec.Description
	if s == "" {
		s = x.spec.Title
	}
	at := &loc{ref: "description"}
	s, edits := Clean(s)
	for _, e := range edits {
		x.add(at, "text", "%s", e)
	}
	if n := utf8.RuneCountInString(s); x.maxDescription > 0 && n > x.maxDescription {
		x.add(at, "description-length", "has %d characters, and %d are taken; the rest is cut", n, x.maxDescription)
		s = cut(s, x.maxDescription)
	}
	return s
}

// entry is the tool's entry in a request.
func (x *exporter) entry(t *ExportedTool, description string, params *tree) json.RawMessage {
	e := newObject(member{"name", newText(t.Name)})
	if description != "" {
		e.set("description", newText(description))
	}
	switch {
	case x.openAPI:
		if len(params.get("properties").entries()) > 0 {
			e.set("parameters", params)
		} else {
			x.add(nil, "properties", "takes no arguments: there is no parameters field")
		}
	case x.dialect == dialects[Anthropic]:
		e.set("input_schema", params)
	default:
		e.set("parameters", params)
		if x.strict != nil {
			strict := "false"
			if t.Strict {
				strict = "true"
			}
			e.set("strict", scalar(strict))
		}
		if x.strict == nil && x.options.Responses { // which is strict where it is not told
			e.set("strict", scalar("false"))
		}
		if x.options.Responses {
			e.first("type", newText("function"))
		} else {
			e = newObject(member{"type", newText("function")}, member{"function", e})
		}
	}
	return e.text()
}

// root reads a schema as the description of arguments; nil and a reason where it cannot be one.
func (x *exporter) root(schema json.RawMessage) (*tree, string) {
	if bytes.Equal(bytes.TrimSpace(schema), []byte("false")) {
		return nil, "the schema is false, which no arguments can satisfy"
	}
	t := x.patterns(normalize(schema, &x.changes, x.openAPI))
	types := t.types()
	if types != 0 && types&typeObject == 0 {
		return nil, "the schema describes " + types.human() + ", and arguments are an object"
	}
	if word, _ := t.get("type").str(); word != "object" {
		if t.has("type") {
			x.add(nil, "root-object", "type %s is object here: arguments are nothing else", t.get("type").shown())
		} else {
			x.add(nil, "root-object", `has "type": "object" now: arguments are nothing else`)
		}
		t.first("type", newText("object"))
	}
	if t.has("nullable") {
		x.add(nil, "root-object", "nullable is left out: arguments are an object")
		t.drop("nullable")
	}
	x.flatten(t)
	if !t.has("properties") {
		t.set("properties", newObject())
	}
	undescribedNames(t, t.get("properties"), nil, &x.changes)
	x.texts(t)
	return t, ""
}

// loosely exports a schema for an API that does not hold the model to it.
func (x *exporter) loosely(schema json.RawMessage) (*tree, *undo, string) {
	t, reason := x.root(schema)
	if t == nil {
		return nil, nil, reason
	}
	u := x.rename(t)
	if x.openAPI {
		return x.gemini(t, nil), u, ""
	}
	return t.rewrite(nil, x.plain), u, ""
}

// rename exchanges names of arguments that the API does not take.
func (x *exporter) rename(t *tree) *undo {
	props := t.get("properties")
	if x.property == nil || !slices.ContainsFunc(props.members, func(m member) bool { return !x.property.MatchString(m.key) }) {
		return nil
	}
	wire := props.keys()
	for i, w := range wire {
		if w == "" {
			wire[i] = "\x00" // which assign would leave without a name
		}
	}
	u := &undo{props: map[string]*undone{}}
	became := map[string]string{}
	for i, name := range allowed(wire, x.property) {
		m := &props.members[i]
		became[m.key] = name
		if name == m.key {
			continue
		}
		x.add(&loc{up: &loc{key: "properties"}, key: m.key}, "property-name", "the API takes no such name; the model gives it as %s", name)
		u.props[name] = &undone{name: m.key, rename: true, keep: true}
		m.key = name
	}
	for _, word := range [...]string{"required", "propertyOrdering"} {
		names := t.words(word)
		for i, n := range names {
			if name, ok := became[n]; ok {
				names[i] = name
			}
		}
		if len(names) > 0 {
			t.setWords(word, names)
		}
	}
	for _, word := range [...]string{"dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "not", "if", "then", "else"} {
		if t.drop(word) != nil {
			x.add(nil, "property-name", "%s speaks of names as they were and is left out; the tool checks it", word)
		}
	}
	return u
}
