package toolschema

import (
	"encoding/json"
)

// Bounds on what Normalize makes.
const (
	MaxInlined  = 256 << 10 // bytes of definitions that are written out in place of references
	MaxNesting  = 64        // depth at which schemas are written; a deeper one becomes {}
	nestingLeft = 8         // what stays free below MaxNesting where definitions are written out
)

// A step is one pure rewriting of a whole schema.
type step struct {
	name string
	do   func(root *tree, c *changes) *tree
	open bool // only what speaks OpenAPI needs it
}

// steps in the order in which they are taken; each finds what the ones before it leave.
var steps = []step{
	{name: "schema-word", do: everywhere(schemaWords)},
	{name: "keyword", do: everywhere(keywordKinds)},
	{name: "type", do: everywhere(typeWords)},
	{name: "definitions", do: definitions},
	{name: "ref", do: inline},
	{name: "tuple", do: everywhere(tuples)},
	{name: "null-union", do: everywhere(nullUnions), open: true},
	{name: "const-union", do: everywhere(constUnions), open: true},
	{name: "object", do: everywhere(objects)},
	{name: "depth", do: prune},
	{name: "negation", do: negations},
	{name: "size", do: bounded},
}

func everywhere(f func(s *tree, at *loc, c *changes) *tree) func(*tree, *changes) *tree {
	return func(root *tree, c *changes) *tree {
		return root.rewrite(nil, func(s *tree, at *loc) *tree { return f(s, at, c) })
	}
}

// Normalize writes a schema in the form that exports start from, and tells every change, in ordered steps.
// What a schema takes, its normal form takes too; only a word in a schema's place is read as the type that it
// names, and a schema with properties describes objects alone. The steps:
//
//	empty        no schema, null, true and what is no schema at all: an object without properties
//	repeated     the last value of a repeated key counts
//	schema-word  a word, true or null where a schema belongs: {"type": word} or {}
//	keyword      a keyword of the wrong kind is left out; exclusiveMinimum: true is written as a number
//	type         unknown type words are left out, a list of one is that one
//	definitions  definitions becomes $defs
//	ref          references inside the schema, by pointer, anchor or address, are written out, what stands
//	             beside one wins; one that leads into itself, outside, or nowhere is cut to {} or
//	             {"type":"object"}; nothing is fetched
//	tuple        items as a list becomes prefixItems
//	null-union   X or null becomes X with nullable: true
//	const-union  constants of one type become an enum
//	object       an object has its type, properties, and no required name without a property
//	depth        what is past MaxNesting is {}
//	negation     where a step left something out and the rest would then take less, the rest is left out as
//	             well: not, if, oneOf (then anyOf), maxContains, unevaluatedProperties
//	size         a schema past the package's bounds takes any arguments
//
// Names of properties are never changed, the order of keys is kept, what no step asks for stays as it is, and
// normalizing again changes nothing. A schema without a change is returned as it came. Values (enum, const,
// default, examples), lists of names and fragments that hold only constraints are not touched.
//
// References cost at most MaxInlined bytes: past it they are cut, so that a schema whose aliases double costs
// no more than a large one.
func Normalize(schema json.RawMessage) (json.RawMessage, []Change) {
	c := &changes{}
	t := normalize(schema, c, true)
	if len(c.list) == 0 {
		return schema, nil
	}
	return t.text(), c.all()
}

// normalize is Normalize on a tree. Without open, the steps are left out that only OpenAPI needs.
func normalize(schema json.RawMessage, c *changes, open bool) *tree {
	root := start(schema, c)
	for _, s := range steps {
		if open || !s.open {
			root = s.do(root, c)
		}
	}
	return root
}

// start reads a schema into a tree, which is an object.
func start(schema json.RawMessage, c *changes) *tree {
	d := read(schema)
	defer d.release()
	n := d.root
	switch {
	case n == nil:
		for _, p := range d.all() {
			c.add(nil, "empty", "%s", p.Reason)
		}
		if len(c.list) == 0 {
			c.add(nil, "empty", "there is no schema; no arguments are described")
		}
		return noArguments()
	case !n.isObject():
		c.add(nil, "empty", "is %s; no arguments are described", n.kind())
		return noArguments()
	}
	cuts := 0
	root := n.tree(func() { cuts++ })
	if cuts > 0 {
		c.add(nil, "size", "%d parts lie past %d values or are nested more than %d deep; each is read as null", cuts, MaxValues, MaxDepth)
	}
	if d.repeated > 0 {
		c.add(nil, "repeated", "%d keys stand twice in an object; the last value counts", d.repeated)
	}
	return root
}

func noArguments() *tree {
	return newObject(member{"type", newText("object")}, member{"properties", newObject()})
}

// prune empties schemas that stand too deep, and values that would stand deeper than is read.
func prune(root *tree, c *changes) *tree {
	var visit func(s *tree, at *loc, depth int) *tree
	visit = func(s *tree, at *loc, depth int) *tree {
		if !s.isObject() {
			return s
		}
		if depth >= MaxNesting {
			if len(s.members) > 0 {
				c.add(at, "depth", "stands more than %d deep and is cut; any value is taken", MaxNesting)
			}
			return &tree{kind: '{', loose: s.loose || len(s.members) > 0}
		}
		for i := range s.members {
			if m := &s.members[i]; m.value.kind != 0 && !isSchemaWord(m.key) {
				if v, cut := m.value.shallow(depth + 1); cut {
					c.add(at, "depth", "the value of %s is nested more than %d deep; its inner parts are null", clip(m.key), MaxDepth)
					m.value = v
				}
			}
		}
		s.each(at, func(s *tree, at *loc, down int) *tree { return visit(s, at, depth+down) })
		return s
	}
	return visit(root, nil, 0)
}

// shallow is a value without what stands too deep in it.
func (t *tree) shallow(depth int) (out *tree, cut bool) {
	if t.kind == 0 {
		return t, false
	}
	if depth >= MaxDepth {
		return scalar("null"), true
	}
	for i := range t.members {
		v, c := t.members[i].value.shallow(depth + 1)
		t.members[i].value, cut = v, cut || c
	}
	for i, e := range t.elems {
		v, c := e.shallow(depth + 1)
		t.elems[i], cut = v, cut || c
	}
	return t, cut
}

func isSchemaWord(key string) bool { return schemaMaps[key] || schemaLists[key] || schemaAlone[key] }

// bounded gives up a schema that has grown past what is read.
func bounded(root *tree, c *changes) *tree {
	values, depth := root.extent()
	if values <= MaxValues && depth <= MaxDepth && len(root.text()) <= MaxBytes {
		return root
	}
	c.add(nil, "size", "is too large once its references are written out; any arguments are taken")
	return noArguments()
}
