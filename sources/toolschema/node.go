package toolschema

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is one JSON value of a schema, with the order of its members kept.
type node struct {
	raw   json.RawMessage // as it stands in the text
	keys  []string        // of an object, each once: the last value of a repeated key counts
	elems []node          // the values of keys, or an array's elements
	index map[string]int  // of an object with more than indexFrom members
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
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return &n.elems[i]
		}
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return &n.elems[i]
		}
	}
	return nil
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
	var out []string
	for i := range n.list(key) {
		if s, ok := n.list(key)[i].text(); ok {
			out = append(out, s)
		}
	}
	return out
}

// A doc is a schema that has been read.
type doc struct {
	root *node // nil: there is no usable JSON
	problems
	refs map[string]*node
}

// read reads a schema. A nil or empty one has no root and no problem.
func read(schema json.RawMessage) *doc {
	d := &doc{}
	switch trimmed := bytes.TrimSpace(schema); {
	case len(trimmed) == 0:
	case len(schema) > MaxBytes:
		d.add(nil, "make the schema smaller", "is %d bytes long, and at most %d are read; it is ignored", len(schema), MaxBytes)
	case !json.Valid(trimmed):
		d.add(nil, "give valid JSON", "is no valid JSON; it is ignored")
	default:
		r := reader{b: trimmed}
		root := r.value(0)
		d.root = &root
		if r.deep {
			d.add(nil, "make the schema flatter", "is nested more than %d deep; deeper parts are not looked into", MaxDepth)
		}
		if r.values > MaxValues {
			d.add(nil, "make the schema smaller", "holds more than %d values; later parts are not looked into", MaxValues)
		}
	}
	return d
}

// A reader splits JSON that is known to be valid.
type reader struct {
	b      []byte
	i      int
	values int
	deep   bool
}

func (r *reader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\n' || r.b[r.i] == '\t' || r.b[r.i] == '\r') {
		r.i++
	}
}

func (r *reader) value(depth int) node {
	r.space()
	r.values++
	start := r.i
	var n node
	switch c := r.b[r.i]; {
	case c == '"':
		r.str()
	case c != '{' && c != '[':
		for r.i < len(r.b) && !strings.ContainsRune(",]} \n\t\r", rune(r.b[r.i])) {
			r.i++
		}
	case depth >= MaxDepth:
		r.deep = true
		r.skip()
	case r.values > MaxValues:
		r.skip()
	case c == '{':
		r.object(&n, depth)
	default:
		r.array(&n, depth)
	}
	n.raw = r.b[start:r.i:r.i]
	return n
}

// str passes a string.
func (r *reader) str() {
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			r.i++
		}
	}
	r.i++
}

// skip passes an object or array without looking into it.
func (r *reader) skip() {
	for open := 0; ; {
		switch r.b[r.i] {
		case '"':
			r.str()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		r.i++
		if open == 0 {
			return
		}
	}
}

func (r *reader) array(n *node, depth int) {
	for r.i++; ; r.i++ {
		r.space()
		if r.b[r.i] == ']' {
			break
		}
		n.elems = append(n.elems, r.value(depth+1))
		if r.space(); r.b[r.i] == ']' {
			break
		}
	}
	r.i++
}

func (r *reader) object(n *node, depth int) {
	for r.i++; ; r.i++ {
		r.space()
		if r.b[r.i] == '}' {
			break
		}
		start := r.i
		r.str()
		key, ok := keywords[string(r.b[start+1:r.i-1])] // which are most keys, and need no copy
		if !ok {
			key = unquote(r.b[start:r.i])
		}
		r.space()
		r.i++ // the colon
		n.set(key, r.value(depth+1))
		if r.space(); r.b[r.i] == '}' {
			break
		}
	}
	r.i++
}

var keywords = func() map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(`type properties required description default enum const items anyOf oneOf
		allOf title format minimum maximum minLength maxLength pattern $ref $schema $defs definitions
		additionalProperties minItems maxItems examples nullable prefixItems`) {
		m[w] = w
	}
	return m
}()

func (n *node) set(key string, v node) {
	if old := n.at(key); old != nil {
		*old = v
		return
	}
	if n.keys == nil {
		n.keys, n.elems = make([]string, 0, 4), make([]node, 0, 4)
	}
	n.keys = append(n.keys, key)
	n.elems = append(n.elems, v)
	switch {
	case n.index != nil:
		n.index[key] = len(n.keys) - 1
	case len(n.keys) > indexFrom:
		n.index = make(map[string]int, 4*indexFrom)
		for i, k := range n.keys {
			n.index[k] = i
		}
	}
}

func unquote(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw is a valid JSON string
	return s
}

// resolve finds what a reference inside the document points to. It never leaves the document.
func (d *doc) resolve(ref string) (*node, bool) {
	if n, ok := d.refs[ref]; ok {
		return n, n != nil
	}
	n := d.pointer(ref)
	if d.refs == nil {
		d.refs = map[string]*node{}
	}
	d.refs[ref] = n
	return n, n != nil
}

func (d *doc) pointer(ref string) *node {
	if ref == "#" || ref == "#/" {
		return d.root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok || len(rest) > 4096 {
		return nil
	}
	if u, err := url.PathUnescape(rest); err == nil {
		rest = u
	}
	n := d.root
	for key := range strings.SplitSeq(rest, "/") {
		key = pointerUnescape.Replace(key)
		switch {
		case n.isObject():
			n = n.at(key)
		case n.isArray():
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n.elems) {
				return nil
			}
			n = &n.elems[i]
		default:
			return nil
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// target follows a node's $ref; ok is false, and a problem is told, if it leads nowhere.
func (d *doc) target(ref *node, at *loc) (n *node, there *loc, ok bool) {
	s, isText := ref.text()
	if !isText {
		d.add(at, "give a JSON pointer", "$ref is %s, not a string; any value is taken", ref.kind())
		return nil, nil, false
	}
	n, ok = d.resolve(s)
	switch {
	case ok:
		return n, &loc{ref: clip(s)}, true
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
