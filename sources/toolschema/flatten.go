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
	choices  map[string]*choices // of names that alternatives describe
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
					g.choose(m.key, m.value)
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

// choose adds what one alternative says of a name.
func (g *gathered) choose(name string, schema *tree) {
	c := g.choices[name]
	if c == nil {
		c = &choices{}
		if i, ok := g.index[name]; ok {
			c.schema = g.props.members[i].value
		}
		if g.choices == nil {
			g.choices = map[string]*choices{}
		}
		g.choices[name] = c
	}
	c.add(schema)
	g.add(name, c.schema, func(_, b *tree) *tree { return b })
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

// choices are schemas of which a value needs to fit one.
type choices struct {
	schema *tree           // that says so
	list   *tree           // its anyOf, once there are several
	said   map[string]bool // texts of what is in it
}

// add takes one more; nil counts as none.
func (c *choices) add(s *tree) {
	switch {
	case c.schema == nil:
		c.schema = s
	case len(c.schema.entries()) == 0 || len(s.entries()) == 0:
		c.schema = newObject()
	default:
		if c.said == nil {
			c.said, c.list = map[string]bool{}, newArray()
			for _, have := range alternativesOf(c.schema) {
				c.more(have)
			}
		}
		if c.more(s) {
			c.schema = newObject(member{"anyOf", c.list})
		}
	}
}

// more reports whether an alternative is new.
func (c *choices) more(s *tree) bool {
	words := string(s.text())
	if c.said[words] {
		return false
	}
	c.said[words] = true
	c.list.elems = append(c.list.elems, s)
	return true
}

// alternativesOf are those of a schema that says nothing else, or it alone.
func alternativesOf(s *tree) []*tree {
	if s.has("anyOf") && only(s, "anyOf") {
		return s.list("anyOf")
	}
	return []*tree{s}
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
