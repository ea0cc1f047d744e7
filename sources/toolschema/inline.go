package toolschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// definitions renames the old word for $defs and the references to it. Where a schema has both, and an entry
// in common, both stay.
func definitions(root *tree, c *changes) *tree {
	if old := root.get("definitions"); old.isObject() && mergeable(root.get("$defs"), old) {
		if defs := root.get("$defs"); defs != nil {
			defs.members = append(defs.members, old.members...)
			root.drop("definitions")
		} else {
			root.members[root.find("definitions")].key = "$defs"
		}
		c.add(nil, "definitions", "definitions is now called $defs")
		return root.rewrite(nil, func(s *tree, at *loc) *tree {
			if ref, ok := s.get("$ref").str(); ok {
				if rest, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
					s.set("$ref", newText("#/$defs/"+rest))
				}
			}
			return s
		})
	}
	return root
}

func mergeable(defs, old *tree) bool {
	if defs == nil {
		return true
	}
	if !defs.isObject() {
		return false
	}
	seen := make(map[string]bool, len(defs.members))
	for _, m := range defs.members {
		seen[m.key] = true
	}
	for _, m := range old.members {
		if seen[m.key] {
			return false
		}
	}
	return true
}

// An inliner writes out references. What it reads never changes; what it gives shares only scalars with it.
type inliner struct {
	*changes
	root      *tree
	left      int                        // bytes that may still be written in place of references
	sizes     map[*tree]int              // of targets
	found     map[string]*tree           // by reference, from the top; nil: nothing is there
	scopes    *scopes[*tree]             // once they are needed
	addressed bool                       // parts may have addresses of their own
	outside   map[string]bool            // of the root, what holds schemas that references lead to where none belongs
	active    map[*tree]int              // being written out: a reference to one of them is a cycle
	index     map[*tree]map[string]*tree // of large objects that references lead through
}

// annotations describe a value and restrict nothing.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "example": true, "deprecated": true,
	"readOnly": true, "writeOnly": true, "$comment": true,
}

// identifiers name places or rules for the whole document: in a part of it, or in a copy, they say nothing.
var identifiers = map[string]bool{
	"$id": true, "$anchor": true, "$dynamicAnchor": true, "$recursiveAnchor": true, "$vocabulary": true, "$schema": true,
}

// inline writes references out and leaves the definitions away.
func inline(root *tree, c *changes) *tree {
	in := &inliner{
		changes: c, root: root, addressed: root.addressed(), left: MaxInlined, sizes: map[*tree]int{},
		found: map[string]*tree{}, active: map[*tree]int{}, index: map[*tree]map[string]*tree{}, outside: map[string]bool{},
	}
	out := in.expand(root, nil, 0, 0)
	if len(in.outside) == 0 {
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(in.outside)) { // as components of OpenAPI
		if keywordNeeds[key] == nil && !annotations[key] && !isSchemaWord(key) && out.drop(key) != nil {
			c.add(nil, "ref", "%s is left away: what is used of it is written out where it is used", clip(key))
		}
	}
	for _, repair := range [...]func(*tree, *loc, *changes) *tree{schemaWords, keywordKinds, typeWords} {
		out = everywhere(repair)(out, c)
	}
	return out
}

// addressed reports whether something in t may have an address of its own.
func (t *tree) addressed() bool {
	if _, ok := t.get("$id").str(); ok {
		return true
	}
	return slices.ContainsFunc(t.members, func(m member) bool { return m.value.addressed() }) || slices.ContainsFunc(t.elems, (*tree).addressed)
}

