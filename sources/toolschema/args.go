package toolschema

import (
	"encoding/json"
	"slices"

	"github.com/toolsource/toolsource"
)

// typeSet is a set of JSON types. The empty set means that nothing is said: any value.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBool
	typeInt
	typeNumber
	typeString
	typeArray
	typeObject
)

// jsonTypes are the words of JSON Schema, our words, and what a person calls such a value.
var jsonTypes = []struct {
	set              typeSet
	word, arg, human string
}{
	{typeString, "string", "str", "a string"},
	{typeInt, "integer", "int", "an integer"},
	{typeNumber, "number", "float", "a number"},
	{typeBool, "boolean", "bool", "a boolean"},
	{typeObject, "object", "dict", "an object"},
	{typeArray, "array", "list", "an array"},
	{typeNull, "null", "", "null"},
}

func typeOf(word string) typeSet {
	for _, t := range jsonTypes {
		if t.word == word {
			return t.set
		}
	}
	return 0
}

// argType is the word for a set: null is dropped, an integer is a number, and several are Any.
func (s typeSet) argType() string {
	s &^= typeNull
	if s == typeInt|typeNumber {
		s = typeNumber
	}
	for _, t := range jsonTypes {
		if t.set == s && s != 0 {
			return t.arg
		}
	}
	return "Any"
}

// types reads the keyword type, a word or a list of words. Words that JSON Schema does not know make it any.
func (n *node) types() typeSet {
	t := n.at("type")
	if t == nil {
		return 0
	}
	if word, ok := t.text(); ok {
		return typeOf(word)
	}
	var set typeSet
	if t.isArray() {
		for i := range t.elems {
			word, _ := t.elems[i].text()
			one := typeOf(word)
			if one == 0 {
				return 0
			}
			set |= one
		}
	}
	return set
}

// enum is the values that a node names by enum or const.
func (n *node) enum() []json.RawMessage {
	if c := n.at("const"); c != nil {
		return []json.RawMessage{c.raw}
	}
	list := n.list("enum")
	if len(list) == 0 {
		return nil
	}
	out := make([]json.RawMessage, len(list))
	for i := range list {
		out[i] = list[i].raw
	}
	return out
}

// Args reads the arguments that a schema asks for, in the order of its text.
//
// Types are str, int, float, bool, dict and list, and Any where the schema names none or several. Null is
// no type: ["string","null"] and anyOf or oneOf of X and null are read as X. A const is an enum of one
// value. References inside the schema are followed, and a description or default beside one wins.
// The arguments of allOf are added; those of a top-level anyOf or oneOf are added too, none of them
// required, which is reported. A name that is required but not described is an argument of type Any.
//
// An absent schema, null and true have no arguments and no problem.
func Args(schema json.RawMessage) ([]toolsource.ArgSpec, []Problem) {
	d := read(schema)
	defer d.release()
	if d.root == nil {
		return nil, d.all()
	}
	g := gatherer{doc: d}
	if reason := notAnObject(d.root); reason != "" {
		d.add(nil, `give it "type": "object"`, "%s; it is read as taking no arguments", reason)
		return nil, d.all()
	}
	g.object(d.root, nil, 0, false)
	g.undescribed()
	if n := len(g.args); n > MaxArgs {
		d.add(nil, "use fewer arguments", "has %d arguments, and the first %d are listed", n, MaxArgs)
		g.args = g.args[:MaxArgs:MaxArgs]
	}
	return g.args, d.all()
}

// notAnObject says why a root cannot describe arguments, "" if it can.
func notAnObject(root *node) string {
	switch {
	case root.isObject():
		if t := root.types(); t != 0 && t&typeObject == 0 {
			return "describes " + t.human() + ", and arguments are an object"
		}
		return ""
	case root.isNull() || root.raw[0] == 't':
		return ""
	case root.raw[0] == 'f':
		return "is false, which no arguments can satisfy"
	}
	return "is " + root.kind() + ", not a schema"
}

// human lists what a set accepts.
func (s typeSet) human() string {
	if s == 0 {
		return "any value"
	}
	out := ""
	for _, t := range jsonTypes {
		if s&t.set == 0 || t.set == typeInt && s&typeNumber != 0 {
			continue
		}
		if out != "" {
			out += " or "
		}
		out += t.human
	}
	return out
}

// A gatherer collects the arguments of an object schema.
type gatherer struct {
	*doc
	args     []toolsource.ArgSpec
	byName   map[string]int // of more than indexFrom arguments, as far as it was needed
	required []string       // names said to be required that are no argument yet
}

// find is the index of an argument, -1 if there is none of that name.
func (g *gatherer) find(name string) int {
	if len(g.args) <= indexFrom {
		return slices.IndexFunc(g.args, func(a toolsource.ArgSpec) bool { return a.Name == name })
	}
	if g.byName == nil {
		g.byName = g.newIndex()
	}
	for i := len(g.byName); i < len(g.args); i++ {
		g.byName[g.args[i].Name] = i
	}
	if i, ok := g.byName[name]; ok {
		return i
	}
	return -1
}

