package toolschema

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A node is one JSON value of a schema. It lives in the memory of its doc, with what a reading has found out
// about it.
type node struct {
	raw   json.RawMessage // as it stands in the text
	key   string          // its name, of an object's member
	elems []node          // an object's members in the order of the text, or an array's elements
	index map[string]int  // of an object with more than indexFrom members

	view   *view  // what it says of an argument, once asked for
	shape  *shape // what is checked of it, if shaped
	shaped bool
	seen   [2]bool // visited as it counts fully, as one alternative of several
}

const indexFrom = 8

func (n *node) isObject() bool { return n.raw[0] == '{' }
func (n *node) isArray() bool  { return n.raw[0] == '[' }
func (n *node) isString() bool { return n.raw[0] == '"' }
func (n *node) isNull() bool   { return n.raw[0] == 'n' }

// kind says what the value is, for a problem's text.
func (n *node) kind() string {
	switch n.raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// text is a string's value; ok is false for anything else.
func (n *node) text() (s string, ok bool) {
	if n == nil || !n.isString() {
		return "", false
	}
	return unquote(n.raw), true
}

// at is an object's member, nil if there is none.
func (n *node) at(key string) *node {
	if n.isObject() {
		if i := position(n.elems, n.index, key); i >= 0 {
			return &n.elems[i]
		}
	}
	return nil
}

// position finds a key among members, -1 if it is not there; index may be nil.
func position(members []node, index map[string]int, key string) int {
	if index != nil {
		if i, ok := index[key]; ok {
			return i
		}
		return -1
	}
	for i := range members {
		if members[i].key == key {
			return i
		}
	}
	return -1
}

// list is a member that is an array, else nil.
func (n *node) list(key string) []node {
	if m := n.at(key); m != nil && m.isArray() {
		return m.elems
	}
	return nil
}

// strings is a member that is an array, as far as it holds strings.
func (n *node) strings(key string) []string {
	list := n.list(key)
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, len(list))
	for i := range list {
		if s, ok := list[i].text(); ok {
			out = append(out, s)
		}
	}
	return out
}

// nodes is how nodes are looked into.
var nodes = family[*node]{
	each: func(n *node, f func(string, *node)) {
		for i := range n.elems {
			f(n.elems[i].key, &n.elems[i])
		}
	},
	step: func(n *node, key string) *node {
		if n.isArray() {
			if i := index(key, len(n.elems)); i >= 0 {
				return &n.elems[i]
			}
			return nil
		}
		return n.at(key)
	},
	text:    (*node).text,
	isValue: (*node).isObject,
}

// resolve finds what the $ref of a schema points to inside the document, nil if nothing. It never leaves the
// document.
func (d *doc) resolve(ref *node) *node {
	s, _ := ref.text()
	n, known := d.refs[s]
	if !known {
		if d.refs == nil {
			d.refs = map[string]*node{}
			d.addressed = bytes.Contains(d.text, []byte(`"$id"`))
		}
		if !d.addressed && isPointer(s) {
			n = walk(nodes, d.root, s[1:])
		}
		d.refs[s] = n
	}
	if n != nil {
		return n
	}
	if d.scopes == nil {
		d.scopes = newScopes(d.root, nodes)
	}
	return d.scopes.find(s, ref)
}

// target follows a node's $ref; ok is false, and a problem is told, if it leads nowhere.
func (d *doc) target(ref *node, at *loc) (n *node, there *loc, ok bool) {
	s, isText := ref.text()
	if !isText {
		d.add(at, "give a JSON pointer", "$ref is %s, not a string; any value is taken", ref.kind())
		return nil, nil, false
	}
	n = d.resolve(ref)
	switch {
	case n != nil:
		there = d.in(nil, "")
		there.ref = clip(s)
		return n, there, true
	case strings.HasPrefix(s, "#"):
		d.add(at, "define it under $defs", "$ref %q points to nothing in the schema; any value is taken", clip(s))
	default:
		d.add(at, "put the definition under $defs", "$ref %q points outside the schema and is never fetched; any value is taken", clip(s))
	}
	return nil, nil, false
}

// clip keeps a text short enough for an error.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
