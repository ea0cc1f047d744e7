package toolschema

// negations leaves out what a loosened part would turn against the rest. A part of which something was cut or
// could not be read takes more than it was written to take. Most places of a schema then take more as well;
// but not takes less, of oneOf two alternatives may fit at once, if may choose the wrong side, and what
// unevaluatedProperties counts as unknown may be what was cut.
func negations(root *tree, c *changes) *tree {
	loosened(root, nil, c)
	return root
}

// loosened reports whether s takes more than it was written to take, after what that spoils is left out.
func loosened(s *tree, at *loc, c *changes) bool {
	if !s.isObject() {
		return s != nil && s.loose
	}
	parts := map[string]bool{}
	loose := s.loose
	s.each(at, func(inner *tree, here *loc, down int) *tree {
		if loosened(inner, here, c) {
			loose = true
			if down == 2 {
				here = here.up
			}
			parts[here.key] = true
		}
		return inner
	})
	if !loose {
		return false
	}
	leave := func(keys ...string) {
		for _, key := range keys {
			if s.drop(key) != nil {
				c.add(at, "negation", "%s is left out: a part of the schema takes more than it should, and with it fewer values would fit", key)
			}
		}
	}
	if parts["not"] {
		leave("not")
	}
	if parts["if"] {
		leave("if", "then", "else")
	}
	if parts["contains"] {
		leave("maxContains")
	}
	if parts["oneOf"] {
		anyFits(s, at, c)
	}
	for _, key := range [...]string{"allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"} {
		if parts[key] || s.loose {
			leave("unevaluatedProperties", "unevaluatedItems")
			break
		}
	}
	return true
}

// anyFits writes oneOf as anyOf.
func anyFits(s *tree, at *loc, c *changes) {
	c.add(at, "negation", "oneOf is written as anyOf: a part of it takes more than it should, and several may fit at once")
	if !s.has("anyOf") {
		s.members[s.find("oneOf")].key = "anyOf"
		return
	}
	either := newObject(member{"anyOf", s.drop("oneOf")})
	if all := s.get("allOf"); all.isArray() {
		all.elems = append(all.elems, either)
		return
	}
	s.set("allOf", newArray(either))
}
