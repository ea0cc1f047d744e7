package toolschema

import (
	"encoding/json"
	"slices"
	"strconv"
)

// A tree is one JSON value of a schema that is being rewritten. Unlike a node it can change, keeps nothing of
// a reading's memory, and writes itself in the order in which it stands. Scalars keep their text, so that
// 1.0 and integers of any size stay as they are.
type tree struct {
	kind    byte            // '{', '[', or 0 for a scalar
	raw     json.RawMessage // of a scalar
	members []member        // of an object
	elems   []*tree         // of an array
	loose   bool            // something of the schema was left out: it takes more than it was written to take
}

type member struct {
	key   string
	value *tree
}

func newObject(members ...member) *tree { return &tree{kind: '{', members: members} }
func anything() *tree                   { return &tree{kind: '{', loose: true} } // in place of what could not be read
func newArray(elems ...*tree) *tree     { return &tree{kind: '[', elems: elems} }
func scalar(raw string) *tree           { return &tree{raw: json.RawMessage(raw)} }
func newText(s string) *tree            { return scalar(quote(s)) }

// typed is the schema of one type.
func typed(word string) *tree { return newObject(member{"type", newText(word)}) }

// tree copies a node. What the reading did not look into becomes null, and cut is told.
func (n *node) tree(cut func()) *tree {
	if !n.isObject() && !n.isArray() {
		return &tree{raw: n.raw}
	}
	if len(n.elems) == 0 && !isEmpty(n.raw) {
		cut()
		return scalar("null")
	}
	t := &tree{kind: n.raw[0]}
	if t.kind == '[' {
		t.elems = make([]*tree, len(n.elems))
		for i := range n.elems {
			t.elems[i] = n.elems[i].tree(cut)
		}
		return t
	}
	t.members = make([]member, len(n.elems))
	for i := range n.elems {
		t.members[i] = member{n.elems[i].key, n.elems[i].tree(cut)}
	}
	return t
}

// isEmpty reports whether the text of an object or array has nothing in it.
func isEmpty(raw json.RawMessage) bool {
	return !slices.ContainsFunc(raw[1:len(raw)-1], func(b byte) bool { return b > ' ' })
}

func (t *tree) isObject() bool { return t != nil && t.kind == '{' }
func (t *tree) isArray() bool  { return t != nil && t.kind == '[' }

// is reports whether t is the scalar that is written so.
func (t *tree) is(raw string) bool { return t != nil && t.kind == 0 && string(t.raw) == raw }

// str is a string's value.
func (t *tree) str() (s string, ok bool) {
	if t == nil || t.kind != 0 || len(t.raw) == 0 || t.raw[0] != '"' {
		return "", false
	}
	return unquote(t.raw), true
}

// jsonKind is the word of JSON Schema for a value's own type.
func (t *tree) jsonKind() string {
	switch {
	case t.kind == '{':
		return "object"
	case t.kind == '[':
		return "array"
	case t.raw[0] == '"':
		return "string"
	case t.raw[0] == 'n':
		return "null"
	case t.raw[0] == 't', t.raw[0] == 'f':
		return "boolean"
	case slices.ContainsFunc(t.raw, func(b byte) bool { return b == '.' || b == 'e' || b == 'E' }):
		return "number"
	}
	return "integer"
}

// find is the index of a member, -1 if there is none.
func (t *tree) find(key string) int {
	if !t.isObject() {
		return -1
	}
	for i := range t.members {
		if t.members[i].key == key {
			return i
		}
	}
	return -1
}

// get is a member's value, nil if there is none.
func (t *tree) get(key string) *tree {
	if i := t.find(key); i >= 0 {
		return t.members[i].value
	}
	return nil
}

func (t *tree) has(key string) bool { return t.find(key) >= 0 }

// set replaces a member in its place, or adds it at the end.
func (t *tree) set(key string, v *tree) {
	if i := t.find(key); i >= 0 {
		t.members[i].value = v
		return
	}
	t.members = append(t.members, member{key, v})
}

// first adds a member in front, or replaces it in its place.
func (t *tree) first(key string, v *tree) {
	if i := t.find(key); i >= 0 {
		t.members[i].value = v
		return
	}
	t.members = slices.Insert(t.members, 0, member{key, v})
}

// drop takes a member out and gives its value.
func (t *tree) drop(key string) *tree {
	i := t.find(key)
	if i < 0 {
		return nil
	}
	v := t.members[i].value
	t.members = slices.Delete(t.members, i, i+1)
	return v
}

