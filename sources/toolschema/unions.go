package toolschema

import "slices"

// nullUnions writes "X or null" as X with nullable, as OpenAPI does.
func nullUnions(s *tree, at *loc, c *changes) *tree {
	if !s.isObject() {
		return s
	}
	if t := s.get("type"); t.isArray() {
		words := s.words("type")
		if i := slices.Index(words, "null"); i >= 0 && len(words) == 2 {
			c.add(at, "null-union", "type [%s, null] is written as %s with nullable", words[1-i], words[1-i])
			s.loose = s.loose || !takesNull(s)
			s.set("type", newText(words[1-i]))
			s.nullable("type")
		}
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		if only, ok := orNullOnly(s, word); ok {
			c.add(at, "null-union", "%s of a schema and null is written as that schema with nullable", word)
			s = replaced(s, word, only)
		}
	}
	return s
}

// nullable marks a schema, behind one of its keywords.
func (t *tree) nullable(behind string) {
	if t.has("nullable") {
		t.set("nullable", scalar("true"))
		return
	}
	t.members = slices.Insert(t.members, t.find(behind)+1, member{"nullable", scalar("true")})
}

// orNullOnly is the one alternative that is not null, where the others are, and nothing but annotations
// stands beside them.
func orNullOnly(s *tree, word string) (only *tree, ok bool) {
	list := s.list(word)
	if len(list) < 2 || !onlyAnnotations(s, word, "nullable") {
		return nil, false
	}
	nulls := 0
	for _, b := range list {
		if isNullSchema(b) {
			nulls++
		} else {
			only = b
		}
	}
	return only, nulls == len(list)-1 && only.isObject()
}

// isNullSchema reports whether a schema takes null and nothing else.
func isNullSchema(b *tree) bool {
	if !b.isObject() {
		return false
	}
	if t, _ := b.get("type").str(); t == "null" {
		return onlyAnnotations(b, "type")
	}
	if b.get("const").is("null") {
		return onlyAnnotations(b, "const")
	}
	list := b.list("enum")
	return len(list) == 1 && list[0].is("null") && onlyAnnotations(b, "enum")
}

// onlyAnnotations reports whether nothing but annotations stands beside some keywords.
func onlyAnnotations(s *tree, keys ...string) bool {
	for _, m := range s.members {
		if !annotations[m.key] && !slices.Contains(keys, m.key) {
			return false
		}
	}
	return true
}

// replaced is a schema with one of its alternatives in place of the keyword; what is said beside wins.
func replaced(s *tree, word string, only *tree) *tree {
	out := newObject()
	out.loose = s.loose || only.loose
	for _, m := range s.members {
		switch {
		case m.key != word:
			continue
		default:
			for _, b := range only.members {
				if !annotations[b.key] || !s.has(b.key) {
					out.members = append(out.members, b)
				}
			}
		}
	}
	out.set("nullable", scalar("true"))
	for _, m := range s.members {
		if m.key != word && m.key != "nullable" {
			out.members = append(out.members, m)
		}
	}
	return out
}

// constUnions writes alternatives that are constants of one type as an enum.
func constUnions(s *tree, at *loc, c *changes) *tree {
	if !s.isObject() {
		return s
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		list := s.list(word)
		if len(list) == 0 || !onlyAnnotations(s, word, "nullable", "type") {
			continue
		}
		kind, values, null, ok := constants(list)
		if own, _ := s.get("type").str(); !ok || s.has("type") && own != kind {
			continue
		}
		told := slices.ContainsFunc(list, func(b *tree) bool { return b.has("title") || b.has("description") })
		if told {
			c.add(at, "const-union", "%s of %d constants is written as an enum, without their descriptions", word, len(list))
		} else {
			c.add(at, "const-union", "%s of %d constants is written as an enum", word, len(list))
		}
		i := s.find(word)
		s.members[i] = member{"enum", newArray(values...)}
		if !s.has("type") {
			s.members = slices.Insert(s.members, i, member{"type", newText(kind)})
		}
		if null {
			s.nullable("enum")
		}
	}
	return s
}

// constants are the values of alternatives that are nothing but constants of one type, and one null at most.
func constants(list []*tree) (kind string, values []*tree, null, ok bool) {
	seen := map[string]bool{}
	for _, b := range list {
		if isNullSchema(b) {
			if null {
				return "", nil, false, false
			}
			null = true
			continue
		}
		v := b.get("const")
		if v == nil || v.kind != 0 || !only(b, "const", "type", "title", "description") {
			return "", nil, false, false
		}
		k := v.jsonKind()
		if t, _ := b.get("type").str(); b.has("type") && t != k {
			return "", nil, false, false
		}
		if kind == "" {
			kind = k
		}
		if k != kind {
			return "", nil, false, false
		}
		if !seen[string(v.raw)] {
			seen[string(v.raw)] = true
			values = append(values, v)
		}
	}
	return kind, values, null, len(values) > 0
}

// only reports whether an object has no other keys.
func only(s *tree, keys ...string) bool {
	for _, m := range s.members {
		if !slices.Contains(keys, m.key) {
			return false
		}
	}
	return true
}