// expand copies a schema with its references written out. depth is where it will stand; hops counts the
// references followed without going into a value.
func (in *inliner) expand(s *tree, at *loc, depth, hops int) *tree {
	if !s.isObject() {
		return s
	}
	in.active[s]++
	defer func() { in.active[s]-- }()
	out := newObject()
	out.loose = s.loose
	for _, m := range s.members {
		switch {
		case m.key == "$ref":
		case m.key == "$defs", m.key == "definitions" && m.value.isObject():
			in.add(at, "ref", "%s is left away: what is used of it is written out where it is used", m.key)
		case m.key == "$dynamicRef", m.key == "$recursiveRef":
			in.add(at, "ref", "%s is not followed; what stands beside it counts", m.key)
			out.loose = true
		case m.key == "$id" && depth == 0 && hasFragment(m.value):
			in.add(at, "ref", "$id %s is left out: it names a place, not the schema", m.value.shown())
		case depth > 0 && identifiers[m.key]:
			in.add(at, "ref", "%s is left out of a part of the schema", m.key)
		case m.value.kind != 0 && !isSchemaWord(m.key):
			out.members = append(out.members, member{m.key, m.value.clone()})
		default:
			v := m.value
			if v.kind != 0 { // each works in place, and s must not change
				v = &tree{kind: v.kind, loose: v.loose, members: append([]member(nil), v.members...), elems: append([]*tree(nil), v.elems...)}
			}
			out.members = append(out.members, member{m.key, v})
		}
	}
	out.each(at, func(s *tree, at *loc, down int) *tree { return in.expand(s, at, depth+down, 0) })
	if ref := s.get("$ref"); ref != nil {
		return in.follow(ref, s, out, at, depth, hops)
	}
	return out
}

// follow puts what a reference leads to together with what stands beside it.
func (in *inliner) follow(ref, from, beside *tree, at *loc, depth, hops int) *tree {
	name, isText := ref.str()
	if !isText {
		in.add(at, "ref", "$ref is no text and is left out; any value is taken")
		beside.loose = true
		return beside
	}
	target := in.resolve(name, ref)
	was := beside.loose
	beside.loose = true // as long as it is not said what the reference says
	switch {
	case target.is("true"):
		beside.loose = was
		return beside
	case !target.isObject() && strings.HasPrefix(name, "#"):
		in.add(at, "dangling-ref", "$ref %q points to nothing in the schema and is left out; any value is taken", clip(name))
		return beside
	case !target.isObject():
		in.add(at, "remote-ref", "$ref %q points outside the schema and is never fetched; any value is taken", clip(name))
		return beside
	case in.active[target] > 0 && target != from:
		in.add(at, "cycle", "$ref %q leads into itself; it is cut to any %s", clip(name), cutKind(target))
		return cutTo(target, beside)
	case target == from || hops > maxHops:
		in.add(at, "cycle", "$ref %q leads nowhere; any value is taken", clip(name))
		return beside
	case depth >= MaxNesting-nestingLeft:
		in.add(at, "depth", "$ref %q stands more than %d deep; it is cut to any %s", clip(name), depth, cutKind(target))
		return cutTo(target, beside)
	case in.size(target) > in.left:
		in.add(at, "size", "references come to more than %d bytes; $ref %q is cut to any %s", MaxInlined, clip(name), cutKind(target))
		return cutTo(target, beside)
	}
	if key, ok := outside(name); ok {
		in.outside[key] = true
	}
	beside.loose = was
	in.left -= in.size(target)
	in.add(at, "ref", "$ref %q is written out", clip(name))
	there := &loc{ref: clip(name)}
	return together(in.expand(target, there, max(depth, 1), hops+1), beside)
}

// hasFragment reports whether an address names a place in something.
func hasFragment(v *tree) bool {
	_, place, _ := strings.Cut(strings.Trim(string(v.raw), `"`), "#")
	return place != ""
}

// outside reports whether a reference leads to where no schema belongs, and through what of the root.
func outside(ref string) (key string, ok bool) {
	if ref == "#" {
		return "", false
	}
	if !isPointer(ref) {
		return "$defs", true
	}
	keys := strings.Split(ref[2:], "/")
	byName := false
	for _, key := range keys {
		switch {
		case byName:
			byName = false
		case schemaMaps[key]:
			byName = true
		case !schemaLists[key] && !schemaAlone[key] && strings.Trim(key, "0123456789") != "":
			return pointerUnescape.Replace(keys[0]), true
		}
	}
	return keys[0], byName
}