// list is a member's elements if it is an array.
func (t *tree) list(key string) []*tree {
	if v := t.get(key); v.isArray() {
		return v.elems
	}
	return nil
}

// words is a member that is an array, as far as it holds strings.
func (t *tree) words(key string) []string {
	var out []string
	for _, e := range t.list(key) {
		if s, ok := e.str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// setWords writes a list of strings.
func (t *tree) setWords(key string, words []string) {
	list := newArray()
	for _, w := range words {
		list.elems = append(list.elems, newText(w))
	}
	t.set(key, list)
}

// types is the set of types of a schema, as node.types reads it.
func (t *tree) types() typeSet {
	v := t.get("type")
	if word, ok := v.str(); ok {
		return typeOf(word)
	}
	var set typeSet
	if v.isArray() {
		for _, e := range v.elems {
			word, _ := e.str()
			one := typeOf(word)
			if one == 0 {
				return 0
			}
			set |= one
		}
	}
	return set
}

// keys are an object's names.
func (t *tree) keys() []string {
	out := make([]string, 0, len(t.members))
	for i := range t.members {
		out = append(out, t.members[i].key)
	}
	return out
}

func (t *tree) clone() *tree {
	if t == nil || t.kind == 0 {
		return t // scalars never change
	}
	out := &tree{kind: t.kind, loose: t.loose}
	if t.kind == '[' {
		out.elems = make([]*tree, len(t.elems))
		for i, e := range t.elems {
			out.elems[i] = e.clone()
		}
		return out
	}
	out.members = make([]member, len(t.members))
	for i, m := range t.members {
		out.members[i] = member{m.key, m.value.clone()}
	}
	return out
}

// text is the value as compact JSON.
func (t *tree) text() json.RawMessage { return t.append(nil) }

func (t *tree) append(b []byte) []byte {
	switch t.kind {
	case '{':
		b = append(b, '{')
		for i, m := range t.members {
			if i > 0 {
				b = append(b, ',')
			}
			if plainText(m.key) {
				b = append(append(append(b, '"'), m.key...), '"')
			} else {
				b = append(b, quote(m.key)...)
			}
			b = append(b, ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, e := range t.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	}
	return append(b, t.raw...)
}

// extent is how many values a tree holds and how deep its objects and arrays stand in each other.
func (t *tree) extent() (values, depth int) {
	values = 1
	inner := 0
	for _, m := range t.members {
		v, d := m.value.extent()
		values, inner = values+v, max(inner, d)
	}
	for _, e := range t.elems {
		v, d := e.extent()
		values, inner = values+v, max(inner, d)
	}
	if t.kind != 0 {
		inner++
	}
	return values, inner
}

// Where schemas stand in a schema. Everything else is a value, which no rule looks into.
var (
	schemaMaps = map[string]bool{ // by name
		"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true,
	}
	schemaLists = map[string]bool{"anyOf": true, "oneOf": true, "allOf": true, "prefixItems": true, "items": true}
	schemaAlone = map[string]bool{
		"items": true, "additionalItems": true, "additionalProperties": true, "unevaluatedItems": true, "unevaluatedProperties": true,
		"contains": true, "propertyNames": true, "not": true, "if": true, "then": true, "else": true, "contentSchema": true,
	}
)

// each replaces every schema that stands directly in t by what f makes of it; down is how much deeper in the
// JSON it stands. Names in maps of schemas are never looked at, so that a property may be called like a
// keyword.
func (t *tree) each(at *loc, f func(s *tree, at *loc, down int) *tree) {
	for i := range t.members {
		m := &t.members[i]
		switch {
		case schemaMaps[m.key] && m.value.isObject():
			here := &loc{up: at, key: m.key}
			for j := range m.value.members {
				e := &m.value.members[j]
				if m.key == "dependencies" && !e.value.isObject() { // a list of names
					continue
				}
				e.value = f(e.value, &loc{up: here, key: e.key}, 2)
			}
		case schemaLists[m.key] && m.value.isArray():
			here := &loc{up: at, key: m.key}
			for j, e := range m.value.elems {
				m.value.elems[j] = f(e, &loc{up: here, key: strconv.Itoa(j)}, 2)
			}
		case schemaAlone[m.key]:
			m.value = f(m.value, &loc{up: at, key: m.key}, 1)
		}
	}
}

// rewrite replaces every schema in t, and then t, by what f makes of it.
func (t *tree) rewrite(at *loc, f func(s *tree, at *loc) *tree) *tree {
	if t.isObject() {
		t.each(at, func(s *tree, at *loc, _ int) *tree { return s.rewrite(at, f) })
	}
	return f(t, at)
}
