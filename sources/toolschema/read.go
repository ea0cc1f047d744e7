package toolschema

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"
)

// A doc is a schema that has been read. It is the memory of the reading as well: nodes, places and views
// live in it until release, and nothing that a caller gets may point there.
type doc struct {
	root *node // nil: there is no usable JSON
	problems
	refs      map[string]*node // by reference, from the top; nil: not there
	scopes    *scopes[*node]   // once they are needed
	addressed bool             // parts may have addresses of their own

	text     []byte // what is being read
	pos      int
	values   int
	deep     bool
	repeated int    // keys that stood before in their object
	under    []node // members and elements of the objects and arrays that are not finished

	nodes   slab[node]
	views   slab[view]
	locs    slab[loc]
	shapes  []*shape         // all that were made
	indexes []map[string]int // the first taken are in use
	taken   int
}

// docs saves each reading the memory of the one before: a server lists a thousand schemas.
var docs = sync.Pool{New: func() any { return new(doc) }}

// What waits for another reading: slabs that hold MaxValues, and maps that are soon cleared.
const (
	maxKept      = 1 << 16
	maxKeptIndex = 256 // entries of a map
	maxIndexes   = 64
)

// read reads a schema. A nil or empty one has no root and no problem. The caller releases the doc.
func read(schema json.RawMessage) *doc {
	d := docs.Get().(*doc)
	switch trimmed := bytes.TrimSpace(schema); {
	case len(trimmed) == 0:
	case len(schema) > MaxBytes:
		d.add(nil, "make the schema smaller", "is %d bytes long, and at most %d are read; it is ignored", len(schema), MaxBytes)
	case !json.Valid(trimmed):
		d.add(nil, "give valid JSON", "is no valid JSON; it is ignored")
	default:
		d.text = trimmed
		d.root = &d.nodes.take(1)[0]
		*d.root = d.value(0)
		if d.deep {
			d.add(nil, "make the schema flatter", "is nested more than %d deep; deeper parts are not looked into", MaxDepth)
		}
		if d.values > MaxValues {
			d.add(nil, "make the schema smaller", "holds more than %d values; later parts are not looked into", MaxValues)
		}
	}
	return d
}

// release gives the memory back. What was read from the doc must not be used any more, problems excepted.
func (d *doc) release() {
	if len(d.nodes.all) > maxKept || len(d.locs.all) > maxKept || len(d.indexes) > maxIndexes {
		return
	}
	d.nodes.reset()
	d.views.reset()
	d.locs.reset()
	clear(d.shapes)
	for i, index := range d.indexes[:d.taken] {
		if len(index) > maxKeptIndex {
			d.indexes[i] = make(map[string]int, 4*indexFrom)
		} else {
			clear(index)
		}
	}
	*d = doc{under: d.under[:0], nodes: d.nodes, views: d.views, locs: d.locs, shapes: d.shapes[:0], indexes: d.indexes}
	docs.Put(d)
}

// newIndex is an empty map that is taken back at release.
func (d *doc) newIndex() map[string]int {
	if d.taken == len(d.indexes) {
		d.indexes = append(d.indexes, make(map[string]int, 4*indexFrom))
	}
	d.taken++
	return d.indexes[d.taken-1]
}

// A slab hands out short slices of a long one.
type slab[T any] struct{ all, free []T }

func (s *slab[T]) take(n int) []T {
	if n > len(s.free) { // those that have some of the old one keep it
		s.all = make([]T, max(n, 2*len(s.all), 32))
		s.free = s.all
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

func (s *slab[T]) reset() {
	clear(s.all[:len(s.all)-len(s.free)])
	s.free = s.all
}

func (d *doc) space() {
	for d.pos < len(d.text) && (d.text[d.pos] == ' ' || d.text[d.pos] == '\n' || d.text[d.pos] == '\t' || d.text[d.pos] == '\r') {
		d.pos++
	}
}

// value reads one value of the text, which is known to be valid JSON.
func (d *doc) value(depth int) node {
	d.space()
	d.values++
	start := d.pos
	var n node
	switch c := d.text[d.pos]; {
	case c == '"':
		d.str()
	case c != '{' && c != '[':
		for d.pos < len(d.text) && strings.IndexByte(",]} \n\t\r", d.text[d.pos]) < 0 {
			d.pos++
		}
	case depth >= MaxDepth:
		d.deep = true
		d.skip()
	case d.values > MaxValues:
		d.skip()
	case c == '{':
		d.object(&n, depth)
	default:
		d.array(&n, depth)
	}
	n.raw = d.text[start:d.pos:d.pos]
	return n
}

// str passes a string.
func (d *doc) str() {
	for d.pos++; d.text[d.pos] != '"'; d.pos++ {
		if d.text[d.pos] == '\\' {
			d.pos++
		}
	}
	d.pos++
}

// skip passes an object or array without looking into it.
func (d *doc) skip() {
	for open := 0; ; {
		switch d.text[d.pos] {
		case '"':
			d.str()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		d.pos++
		if open == 0 {
			return
		}
	}
}

func (d *doc) array(n *node, depth int) {
	from := len(d.under)
	for d.pos++; ; d.pos++ {
		d.space()
		if d.text[d.pos] == ']' {
			break
		}
		v := d.value(depth + 1)
		d.under = append(d.under, v)
		if d.space(); d.text[d.pos] == ']' {
			break
		}
	}
	d.pos++
	n.elems = d.finish(from)
}

func (d *doc) object(n *node, depth int) {
	from := len(d.under)
	for d.pos++; ; d.pos++ {
		d.space()
		if d.text[d.pos] == '}' {
			break
		}
		start := d.pos
		d.str()
		key := unquote(d.text[start:d.pos])
		d.space()
		d.pos++ // the colon
		v := d.value(depth + 1)
		v.key = key
		if i := position(d.under[from:], n.index, key); i >= 0 {
			d.under[from+i] = v // the last value of a repeated key counts, in the place of the first
			d.repeated++
		} else {
			d.under = append(d.under, v)
			d.indexed(n, d.under[from:])
		}
		if d.space(); d.text[d.pos] == '}' {
			break
		}
	}
	d.pos++
	n.elems = d.finish(from)
}

// indexed keeps the index of an object that has many members.
func (d *doc) indexed(n *node, members []node) {
	if len(members) <= indexFrom {
		return
	}
	if n.index == nil {
		n.index = d.newIndex()
	}
	for i := len(n.index); i < len(members); i++ {
		n.index[members[i].key] = i
	}
}

// finish moves what is under way into a slice of its own.
func (d *doc) finish(from int) []node {
	under := d.under[from:]
	if len(under) == 0 {
		return nil
	}
	elems := d.nodes.take(len(under))
	copy(elems, under)
	clear(under)
	d.under = d.under[:from]
	return elems
}

// keywords are most of the words in schemas, so that those need no copy.
var keywords = func() map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(`type properties required description default enum const items anyOf oneOf
		allOf title format minimum maximum minLength maxLength pattern $ref $schema $defs definitions
		additionalProperties minItems maxItems examples nullable prefixItems
		string integer number boolean object array null`) {
		m[w] = w
	}
	return m
}()

const longestKeyword = len("additionalProperties")

// unquote is the value of a valid JSON string.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if len(inner) <= longestKeyword {
		if w, ok := keywords[string(inner)]; ok {
			return w
		}
	}
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