// object adds the properties of a node and of what it is put together from. Each node is visited once, so
// that cycles end and shared definitions cost nothing.
func (g *gatherer) object(n *node, at *loc, hops int, option bool) {
	seen := &n.seen[0]
	if option {
		seen = &n.seen[1]
	}
	if !n.isObject() || *seen {
		return
	}
	*seen = true
	if hops > maxHops {
		g.add(at, "make the schema flatter", "goes through more than %d references; the rest is not followed", maxHops)
		return
	}
	g.properties(n, at)
	if !option {
		g.require(n.list("required"))
	}
	if ref := n.at("$ref"); ref != nil {
		if t, there, ok := g.target(ref, at); ok {
			g.object(t, there, hops+1, option)
		}
	}
	all := n.list("allOf")
	for i := range all {
		g.object(&all[i], g.in(at, "allOf"), hops+1, option)
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		list, before := n.list(word), len(g.args)
		for i := range list {
			g.object(&list[i], g.in(at, word), hops+1, true)
		}
		if len(g.args) > before {
			g.add(g.in(at, word), "describe all arguments under properties", "the arguments of all alternatives are listed, and none of them as required")
		}
	}
}

func (g *gatherer) properties(n *node, at *loc) {
	props := n.at("properties")
	if props == nil {
		return
	}
	here := g.in(at, "properties")
	if !props.isObject() {
		g.add(here, "give an object", "is %s, not an object; it is read as having no entries", props.kind())
		return
	}
	g.args = slices.Grow(g.args, min(len(props.elems), MaxArgs))
	first := len(g.args) == 0
	for i := range props.elems {
		p := &props.elems[i]
		if !first && g.find(p.key) >= 0 {
			continue
		}
		v := g.sees(p, g.in(here, p.key), 0)
		g.args = append(g.args, toolsource.ArgSpec{
			Name: p.key, Type: v.types.argType(), Description: v.description, Default: v.def, Enum: v.enum,
		})
	}
}

func (g *gatherer) require(names []node) {
	for i := range names {
		name, ok := names[i].text()
		if !ok {
			continue
		}
		if at := g.find(name); at >= 0 {
			g.args[at].Required = true
		} else {
			g.required = append(g.required, name)
		}
	}
}

// undescribed marks what was required before it was described, and adds what is required but nowhere
// described.
func (g *gatherer) undescribed() {
	for _, name := range g.required {
		i := g.find(name)
		if i < 0 {
			g.add(g.in(nil, "required"), "describe it under properties", "%q is required but not described; any value is taken", clip(name))
			i = len(g.args)
			g.args = append(g.args, toolsource.ArgSpec{Name: name, Type: "Any"})
		}
		g.args[i].Required = true
	}
}

// A view is what one schema says about a value, references and combinators taken in.
type view struct {
	types       typeSet
	enum        []json.RawMessage
	description string
	def         json.RawMessage
}

// or fills what v leaves open from w.
func (v *view) or(w *view) {
	if v.types == 0 {
		v.types = w.types
	}
	if v.enum == nil {
		v.enum = w.enum
	}
	if v.description == "" {
		v.description = w.description
	}
	if v.def == nil {
		v.def = w.def
	}
}

// sees makes a node's view, once: a node that is met again while it is being made, which only a cycle
// without any value in it does, says nothing.
func (g *gatherer) sees(n *node, at *loc, hops int) *view {
	if n.view != nil {
		return n.view
	}
	v := &g.views.take(1)[0]
	n.view = v
	switch {
	case n.isObject():
	case n.raw[0] == 't':
		return v
	case n.raw[0] == 'f':
		g.add(at, "leave it out", "is false, so no value fits; any value is taken")
		return v
	default:
		g.add(at, "give an object", "is %s, not a schema; any value is taken", n.kind())
		return v
	}
	if hops > maxHops {
		g.add(at, "make the schema flatter", "goes through more than %d references; any value is taken", maxHops)
		return v
	}
	var out view
	out.types, out.enum = n.types(), n.enum()
	out.description, _ = n.at("description").text()
	if def := n.at("default"); def != nil {
		out.def = def.raw
	}
	if ref := n.at("$ref"); ref != nil {
		if t, there, ok := g.target(ref, at); ok {
			out.or(g.sees(t, there, hops+1))
		}
	}
	all := n.list("allOf")
	for i := range all {
		out.or(g.sees(&all[i], g.in(at, "allOf"), hops+1))
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		if list := n.list(word); len(list) > 0 {
			out.or(g.union(list, g.in(at, word), hops+1))
		}
	}
	*v = out
	return v
}

// isNull reports whether a view is of null and nothing else.
func (v *view) isNull() bool {
	if len(v.enum) == 1 && string(v.enum[0]) == "null" {
		return true
	}
	return v.types == typeNull && v.enum == nil
}

// union is what alternatives have in common: their types together, their values if each names some, and
// whatever else the only one that is not null says.
func (g *gatherer) union(list []node, at *loc, hops int) *view {
	var u view
	var only *view
	open, anyValue := 0, false
	for i := range list {
		if list[i].raw[0] == 'f' { // which no value fits
			continue
		}
		b := g.sees(&list[i], at, hops)
		if b.isNull() {
			u.types |= typeNull
			continue
		}
		open++
		only = b
		anyValue = anyValue || b.types == 0
		u.types |= b.types
		if b.enum == nil || open > 1 && u.enum == nil {
			u.enum = nil
		} else {
			u.enum = append(u.enum[:len(u.enum):len(u.enum)], b.enum...)
		}
	}
	if anyValue {
		u.types = 0
	}
	if open == 1 {
		u.or(&view{description: only.description, def: only.def})
	}
	return &u
}
