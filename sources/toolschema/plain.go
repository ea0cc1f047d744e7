package toolschema

import "slices"

// plain writes a schema for an API that takes JSON Schema.
func (x *exporter) plain(s *tree, at *loc) *tree {
	if !s.isObject() {
		return s
	}
	s = x.nulls(s, at, "nullable")
	if s.types()&typeArray != 0 && !s.get("items").isObject() {
		x.add(at, "items", "an array has items: any value")
		s.set("items", newObject())
	}
	return s
}

// nulls writes nullable as JSON Schema says it.
func (x *exporter) nulls(s *tree, at *loc, rule string) *tree {
	v := s.drop("nullable")
	if v == nil {
		return s
	}
	if !v.is("true") {
		x.add(at, rule, "nullable: false says nothing and is left out")
		return s
	}
	x.add(at, rule, "nullable is written as the type null")
	return withNull(s)
}

// withNull is a schema that takes null as well.
func withNull(s *tree) *tree {
	null := typed("null")
	switch {
	case takesNull(s):
	case s.has("anyOf") && !s.has("type") && only(s, "anyOf", "title", "description", "default"):
		list := s.get("anyOf")
		list.elems = append(list.elems, null)
	case s.has("type") && !s.has("enum") && !s.has("const") && !hasChoices(s) && !s.has("not"):
		words := s.words("type")
		if word, ok := s.get("type").str(); ok {
			words = []string{word}
		}
		s.setWords("type", append(words, "null"))
	default: // what else it says would refuse null
		out := newObject()
		for _, word := range [...]string{"title", "description", "default"} {
			if v := s.drop(word); v != nil {
				out.set(word, v)
			}
		}
		out.first("anyOf", newArray(s, null))
		return out
	}
	return s
}

// takesNull reports whether a schema takes null as it stands.
func takesNull(s *tree) bool {
	if !s.isObject() || s.get("nullable").is("true") {
		return !s.is("false")
	}
	if types := s.types(); types != 0 && types&typeNull == 0 {
		return false
	}
	isNull := func(v *tree) bool { return v.is("null") }
	if list := s.get("enum"); list.isArray() && !slices.ContainsFunc(list.elems, isNull) {
		return false
	}
	if v := s.get("const"); v != nil && !isNull(v) {
		return false
	}
	if slices.ContainsFunc(s.list("allOf"), func(b *tree) bool { return !takesNull(b) }) {
		return false
	}
	if v := s.get("not"); v != nil && takesNull(v) {
		return false
	}
	if list := s.list("anyOf"); len(list) > 0 && !slices.ContainsFunc(list, takesNull) {
		return false
	}
	if list := s.list("oneOf"); len(list) > 0 {
		taking := 0
		for _, b := range list {
			if takesNull(b) {
				taking++
			}
		}
		if taking != 1 {
			return false
		}
	}
	if v := s.get("if"); v != nil {
		side := s.get("else")
		if takesNull(v) {
			side = s.get("then")
		}
		return side == nil || takesNull(side)
	}
	return true
}
