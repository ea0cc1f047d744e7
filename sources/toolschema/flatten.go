package toolschema

import "slices"

// flatten takes from the top of a schema what no API takes there. The arguments of alternatives are listed
// together, each as those describe it that do, and those that all of them require stay required; the tool
// checks the rest.
func (x *exporter) flatten(t *tree) {
	rule := "root-keyword"
	if x.openAPI {
		rule = "root-object"
	}
	if hasChoices(t) {
		for _, word := range [...]string{"allOf", "anyOf", "oneOf"} {
			if t.has(word) {
				x.add(nil, rule, "%s may not stand at the top: its arguments are listed together, and those that it requires in any case stay required", word)
			}
		}
		all := gather(t)
		for _, word := range [...]string{"allOf", "anyOf", "oneOf"} {
			t.drop(word)
		}
		t.set("properties", all.props)
		if len(all.required) > 0 {
			t.setWords("required", all.required)
		}
	}
	for _, word := range x.rootBans {
		if v := t.drop(word); v != nil {
			x.add(nil, rule, "%s %s may not stand at the top and is left out", word, v.shown())
		}
	}
}

// gathered are the arguments that an object's schema describes in all its parts.
type gathered struct {
	props    *tree
	index    map[string]int
	required []string
}

func (g *gathered) add(name string, schema *tree, together func(a, b *tree) *tree) {
	i, ok := g.index[name]
	if !ok {
		g.index[name] = len(g.props.members)
		g.props.members = append(g.props.members, member{name, schema})
		return
	}
	g.props.members[i].value = together(g.props.members[i].value, schema)
}

// gather collects what s, its allOf and its alternatives say of properties.
func gather(s *tree) *gathered {
	g := &gathered{props: newObject(), index: map[string]int{}}
	for _, m := range s.get("properties").entries() {
		g.add(m.key, m.value, firstSaid)
	}
	g.required = s.words("required")
	for _, part := range s.list("allOf") {
		in := gather(part)
		for _, m := range in.props.members {
			g.add(m.key, m.value, firstSaid)
		}
		g.require(in.required)
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		own := len(g.props.members)
		var common []string
		branches := 0
		for _, part := range s.list(word) {
			if types := part.types(); types != 0 && types&typeObject == 0 || !part.isObject() {
				continue
			}
			in := gather(part)
			for _, m := range in.props.members {
				if i, ok := g.index[m.key]; ok && i < own { // s itself says it, and each alternative at most narrows it
					g.add(m.key, m.value, firstSaid)
				} else {
					g.add(m.key, m.value, either)
				}
			}
			if branches++; branches == 1 {
				common = in.required
			} else {
				common = slices.DeleteFunc(common, func(r string) bool { return !slices.Contains(in.required, r) })
			}
		}
		g.require(common)
	}
	return g
}

func (g *gathered) require(names []string) {
	seen := make(map[string]bool, len(g.required))
	for _, r := range g.required {
		seen[r] = true
	}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			g.required = append(g.required, name)
		}
	}
}

// entries are an object's members; none of anything else.
func (t *tree) entries() []member {
	if t == nil {
		return nil
	}
	return t.members
}

// firstSaid keeps the first of two schemas that says anything.
func firstSaid(a, b *tree) *tree {
	if len(a.entries()) == 0 {
		return b
	}
	return a
}

// either takes what one of two schemas takes.
func either(a, b *tree) *tree {
	if len(a.entries()) == 0 || len(b.entries()) == 0 {
		return newObject()
	}
	list := []*tree{a}
	if a.has("anyOf") && only(a, "anyOf") {
		list = a.list("anyOf")
	}
	words := b.text()
	for _, have := range list {
		if string(have.text()) == string(words) {
			return a
		}
	}
	return newObject(member{"anyOf", newArray(append(list[:len(list):len(list)], b)...)})
}

// texts takes from descriptions and titles what hides in them, and tells of values that hide something: those
// stay, since the tool compares them.
func (x *exporter) texts(t *tree) {
	t.rewrite(nil, func(s *tree, at *loc) *tree {
		for i := range s.members {
			m := &s.members[i]
			here := &loc{up: at, key: m.key}
			switch m.key {
			case "title", "description":
				if said, ok := m.value.str(); ok {
					clean, edits := Clean(said)
					for _, e := range edits {
						x.add(here, "text", "%s", e)
					}
					if len(edits) > 0 {
						m.value = newText(clean)
					}
				}
			case "enum", "const", "default":
				x.hidden(m.value, here)
			case "properties":
				for _, p := range m.value.entries() {
					if _, edits := Clean(p.key); len(edits) > 0 {
						x.add(here, "text", "the name %q stays as it is, though: %s", clip(p.key), edits[0])
					}
				}
			}
		}
		return s
	})
}

func (x *exporter) hidden(v *tree, at *loc) {
	if said, ok := v.str(); ok {
		if _, edits := Clean(said); len(edits) > 0 {
			x.add(at, "text", "the value stays as it is, since the tool compares it, though: %s", edits[0])
		}
	}
	for _, e := range v.elems {
		x.hidden(e, at)
	}
}