// together is a definition with what stands beside a reference to it: descriptions and defaults there win, and
// other keywords are added where that says both; where it does not, both must hold.
func together(def, beside *tree) *tree {
	if !def.isObject() {
		return beside
	}
	if len(beside.members) == 0 || len(def.members) == 0 {
		both := def
		if len(def.members) == 0 {
			both = beside
		}
		both.loose = def.loose || beside.loose
		return both
	}
	apart := true
	for _, m := range beside.members {
		apart = apart && (annotations[m.key] || m.key == "nullable" || !def.has(m.key) && !entangled(m.key, def))
	}
	if apart {
		for _, m := range beside.members {
			def.set(m.key, m.value)
		}
		def.loose = def.loose || beside.loose
		return def
	}
	if all := beside.get("allOf"); all.isArray() {
		all.elems = append(all.elems, def)
		return beside
	}
	beside.set("allOf", newArray(def))
	return beside
}

// entangled reports whether a keyword means something else beside the keywords of def.
func entangled(key string, def *tree) bool {
	for _, group := range [...][]string{
		{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "required"},
		{"items", "prefixItems", "additionalItems", "unevaluatedItems"},
		{"contains", "minContains", "maxContains"},
		{"if", "then", "else"},
		{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"},
		{"type", "enum", "const", "anyOf", "oneOf"},
	} {
		mine, theirs := false, false
		for _, k := range group {
			mine, theirs = mine || k == key, theirs || def.has(k)
		}
		if mine && theirs {
			return true
		}
	}
	return false
}

// cutTo is what a reference that is not followed leaves: the target's own type where it is an object's, and
// what stands beside.
func cutTo(target, beside *tree) *tree {
	if cutKind(target) == "object" && !beside.has("type") {
		beside.first("type", newText("object"))
		if target.get("nullable").is("true") {
			beside.nullable("type")
		}
	}
	return beside
}

func cutKind(target *tree) string {
	if t := target.types(); t == typeObject || t == 0 && target.get("properties").isObject() {
		return "object"
	}
	return "value"
}

// size is how long a target is as it stands.
func (in *inliner) size(target *tree) int {
	n, ok := in.sizes[target]
	if !ok {
		n = target.length()
		in.sizes[target] = n
	}
	return n
}

// length is about how many bytes a tree's text has.
func (t *tree) length() int {
	n := 2 + len(t.raw)
	for _, m := range t.members {
		n += len(m.key) + 4 + m.value.length()
	}
	for _, e := range t.elems {
		n += 1 + e.length()
	}
	return n
}

// resolve finds what a $ref leads to inside the schema, nil if nothing.
func (in *inliner) resolve(name string, ref *tree) *tree {
	t, known := in.found[name]
	if !known {
		if !in.addressed && isPointer(name) {
			t = walk(in.family(), in.root, name[1:])
		}
		in.found[name] = t
	}
	if t != nil {
		return t
	}
	if in.scopes == nil {
		in.scopes = newScopes(in.root, in.family())
	}
	return in.scopes.find(name, ref)
}

// family is how trees are looked into.
func (in *inliner) family() family[*tree] {
	return family[*tree]{
		each: func(t *tree, f func(string, *tree)) {
			for _, m := range t.members {
				f(m.key, m.value)
			}
			for i, e := range t.elems {
				f(strconv.Itoa(i), e)
			}
		},
		step: func(t *tree, key string) *tree {
			switch {
			case t.isObject():
				v := in.member(t, key)
				if v == nil && key == "definitions" { // which has another name by now
					v = t.get("$defs")
				} else if v == nil && key == "$defs" {
					v = t.get("definitions")
				}
				return v
			case t.isArray():
				if i := index(key, len(t.elems)); i >= 0 {
					return t.elems[i]
				}
			}
			return nil
		},
		text:    (*tree).str,
		isValue: (*tree).isObject,
	}
}

// member is get for objects of any size that are asked often.
func (in *inliner) member(t *tree, key string) *tree {
	if len(t.members) <= 2*indexFrom {
		return t.get(key)
	}
	index := in.index[t]
	if index == nil {
		index = make(map[string]*tree, len(t.members))
		for _, m := range t.members {
			index[m.key] = m.value
		}
		in.index[t] = index
	}
	return index[key]
}
