package toolschema

import (
	"net/url"
	"strconv"
	"strings"
)

// longestID bounds addresses and anchors, which are put together with those around them.
const longestID = 512

// A family is how values of one kind are looked into: nodes of a schema that is read, and trees of one that
// is rewritten.
type family[T comparable] struct {
	each    func(v T, f func(key string, inner T)) // members or elements
	step    func(v T, key string) T                // one member or element; the zero T if there is none
	text    func(v T) (string, bool)               // of a string
	isValue func(v T) bool                         // is an object
}

// scopes know where each value of a schema stands and what is named in it. They are made for the references
// that are not simply a way from the schema's top: to names, and in parts that have names of their own.
type scopes[T comparable] struct {
	family[T]
	root  T
	up    map[T]T      // what a value stands in
	base  map[T]string // address of each part that has one
	named map[string]T // by address, or by "#" and a name
}

func newScopes[T comparable](root T, f family[T]) *scopes[T] {
	s := &scopes[T]{family: f, root: root, up: map[T]T{}, base: map[T]string{}, named: map[string]T{}}
	s.visit(root, "")
	return s
}

// visit takes down what v and what is in it are called. Lists of values that a schema compares are not looked
// into.
func (s *scopes[T]) visit(v T, base string) {
	name := func(key string) string {
		var none T
		if m := s.step(v, key); m != none && s.isValue(v) {
			if text, _ := s.text(m); len(text) <= longestID {
				return text
			}
		}
		return ""
	}
	id := name("$id")
	if id == "" {
		id = name("id") // as it was called in draft 4
	}
	if address, anchor, _ := strings.Cut(id, "#"); address != "" {
		base = resolved(base, address)
		s.base[v] = base
		s.call(base, v)
		s.call(address, v)
	} else if anchor != "" && anchor[0] != '/' {
		s.call("#"+anchor, v)
	}
	for _, key := range [...]string{"$anchor", "$dynamicAnchor"} {
		if anchor := name(key); anchor != "" {
			s.call("#"+anchor, v)
			s.call(base+"#"+anchor, v)
		}
	}
	s.each(v, func(key string, inner T) {
		s.up[inner] = v
		if s.isValue(v) && (key == "enum" || key == "const" || key == "default" || key == "examples") && !s.isValue(inner) {
			return
		}
		s.visit(inner, base)
	})
}

// call names v, unless something has that name.
func (s *scopes[T]) call(name string, v T) {
	if _, taken := s.named[name]; !taken {
		s.named[name] = v
	}
}

// find is what a reference that stands in at leads to, the zero T if nothing in the schema: by the address of
// the part that at is in, then from the top, and then from what at stands in, where a definition is often put.
func (s *scopes[T]) find(ref string, at T) T {
	var none T
	address, way, _ := strings.Cut(ref, "#")
	part, base := at, ""
	for part != s.root && base == "" {
		if base = s.base[part]; base == "" {
			part = s.up[part]
		}
	}
	if base == "" {
		base = s.base[s.root]
	}
	if address != "" {
		v, ok := s.named[resolved(base, address)]
		if !ok {
			v, ok = s.named[address]
		}
		if !ok {
			return none
		}
		if way != "" && way[0] != '/' {
			return s.named[s.base[v]+"#"+way]
		}
		return walk(s.family, v, way)
	}
	if way != "" && way[0] != '/' {
		if v, ok := s.named[base+"#"+way]; ok {
			return v
		}
		return s.named["#"+way]
	}
	for _, from := range [...]T{part, s.root} {
		if v := walk(s.family, from, way); v != none {
			return v
		}
	}
	for from := s.up[at]; from != none && from != s.root; from = s.up[from] {
		if v := walk(s.family, from, way); v != none {
			return v
		}
	}
	return none
}

// walk follows the JSON pointer of a reference, decoded where it is written as in an address.
func walk[T comparable](f family[T], v T, way string) T {
	var none T
	const longest = 4096
	if len(way) > longest {
		return none
	}
	if strings.IndexByte(way, '%') >= 0 {
		if plain, err := url.PathUnescape(way); err == nil {
			way = plain
		}
	}
	if way == "" || way == "/" && f.step(v, "") == none { // which some write for the top
		return v
	}
	for key := range strings.SplitSeq(way[1:], "/") {
		if v = f.step(v, pointerUnescape.Replace(key)); v == none {
			return none
		}
	}
	return v
}

// index is the place in a list of n that a key of a pointer means, -1 if none.
func index(key string, n int) int {
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || i >= n || len(key) > 1 && key[0] == '0' {
		return -1
	}
	return i
}

// resolved is an address as it is meant at a base.
func resolved(base, address string) string {
	b, err := url.Parse(base)
	if err != nil || base == "" {
		return address
	}
	a, err := b.Parse(address)
	if err != nil {
		return address
	}
	return a.String()
}

// isPointer reports whether a reference is a way from a schema's top.
func isPointer(ref string) bool {
	return ref == "#" || strings.HasPrefix(ref, "#/")
}
